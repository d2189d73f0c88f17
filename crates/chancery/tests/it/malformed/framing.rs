//! HTTP that is broken: after it nobody knows where the next request begins, so the connection ends, with the reason.

use super::{BODY, Wire, post, request, start};

/// Each kind of broken HTTP gets its status, and the server goes on.
#[tokio::test]
async fn broken_http_gets_its_status_and_harms_nobody_else() {
    let running = start().await;
    let many: String = (0..500).map(|number| format!("x-{number}: y\r\n")).collect();
    let call = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let requests: Vec<(&str, Vec<u8>, u16)> = vec![
        ("words", b"hello there\r\n\r\n".to_vec(), 400),
        ("no version of HTTP", b"GET /\r\n\r\n".to_vec(), 400),
        ("HTTP/9.9", b"GET / HTTP/9.9\r\nhost: localhost\r\n\r\n".to_vec(), 400),
        ("no path", b"GET HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(), 400),
        ("a method with a slash", b"G/T / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(), 400),
        ("binary", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n".to_vec(), 400),
        ("a header without a colon", b"GET / HTTP/1.1\r\nhost\r\n\r\n".to_vec(), 400),
        ("a header name with a space", b"GET / HTTP/1.1\r\nho st: localhost\r\n\r\n".to_vec(), 400),
        ("a NUL in a header", b"GET / HTTP/1.1\r\nhost: local\0host\r\n\r\n".to_vec(), 400),
        // RFC 9112, section 3.2.
        ("no host", b"GET /healthz HTTP/1.1\r\n\r\n".to_vec(), 400),
        ("two hosts", b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n".to_vec(), 400),
        ("a call without a host", b"POST / HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}".to_vec(), 400),
        ("HTTP/1.0 without a host", b"GET /healthz HTTP/1.0\r\n\r\n".to_vec(), 200),
        ("a length that is none", format!("{call}content-length: many\r\n\r\n").into_bytes(), 400),
        ("a negative length", format!("{call}content-length: -1\r\n\r\n").into_bytes(), 400),
        ("two lengths", format!("{call}content-length: 1\r\ncontent-length: 2\r\n\r\n{{}}").into_bytes(), 400),
        ("a length beyond numbers", format!("{call}content-length: 99999999999999999999999\r\n\r\n").into_bytes(), 400),
        ("a coding that is not known", format!("{call}transfer-encoding: shout\r\n\r\n").into_bytes(), 400),
        ("a chunk without a length", format!("{call}transfer-encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n").into_bytes(), 400),
        ("500 headers", format!("GET / HTTP/1.1\r\nhost: localhost\r\n{many}\r\n").into_bytes(), 431),
        ("a header of a megabyte", format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(1 << 20)).into_bytes(), 431),
        ("a path of 70000 letters", format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "p".repeat(70_000)).into_bytes(), 431),
    ];
    let mut faults = Vec::new();
    for (what, bytes, status) in &requests {
        let mut wire = Wire::open(&running).await;
        // The server may have answered and gone before it has read everything.
        let written = wire.write(bytes).await;
        let answer = tokio::time::timeout(std::time::Duration::from_secs(20), wire.answer(false)).await.expect(what);
        match answer {
            Ok(answer) if answer.status == *status => {}
            other => faults.push(format!("{what}: {other:?} instead of {status} ({written:?})")),
        }
        let answer = Wire::open(&running).await.ask(&request("GET", "/healthz")).await.unwrap();
        assert_eq!(answer.status, 200, "after {what}");
    }
    println!("HTTP/1.1: {} broken requests", requests.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A body that is far too large gets its status before anybody has read it, over JSON-RPC and HTTP+JSON; what
/// is left of it is not worth reading, so the connection ends.
#[tokio::test]
async fn a_body_that_is_far_too_large_is_not_read() {
    let running = start().await;
    for target in ["/", "/message:send", "/v1/message:send", "/messages"] {
        let mut wire = Wire::open(&running).await;
        let large = post(target, vec![b' '; 8 * BODY]).version(if target == "/v1/message:send" { "0.3" } else { "1.0" });
        // All but the body is enough for an answer.
        let bytes = large.bytes();
        wire.write(&bytes[..bytes.len() - large.body.len()]).await.unwrap();
        let answer = tokio::time::timeout(std::time::Duration::from_secs(20), wire.answer(false)).await.unwrap().unwrap();
        assert_eq!(answer.status, 413, "{target}");
        assert!(wire.line().await.is_err(), "{target}: the connection goes on");
    }
}

/// A body that comes after its answer was clear is read to its end, so that the connection can go on.
#[tokio::test]
async fn a_body_that_nobody_wants_does_not_cost_the_connection() {
    let running = start().await;
    let mut wire = Wire::open(&running).await;
    for (target, status) in [("/nothing", 404), ("/.well-known/agent-card.json", 405), ("/healthz", 405), ("/tasks", 404)] {
        let bytes = post(target, vec![b' '; BODY]).version("1.0").bytes();
        for piece in bytes.chunks(BODY / 4) {
            wire.write(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(wire.answer(false).await.unwrap().status, status, "{target}");
    }
    assert_eq!(wire.ask(&request("GET", "/healthz")).await.unwrap().status, 200);
}
