//! No request made on a stranger's word reaches an address that is not public, unless it was opened (G12).

use std::{
    collections::VecDeque,
    net::IpAddr,
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use chancery_core::BoxError;
use chancery_net::{Blocked, BodyError, Client, Guard, Options, Reach, Resolver, blocked, read_body};
use http::{Method, StatusCode};
use reqwest::dns::Resolve;

use crate::receiver::{Receiver, answer};

/// URLs that lead to places which are nobody else's business.
const HOSTILE: &[&str] = &[
    // Loopback, in every spelling of an IPv4 address.
    "http://127.0.0.1/",
    "http://127.255.255.254:8080/hook",
    "https://127.0.0.1",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0X7F.0.0.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://00000177.1/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://127.0.0.1./",
    "http://127\u{3002}0\u{3002}0\u{3002}1/",
    "http://\u{ff11}\u{ff12}\u{ff17}.0.0.\u{ff11}/",
    "http://\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}/",
    "http://%31%32%37.0.0.1/",
    "http://127.0.0.1%2e/",
    "http:\\\\127.0.0.1\\hook",
    "http:/127.0.0.1",
    "http:127.0.0.1",
    "  http://127.0.0.1/",
    "ht\ntp://127.0.0.1/",
    "HTTP://127.0.0.1/",
    // This network, private, shared, link-local, benchmarks, documentation, multicast, reserved.
    "http://0/",
    "http://0.0.0.0:22/",
    "http://0.1.2.3/",
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://167772161/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://0xc0.0xa8.1.1/",
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://169.254.1.1/",
    "http://192.0.0.1/",
    "http://192.0.2.1/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
    "http://198.19.255.255/",
    "http://198.51.100.7/",
    "http://203.0.113.9/",
    "http://224.0.0.1/",
    "http://239.255.255.255/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    // Metadata services, by address and by name.
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.169.254./",
    "http://0xA9FEA9FE/",
    "http://2852039166/",
    "http://169.254.170.2/v2/credentials",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://[fd00:ec2::254]/",
    "http://[fd20:ce::254]/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://metadata.google.internal./",
    "http://METADATA.Google.Internal/",
    "http://metadata.goog/",
    "http://metadata/",
    "http://instance-data/",
    "http://metadata.azure.internal/",
    // Names of this machine.
    "http://localhost/",
    "http://LOCALHOST:8080/",
    "http://localhost./",
    "http://localhost../",
    "http://db.localhost/",
    "http://\u{ff4c}ocalh\u{24de}st/",
    // IPv6.
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::2]/",
    "http://[fe80::1]/",
    "http://[febf::1]/",
    "http://[fec0::1]/",
    "http://[fc00::1]/",
    "http://[fdff:ffff::1]/",
    "http://[ff02::1]/",
    "http://[100::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff:123::1]/",
    "http://[2001:2::1]/",
    "http://[2001:20::1]/",
    "http://[5f00::1]/",
    "http://[64:ff9b:1::808:808]/",
    "http://[4000::1]/",
    // IPv4 inside IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo (server and client), ISATAP.
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[::a00:1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a00:1::1]/",
    "http://[2002:c0a8:101:1::1]/",
    "http://[2001:0:7f00:1::f7f7:f7f7]/",
    "http://[2001:0:808:808::80ff:fffe]/",
    "http://[2001:0:808:808::f5ff:fffe]/",
    "http://[2a00::5efe:10.0.0.1]/",
    "http://[2a00::200:5efe:127.0.0.1]/",
    // User info, other schemes, no host, no URL.
    "http://user@client.example/",
    "http://user:password@client.example/",
    "http://:password@client.example/",
    "http://client.example@127.0.0.1/",
    "http://client.example:80@10.0.0.1/",
    "file:///etc/passwd",
    "ftp://client.example/",
    "gopher://client.example:6379/_SET",
    "ws://client.example/",
    "unix:///run/docker.sock",
    "data:text/plain,hook",
    "javascript:alert(1)",
    "dict://client.example/",
    "//client.example/hook",
    "/hook",
    "client.example/hook",
    "",
    "http://",
    "http:///",
    "http://./",
    "http://256.256.256.256/",
    "http://1.2.3.4.5/",
    "http://0x100000000/",
    "http://[::1",
    "http://[fe80::1%25eth0]/",
    "http://client.example:99999/",
    "http://a b/",
];

/// URLs of other people's machines.
const PUBLIC: &[&str] = &[
    "https://client.example/hook?token=1#part",
    "http://client.example:8080/hook",
    "https://client.example./hook",
    "https://xn--bcher-kva.example/",
    "https://bücher.example/",
    "https://localhost.example/",
    "https://notlocalhost/",
    "https://metadata.example/",
    "http://8.8.8.8/",
    "http://134744072/",
    "http://1.1.1.1:8443/hook",
    "http://9.255.255.255/",
    "http://11.0.0.1/",
    "http://100.63.255.255/",
    "http://100.128.0.1/",
    "http://169.253.1.1/",
    "http://172.15.0.1/",
    "http://172.32.0.1/",
    "http://192.0.1.1/",
    "http://192.167.1.1/",
    "http://198.17.0.1/",
    "http://198.20.0.1/",
    "http://223.255.255.255/",
    "http://[2606:4700:4700::1111]/",
    "http://[2a00:1450:4001::8a]:443/",
    "http://[::ffff:8.8.8.8]/",
    "http://[64:ff9b::8.8.8.8]/",
    "http://[2002:808:808::1]/",
    "http://[2001:0:808:808::f7f7:f7f7]/",
    "http://[2001:200::1]/",
];

/// Guarantee G12, V10-HOOKSEC-001.
#[test]
fn hostile_urls_are_refused() {
    assert!(HOSTILE.len() >= 60);
    let passed: Vec<_> = HOSTILE.iter().filter(|url| Guard::new().check(url).is_ok()).collect();
    assert!(passed.is_empty(), "let through: {passed:#?}");
}

#[test]
fn public_urls_are_let_through() {
    let refused: Vec<_> = PUBLIC.iter().filter_map(|url| Guard::new().check(url).err().map(|reason| (url, reason))).collect();
    assert!(refused.is_empty(), "refused: {refused:#?}");
}

/// Guarantee G12: what is opened is open, and nothing beside it.
#[test]
fn an_opened_network_is_open_in_every_form_and_metadata_stays_closed() {
    let guard = Guard::new().allow("10.20.0.0/16".parse().unwrap()).allow("fd12::/16".parse().unwrap());
    for url in
        ["http://10.20.0.1/", "http://0x0a140001/", "http://[::ffff:10.20.0.1]/", "http://[64:ff9b::10.20.0.1]/", "http://[fd12::5]/"]
    {
        assert!(guard.check(url).is_ok(), "{url}");
    }
    for url in ["http://10.21.0.1/", "http://10.19.255.255/", "http://192.168.0.1/", "http://127.0.0.1/", "http://[fd13::5]/"] {
        assert!(guard.check(url).is_err(), "{url}");
    }
    let everything = Guard::new().allow("0.0.0.0/0".parse().unwrap()).allow("::/0".parse().unwrap());
    assert!(everything.check("http://192.168.0.1/").is_ok());
    for url in
        ["http://169.254.169.254/", "http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/", "http://metadata.google.internal/"]
    {
        assert!(everything.check(url).is_err(), "{url}");
    }
}

/// Guarantee G12: loopback is open only by configuration, and then only loopback.
#[test]
fn loopback_is_opened_by_configuration_only() {
    let guard = Guard::new().loopback(true);
    for url in ["http://127.0.0.1:7420/", "http://[::1]/", "http://localhost/", "http://a.localhost./", "http://[::ffff:127.0.0.1]/"] {
        assert!(guard.check(url).is_ok(), "{url}");
        assert!(guard.clone().loopback(false).check(url).is_err(), "{url}");
    }
    for url in ["http://0.0.0.0/", "http://[::]/", "http://10.0.0.1/", "http://169.254.169.254/"] {
        assert!(guard.check(url).is_err(), "{url}");
    }
}

/// What a peer is told does not say what our resolver knows.
#[test]
fn a_refusal_shows_no_address() {
    let refused = Guard::new().check("http://10.1.2.3/").unwrap_err();
    assert_eq!(refused, Blocked::Address([10, 1, 2, 3].into()));
    assert!(!refused.to_string().contains("10.1"), "{refused}");
    let refused = Guard::new().check("http://metadata.google.internal/").unwrap_err();
    assert!(!refused.to_string().contains("google"), "{refused}");
}

/// A resolver with prepared answers; it notes the names it was asked for.
#[derive(Clone, Default)]
struct Answers {
    prepared: Arc<Mutex<VecDeque<Vec<IpAddr>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Answers {
    fn new(prepared: &[&[&str]]) -> Self {
        let read = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        Self { prepared: Arc::new(Mutex::new(prepared.iter().map(read).collect())), asked: Arc::default() }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Resolver for Answers {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, BoxError> {
        self.asked.lock().unwrap().push(name.to_owned());
        let answer = self.prepared.lock().unwrap().pop_front();
        answer.ok_or_else(|| "asked too often".into())
    }
}

/// What the connector of an HTTP client gets for a name.
async fn resolved(guard: &Guard, name: &str) -> Result<Vec<IpAddr>, String> {
    match Resolve::resolve(guard, name.parse().unwrap()).await {
        Ok(addresses) => Ok(addresses.map(|address| address.ip()).collect()),
        Err(error) => Err(error.downcast::<Blocked>().map_or_else(|error| error.to_string(), |blocked| format!("{blocked:?}"))),
    }
}

/// Guarantee G12: one bad address among the answers refuses all.
#[tokio::test]
async fn a_name_with_any_bad_address_is_refused() {
    let bad: &[&[&str]] = &[
        &["10.0.0.1"],
        &["8.8.8.8", "127.0.0.1"],
        &["127.0.0.1", "8.8.8.8"],
        &["2606:4700::1", "::1"],
        &["2606:4700::1", "::ffff:192.168.0.1"],
        &["64:ff9b::a9fe:a9fe"],
        &["1.1.1.1", "8.8.8.8", "169.254.169.254"],
    ];
    let guard = Guard::new().resolver(Answers::new(bad));
    for _ in bad {
        let refused = resolved(&guard, "client.example").await.unwrap_err();
        assert!(refused.starts_with("Address("), "{refused}");
    }
    let guard = Guard::new().resolver(Answers::new(&[&["8.8.8.8", "2606:4700::1"]]));
    let both: Vec<IpAddr> = vec!["8.8.8.8".parse().unwrap(), "2606:4700::1".parse().unwrap()];
    assert_eq!(resolved(&guard, "client.example").await.unwrap(), both);
}

/// SC-22: names that are never called are not even asked for.
#[tokio::test]
async fn a_forbidden_name_is_not_resolved() {
    let answers = Answers::new(&[&["8.8.8.8"]]);
    let guard = Guard::new().resolver(answers.clone());
    for name in ["metadata.google.internal", "metadata.google.internal.", "localhost", "LocalHost."] {
        let refused = resolved(&guard, name).await.unwrap_err();
        assert!(refused.starts_with("Name("), "{refused}");
    }
    assert!(answers.asked().is_empty());
}

/// The system's resolver stands behind the guard when no other is given.
#[tokio::test]
async fn the_systems_resolver_is_asked_by_default() {
    let found = resolved(&Guard::new().loopback(true), "localhost").await.unwrap();
    assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
}

fn client(guard: Guard) -> Client {
    Client::new(Reach::Guarded(guard), &Options::new().timeout(Duration::from_secs(5))).unwrap()
}

/// Guarantee G12: the connection goes to the address that was checked, and a changed answer is checked again.
#[tokio::test]
async fn a_name_that_answers_differently_the_second_time_gains_nothing() {
    let receiver = Receiver::start(|| answer(200, &[("connection", "close")])).await;
    let answers = Answers::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let client = client(Guard::new().allow("127.0.0.1/32".parse().unwrap()).resolver(answers.clone()));
    let url = format!("http://rebind.example:{}/hook", receiver.address.port());
    let response = client.request(Method::POST, &url).unwrap().send().await.unwrap();
    assert_eq!((response.status(), answers.asked().len()), (StatusCode::OK, 1));
    assert_eq!(response.remote_addr(), Some(receiver.address));
    let error = client.request(Method::POST, &url).unwrap().send().await.unwrap_err();
    assert_eq!(blocked(&error), Some(&Blocked::Address([127, 0, 0, 2].into())), "{error:?}");
    assert_eq!((receiver.seen().len(), answers.asked().len()), (1, 2));
    assert_eq!(receiver.seen()[0]["host"], format!("rebind.example:{}", receiver.address.port()));
}

/// The connector does not ask the resolver about addresses, so the client checks them itself.
#[tokio::test]
async fn a_literal_address_is_refused_before_a_request_exists() {
    let receiver = Receiver::start(|| answer(200, &[])).await;
    let client = client(Guard::new());
    for host in ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]"] {
        let url = format!("http://{host}:{}/", receiver.address.port());
        assert!(matches!(client.request(Method::GET, &url), Err(Blocked::Address(_))), "{host}");
    }
    assert!(receiver.seen().is_empty());
}

/// Guarantee G12: redirects are answers like others.
#[tokio::test]
async fn a_redirect_is_not_followed() {
    let aim = Receiver::start(|| answer(200, &[])).await;
    let location = aim.url();
    for status in [301, 302, 303, 307, 308] {
        let location = location.clone();
        let receiver = Receiver::start(move || answer(status, &[("location", &location)])).await;
        let client = client(Guard::new().loopback(true));
        let response = client.request(Method::POST, &receiver.url()).unwrap().send().await.unwrap();
        assert_eq!((response.status().as_u16(), receiver.seen().len()), (status, 1));
    }
    assert!(aim.seen().is_empty());
}

#[tokio::test]
async fn an_answer_is_read_up_to_its_limit() {
    let receiver = Receiver::start(|| {
        let mut response = answer(200, &[]);
        *response.body_mut() = Bytes::from(vec![b'x'; 100_000]).into();
        response
    })
    .await;
    let client = client(Guard::new().loopback(true));
    let get = async || client.request(Method::GET, &receiver.url()).unwrap().send().await.unwrap();
    assert_eq!(read_body(&mut get().await, 100_000).await.unwrap().len(), 100_000);
    assert!(matches!(read_body(&mut get().await, 99_999).await, Err(BodyError::TooLong)));
}

const CHILD: &str = "CHANCERY_TEST_PROXY_CHILD";

/// Guarantee G12: a proxy would resolve the name again, behind the guard.
#[tokio::test]
async fn proxy_variables_are_ignored() {
    if std::env::var_os(CHILD).is_none() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "guard::proxy_variables_are_ignored"]).env(CHILD, "1").env_remove("NO_PROXY").env_remove("no_proxy");
        for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
            child.env(name, "http://127.0.0.1:1");
        }
        let output = child.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let receiver = Receiver::start(|| answer(200, &[])).await;
    let guard = Guard::new().loopback(true).resolver(Answers::new(&[&["127.0.0.1"]]));
    let url = format!("http://client.example:{}/", receiver.address.port());
    let response = client(guard).request(Method::GET, &url).unwrap().send().await.unwrap();
    assert_eq!((response.status(), receiver.seen().len()), (StatusCode::OK, 1));
}

#[test]
fn addresses_off_the_public_network_are_known() {
    let url = |address: &str| if address.contains(':') { format!("http://[{address}]/") } else { format!("http://{address}/") };
    for address in [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "::1",
        "fe80::1",
        "fd00::1",
        "::",
        "::ffff:10.0.0.1",
    ] {
        assert!(Guard::new().check(&url(address)).is_err(), "{address}");
    }
    for address in ["1.1.1.1", "172.15.0.1", "100.128.0.1", "2606:4700::1111"] {
        assert!(Guard::new().check(&url(address)).is_ok(), "{address}");
    }
}
