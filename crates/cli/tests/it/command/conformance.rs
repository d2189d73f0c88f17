//! `a2a conformance`.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::Stdio,
};

use serde_json::Value;

use super::Sandbox;

const BEGIN: &str = "<!-- requirements: begin -->\n";
const END: &str = "<!-- requirements: end -->\n";

/// The program is checked by itself: the official report is whole, and says what `docs/cli.md` says.
#[test]
fn the_program_checks_itself_and_writes_the_official_report() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["conformance", "--cli", "--report", "report.yaml", "--report", "report.json", "-o", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let shown: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(shown["failed"], 0, "{shown}");
    let report: Value = serde_saphyr::from_str(&std::fs::read_to_string(sandbox.work("report.yaml")).unwrap()).unwrap();
    for part in ["report", "summary", "requirements", "default_001_breakdown", "error_codes", "attestation"] {
        assert!(report[part].is_object(), "{part}");
    }
    assert_eq!(report["default_001_breakdown"].as_object().unwrap().len(), 6);
    assert_eq!(report["error_codes"]["A2ACLI_ERR_TIMEOUT"]["status"], "pass");
    let requirements = report["requirements"].as_object().unwrap();
    let rules = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli-rules.txt")).unwrap();
    let rules: Vec<_> =
        rules.lines().filter(|line| line.starts_with("A2ACLI_")).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(requirements.keys().map(String::as_str).collect::<Vec<_>>(), rules);
    let mut table = "| requirement | tier | status | note |\n|---|---|---|---|\n".to_owned();
    for (id, row) in requirements {
        let (status, note) = (row["status"].as_str().unwrap(), row["note"].as_str().unwrap());
        assert!(["pass", "partial", "fail", "not_measured", "na", "withdrawn"].contains(&status), "{id} {status}");
        assert!((status == "pass") == note.is_empty(), "{id} {row}");
        assert!(row["tier"].is_u64() && row["area"].is_string() && row["spec"].is_string() && row["requirement"].is_string(), "{id} {row}");
        assert!(status != "pass" || !row["evidence"].as_array().unwrap().is_empty(), "{id} {row}");
        table.push_str(&format!("| {id} | {} | {status} | {note} |\n", row["tier"]));
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (current, after) = rest.split_once(END).unwrap();
    if std::env::var_os("CHANCERY_BLESS").is_some() {
        std::fs::write(page, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert!(current == table, "docs/cli.md is out of date: CHANCERY_BLESS=1 cargo test -p chancery-cli --test it command::conformance");
    }
}

/// A2ACLI_CONFORM_001: the demo keeps the rules over every interface, and what was not tested is told apart.
#[test]
fn an_agent_is_checked_over_every_interface() {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["conformance", "--suite", "tck", "-o", "json"];
    for report in ["r.json", "r.xml", "r.html", "r.md", "r.yaml"] {
        arguments.extend(["--report", report]);
    }
    let ran = sandbox.run(&arguments);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let broken: Vec<_> = report["findings"].as_array().unwrap().iter().filter(|one| one["status"] == "failed").collect();
    assert_eq!((ran.code, report["conformant"].as_bool()), (0, Some(true)), "{broken:?}");
    assert!(report["passed"].as_u64().unwrap() > 150 && report["notTested"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report["interfaces"], serde_json::json!(["JSONRPC 1.0", "HTTP+JSON 1.0", "GRPC 1.0"]));
    let rules = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.txt")).unwrap();
    for finding in report["findings"].as_array().unwrap() {
        let id = finding["id"].as_str().unwrap();
        assert!(id.ends_with('*') || rules.lines().any(|line| line.split_whitespace().next() == Some(id)), "{id} is no rule");
        assert!(id.ends_with('*') || !finding["tck"].as_array().unwrap().is_empty(), "{finding}");
        assert!((finding["status"] == "passed") == finding["note"].as_str().unwrap().is_empty(), "{finding}");
    }
    let read = |name: &str| std::fs::read_to_string(sandbox.work(name)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read("r.json")).unwrap(), report);
    let yaml: Value = serde_saphyr::from_str(&read("r.yaml")).unwrap();
    assert_eq!(yaml["findings"].as_array().unwrap().len(), report["findings"].as_array().unwrap().len());
    let tests = format!("tests=\"{}\" failures=\"0\"", report["findings"].as_array().unwrap().len());
    assert!(read("r.xml").contains(&tests) && read("r.xml").contains("<skipped message="), "{}", read("r.xml"));
    assert!(read("r.html").contains("<h1>Conformance of Demo ") && read("r.md").contains("| V10-GET-002 | must | GRPC |"));
}

/// What breaks a rule is told, by its rule and its place, and counts as `--fail-on` says.
#[test]
fn a_broken_rule_is_told_and_counts_as_wanted() {
    let sandbox = Sandbox::new();
    let mut card = sandbox.json(&["card", "get"]);
    card["version"] = "".into();
    std::fs::write(sandbox.work("bad.json"), card.to_string()).unwrap();
    let ran = sandbox.run(&["conformance", "-a", "./bad.json", "--only", "V10-CARD-00*"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("Failed: V10-CARD-007 must (TCK CARD-STRUCT-001): /version "), "{}", ran.out);
    assert!(ran.out.contains("Verdict: not conformant (1 must failed)\n"), "{}", ran.out);
    assert!(ran.err.contains("error: A2AX_ERR_CHECKS_FAILED"), "{ran:?}");
    sandbox.ok(&["conformance", "-a", "./bad.json", "--only", "V10-CARD-00*", "--fail-on", "never"]);
    sandbox.ok(&["conformance", "-a", "./bad.json", "--only", "V10-CARD-00*", "--skip", "V10-CARD-007"]);
}

/// Without tasks nothing is made; an interface can be chosen, and a list is only a list.
#[test]
fn checks_can_be_chosen_listed_and_explained() {
    let sandbox = Sandbox::new();
    let report = sandbox.json(&["conformance", "--read-only", "--transport", "rest", "--level", "must"]);
    assert_eq!(report["interfaces"], serde_json::json!(["HTTP+JSON 1.0"]));
    assert_eq!(sandbox.json(&["task", "list"])["totalSize"], 0, "a check made a task");
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.iter().all(|one| one["level"] == "must" && (one["place"] == "HTTP+JSON" || one["place"] == "")), "{report}");
    assert!(findings.iter().any(|one| one["status"] == "passed") && findings.iter().any(|one| one["note"] == "it makes a task"));
    let checks = sandbox.json(&["conformance", "--list"])["checks"].as_array().unwrap().len();
    let official = sandbox.json(&["conformance", "--list", "--suite", "tck"])["checks"].as_array().unwrap().len();
    assert!(checks >= 100 && official >= 70 && official < checks, "{checks} {official}");
    assert_eq!(sandbox.json(&["conformance", "--cli", "--list"])["checks"].as_array().unwrap().len(), 66);
    let out = sandbox.ok(&["conformance", "--explain", "CORE-GET-002"]);
    assert!(out.starts_with("Check: V10-GET-002\nTCK: CORE-GET-002\nLevel: must\n"), "{out}");
    assert_eq!(sandbox.run(&["conformance", "--explain", "V10-NONE-001"]).code, 2);
    assert_eq!(sandbox.run(&["conformance", "--report", "x.pdf"]).code, 2);
    let ran = sandbox.run(&["conformance", "--suite", "acts"]);
    assert!(ran.code == 1 && ran.err.contains("the suite acts is not built yet"), "{ran:?}");
    assert_eq!(sandbox.run(&["conformance", "-a", "localhost:1"]).code, 3);
}

/// The checks find what they are there for.
#[test]
fn built_in_faults_are_found() {
    let ran = Sandbox::new().run(&["conformance", "--self-test"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("Verdict: every fault was found\n") && ran.out.contains("Result: 23 passed, 0 failed"), "{ran:?}");
}

/// The servers of SDKs that do what the demo does: a name, and what starts one.
const OTHERS: [(&str, &str, &[&str]); 2] =
    [("py-1.3.0", "py-1.3.0/bin/python", &["-I", "demo.py"]), ("js-1.3.0", "node", &["demo.mjs", "js-1.3.0"])];

/// Rows that go wrong because of the server: which, a piece of what is said of it, and why it is the server's.
const DEFECTS: [(&str, &str, &str, &str); 1] = [(
    "js-1.3.0",
    "A2ACLI_CONFORM_001",
    "does not end within 30 s",
    "The row wants an agent that keeps the rules, and this one breaks some (a message without a role is accepted, V10-ERR-008; version 1.0.7 \
     is refused, V10-VER-005; an empty batch is no invalid request, V10-RPC-001); the checks wait for what it never answers.",
)];

/// The program keeps its requirements with servers that are not ours too. `CHANCERY_SDKS` names the folder that `tests/sdk/install` fills;
/// without it nothing is tested.
#[test]
fn the_program_checks_itself_on_the_servers_of_sdks() {
    let Some(sdks) = std::env::var_os("CHANCERY_SDKS").filter(|folder| !folder.is_empty()) else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sdks = root.join(sdks);
    let (mut table, mut flaws) = ("| requirement | py-1.3.0 | js-1.3.0 |\n|---|---|---|\n".to_owned(), Vec::new());
    let found: Vec<_> = OTHERS.iter().map(|other| on_server_of(&root, &sdks, other)).collect();
    for (at, finding) in found[0].iter().enumerate() {
        table.push_str(&format!("| {} ", finding["id"].as_str().unwrap()));
        for (found, (sdk, ..)) in found.iter().zip(OTHERS) {
            let (id, status, note) = (&found[at]["id"], &found[at]["status"], found[at]["note"].as_str().unwrap());
            let known = DEFECTS.iter().position(|defect| defect.0 == sdk && *id == defect.1);
            let cell = match (status == "passed", known) {
                (true, None) => "ok".to_owned(),
                (false, Some(number)) if note.contains(DEFECTS[number].2) => format!("({})", number + 1),
                _ => {
                    flaws.push(format!("{sdk} {id} {status}: {note}"));
                    "WRONG".to_owned()
                }
            };
            table.push_str(&format!("| {cell} "));
        }
        table.push_str("|\n");
    }
    table.push('\n');
    for (number, (sdk, id, shows, why)) in DEFECTS.iter().enumerate() {
        table.push_str(&format!("{}. {sdk}, {id}: {why} Seen: `{shows}`.\n", number + 1));
    }
    assert!(flaws.is_empty(), "\n{table}\n{}", flaws.join("\n"));
    // The harness keeps what is printed to itself.
    std::io::stderr().write_all(format!("\n{table}").as_bytes()).unwrap();
    kept(&root.join("docs/interop.md"), &table);
}

/// What the program finds out about itself on the server of an SDK.
fn on_server_of(root: &Path, sdks: &Path, (sdk, program, arguments): &(&str, &str, &[&str])) -> Vec<Value> {
    let (program, scripts) = (if *program == "node" { (*program).into() } else { sdks.join(program) }, root.join("tests/sdk"));
    let mut command = std::process::Command::new(program);
    // A folder of an SDK is absolute; what else is named is a script, or a flag.
    command.args(arguments.iter().map(|argument| if argument == sdk { sdks.join(sdk).into_os_string() } else { argument.into() }));
    let mut server = command.current_dir(scripts).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{sdk} is not ready ({error}); run tests/sdk/install"));
    let ran = Sandbox::new().run(&["conformance", "--cli", "-a", ready["url"].as_str().unwrap(), "-o", "json"]);
    // It ends with its input.
    drop(server.stdin.take());
    server.wait().unwrap();
    let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{sdk}: {error}: {ran:?}"));
    report["findings"].as_array().unwrap().clone()
}

/// Compares a table with the one in the file, or writes that anew.
fn kept(page: &Path, table: &str) {
    let text = std::fs::read_to_string(page).unwrap();
    let (begin, end) = ("<!-- command line: written by a test -->\n", "<!-- end of command line -->");
    let (before, rest) = text.split_once(begin).unwrap();
    let (current, after) = rest.split_once(end).unwrap();
    if std::env::var_os("CHANCERY_BLESS").is_some() {
        std::fs::write(page, format!("{before}{begin}{table}{end}{after}")).unwrap();
    } else {
        assert!(
            current == table,
            "docs/interop.md is out of date: CHANCERY_BLESS=1 CHANCERY_SDKS=<folder> cargo test -p chancery-cli --test it command::conformance"
        );
    }
}
