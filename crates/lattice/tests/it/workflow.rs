//! Workflows, checked before they run.

use std::{collections::BTreeMap, fmt::Write as _};

use chancery_core::{Card, Extension, Timestamp, extension};
use chancery_lattice::{Code, Known, Report, Trust, Workflow};
use serde_json::json;

const REFUNDS: &str = r#"
[workflow]
name  = "refunds"
start = ["triage"]

[workflow.scope]
skills = ["triage", "refund", "invoice.*"]
scopes = ["order:read", "refund:write"]
hops   = 3

[[agent]]
id    = "triage"
card  = "cards/triage.json"
allow = { skills = ["triage"] }

[[agent]]
id  = "billing"
url = "https://billing.example.com"

[[edge]]
from = "triage"
to   = "billing"
kind = "handoff"
requires = ["refund"]
grant = { skills = ["refund"], scopes = ["refund:write"] }
on_violation = "fail"
"#;

type Found = (String, Result<Known, String>);

fn known(id: &str, skills: &[&str]) -> Found {
    let card = Card::new(id, "An agent").takes(["text/plain"]).gives(["text/plain"]).extension(Extension::new(extension::HANDOFF));
    let card = skills.iter().fold(card, |card, skill| card.skill(*skill, "Does it"));
    (id.to_owned(), Ok(Known::new(card, format!("https://{id}.example.com")).trust(Trust::Verified)))
}

fn check(file: &str, cards: impl IntoIterator<Item = Found>) -> Report {
    Workflow::parse(file).unwrap().check(&cards.into_iter().collect::<BTreeMap<_, _>>(), Timestamp::EPOCH)
}

fn codes(report: &Report) -> Vec<Code> {
    report.findings.iter().map(|finding| finding.code).collect()
}

fn refunds() -> Report {
    check(REFUNDS, [known("triage", &["triage"]), known("billing", &["refund", "invoice.create"])])
}

/// LA-40, LA-43: the example of the specification holds, and is written in a stable order.
#[test]
fn a_good_workflow_has_no_findings() {
    let report = refunds();
    assert_eq!(report.findings, []);
    assert!(report.is_good());
    let json = serde_json::to_value(&report).unwrap();
    let edge = json!({
        "from": "triage", "to": "billing", "kind": "handoff", "required": ["refund"],
        "effective": ["invoice.create", "refund"], "ok": true,
    });
    assert_eq!(json["edges"], json!([edge]));
    assert_eq!(json["agents"][1]["reaches"], json!([{"skills": ["refund"], "scopes": ["refund:write"], "hops": 2}]));
    assert_eq!(json["workflow"], "refunds");
}

/// LA-44
#[test]
fn a_workflow_has_its_picture() {
    let report = refunds();
    let mermaid = "flowchart LR\n  triage[\"triage<br/>triage\"] ==>|handoff: refund| billing[\"billing<br/>refund, invoice.create\"]\n";
    assert_eq!(report.to_mermaid(), mermaid);
    assert!(report.to_dot().contains("\"triage\" -> \"billing\" [label=\"handoff: refund\"];"), "{}", report.to_dot());
    let svg = report.to_svg();
    assert_eq!(svg.matches("<rect").count(), 2);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("stroke=\"#c00\""), "{svg}");
}

/// LA-22, LA-41: a way that is not allowed names its path and what is missing, and the picture shows it in red.
#[test]
fn a_way_that_breaks_the_scope_is_found_with_its_path() {
    let file = r#"
        edges = [
            { from = "triage", to = "billing", kind = "handoff", needs = ["refund"], grant = { skills = ["refund", "read"] } },
            { from = "billing", to = "ledger", kind = "delegate", needs = ["write"] },
        ]
        [agent.triage]
        card = "triage.json"
        scope = { skills = ["triage", "lookup", "refund", "read", "write"] }
        [agent.billing]
        card = "billing.json"
        [agent.ledger]
        card = "ledger.json"
    "#;
    let report = check(file, [known("triage", &["triage"]), known("billing", &["lookup", "refund"]), known("ledger", &["read", "write"])]);
    assert_eq!(codes(&report), [Code::E01, Code::W01]);
    let finding = &report.findings[0];
    assert_eq!(finding.path, ["triage", "billing", "ledger"]);
    assert_eq!(finding.message, "ledger offers write, but billing may not pass it on, on the path triage -> billing -> ledger");
    let violation = serde_json::to_value(&report.edges[1].violation).unwrap();
    assert_eq!(violation["missing"], json!([{"skill": "write", "why": "skill_out_of_scope"}]));
    assert_eq!((&violation["allowed"], &violation["edge"]), (&json!(["read"]), &json!("billing->ledger")));
    assert!(!report.is_good() && report.edges[0].ok && !report.edges[1].ok);
    assert!(report.to_mermaid().contains("-.->|delegate: write E01|") && report.to_mermaid().contains("linkStyle 1 stroke:red"));
    assert!(report.to_svg().contains("stroke=\"#c00\"") && report.to_dot().contains("color=red"));
}

/// LA-41, LA-42: every finding, from a file that has it.
#[test]
fn every_finding_is_found() {
    let two = |more: &str| {
        format!("[workflow]\nname = \"w\"\nstart = [\"a\"]\nscope = {{ hops = 3 }}\n[[agent]]\nid = \"a\"\n[[agent]]\nid = \"b\"\n{more}")
    };
    let edge = |from: &str, to: &str, more: &str| format!("[[edge]]\nfrom = \"{from}\"\nto = \"{to}\"\nkind = \"handoff\"\n{more}\n");
    let both = || vec![known("a", &["x"]), known("b", &["y"])];
    let strange = Card::new("b", "An agent").skill("y", "Does it").takes(["image/png"]).gives(["text/plain"]);
    let strange = ("b".to_owned(), Ok(Known::new(strange, "https://b.example.com")));
    let barred = || known("b", &["y"]).1.map(|known| known.callable(false));
    let round = two(&(edge("a", "b", "") + &edge("b", "a", "")));
    let plain = two(&edge("a", "b", ""));
    let cases = [
        (plain.clone(), both(), vec![]),
        (two(&edge("a", "b", "requires = [\"nothing\"]")), both(), vec![Code::E04, Code::W01]),
        (two(&edge("a", "c", "")), both(), vec![Code::E03, Code::W01]),
        (plain.clone(), vec![known("a", &["x"])], vec![Code::E05]),
        (plain.replace("id = \"b\"", "id = \"b\"\nallow = { skills = [\"z\"] }"), both(), vec![Code::E02]),
        (round.clone(), both(), vec![Code::W02]),
        (round.replace("scope = { hops = 3 }", ""), both(), vec![Code::E06]),
        (two(&edge("a", "b", "grant = { scopes = [\"more\"] }")).replace("hops = 3", "scopes = [\"less\"]"), both(), vec![Code::W06]),
        (plain.clone(), vec![known("a", &["x"]), known("b", &["x"])], vec![Code::W07]),
        (plain.clone(), vec![known("a", &["x"]), strange], vec![Code::W03, Code::W04, Code::W08]),
        (plain.clone(), vec![known("a", &["x"]), ("b".to_owned(), barred())], vec![Code::W05]),
        (plain.replace("hops = 3", "hops = 0"), both(), vec![Code::E01, Code::W01]),
    ];
    for (file, cards, expected) in cases {
        assert_eq!(codes(&check(&file, cards)), expected, "{file}");
    }
}

/// LA-41 (E05): what cannot be checked for want of a card says so, and is no violation; nor is it said that nothing leads to what lies behind.
#[test]
fn a_missing_card_is_the_cause_of_what_cannot_be_checked() {
    let file = "[[agent]]\nid = \"a\"\n[[agent]]\nid = \"b\"\n[[agent]]\nid = \"c\"\n[[edge]]\nfrom = \"a\"\nto = \"b\"\nkind = \"handoff\"\n\
                [[edge]]\nfrom = \"b\"\nto = \"c\"\nkind = \"delegate\"\n";
    let missing = ("b".to_owned(), Err("https://b.example.com: nobody answers".to_owned()));
    let report = check(file, [known("a", &["x"]), missing, known("c", &["z"])]);
    assert_eq!(codes(&report), [Code::E05]);
    assert_eq!(report.findings[0].message, "there is no card of b: https://b.example.com: nobody answers");
    for edge in &report.edges {
        assert_eq!((edge.ok, edge.violation.is_none(), edge.unchecked.as_deref()), (false, true, Some("there is no card of b")));
    }
}

/// LA-40: a graph with very many scopes ends, says that it took them together, and still finds what is wrong.
#[test]
fn many_scopes_at_one_agent_are_taken_together() {
    let mut file =
        "[workflow]\nname = \"wide\"\nstart = [\"hub\"]\nscope = { hops = 4 }\n[[agent]]\nid = \"hub\"\n[[agent]]\nid = \"end\"\n"
            .to_owned();
    let mut cards = vec![known("hub", &["h"]), known("end", &["e"])];
    for number in 0..70 {
        let id = format!("m{number}");
        write!(file, "[[agent]]\nid = \"{id}\"\n[[edge]]\nfrom = \"hub\"\nto = \"{id}\"\nkind = \"delegate\"\n").unwrap();
        writeln!(file, "grant = {{ skills = [\"e\", \"s{number}\"] }}").unwrap();
        write!(file, "[[edge]]\nfrom = \"{id}\"\nto = \"end\"\nkind = \"delegate\"\n").unwrap();
        cards.push(known(&id, &[&format!("s{number}")]));
    }
    assert_eq!(codes(&check(&file, cards.clone())), [Code::W09]);
    let wrong = file.replacen("grant = { skills = [\"e\", \"s0\"] }", "grant = { skills = [\"s0\"] }", 1);
    assert_eq!(codes(&check(&wrong, cards)), [Code::E01, Code::W09]);
}

#[test]
fn a_file_that_is_no_workflow_says_what_is_wrong() {
    let twice = Workflow::parse("[[agent]]\nid = \"a\"\n[[agent]]\nid = \"a\"").unwrap_err();
    assert_eq!((twice.line(), twice.message()), (Some(4), "two agents are called \"a\""));
    assert_eq!(Workflow::parse("").unwrap_err().line(), None);
    for wrong in ["agent = 3", "[[agent]]\nid = \"a\"\nnmae = 1", "[workflow]\nscope = { skills = [\"a*b\"] }\n[[agent]]\nid = \"a\"", "["]
    {
        assert!(Workflow::parse(wrong).unwrap_err().span().is_some(), "{wrong}");
    }
}
