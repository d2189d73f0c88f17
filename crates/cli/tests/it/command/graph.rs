//! `a2a graph`: workflows from files, checked and drawn.

use serde_json::json;

use super::Sandbox;

const FLOW: &str = r#"
[workflow]
name = "refunds"
start = ["triage"]
scope = { skills = ["triage", "refund", "read"], hops = 3 }

[[agent]]
id = "triage"
card = "cards/triage.json"

[[agent]]
id = "billing"
card = "cards/billing.json"

[[agent]]
id = "ledger"
card = "cards/ledger.json"

[[edge]]
from = "triage"
to = "billing"
kind = "handoff"
requires = ["refund"]
grant = { skills = ["refund", "read"] }

[[edge]]
from = "billing"
to = "ledger"
kind = "delegate"
requires = ["write"]
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.home.path("work/cards")).unwrap();
    for (name, skills) in [("triage", ["triage"].as_slice()), ("billing", &["lookup", "refund"]), ("ledger", &["read", "write"])] {
        let skills: Vec<_> = skills.iter().map(|id| json!({"id": id, "name": id, "description": "Does it", "tags": []})).collect();
        let card = json!({
            "name": name, "description": "An agent", "version": "1", "capabilities": {},
            "supportedInterfaces": [{"url": format!("https://{name}.example.com"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": skills,
        });
        std::fs::write(sandbox.home.path(&format!("work/cards/{name}.json")), card.to_string()).unwrap();
    }
    std::fs::write(sandbox.home.path("work/flow.toml"), FLOW).unwrap();
    std::fs::write(sandbox.home.path("work/good.toml"), FLOW.replace("write", "read")).unwrap();
    sandbox
}

/// LA-41, LA-43
#[test]
fn a_workflow_that_breaks_its_scope_ends_with_1_and_says_where() {
    let sandbox = sandbox();
    let ran = sandbox.run(&["graph", "check", "flow.toml"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("Edge: triage -> billing handoff ok (needs refund; allowed refund)\n"), "{}", ran.out);
    assert!(ran.out.contains("Edge: billing -> ledger delegate violation (needs write; allowed read)\n"), "{}", ran.out);
    assert!(ran.out.contains("Error: E01 billing->ledger: ledger offers write"), "{}", ran.out);
    assert!(ran.out.ends_with("Verdict: 1 of 2 edges breaks the scope\n"), "{}", ran.out);
    assert!(ran.err.contains("A2AX_ERR_SCOPE"), "{}", ran.err);
    let good = sandbox.ok(&["graph", "check", "good.toml", "--offline"]);
    assert!(good.ends_with("Verdict: all 2 edges are within their scope\n"), "{good}");
    let report = sandbox.json(&["graph", "check", "good.toml"]);
    assert_eq!((&report["workflow"], &report["edges"][1]["ok"]), (&json!("refunds"), &json!(true)));
}

/// LA-42 (W05): an agent that takes none of the credentials that are configured here is told of before it is called.
#[test]
fn a_workflow_is_warned_of_agents_that_take_no_credential_of_ours() {
    let sandbox = sandbox();
    let path = sandbox.home.path("work/cards/billing.json");
    let mut card: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    card["securitySchemes"] = json!({"token": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
    card["securityRequirements"] = json!([{"schemes": {"token": {"list": []}}}]);
    std::fs::write(&path, card.to_string()).unwrap();
    let warned = |more: &[&str]| sandbox.ok(&[&["graph", "check", "good.toml", "--offline"], more].concat());
    let words = "Warning: W05 triage->billing: no credential is configured that billing would take\n";
    assert!(warned(&[]).contains(words) && warned(&["--api-key", "k"]).contains(words), "{}", warned(&[]));
    assert!(!warned(&["--bearer", "t"]).contains("W05"));
}

/// LA-44
#[test]
fn a_workflow_is_drawn_in_every_form() {
    let sandbox = sandbox();
    assert!(sandbox.ok(&["graph", "show", "flow.toml", "--format", "mermaid"]).starts_with("flowchart LR\n"));
    assert!(sandbox.ok(&["graph", "show", "flow.toml", "--format", "dot"]).contains("color=red"));
    assert!(sandbox.ok(&["graph", "show", "flow.toml"]).contains("Verdict: "));
    assert_eq!(sandbox.ok(&["graph", "show", "flow.toml", "--format", "svg", "--out", "flow.svg"]), "");
    let svg = std::fs::read_to_string(sandbox.home.path("work/flow.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("stroke-dasharray"), "{svg}");
}

#[test]
fn cards_come_from_running_agents_and_scopes_from_files() {
    let sandbox = sandbox();
    let flow = format!(
        "[agent.demo]\ncard = \"{}\"\n[agent.ledger]\ncard = \"cards/ledger.json\"\n[[edge]]\nfrom = \"demo\"\nto = \"ledger\"\nkind = \"delegate\"\nrequires = [\"read\"]\n",
        sandbox.at("")
    );
    std::fs::write(sandbox.home.path("work/live.toml"), flow).unwrap();
    sandbox.ok(&["graph", "check", "live.toml"]);
    let offline = sandbox.run(&["graph", "check", "live.toml", "--offline"]);
    assert!(offline.code == 1 && offline.out.contains("E05 demo"), "{offline:?}");
    std::fs::write(sandbox.home.path("work/scope.json"), r#"{"skills": ["write"]}"#).unwrap();
    let narrow = sandbox.run(&["graph", "check", "live.toml", "--scope-from", "scope.json"]);
    assert!(narrow.code == 1 && narrow.out.contains("E01 demo->ledger"), "{narrow:?}");
    let wrong = sandbox.run(&["graph", "check", "scope.json"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

/// What is wrong in a workflow file is said as in a2a.toml: the line, what is wrong, what is allowed, and not in a parser's words.
#[test]
fn a_wrong_workflow_says_its_line_and_what_is_allowed() {
    let sandbox = sandbox();
    for (right, wrong, message, hint) in [
        (
            "kind = \"handoff\"",
            "kind = \"handof\"",
            "  wrong.toml:22:8: kind of [[edge]] cannot be \"handof\"\n     |\n  22 | kind = \"handof\"\n     |        ^^^^^^^^\n",
            "did you mean \"handoff\"? It may be handoff, delegate, delegation",
        ),
        ("from = \"triage\"\n", "", "  wrong.toml:19:1: [[edge]] has no from\n", "write from = \"ID\""),
        (
            "id = \"triage\"",
            "name = \"triage\"",
            "  wrong.toml:8:1: [[agent]] has no key \"name\"\n",
            "it may be id, card, url, allow, scope",
        ),
        ("requires = [\"refund\"]", "requires = \"refund\"", "must be a list of strings, not a string\n", "write [\"refund\"]"),
        ("[[agent]]", "[agents]", "", ""),
    ] {
        std::fs::write(sandbox.home.path("work/wrong.toml"), FLOW.replacen(right, wrong, 1)).unwrap();
        let ran = sandbox.run(&["graph", "check", "wrong.toml"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains(message) && ran.err.contains(&format!("Hint: {hint}")), "{ran:?}");
        for word in ["missing field", "unknown field", "unknown variant", "expected struct", "untagged", "invalid type"] {
            assert!(!ran.err.contains(word), "{ran:?}");
        }
    }
    std::fs::write(sandbox.home.path("work/scope.json"), r#"{"skils": ["write"]}"#).unwrap();
    let ran = sandbox.run(&["graph", "check", "good.toml", "--scope-from", "scope.json"]);
    assert!(ran.code == 2 && ran.err.contains("the scope has no key \"skils\"; it may be skills, "), "{ran:?}");
}

/// LA-41 (E05): a card that cannot be reached is the cause, and no edge is said to break the scope.
#[test]
fn a_card_that_cannot_be_reached_is_named_as_the_cause() {
    let sandbox = sandbox();
    let flow = FLOW.replacen("card = \"cards/billing.json\"", "url = \"http://localhost:1\"", 1);
    std::fs::write(sandbox.home.path("work/far.toml"), flow).unwrap();
    let ran = sandbox.run(&["graph", "check", "far.toml"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("Edge: triage -> billing handoff not checked (there is no card of billing)\n"), "{}", ran.out);
    assert!(ran.out.contains("Error: E05 billing: there is no card of billing: http://localhost:1: "), "{}", ran.out);
    assert!(ran.out.ends_with("Verdict: 2 of 2 edges cannot be checked without the cards\n"), "{}", ran.out);
    assert!(ran.err.starts_with("error: A2ACLI_ERR_UNREACHABLE: there is no card of billing: http://localhost:1: "), "{ran:?}");
}
