//! Cards that released clients refuse, so that we notice when they no longer do.

use std::process::Stdio;

use chancery::{Memory, Server};
use serde_json::Value;
use tokio::process::Command;

use crate::{agent, sdk::root, sdk_servers::folder};

fn server() -> Server {
    Server::new(agent::card(), agent::clerk).store(Memory::new())
}

async fn output(command: &mut Command) -> (String, String) {
    let ended = command.stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap();
    (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap())
}

/// `RemoteA2aAgent` of google-adk wants an http URL of the card's own origin from every interface, and v1.0 has `host:port` for gRPC: such a
/// card is for others. A server for it leaves gRPC out, as in `sdk::released_clients_work_unchanged`.
#[tokio::test(flavor = "multi_thread")]
async fn adk_refuses_a_card_that_names_grpc() {
    let Some(folder) = folder() else { return };
    let server = server().bind("127.0.0.1:0").await.unwrap();
    let mut adk = Command::new(folder.join("py-adk-2.13.0/bin/python"));
    let (out, _) = output(adk.arg("-I").arg(root().join("tests/sdk/adk.py")).args(["JSONRPC", server.url()])).await;
    let first: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    let why = first["detail"].as_str().unwrap();
    let address = server.url().trim_start_matches("http://").trim_end_matches('/');
    assert!(why.ends_with(&format!("Agent card RPC URL must use https, or http on a loopback host: {address}")), "{why}");
    server.shutdown().await;
}

/// The official command line reads our card, and `--validate` counts the members that readers of v0.3 need as errors, although unknown
/// members are to be ignored (section 5.7).
#[tokio::test(flavor = "multi_thread")]
async fn the_official_command_line_takes_members_of_older_versions_for_errors() {
    let Some(folder) = folder() else { return };
    let server = server().bind("127.0.0.1:0").await.unwrap();
    let command = |words: &[&str]| {
        let mut command = Command::new(folder.join("rust-0.4.5/bin/a2acli"));
        command.args(["-a", server.url(), "-o", "json", "card", "get"]).args(words).env_clear();
        command
    };
    let (card, _) = output(&mut command(&[])).await;
    assert_eq!(serde_json::from_str::<Value>(&card).unwrap()["name"], "Clerk");
    let (_, told) = output(&mut command(&["--validate"])).await;
    let told: Value = serde_json::from_str(&told).unwrap();
    let details = told["error"]["details"].as_array().unwrap();
    let known = |detail: &Value| detail["message"].as_str().unwrap().starts_with("Additional properties are not allowed");
    assert!(told["error"]["code"] == "A2ACLI_ERR_CARD_INVALID" && details.iter().all(known), "{told}");
    server.shutdown().await;
}
