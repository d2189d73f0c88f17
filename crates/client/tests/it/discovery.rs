//! From an address to a client.

use chancery_client::Client;
use chancery_core::{Binding, ErrorKind, Version};

use crate::agent::serve;

/// CONV-PICK-001, V10-SEL-001, V10-SEL-002, V10-SEL-003.
#[tokio::test]
async fn the_first_interface_of_the_newest_version_is_used() {
    let server = serve().await;
    let card = format!("{}/.well-known/agent-card.json", server.url());
    for url in [server.url(), card.as_str()] {
        let agent = Client::connect(url).await.unwrap();
        assert_eq!((agent.binding(), agent.version(), agent.url().as_str()), (Binding::JsonRpc, Version::V1_0, server.url()));
        assert_eq!(agent.send("reply yes").await.unwrap().text(), "yes");
        assert!(!agent.refresh().await.unwrap(), "nothing has changed");
    }
    let agent = Client::builder().versions([Version::V0_3]).bindings([Binding::HttpJson]).connect(server.url()).await.unwrap();
    assert_eq!((agent.binding(), agent.version()), (Binding::HttpJson, Version::V0_3));
    assert_eq!(agent.send("reply yes").await.unwrap().text(), "yes");
    let nowhere = Client::connect(&format!("{}/nowhere", server.url())).await.unwrap_err();
    assert_eq!(nowhere.kind(), ErrorKind::MethodNotFound, "{nowhere:?}");
    server.shutdown().await;
}
