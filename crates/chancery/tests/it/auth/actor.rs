//! Tokens that somebody shows who acts for another: who is recorded, and who may.

use chancery::{
    Auth, Running, Server,
    auth::{Jwt, Scheme},
};
use chancery_engine::{Failure, Outcome, Turn, store::Memory};
use serde_json::{Value, json};

use super::{
    CASES, card, heard,
    issuer::{Issuer, Key},
};

/// Says who called, and who acted for whom.
async fn witness(turn: Turn) -> Result<Outcome, Failure> {
    let caller = turn.caller();
    let names = std::iter::once(caller.identity().subject.as_deref().unwrap_or("nobody"))
        .chain(caller.identity().actors.iter().map(String::as_str));
    Ok(Outcome::message(names.collect::<Vec<_>>().join(" < ")))
}

async fn serve(jwt: Jwt) -> Running {
    let auth = Auth::new().scheme("oidc", Scheme::jwt(jwt));
    Server::new(card(), witness).auth(auth).store(Memory::new()).bind("127.0.0.1:0").await.unwrap()
}

async fn shown(running: &Running, key: &Key, claims: &Value, act: Option<Value>) -> String {
    let mut claims = claims.clone();
    if let Some(act) = act {
        claims["act"] = act;
    }
    heard(running, "/message:send", &[("authorization", &format!("Bearer {}", key.token(&claims)))]).await
}

/// The claim of so many who acted one for the other, the last one outside.
fn nested(depth: usize) -> Value {
    (1..depth).fold(json!({"sub": "a0"}), |inner, n| json!({"sub": format!("a{n}"), "act": inner}))
}

/// HO-52: the principal is the subject, and the agent sees who acts: whoever calls now first. More than eight, or what cannot be read,
/// is refused.
#[tokio::test]
async fn those_who_act_are_recorded_in_their_order() {
    let key = Key::ec("e1");
    let issuer = Issuer::start(&[&key]).await;
    let running = serve(Jwt::issuer(&issuer.url, ["agents"]).prefix("")).await;
    let claims = issuer.claims();
    let eight = (0..8).rev().map(|n| format!("a{n}")).collect::<Vec<_>>().join(" < ");
    for (act, expected) in [
        (None, "ada".to_owned()),
        (Some(json!({"sub": "triage"})), "ada < triage".to_owned()),
        (Some(json!({"sub": "billing", "act": {"sub": "triage"}})), "ada < billing < triage".to_owned()),
        (Some(json!({"sub": "triage", "iss": issuer.url})), "ada < triage".to_owned()),
        (Some(json!({"sub": "x", "iss": "https://other.example"})), "ada < https://other.example#x".to_owned()),
        (Some(nested(8)), format!("ada < {eight}")),
        (Some(nested(9)), "401".to_owned()),
        (Some(nested(100)), "401".to_owned()),
        (Some(json!(null)), "401".to_owned()),
        (Some(json!("triage")), "401".to_owned()),
        (Some(json!([{"sub": "triage"}])), "401".to_owned()),
        (Some(json!({})), "401".to_owned()),
        (Some(json!({"sub": ""})), "401".to_owned()),
        (Some(json!({"sub": 7})), "401".to_owned()),
        (Some(json!({"sub": "x", "iss": ["https://other.example"]})), "401".to_owned()),
        (Some(json!({"sub": "x", "act": "y"})), "401".to_owned()),
    ] {
        assert_eq!(shown(&running, &key, &claims, act.clone()).await, expected, "{act:?}");
    }
    // Without a word about it, actors are called as callers are.
    let named = serve(Jwt::issuer(&issuer.url, ["agents"])).await;
    let url = &issuer.url;
    assert_eq!(shown(&named, &key, &claims, Some(json!({"sub": "triage"}))).await, format!("{url}#ada < {url}#triage"));
}

/// HO-52, V10-AUTH-007: who acts now must be allowed to, in every binding; who acted before is for the record (RFC 8693, section 4.1),
/// and who calls for itself is not meant.
#[tokio::test]
async fn only_those_who_may_act_for_others_are_let_in() {
    let key = Key::ec("e1");
    let issuer = Issuer::start(&[&key]).await;
    let jwt = || Jwt::issuer(&issuer.url, ["agents"]);
    let running = serve(jwt().actors([format!("{}#triage", issuer.url)])).await;
    let claims = issuer.claims();
    let url = &issuer.url;
    for (act, expected) in [
        (None, format!("{url}#ada")),
        (Some(json!({"sub": "triage"})), format!("{url}#ada < {url}#triage")),
        (Some(json!({"sub": "triage", "act": {"sub": "evil"}})), format!("{url}#ada < {url}#triage < {url}#evil")),
        (Some(json!({"sub": "evil"})), "403".to_owned()),
        (Some(json!({"sub": "evil", "act": {"sub": "triage"}})), "403".to_owned()),
        (Some(json!({"sub": "triage", "iss": "https://other.example"})), "403".to_owned()),
    ] {
        assert_eq!(shown(&running, &key, &claims, act.clone()).await, expected, "{act:?}");
    }
    let nobody = serve(jwt().actors([""; 0])).await;
    assert_eq!(shown(&nobody, &key, &claims, Some(json!({"sub": "triage"}))).await, "403");
    assert_eq!(shown(&nobody, &key, &claims, None).await, format!("{url}#ada"));

    let mut claims = claims.clone();
    claims["act"] = json!({"sub": "evil"});
    let token = format!("Bearer {}", key.token(&claims));
    for case in CASES {
        let answer = case.send(&running, &[("authorization", &token)]).await;
        let denied = if case.is_grpc() { answer.headers["grpc-status"] == "7" } else { answer.status == 403 };
        assert!(denied && answer.challenges().is_empty(), "{} {} {}", case.name, answer.status, answer.body);
    }
    let metrics = super::send(&running, "GET", "/metrics", &[], "").await.body;
    assert!(metrics.contains(&format!("a2a_denied_total{{reason=\"not_allowed\"}} {}\n", CASES.len() + 3)), "{metrics}");
}
