//! Scopes that a skill needs: what the cards say of them, who is refused, and what the agent can ask.

use chancery::{
    Auth, Mount, Running, Server,
    auth::{Digest, Holder, Scheme},
};
use chancery_core::{Card, SecurityRequirement, Skill, extension};
use chancery_engine::{Builder, Engine, Failure, Outcome, Turn, store::Memory};
use serde_json::{Value, json};

use super::{CASES, HI, case, heard, keys, send};

const REFUNDS: (&str, &str) = ("authorization", "Bearer of-refunds");
const REPORTS: (&str, &str) = ("authorization", "Bearer of-reports");
const NOTHING: (&str, &str) = ("authorization", "Bearer of-nothing");

/// Says which of its skills the caller may use.
async fn clerk(turn: Turn) -> Result<Outcome, Failure> {
    let may: Vec<_> = ["refund", "report", "greet", "secret", "unknown"].into_iter().filter(|skill| turn.may(skill)).collect();
    Ok(Outcome::message(may.join(",")))
}

fn card() -> Card {
    let mut card = Card::new("Clerk", "Counts money").skill("refund", "Pays back").skill("report", "Counts").push_notifications(true);
    card.capabilities.extended_agent_card = Some(true);
    card
}

fn tokens() -> Scheme {
    let holder = |name: &str| Holder::new(name, Digest::of(format!("of-{name}")));
    let refunds = holder("refunds").scope("refund.write").scope("tasks");
    Scheme::bearer().holder(refunds).holder(holder("reports").scope("report.read").scope("tasks")).holder(holder("nothing"))
}

fn rules() -> Auth {
    let auth = Auth::new().scheme("key", keys()).scheme("bearer", tokens());
    let auth = auth.require(SecurityRequirement::new().and("bearer", ["tasks"])).require(SecurityRequirement::new().and("key", [""; 0]));
    auth.scopes_for_skill("refund", ["refund.write"]).scopes_for_skill("report", ["report.read"])
}

fn engine(card: Card) -> Builder {
    let extended = card.clone().skill("secret", "Only for those who are known");
    Engine::new(card, clerk).extended_card(extended)
}

async fn start(auth: Auth, card: Card) -> Running {
    Server::several().agent("/", engine(card)).auth(auth).store(Memory::new()).bind("127.0.0.1:0").await.unwrap()
}

/// V10-AUTH-004, V10-AUTH-007: an agent whose skills all need scopes has nothing to do for who has none of them, whatever is asked,
/// in every binding and version.
#[tokio::test]
async fn who_may_use_no_skill_is_refused_in_every_binding_and_version() {
    let running = start(rules(), card()).await;
    let (mut refused, mut passed) = (0, 0);
    // Those of v0.3 over gRPC name no task, which is found out first.
    let cases = CASES.iter().filter(|case| !case.name.contains("no ") && !case.name.starts_with("GRPC 0.3"));
    let named = b"\0\0\0\0\x09\x0a\x07tasks/t";
    let named = [
        case("GRPC 0.3 get", "POST", "/a2a.v1.A2AService/GetTask", "", named, false),
        case("GRPC 0.3 subscribe", "POST", "/a2a.v1.A2AService/TaskSubscription", "", named, false),
    ];
    for case in cases.chain(&named) {
        // The key of ada has scopes, and none that a skill needs.
        for (credential, may) in [(REFUNDS, true), (REPORTS, true), (("x-api-key", "key-of-ada"), false)] {
            let answer = case.send(&running, &[credential]).await;
            let denied = match case.is_grpc() {
                true => answer.headers["grpc-status"] == "7",
                // The calls of a batch are refused one by one.
                false => answer.status == 403 || case.name.ends_with("batch") && answer.body.contains("-31403"),
            };
            assert_eq!(denied, !may, "{} {credential:?} {} {}", case.name, answer.status, answer.body);
            if denied {
                let challenge = "Bearer realm=\"agent\", error=\"insufficient_scope\", scope=\"refund.write\"";
                let challenges = if case.name.ends_with("batch") { &[][..] } else { &[challenge] };
                assert_eq!(answer.challenges(), challenges, "{}", case.name);
                refused += 1;
            } else {
                passed += 1;
            }
        }
    }
    println!("{refused} requests refused for want of a skill, {passed} let through");
    assert!(refused >= 25 && passed >= 50, "{refused} {passed}");
    // What the whole agent demands comes first.
    assert_eq!(heard(&running, "/message:send", &[NOTHING]).await, "403");
    assert_eq!(heard(&running, "/message:send", &[]).await, "401");
}

/// V10-AUTH-004: with one skill that is open to everybody, all are let in, and the agent can ask what the caller may use.
#[tokio::test]
async fn an_agent_asks_which_skills_its_caller_may_use() {
    let running = start(rules(), card().skill("greet", "Says hello")).await;
    for (credential, may) in
        [(REFUNDS, "refund,greet,secret"), (REPORTS, "report,greet,secret"), (("x-api-key", "key-of-ada"), "greet,secret")]
    {
        assert_eq!(heard(&running, "/message:send", &[credential]).await, may, "{credential:?}");
    }
    // Nobody was asked, so that nobody may what is demanded.
    let mut card = card();
    card.skills[0].security_requirements.push(SecurityRequirement::new().and("bearer", ["refund.write"]));
    let open = Server::new(card, clerk).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    assert_eq!(heard(&open, "/message:send", &[REFUNDS]).await, "report");
}

/// P10, V10-AUTH-004: the public card says in every form what each skill needs; the extended card shows a caller its own skills.
#[tokio::test]
async fn cards_say_what_skills_need_and_show_callers_their_own() {
    let running = start(rules(), card().skill("greet", "Says hello")).await;
    let public = send(&running, "GET", "/.well-known/agent-card.json", &[("a2a-version", "1.0")], "").await.json();
    let needs = json!([{"schemes": {"bearer": {"list": ["tasks", "refund.write"]}}}, {"schemes": {"key": {"list": ["refund.write"]}}}]);
    assert_eq!(public["skills"][0]["securityRequirements"], needs);
    assert_eq!(public["skills"][2].get("securityRequirements"), None);
    let merged = send(&running, "GET", "/.well-known/agent-card.json", &[], "").await.json();
    assert_eq!(merged["skills"][0]["security"], json!([{"bearer": ["tasks", "refund.write"]}, {"key": ["refund.write"]}]));

    let shown = |card: &Value| card["skills"].as_array().unwrap().iter().map(|skill| skill["id"].clone()).collect::<Vec<_>>();
    for (credential, skills) in [
        (REFUNDS, &["refund", "greet", "secret"][..]),
        (REPORTS, &["report", "greet", "secret"]),
        (("x-api-key", "key-of-ada"), &["greet", "secret"]),
    ] {
        let new = send(&running, "GET", "/extendedAgentCard", &[("a2a-version", "1.0"), credential], "").await.json();
        let old = send(&running, "GET", "/v1/card", &[credential], "").await.json();
        let call = br#"{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}"#.as_slice();
        let headers = [("a2a-version", "1.0"), ("content-type", "application/json"), credential];
        let over_rpc = send(&running, "POST", "/", &headers, call).await.json();
        for card in [&new, &old, &over_rpc["result"]] {
            assert_eq!(shown(card), skills, "{credential:?} {card}");
        }
        let headers = [("content-type", "application/grpc"), credential];
        let over_grpc = send(&running, "POST", "/lf.a2a.v1.A2AService/GetExtendedAgentCard", &headers, super::GRPC_EMPTY).await.body;
        assert_eq!(over_grpc.contains("Pays back"), skills.contains(&"refund"), "{over_grpc}");
        assert!(over_grpc.contains("Only for those who are known"), "{over_grpc}");
    }
}

/// DE-2, HO-2, V10-AUTH-004: work that another agent passes on can name a skill, and is refused to who may not use it.
#[tokio::test]
async fn a_request_that_names_a_skill_needs_its_scopes() {
    let running = start(rules(), card()).await;
    let delegated = |skill: &str| json!({extension::DELEGATION: {"call": "c", "skill": skill}});
    let context = json!({"originatingTaskId": "t", "originatingAgent": "https://triage.example.com", "requires": ["report", "refund"]});
    let handed = json!({extension::HANDOFF: {"transferContext": context}});
    for (metadata, refunds, reports) in [
        (delegated("refund"), 200, 403),
        (delegated("report"), 403, 200),
        (delegated("of somebody else"), 200, 200),
        (handed, 403, 403),
        (json!({}), 200, 200),
    ] {
        let mut body: Value = serde_json::from_slice(HI).unwrap();
        body["message"]["metadata"] = metadata;
        for (credential, expected) in [(REFUNDS, refunds), (REPORTS, reports)] {
            let headers = [("content-type", "application/json"), ("a2a-version", "1.0"), credential];
            let answer = send(&running, "POST", "/message:send", &headers, body.to_string()).await;
            assert_eq!(answer.status, expected, "{credential:?} {body} {}", answer.body);
        }
    }
}

/// P9: what a card demands for a skill by itself is enforced as well; what cannot be met is not served.
#[tokio::test]
async fn what_a_card_demands_for_a_skill_is_enforced() {
    let demanding = |scheme: &str| {
        let mut skill = Skill::new("refund", "Pays back");
        skill.security_requirements.push(SecurityRequirement::new().and(scheme, ["refund.write"]));
        Card::new("Clerk", "Counts money").with_skill(skill)
    };
    let auth = || Auth::new().scheme("bearer", tokens());
    let mount = |scheme: &str| Mount::agent("/", Engine::new(demanding(scheme), clerk)).auth(auth());
    let running = Server::several().mount(mount("bearer")).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    assert_eq!(heard(&running, "/message:send", &[REFUNDS]).await, "refund");
    assert_eq!(heard(&running, "/message:send", &[REPORTS]).await, "403");
    let strange = Server::several().mount(mount("oidc")).store(Memory::new()).bind("127.0.0.1:0").await;
    let words = "auth: the skill \"refund\" asks for a scheme \"oidc\", and there is none";
    assert_eq!(std::error::Error::source(&strange.err().unwrap()).unwrap().to_string(), words);
    let misspelled = Mount::agent("/", Engine::new(card(), clerk)).auth(auth().scopes_for_skill("refunds", ["refund.write"]));
    let bound = Server::several().mount(misspelled).store(Memory::new()).bind("127.0.0.1:0").await;
    assert_eq!(std::error::Error::source(&bound.err().unwrap()).unwrap().to_string(), "auth: no card has a skill \"refunds\"");
}
