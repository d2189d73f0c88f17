//! Bodies that nobody should send: mutated, cut, spliced, nested and random ones decode to a value
//! or to a typed error, in bounded memory. A panic or a stack overflow fails the test.
//!
//! `CHANCERY_CASES` sets how many bodies each dialect gets; `./test` asks for a million. Each case is
//! made from its number, which is printed when it fails.

use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    process::Command,
};

use chancery_core::{Limits, Operation, Reply};
use chancery_wire::{Dialect, StreamMemory};

use crate::{
    feed::{feed, feed_grpc},
    generate::Generator,
    vector::{self, Vector, bytes},
};

fn cases() -> u64 {
    env::var("CHANCERY_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

/// Real messages to start from: all vectors, whole and in parts, and generated ones.
fn corpus(dialect: Dialect) -> Vec<Vec<u8>> {
    let folders: &[&str] = match dialect {
        Dialect::V1_0 | Dialect::V1_0Strict => &["v1.0", "conversion", "dialect-002"],
        Dialect::V0_3 | Dialect::V0_3Rest | Dialect::V0_3RestKind => &["v0.3", "conversion"],
        Dialect::V0_2 => &["v0.2", "v0.3"],
        Dialect::V0_1 => &["v0.1", "conversion"],
        _ => &["dialect-003", "dialect-002"],
    };
    let mut corpus: Vec<Vec<u8>> = folders.iter().flat_map(|name| vector::folder(name)).flat_map(|vector| messages(&vector)).collect();
    for case in 0..50 {
        let mut make = Generator::new(case);
        for operation in Operation::ALL {
            corpus.extend(dialect.encode_request(&make.request(operation)));
            corpus.extend(dialect.encode_reply(&make.reply(operation)));
        }
        let mut memory = StreamMemory::default();
        corpus.extend(make.stream().iter().filter_map(|event| dialect.encode_event(event, &mut memory).ok()).flatten());
    }
    assert!(corpus.len() > 100);
    corpus
}

fn messages(vector: &Vector) -> Vec<Vec<u8>> {
    [
        "/request/body",
        "/request/body/params",
        "/response/body",
        "/response/body/result",
        "/response/events/0",
        "/response/events/1/result",
        "/body",
        "/v1.0",
        "/v0.3",
    ]
    .iter()
    .filter_map(|pointer| vector.at(pointer))
    .map(bytes)
    .collect()
}

/// Pieces that parsers stumble over.
const PIECES: [&str; 32] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "true",
    "-0",
    "1e999",
    "18446744073709551616",
    "\\ud800",
    "\\u0000",
    "\u{feff}",
    "{}",
    "[]",
    "\"\"",
    "\"kind\":\"file\",",
    "\"kind\":\"task\",",
    "\"type\":\"data\",",
    "\"parts\":[{}],",
    "\"file\":{},",
    "\"metadata\":null,",
    "\"id\":{},",
    "\"status\":[],",
    "\"timestamp\":\"0000-00-00T00:00:00Z\",",
    "\"raw\":\"====\",",
    "\"historyLength\":-1,",
    "\"task\":{},",
    "\"message\":{},",
    "\"result\":",
];

fn mutate(make: &mut Generator, corpus: &[Vec<u8>]) -> Vec<u8> {
    if make.chance(50) {
        return (0..make.below(200)).map(|_| make.bits().to_le_bytes()[0]).collect();
    }
    if make.chance(200) {
        let (open, close) = make.pick(&[("[", "]"), ("{\"a\":", "}"), ("{\"metadata\":{\"a\":[", "]}}"), ("{\"data\":", "}")]);
        let depth = make.below(3000);
        return format!("{}1{}", open.repeat(depth), if make.chance(2) { close.repeat(depth) } else { String::new() }).into_bytes();
    }
    let mut body = make.pick(corpus);
    for _ in 0..=make.below(3) {
        let at = make.below(body.len() + 1);
        match make.below(7) {
            0 => body.truncate(at),
            1 => {
                if let Some(byte) = body.get_mut(at) {
                    *byte ^= 1 << (make.bits() % 8);
                }
            }
            2 => drop(body.splice(at..at, make.pick(&PIECES).bytes())),
            3 => {
                let end = (at + make.below(12)).min(body.len());
                body.drain(at..end);
            }
            4 => {
                let other = make.pick(corpus);
                let from = make.below(other.len() + 1);
                let to = (from + make.below(80)).min(other.len());
                body.splice(at..at, other[from..to].iter().copied());
            }
            5 => {
                let end = (at + make.below(60)).min(body.len());
                let piece = body[at..end].to_vec();
                body.splice(at..at, piece);
            }
            _ => {
                // A value for another: what a member holds is replaced, its name stays.
                let text = String::from_utf8_lossy(&body).into_owned();
                let colons: Vec<_> = text.match_indices(':').map(|(at, _)| at).collect();
                if !colons.is_empty() {
                    let colon = make.pick(&colons);
                    let end = text[colon..].find([',', '}', ']']).map_or(text.len(), |found| colon + found);
                    let depth = make.below(3);
                    body = format!("{}:{}{}", &text[..colon], make.value(depth), &text[end..]).into_bytes();
                }
            }
        }
    }
    body
}

fn survives(dialect: Dialect) {
    let corpus = corpus(dialect);
    for case in 0..cases() {
        let body = mutate(&mut Generator::new(case), &corpus);
        let outcome = catch_unwind(AssertUnwindSafe(|| feed(dialect, case, &body)));
        assert!(outcome.is_ok(), "case {case}: {}", String::from_utf8_lossy(&body));
    }
}

#[test]
fn v1_0_survives_hostile_bodies() {
    survives(Dialect::V1_0);
}

#[test]
fn v1_0_strict_survives_hostile_bodies() {
    survives(Dialect::V1_0Strict);
}

#[test]
fn v0_3_survives_hostile_bodies() {
    survives(Dialect::V0_3);
}

#[test]
fn v0_3_rest_survives_hostile_bodies() {
    survives(Dialect::V0_3Rest);
}

#[test]
fn v0_3_rest_with_kinds_survives_hostile_bodies() {
    survives(Dialect::V0_3RestKind);
}

#[test]
fn v0_2_survives_hostile_bodies() {
    survives(Dialect::V0_2);
}

#[test]
fn v0_1_survives_hostile_bodies() {
    survives(Dialect::V0_1);
}

#[test]
fn compact_survives_hostile_bodies() {
    survives(Dialect::Compact);
}

fn grpc_survives(dialect: Dialect) {
    let mut corpus = Vec::new();
    for case in 0..50 {
        let mut make = Generator::new(case);
        let mut memory = StreamMemory::default();
        corpus.extend(make.stream().iter().flat_map(|event| dialect.encode_event(event, &mut memory).unwrap()));
        corpus.extend(Operation::ALL.map(|operation| dialect.encode_request(&make.request(operation)).unwrap()));
        corpus.push(dialect.encode_reply(&Reply::Card(Box::new(make.card()))).unwrap());
        corpus.push(dialect.encode_grpc_error(&make.error()).details.to_vec());
    }
    assert!(corpus.len() > 100);
    for case in 0..cases() {
        let body = mutate(&mut Generator::new(case), &corpus);
        let outcome = catch_unwind(AssertUnwindSafe(|| feed_grpc(dialect, case, &body)));
        assert!(outcome.is_ok(), "case {case}: {body:?}");
    }
}

#[test]
fn v1_0_over_grpc_survives_hostile_bodies() {
    grpc_survives(Dialect::V1_0Grpc);
}

#[test]
fn v0_3_over_grpc_survives_hostile_bodies() {
    grpc_survives(Dialect::V0_3Grpc);
}

/// A body nested `depth` deep in the metadata of a message, in the form of a dialect.
fn nested(dialect: Dialect, depth: usize) -> Vec<u8> {
    let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let part = match dialect {
        Dialect::V0_3 | Dialect::V0_2 | Dialect::V0_3RestKind => r#"{"kind":"text","text":"x"}"#,
        Dialect::V0_1 => r#"{"type":"text","text":"x"}"#,
        _ => r#"{"text":"x"}"#,
    };
    let role = if matches!(dialect, Dialect::V1_0 | Dialect::V1_0Strict | Dialect::V0_3Rest) { "ROLE_USER" } else { "user" };
    let parts = if dialect == Dialect::V0_3Rest { "content" } else { "parts" };
    format!(r#"{{"id":"t","message":{{"messageId":"m","role":"{role}","{parts}":[{part}]}},"metadata":{{"a":{deep}}},"unknown":{deep}}}"#)
        .into_bytes()
}

#[test]
fn nesting_is_limited_in_every_dialect_with_a_clear_error() {
    for dialect in Dialect::JSON {
        let read = |depth| dialect.request(Operation::SendMessage, &nested(dialect, depth), &Limits::default());
        assert!(read(60).is_ok(), "{dialect:?}: {:?}", read(60));
        for depth in [65, 100, 127, 200, 100_000] {
            assert!(read(depth).is_err(), "{dialect:?} took {depth} levels");
        }
        let error = read(70).unwrap_err();
        assert_eq!(error.violations()[0].field, "metadata", "{dialect:?}");
    }
}

/// Inputs whose decoded form is as large as it gets, for their size.
fn bulky(dialect: Dialect, size: usize) -> Vec<Vec<u8>> {
    let repeat = |item: &str| vec![item; size / (item.len() + 1)].join(",");
    let part = match dialect {
        Dialect::V0_3 | Dialect::V0_2 | Dialect::V0_3RestKind => r#"{"kind":"text","text":""}"#,
        Dialect::V0_1 => r#"{"type":"text","text":""}"#,
        _ => r#"{"text":""}"#,
    };
    let parts = if dialect == Dialect::V0_3Rest { "content" } else { "parts" };
    vec![
        format!(r#"{{"id":"t","message":{{"{parts}":[{}]}}}}"#, repeat(part)).into_bytes(),
        format!(r#"{{"id":"t","message":{{}},"metadata":{{"a":[{}]}}}}"#, repeat("[]")).into_bytes(),
        format!(r#"{{"id":"t","message":{{}},"metadata":{{"a":[{}]}}}}"#, repeat("{\"\":{}}")).into_bytes(),
        format!(r#"{{"id":"t","message":{{"referenceTaskIds":[{}]}}}}"#, repeat("\"\"")).into_bytes(),
    ]
}

fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// Runs in a process of its own, so that nothing else moves the peak; started by the test below.
#[test]
fn memory_probe() {
    let Ok(name) = env::var("CHANCERY_MEMORY_PROBE") else { return };
    let dialect = Dialect::JSON.into_iter().find(|dialect| format!("{dialect:?}") == name).unwrap();
    let before = resident();
    for body in bulky(dialect, 1 << 20) {
        // Whether this is taken or refused does not matter here, only what it costs.
        drop(dialect.request(Operation::SendMessage, &body, &Limits::default()));
    }
    println!("grown by {}", resident() - before);
}

#[test]
#[cfg(target_os = "linux")]
fn memory_stays_within_a_multiple_of_the_input() {
    for dialect in Dialect::JSON {
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", "hostile::memory_probe", "--nocapture", "--test-threads=1"])
            .env("CHANCERY_MEMORY_PROBE", format!("{dialect:?}"))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let grown: usize = text.split("grown by ").nth(1).and_then(|rest| rest.lines().next()).unwrap().trim().parse().unwrap();
        assert!(grown < 96 << 20, "{dialect:?}: a body of 1 MiB took {} MiB", grown >> 20);
    }
}
