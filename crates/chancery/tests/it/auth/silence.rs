//! Secrets are not told: not in logs, not in answers, not in metrics.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex},
};

use chancery::{
    Auth, Server,
    auth::{Digest, Holder, Jwt, Scheme},
};
use chancery_core::security::ApiKeyLocation;
use chancery_engine::{Turn, store::Memory};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::{
    HI, card, greeter,
    issuer::{Issuer, Key},
    send,
};

/// Writes down everything that is logged, at every level.
#[derive(Clone, Default)]
struct Scribe(Arc<Mutex<String>>);

impl Visit for Scribe {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        writeln!(self.0.lock().unwrap(), "{field}={value:?}").unwrap();
    }
}

impl Subscriber for Scribe {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        span.record(&mut self.clone());
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// V10-SEC-011: canaries at every place of a credential, good ones and bad ones, and none of them is seen again.
#[tokio::test]
async fn secrets_are_not_told() {
    let scribe = Scribe::default();
    // For all threads: what is told on one of them may have been found to interest nobody by another. The other tests
    // write into the same log, which makes no difference to what must not be in it.
    tracing::subscriber::set_global_default(scribe.clone()).unwrap();
    let key = Key::ec("k");
    let issuer = Issuer::start(&[&key]).await;
    let held = |scheme: Scheme| scheme.holder(Holder::new("ada", Digest::of("CANARY-good")));
    let auth = Auth::new()
        .scheme("header", held(Scheme::api_key(ApiKeyLocation::Header, "X-API-Key")))
        .scheme("query", held(Scheme::api_key(ApiKeyLocation::Query, "key")))
        .scheme("cookie", held(Scheme::api_key(ApiKeyLocation::Cookie, "session")))
        .scheme("bearer", held(Scheme::bearer()))
        .scheme("basic", held(Scheme::basic()))
        .scheme("oidc", Scheme::jwt(Jwt::issuer(&issuer.url, ["agents"])))
        .keep_tokens(true);
    let shown = format!("{auth:?}");
    let talkative = |turn: Turn| async move {
        tracing::info!(caller = ?turn.caller(), "called");
        greeter(turn).await
    };
    let running = Server::new(card(), talkative).auth(auth).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let token = key.token(&issuer.claims());
    let secret_part = token.rsplit('.').next().unwrap().to_owned();
    let mut answers = String::new();
    let basic = |text: &str| {
        use base64::{Engine as _, prelude::BASE64_STANDARD};
        format!("Basic {}", BASE64_STANDARD.encode(text))
    };
    let mut statuses = Vec::new();
    for (target, name, value) in [
        ("/message:send", "x-api-key", "CANARY-good".to_owned()),
        ("/message:send", "x-api-key", "CANARY-bad".to_owned()),
        ("/message:send?key=CANARY-good", "x", "y".to_owned()),
        ("/message:send?key=CANARY-bad", "x", "y".to_owned()),
        ("/message:send", "cookie", "session=CANARY-good".to_owned()),
        ("/message:send", "cookie", "session=CANARY-bad".to_owned()),
        ("/message:send", "authorization", "Bearer CANARY-good".to_owned()),
        ("/message:send", "authorization", "Bearer CANARY-bad".to_owned()),
        ("/message:send", "authorization", basic("ada:CANARY-good")),
        ("/message:send", "authorization", basic("ada:CANARY-bad")),
        ("/message:send", "authorization", format!("Bearer {token}")),
        ("/message:send", "authorization", format!("Bearer x{token}")),
    ] {
        let answer = send(&running, "POST", target, &[("a2a-version", "1.0"), (name, &value)], HI).await;
        statuses.push(answer.status);
        write!(answers, "{:?} {}", answer.headers, answer.body).unwrap();
    }
    assert_eq!(statuses, [200, 401].repeat(6));
    let metrics = send(&running, "GET", "/metrics", &[], "").await.body;
    let log = scribe.0.lock().unwrap().clone();
    assert!(log.contains("Presented"), "{log}");
    assert!(log.contains("denied") && log.contains("nobody has this secret"), "{log}");
    for (place, text) in [("log", &log), ("answers", &answers), ("metrics", &metrics), ("Debug", &shown)] {
        for canary in ["CANARY", &secret_part, &basic("ada:CANARY-good")[6..]] {
            assert!(!text.contains(canary), "{canary} is told in the {place}");
        }
    }
}
