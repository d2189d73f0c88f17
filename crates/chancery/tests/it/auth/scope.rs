//! Scope tokens: how far a task may reach, beside the credential or instead of it.

use std::sync::Arc;

use chancery_lattice::{Grant, Hop, Issuer, Roots, Scope};

use super::*;

/// Says what the caller carries.
async fn teller(turn: Turn) -> Result<Outcome, Failure> {
    turn.status("Looking").await?;
    let who = turn.caller().identity().subject.clone().unwrap_or_default();
    let carried = turn.caller().call().carried.as_ref();
    let told = carried.map_or("nothing".to_owned(), |carried| format!("{} after {} hops", carried.scope["skills"], carried.hops));
    Ok(Outcome::reply(format!("{who} carries {told}")))
}

fn token(issuer: &Issuer, subject: Option<&str>) -> String {
    let limit = serde_json::from_value(json!({"skills": ["greet", "other"], "scopes": ["tasks.read"], "hops": 2})).unwrap();
    let mut grant = Grant::new(limit);
    grant.subject = subject.map(str::to_owned);
    issuer.mint(&grant).unwrap().expose().to_owned()
}

fn roots(issuer: &Issuer) -> Arc<Roots> {
    Arc::new(Roots::new().root(1, &issuer.public_key()).unwrap())
}

async fn bind(server: Server) -> Running {
    server.store(Memory::new()).bind("127.0.0.1:0").await.unwrap()
}

/// LA-26, LA-36, LA-37: a token that does not verify is refused in every binding and version, and nothing is done.
#[tokio::test]
async fn a_scope_token_that_does_not_verify_is_refused_everywhere() {
    let issuer = Issuer::generate(1);
    let running = bind(Server::new(card(), teller).scope_tokens(roots(&issuer))).await;
    let good = token(&issuer, None);
    let elsewhere = Hop::new("http://localhost", "https://other.example.com", Scope::top());
    let elsewhere = elsewhere.audiences(Some(["https://other.example.com".to_owned()].into())).narrow(&good.as_str().into()).unwrap();
    let (unknown, forged) = (token(&Issuer::generate(2), None), token(&Issuer::generate(1), None));
    let mut refused = 0;
    for case in CASES.iter().filter(|case| case.changes && !case.name.contains("no ")) {
        for wrong in ["", "no token", elsewhere.expose(), &unknown, &forged] {
            let answer = case.send(&running, &[("a2a-scope-token", wrong)]).await;
            let denied = if case.is_grpc() { answer.headers["grpc-status"] == "7" } else { answer.status == 403 };
            assert!(denied, "{} {wrong} {} {}", case.name, answer.status, answer.body);
            refused += 1;
        }
        let twice = case.send(&running, &[("a2a-scope-token", &good), ("a2a-scope-token", &good)]).await;
        assert!(case.is_grpc() || twice.status == 403, "{} {}", case.name, twice.body);
        let answer = case.send(&running, &[("a2a-scope-token", &good)]).await;
        assert!(answer.status != 403 && answer.headers.get("grpc-status").is_none_or(|status| status != "7"), "{}", case.name);
    }
    assert!(refused >= 25, "{refused}");
    let metrics = send(&running, "GET", "/metrics", &[], "").await.body;
    assert!(metrics.contains("a2a_denied_total"), "{metrics}");
}

/// LA-11, LA-36: the agent is told what the token says; nobody else ever sees it.
#[tokio::test]
async fn a_scope_token_reaches_the_agent_and_no_task() {
    let issuer = Issuer::generate(1);
    let running = bind(Server::new(card(), teller).scope_tokens(roots(&issuer))).await;
    let good = token(&issuer, None);
    let narrowed = Hop::new("http://localhost", running.url(), Scope::of_skills(["greet"])).narrow(&good.as_str().into()).unwrap();
    let json = [("content-type", "application/json"), ("a2a-version", "1.0")];
    for (token, told) in [
        (Some(good.as_str()), "[\"greet\",\"other\"] after 0 hops"),
        (Some(narrowed.expose()), "[\"greet\"] after 1 hops"),
        (None, "nothing"),
    ] {
        let headers: Vec<_> = json.into_iter().chain(token.map(|token| ("a2a-scope-token", token))).collect();
        let answer = send(&running, "POST", "/message:send", &headers, HI).await.json();
        assert_eq!(answer["task"]["status"]["message"]["parts"][0]["text"], format!(" carries {told}"), "{answer}");
        let read = send(&running, "GET", "/tasks?includeArtifacts=true&historyLength=10", &json, "").await.body;
        assert!(read.contains("Looking") && token.is_none_or(|token| !read.contains(token)), "{read}");
    }
    // Who verifies nothing has not heard of it.
    let plain = bind(Server::new(card(), teller)).await;
    let headers: Vec<_> = json.into_iter().chain([("a2a-scope-token", "whatever")]).collect();
    let answer = send(&plain, "POST", "/message:send", &headers, HI).await.json();
    assert_eq!(answer["task"]["status"]["message"]["parts"][0]["text"], " carries nothing");
}

/// LA-36: where the card says so, the token is the credential itself.
#[tokio::test]
async fn a_scope_token_can_be_the_credential() {
    let issuer = Issuer::generate(1);
    let auth = Auth::new().scheme("scope", Scheme::scope_token(roots(&issuer)));
    let running = bind(Server::new(card(), teller).auth(auth)).await;
    let card = send(&running, "GET", "/.well-known/agent-card.json", &[("a2a-version", "1.0")], "").await.json();
    assert_eq!(card["securitySchemes"], json!({"scope": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "Biscuit"}}}));
    let ask = async |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("content-type", "application/json"), ("a2a-version", "1.0"), ("authorization", bearer.as_str())];
        let answer = send(&running, "POST", "/message:send", &headers, HI).await;
        match answer.status {
            200 => answer.json()["task"]["status"]["message"]["parts"][0]["text"].as_str().unwrap().to_owned(),
            status => status.to_string(),
        }
    };
    assert_eq!(ask(&token(&issuer, Some("alice"))).await, "alice carries [\"greet\",\"other\"] after 0 hops");
    assert_eq!(ask(&token(&issuer, None)).await, "401", "it names nobody");
    assert_eq!(ask(&token(&Issuer::generate(1), Some("alice"))).await, "401");
}
