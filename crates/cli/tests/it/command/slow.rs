//! Long runs against agents that take their time: what is waited for, what is told meanwhile, and what Ctrl-C leaves.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
};

use chancery::{Card, Failure, Outcome, Running, Server, Turn, store::Memory};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{Ran, Sandbox, ended, field, interrupt, terminal::Terminal};

/// An agent that never comes to an end.
struct Sleeper {
    _runtime: Runtime,
    running: Running,
}

impl Sleeper {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let agent = |turn: Turn| async move {
            turn.status("Thinking").await?;
            std::future::pending::<Result<Outcome, Failure>>().await
        };
        let card = Card::new("Sleeper", "Takes its time").skill("sleep", "Sleeps").streaming(true);
        let running = runtime.block_on(Server::new(card, agent).store(Memory::new()).bind("127.0.0.1:0")).unwrap();
        Self { _runtime: runtime, running }
    }

    fn url(&self) -> &str {
        self.running.url()
    }
}

fn started(sandbox: &Sandbox, arguments: &[&str]) -> Child {
    sandbox.command(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for a line of stderr, interrupts the command, and gives what it said in the end.
fn interrupted(mut child: Child, awaited: &str) -> Ran {
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut seen = String::new();
    while !seen.contains(awaited) {
        assert!(lines.read_line(&mut seen).unwrap() > 0, "{awaited:?} is not said: {seen}");
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    Ran { code: output.status.code().unwrap_or(-1), out: String::from_utf8(output.stdout).unwrap(), err: seen }
}

/// No rule says how fast an agent must be: what does not come within `--timeout` is not tested, unless it is to count.
#[test]
fn a_slow_agent_breaks_no_rule() {
    let (sandbox, agent) = (Sandbox::new(), Sleeper::new());
    let arguments = ["conformance", "-a", agent.url(), "--transport", "jsonrpc", "--only", "V10-SEND-00*", "--timeout", "300ms"];
    let ran = sandbox.run(&arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains(": no answer within 300 ms\n"), "{}", ran.out);
    assert!(field(&ran.out, "Verdict").contains(" ran out of time") && !ran.out.contains("Failed: "), "{}", ran.out);
    assert!(ran.err.contains("a longer --timeout waits for it"), "{ran:?}");
    let report: Value = serde_json::from_str(&sandbox.run(&[&arguments[..], &["-o", "json"]].concat()).out).unwrap();
    assert!(report["late"].as_u64().unwrap() > 0 && report["complete"] == true && report["failed"] == 0, "{report}");
    let ran = sandbox.run(&[&arguments[..], &["--on-timeout", "fail"]].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("Failed: V10-SEND-001 must"), "{}", ran.out);
}

/// Over gRPC too, and in streams that do not go on.
#[test]
fn a_stream_that_does_not_go_on_in_time_breaks_no_rule() {
    let (sandbox, agent) = (Sandbox::new(), Sleeper::new());
    for transport in ["grpc", "rest"] {
        let arguments = ["conformance", "-a", agent.url(), "--transport", transport, "--timeout", "300ms", "-o", "json"];
        let ran = sandbox.run(&[&arguments[..], &["--only", "V10-STREAM-00*", "--only", "V10-SUB-00*", "--only", "V10-EVT-*"]].concat());
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((ran.code, report["failed"].as_u64()), (0, Some(0)), "{transport} {report:#}");
        assert!(report["late"].as_u64().unwrap() > 3, "{transport} {report:#}");
    }
}

/// Without a terminal there is a plain line now and then, and Ctrl-C prints what was found until then.
#[test]
fn whoever_stops_the_checks_has_the_report_so_far() {
    let (sandbox, agent) = (Sandbox::new(), Sleeper::new());
    let arguments = ["conformance", "-a", agent.url(), "--transport", "jsonrpc", "--report", "so-far.json"];
    let ran = interrupted(started(&sandbox, &arguments), " V10-SEND-001 JSONRPC: ");
    assert_eq!(ran.code, 130, "{ran:?}");
    assert!(ran.err.contains(" of ") && !ran.err.contains('\x1b'), "{ran:?}");
    assert!(field(&ran.out, "Verdict").starts_with("stopped after "), "{}", ran.out);
    assert!(ran.out.contains("Agent: Sleeper ") && ran.out.contains(": the run was stopped before\n"), "{}", ran.out);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(sandbox.work("so-far.json")).unwrap()).unwrap();
    assert!(report["complete"] == false && report["passed"].as_u64().unwrap() > 0, "{report}");
}

/// At a terminal one line moves and is gone before the report; nothing moves in quiet.
#[test]
fn a_terminal_shows_how_far_the_checks_are() {
    let (sandbox, agent) = (Sandbox::new(), Sleeper::new());
    let line = format!("a2a conformance -a {} --transport rest", agent.url());
    let mut terminal = Terminal::new(&sandbox, &line, &[("CI", "")]);
    terminal.until(" V10-SEND-001 HTTP+JSON: ");
    terminal.press("\x03");
    terminal.until("\r\x1b[KAgent: Sleeper ");
    terminal.until("Verdict: stopped after ");
    assert_eq!(terminal.end().0, 130);
    let ran = sandbox.run(&["conformance", "-q", "--self-test", "--only", "V10-CARD-007"]);
    assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
}

#[test]
fn whoever_stops_a_bench_has_its_figures() {
    let sandbox = Sandbox::new();
    let arguments = ["bench", "--scenario", "get", "-u", "1", "--rate", "20", "-d", "10m", "--warmup", "0"];
    let ran = interrupted(started(&sandbox, &arguments), " calls (");
    assert_eq!(ran.code, 130, "{ran:?}");
    assert!(ran.out.contains("Stopped: after ") && ran.out.contains("Latency: p50 "), "{}", ran.out);
    let requests: u64 = field(&ran.out, "Requests").split(' ').next().unwrap().parse().unwrap();
    assert!((10..200).contains(&requests), "{}", ran.out);
    let mut terminal = Terminal::new(&sandbox, "a2a bench --scenario get -u 2 -n 100000000 --warmup 0 -o json", &[("CI", "")]);
    terminal.until(" of 100000000 calls in ");
    terminal.press("\x03");
    terminal.until("\"stopped\": true");
    assert_eq!(terminal.end().0, 130);
}

/// `--timeout` is for each call, whatever the length of the run.
#[test]
fn a_call_of_a_bench_ends_with_its_timeout() {
    let (sandbox, agent) = (Sandbox::new(), Sleeper::new());
    let ran = ended(started(&sandbox, &["bench", "-a", agent.url(), "-n", "2", "-u", "2", "--warmup", "0", "--timeout", "300ms"]));
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("Requests: 2 (") && ran.out.contains("errors 2\n"), "{ran:?}");
}
