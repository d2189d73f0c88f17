//! Scope tokens on their way to an agent.

use std::sync::Arc;

use chancery::Server;
use chancery_core::{Caller, Carried, ErrorKind, Object, Operations, ScopeTokens, SendMessage, Timestamp};
use chancery_engine::{Failure, Outcome, Turn, store::Memory};
use chancery_lattice::{Grant, Issuer, Roots, Scope};

use crate::agent::{GRPC_WAYS, JSON_WAYS, card};

async fn teller(turn: Turn) -> Result<Outcome, Failure> {
    let carried = turn.caller().call().carried.as_ref();
    Ok(Outcome::reply(carried.map_or("nothing".to_owned(), |carried| carried.scope["skills"].to_string())))
}

/// LA-36: a token that a caller carries is sent beside the message, in every binding and version, and one that the agent
/// does not believe is refused.
#[tokio::test]
async fn a_carried_token_arrives_in_every_way() {
    let issuer = Issuer::generate(1);
    let roots: Arc<dyn ScopeTokens> = Arc::new(Roots::new().root(1, &issuer.public_key()).unwrap());
    let server = Server::new(card(), teller).scope_tokens(roots.clone()).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let token = issuer.mint(&Grant::new(Scope::of_skills(["obey"]))).unwrap();
    let carried = roots.verify(&token, server.url(), Timestamp::EPOCH).unwrap();
    let forged = Carried::new(Issuer::generate(1).mint(&Grant::new(Scope::of_skills(["obey"]))).unwrap(), Object::new(), 0);
    for way in JSON_WAYS.into_iter().chain(GRPC_WAYS) {
        let agent = way.to(server.url());
        let told = async |caller: Caller| agent.send_message(&caller, SendMessage::new("what do I carry?")).await;
        let reply = format!("{:?}", told(Caller::anonymous().carried(carried.clone())).await.unwrap());
        assert!(reply.contains("[\\\"obey\\\"]") && !reply.contains(token.expose()), "{way:?} {reply}");
        let reply = format!("{:?}", told(Caller::anonymous()).await.unwrap());
        assert!(reply.contains("nothing"), "{way:?} {reply}");
        let error = told(Caller::anonymous().carried(forged.clone())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{way:?} {error:?}");
    }
    server.shutdown().await;
}
