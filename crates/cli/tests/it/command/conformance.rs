//! `a2a conformance`.

use std::path::Path;

use serde_json::Value;

use super::Desk;

const BEGIN: &str = "<!-- requirements: begin -->\n";
const END: &str = "<!-- requirements: end -->\n";

/// The program is checked by itself: the official report is whole, and says what `docs/cli.md` says.
#[test]
fn the_program_checks_itself_and_writes_the_official_report() {
    let desk = Desk::new();
    let ran = desk.run(&["conformance", "--cli", "--report", "report.yaml", "--report", "report.json", "-o", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let shown: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(shown["failed"], 0, "{shown}");
    let report: Value = serde_saphyr::from_str(&std::fs::read_to_string(desk.work("report.yaml")).unwrap()).unwrap();
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
