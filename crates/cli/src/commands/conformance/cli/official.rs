//! The report in the form of the official template.

use std::{collections::BTreeSet, time::Duration};

use chancery_engine::clock::{Clock as _, SystemClock};
use serde_json::{Map, Value, json};

use super::table::Row;

/// What came of a requirement, in the words of the template.
#[derive(Debug, Clone)]
pub(in super::super) struct Outcome {
    pub(in super::super) status: &'static str,
    pub(in super::super) note: String,
    pub(in super::super) evidence: Vec<String>,
}

/// A code of an error, and the exit code that goes with it.
const CODES: [(&str, i32); 24] = [
    ("TaskNotFoundError", 1),
    ("TaskNotCancelableError", 1),
    ("PushNotificationNotSupportedError", 1),
    ("UnsupportedOperationError", 1),
    ("ContentTypeNotSupportedError", 1),
    ("InvalidAgentResponseError", 1),
    ("ExtendedAgentCardNotConfiguredError", 1),
    ("ExtensionSupportRequiredError", 1),
    ("VersionNotSupportedError", 1),
    ("JSONParseError", 1),
    ("InvalidRequestError", 1),
    ("MethodNotFoundError", 1),
    ("InvalidParamsError", 1),
    ("InternalError", 1),
    ("A2ACLI_ERR_USAGE", 2),
    ("A2ACLI_ERR_CARD_NOT_FOUND", 3),
    ("A2ACLI_ERR_CARD_INVALID", 1),
    ("A2ACLI_ERR_UNREACHABLE", 3),
    ("A2ACLI_ERR_CREDENTIALS_MISSING", 4),
    ("A2ACLI_ERR_AUTH_FAILED", 4),
    ("A2ACLI_ERR_TIMEOUT", 5),
    ("A2ACLI_ERR_INTERNAL", 1),
    ("A2AX_ERR_SIGNATURE", 1),
    ("A2AX_ERR_CHECKS_FAILED", 1),
];

/// The highest tier all of whose rows passed or do not apply; 0 for none.
pub(super) fn tier(rows: &[(&Row, Outcome)]) -> u8 {
    let holds = |tier: u8| {
        rows.iter().filter(|(row, _)| row.tier == tier).all(|(_, outcome)| matches!(outcome.status, "pass" | "na" | "withdrawn"))
    };
    (1..=3).take_while(|tier| holds(*tier)).last().unwrap_or(0)
}

/// The whole document.
pub(super) fn document(
    rows: &[(&Row, Outcome)],
    defaults: &[(&'static str, Outcome)],
    codes: &BTreeSet<(String, i32)>,
    took: Duration,
) -> Value {
    let claimed = tier(rows);
    json!({
        "report": {
            "specification": "A2A CLI specification",
            "specification_version": "0.2",
            "tool": "a2a",
            "tool_version": env!("CARGO_PKG_VERSION"),
            "commit": env!("A2A_COMMIT"),
            "target": env!("A2A_TARGET"),
            "date": SystemClock.now().to_string(),
            "seconds": (took.as_secs_f64() * 10.0).round() / 10.0,
            "method": "a2a conformance --cli: the program is run as a child process against its own demo server",
        },
        "summary": summary(rows, claimed),
        "requirements": rows.iter().map(|(row, outcome)| (row.id.to_owned(), requirement(row, outcome))).collect::<Map<_, _>>(),
        "default_001_breakdown": defaults.iter().map(|(name, outcome)| ((*name).to_owned(), told(outcome))).collect::<Map<_, _>>(),
        "error_codes": CODES.iter().map(|code| (code.0.to_owned(), code_seen(*code, codes))).collect::<Map<_, _>>(),
        "attestation": {
            "claimed_tier": claimed,
            "statement": "Every status was measured by the run that wrote this file; nothing was entered by hand.",
            "by": format!("a2a {}", env!("CARGO_PKG_VERSION")),
        },
    })
}

fn summary(rows: &[(&Row, Outcome)], claimed: u8) -> Value {
    let figures = |tier: Option<u8>| {
        let chosen = || rows.iter().filter(move |(row, _)| tier.is_none_or(|tier| row.tier == tier));
        let count = |word: &str| chosen().filter(|(_, outcome)| outcome.status == word).count();
        json!({
            "total": chosen().count(), "pass": count("pass"), "partial": count("partial"), "fail": count("fail"),
            "not_measured": count("not_measured"), "na": count("na"), "withdrawn": count("withdrawn"),
        })
    };
    json!({"all": figures(None), "tier_1": figures(Some(1)), "tier_2": figures(Some(2)), "tier_3": figures(Some(3)), "claimed_tier": claimed})
}

fn requirement(row: &Row, outcome: &Outcome) -> Value {
    json!({
        "tier": row.tier, "area": row.area(), "spec": "0.2", "requirement": row.requirement, "conditional": row.conditional,
        "status": outcome.status, "note": outcome.note, "evidence": outcome.evidence,
    })
}

fn told(outcome: &Outcome) -> Value {
    json!({"status": outcome.status, "note": outcome.note})
}

/// Whether a code was seen, and always with its exit code.
fn code_seen((code, exit): (&str, i32), seen: &BTreeSet<(String, i32)>) -> Value {
    let exits: Vec<_> = seen.iter().filter(|(name, _)| name == code).map(|(_, exit)| *exit).collect();
    match exits.as_slice() {
        [] => json!({"exit": exit, "status": "not_measured", "note": "no check provokes it"}),
        [only] if *only == exit => json!({"exit": exit, "status": "pass", "note": ""}),
        others => json!({"exit": exit, "status": "fail", "note": format!("it came with the exit codes {others:?}")}),
    }
}
