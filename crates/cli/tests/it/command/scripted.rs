//! An agent that answers each message with the events of a script, for what the demo never does.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::Arc,
};

use serde_json::{Value, json};

/// Starts an agent that streams these events after every message, and hangs up; it ends with the process.
pub(crate) fn scripted(events: &[Value]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (events, here) = (Arc::new(events.to_vec()), url.clone());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (events, here) = (events.clone(), here.clone());
            std::thread::spawn(move || serve(&mut stream.unwrap(), &here, &events));
        }
    });
    url
}

fn serve(stream: &mut TcpStream, here: &str, events: &[Value]) {
    let Some(call) = call(stream) else { return begin(stream, "application/json", &[card(here).to_string()]) };
    match call["method"].as_str() {
        Some("SendStreamingMessage") => {
            let frames = events.iter().map(|event| format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": call["id"], "result": event})));
            begin(stream, "text/event-stream", &frames.collect::<Vec<_>>());
        }
        other => panic!("{other:?}"),
    }
}

/// Reads the one request of a connection; `None` if it is no call.
pub(crate) fn call(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    while reader.read_line(&mut head).unwrap() > 2 {
        let last = head.lines().last().unwrap_or_default().to_ascii_lowercase();
        length = last.strip_prefix("content-length:").map_or(length, |value| value.trim().parse().unwrap());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).ok()
}

pub(crate) fn card(here: &str) -> Value {
    json!({
        "name": "Scripted", "description": "Says what it is told to", "version": "1", "capabilities": {"streaming": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
        "supportedInterfaces": [{"url": here, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    })
}

/// Begins an answer that ends with the connection.
pub(crate) fn begin(stream: &mut TcpStream, kind: &str, pieces: &[String]) {
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n").unwrap();
    write(stream, pieces);
}

pub(crate) fn write(stream: &mut TcpStream, pieces: &[String]) {
    // A client that has heard enough may be gone.
    drop(pieces.iter().try_for_each(|piece| stream.write_all(piece.as_bytes())));
}
