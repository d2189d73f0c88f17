//! Webhooks at addresses that a stranger must not make us call.

use std::{
    net::{IpAddr, SocketAddr, UdpSocket},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    load::begin,
    process::{Folder, Process, http, say, until},
    receiver::{Mailbox, Receiver},
    voice::Voice,
};

/// A loopback address that the server is told to let through: the proof that it calls webhooks at all.
const OPEN: &str = "127.77.0.1";

/// How many webhooks a task may have.
const WEBHOOKS: usize = 10;

/// Waits for a file, so that all webhooks are known before anything happens. A notification that fails is
/// given up at once.
const AGENT: &str = r#"
[push]
allow = ["127.77.0.0/16"]
schedule = []
[[agent]]
name = "patient"
description = "Waits, and then counts"
command = ["sh", "-c", "echo ready; until [ -e go ]; do sleep 0.05; done; seq 1 20"]
chunk = "\n"
"#;

async fn post(url: String, body: Value) -> Value {
    let request = http().post(url).header("a2a-version", "1.0").header("content-type", "application/a2a+json");
    serde_json::from_str(&request.body(body.to_string()).send().await.unwrap().text().await.unwrap()).unwrap()
}

/// Addresses of this machine that are neither loopback nor public: those it would call others from.
pub(crate) fn own() -> Vec<IpAddr> {
    let towards = [("0.0.0.0:0", "198.51.100.1:9"), ("[::]:0", "[2001:db8::1]:9")];
    let from = |(own, other): (&str, &str)| {
        let socket = UdpSocket::bind(own).ok()?;
        // Nothing is sent: this asks for the route only.
        socket.connect(other).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    let addresses: Vec<_> = towards.into_iter().filter_map(from).filter(|ip| !ip.is_loopback() && !is_public(*ip)).collect();
    if addresses.is_empty() {
        say("notice: this machine has no private address; only loopback is tried");
    }
    addresses
}

fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !ip.is_private() && !ip.is_link_local() && !ip.is_documentation(),
        IpAddr::V6(ip) => !ip.is_unique_local() && !ip.is_unicast_link_local(),
    }
}

pub(crate) fn host(ip: IpAddr) -> String {
    if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }
}

/// Has tasks notify webhooks at all these hosts and at the open one, until that one has heard everything;
/// which of our addresses were called.
async fn called(listen: &str, hosts: &[String]) -> Vec<IpAddr> {
    let (folder, mailbox) = (Folder::new(), Mailbox::default());
    let server = Process::file_on(&folder, AGENT, listen).await;
    // One port at every address of this machine, of both families.
    let receiver = Receiver::open("[::]:0".parse().unwrap(), &mailbox, |_| Some(200));
    let port = receiver.address.port();
    let groups: Vec<_> = hosts.chunks(WEBHOOKS - 1).collect();
    for group in &groups {
        let task = begin(&server).await;
        for (number, host) in group.iter().map(String::as_str).chain([OPEN]).enumerate() {
            let config = json!({"id": format!("hook-{number}"), "taskId": task, "url": format!("http://{host}:{port}/hook")});
            let made = post(server.url(&format!("/tasks/{task}/pushNotificationConfigs")), config).await;
            assert!(made["url"].is_string(), "{host}: {made}");
        }
    }
    folder.write("go", "");
    let open = format!("{OPEN}:{port}");
    until(Duration::from_secs(30), "the end of each task at the open webhook", async || {
        let heard = mailbox.received().into_iter().filter(|received| received.header("host") == open);
        let ends = heard.filter(|received| Voice::Rest.completed(&received.event())).count();
        (ends == groups.len()).then_some(())
    })
    .await;
    mailbox.called()
}

/// Every spelling of a forbidden address, on a server that the network reaches.
#[tokio::test]
async fn a_public_server_calls_no_webhook_in_its_own_network() {
    let spelled = ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "0.0.0.0", "[::1]", "[::]"];
    let inside = ["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "169.254.169.254", "[fe80::1]"];
    let own = own();
    let mapped = own.iter().filter_map(|ip| match ip {
        IpAddr::V4(ip) => Some(format!("[::ffff:{ip}]")),
        IpAddr::V6(_) => None,
    });
    let numbers = own.iter().filter_map(|ip| match ip {
        IpAddr::V4(ip) => Some(u32::from(*ip).to_string()),
        IpAddr::V6(_) => None,
    });
    let hosts: Vec<_> = spelled.into_iter().chain(inside).map(str::to_owned).chain(own.iter().copied().map(host)).collect();
    let hosts: Vec<_> = hosts.into_iter().chain(mapped).chain(numbers).collect();
    let called = called("0.0.0.0", &hosts).await;
    assert!(!called.is_empty() && called.iter().all(|ip| ip.to_string() == OPEN), "{called:?}");
    say(&format!("{} forbidden hosts, {} connections, all to the open one", hosts.len(), called.len()));
}

/// Loopback is for servers that nobody else reaches; the rest of the network stays closed to them too.
#[tokio::test]
async fn a_local_server_calls_webhooks_on_loopback_and_no_others() {
    let own = own();
    let hosts: Vec<_> = ["127.0.0.1".to_owned()].into_iter().chain(own.iter().copied().map(host)).collect();
    let called = called("127.0.0.1", &hosts).await;
    let loopback: SocketAddr = "127.0.0.1:1".parse().unwrap();
    assert!(called.contains(&loopback.ip()), "{called:?}");
    assert!(called.iter().all(IpAddr::is_loopback), "{called:?}");
}
