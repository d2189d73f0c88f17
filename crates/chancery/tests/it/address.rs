//! The addresses in a card.

use chancery::Server;
use chancery_core::{Binding, Card};
use chancery_engine::{Failure, Outcome, Turn, store::Memory};

async fn echo(turn: Turn) -> Result<Outcome, Failure> {
    Ok(Outcome::reply(turn.text()))
}

/// The clients of v1.0 and of v0.3 hand the address to their gRPC library as it stands, and to that
/// `http://127.0.0.1:7420` is the name of a host.
#[tokio::test]
async fn an_address_for_grpc_is_a_host_and_a_port() {
    let running = Server::new(Card::new("Echo", "Repeats what it hears"), echo).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let interfaces = &running.engines()[0].card().supported_interfaces;
    let grpc = interfaces.iter().filter(|interface| interface.protocol_binding == Binding::Grpc.as_str());
    let seen: Vec<_> = grpc.map(|interface| (interface.protocol_version.as_str(), interface.url.clone())).collect();
    let address = running.local_addr().to_string();
    assert_eq!(seen, [("1.0", address.clone()), ("0.3", address)]);
    running.shutdown().await;
}
