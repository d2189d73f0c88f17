//! Which functions requests pass, as a script for the linker, which lays them side by side
//! (docs/decisions/0012-hot-code-lies-together.md). Valgrind counts who is called:
//!
//! `cargo bench -p chancery-benches --bench doors -- --layout`

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::Path,
};

use crate::{
    CHUNKS, learn,
    load::{Line, request},
    message,
    process::Process,
    streamed, work,
};

/// How many requests or events are looked at.
const ASKED: usize = 2_000;
const CONNECTIONS: usize = 8;
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/cli/hot.ld");

/// Writes the script.
pub(crate) async fn make(folder: &Path) {
    let mut rows: BTreeMap<String, usize> = BTreeMap::new();
    for kind in ["bare", "memory", "sqlite"] {
        let start = calls(folder, kind, "nothing").await;
        let whats = ["send", "get", "list", "stream", "send in v0.3", "send over HTTP+JSON"];
        for what in whats.iter().take(if kind == "bare" { 4 } else { 6 }) {
            let mut calls = calls(folder, kind, what).await;
            calls.retain(|function, calls| *calls >= start.get(function).unwrap_or(&0) + ASKED / 2);
            println!("{kind} {what}: {} functions", calls.len());
            for pattern in calls.keys().map(|function| pattern(function)).collect::<BTreeSet<_>>() {
                *rows.entry(pattern).or_default() += 1;
            }
        }
    }
    // What most rows have in common lies together.
    let mut patterns: Vec<_> = rows.into_iter().collect();
    patterns.sort_by(|(left, rows), (right, others)| others.cmp(rows).then_with(|| left.cmp(right)));
    let mut text = "/* The functions that requests pass, those first that most of them pass.\n   \
        Made by `cargo bench -p chancery-benches --bench doors -- --layout`. */\n\
        SECTIONS\n{\n  .text.hot :\n  {\n"
        .to_owned();
    for (pattern, _) in &patterns {
        writeln!(text, "    *({pattern})").unwrap();
    }
    text.push_str("  }\n}\nINSERT BEFORE .text;\n");
    std::fs::write(SCRIPT, text).unwrap();
    println!("{} patterns are in {SCRIPT}", patterns.len());
}

/// How often the functions of a server are called from its start to the end of a row.
async fn calls(folder: &Path, kind: &str, what: &str) -> BTreeMap<String, usize> {
    let folder = folder.join(format!("{kind} {what}"));
    std::fs::create_dir_all(&folder).unwrap();
    // A bare server is told what to answer before it starts.
    let mut told = learn(&Process::start("memory", &folder), &folder).await;
    let profile = folder.join("profile");
    let out = format!("--callgrind-out-file={}", profile.display());
    let valgrind = ["valgrind", "--quiet", "--tool=callgrind", "--demangle=no", "--compress-strings=no", "--compress-pos=no", out.as_str()];
    let server = Process::start_under(&valgrind, kind, &folder);
    if kind != "bare" {
        told = learn(&server, &folder).await;
    }
    let request = match what {
        "get" => told.0,
        "list" => told.1,
        "stream" => streamed(kind),
        "send in v0.3" => v0_3(),
        "send over HTTP+JSON" => http_json(),
        _ => work(""),
    };
    let times = match what {
        "nothing" => 0,
        "stream" => ASKED / CHUNKS,
        _ => ASKED,
    };
    let mut lines = tokio::task::JoinSet::new();
    for number in 0..CONNECTIONS {
        let (address, request, streaming) = (server.address(), request.clone(), what == "stream");
        lines.spawn(async move {
            let mut line = Line::open(address).await;
            for _ in (number..times).step_by(CONNECTIONS) {
                if streaming {
                    line.send(&request).await;
                    line.head().await;
                    line.drain().await;
                } else {
                    line.ask(&request).await;
                }
            }
        });
    }
    lines.join_all().await;
    server.stop();
    called(&std::fs::read_to_string(profile).unwrap())
}

fn v0_3() -> Vec<u8> {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"6f1c2d3e-1111-4a5b-8c7d-000000000001","role":"user","parts":[{"kind":"text","text":"work The tide turns, the boats stay."}]}}}"#;
    let old = request("POST", "/", body);
    String::from_utf8(old).unwrap().replace("a2a-version: 1.0\r\n", "").into_bytes()
}

fn http_json() -> Vec<u8> {
    request("POST", "/message:send", &message("work The tide turns, the boats stay.", ""))
}

/// How often each function of the program itself was called.
fn called(profile: &str) -> BTreeMap<String, usize> {
    let mut calls: BTreeMap<String, usize> = BTreeMap::new();
    let (mut object, mut callee_object, mut callee) = ("", None, "");
    for line in profile.lines() {
        match line.split_once('=') {
            Some(("ob", name)) => object = name,
            Some(("cob", name)) => callee_object = Some(name),
            Some(("cfn", name)) => callee = name,
            Some(("calls", rest)) => {
                let times: usize = rest.split(' ').next().unwrap().parse().unwrap();
                if !callee_object.take().unwrap_or(object).contains(".so") {
                    // A call within a call is a function of its own for valgrind, and no symbol.
                    *calls.entry(callee.split('\'').next().unwrap_or(callee).to_owned()).or_default() += times;
                }
            }
            _ => {}
        }
    }
    calls
}

/// The section of a function, in whatever program it is and whatever the hashes of the crates in its name are.
fn pattern(symbol: &str) -> String {
    if !symbol.starts_with("_R") {
        return format!(".text.{symbol}");
    }
    // In `_RINvCs1a2b_5serde4withNtB2_4NameECs3c4d_3a2a` crates are `Cs1a2b_5serde` and `Cs3c4d_3a2a`, which has this instance,
    // and `B2_` says where what is meant begins.
    let mut pattern = String::new();
    let mut rest = symbol.split('.').next().unwrap_or(symbol);
    while let Some(at) = rest.find(['B', 'C']) {
        let (before, mark) = rest.split_at(at);
        let start = if mark.starts_with("Cs") { 2 } else { 1 };
        let end = mark[start..].find(|digit: char| !digit.is_ascii_alphanumeric()).map_or(mark.len(), |digits| start + digits);
        let hash = mark[end..].starts_with('_') && (start == 2 || mark.starts_with('B'));
        pattern.push_str(before);
        pattern.push_str(&mark[..start]);
        pattern.push_str(if hash { "*" } else { "" });
        rest = &mark[if hash { end } else { start }..];
    }
    pattern.push_str(rest);
    let instance = pattern.rfind("Cs*_").filter(|place| {
        let name = &pattern[place + 4..];
        let digits = name.len() - name.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        name[..digits].parse() == Ok(name.len() - digits)
    });
    pattern.truncate(instance.unwrap_or(pattern.len() - if pattern.ends_with("B*_") { 3 } else { 0 }));
    // What the compiler takes for rare is in `.text.unlikely`.
    format!(".text*.{pattern}*")
}
