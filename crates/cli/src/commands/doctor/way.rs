//! The way to a host: its name, a connection, TLS, an answer, and the clock over there.

use std::time::{Duration, Instant};

use chancery_net::{Client, Options};
use tokio::net::{TcpStream, lookup_host};
use url::Url;

use super::{
    Findings, certificate,
    here::{has_proxy, is_local, now, span},
};
use crate::{
    context::Context,
    resume::quoted,
    trouble::{missing_certificate, with_cause},
};

/// A clock that is this many seconds off is noticed, and one that is this many off breaks signatures and tokens.
const NOTICED: i64 = 30;
const WRONG: i64 = 300;
/// A certificate that ends within this many days should be replaced.
const SOON: i64 = 14;

/// Goes the whole way, and says whether there was an answer at its end.
pub(super) async fn travel(context: &Context, url: &Url, findings: &mut Findings) -> bool {
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return true };
    let arrived = (has_proxy(context, url) || connects(context, host, port, findings).await) && answers(context, url, findings).await;
    findings.unreachable |= !arrived;
    arrived
}

/// Resolves the name, and connects to every address of it.
async fn connects(context: &Context, host: &str, port: u16, findings: &mut Findings) -> bool {
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    let limit = context.settings.connect_timeout;
    let found = tokio::time::timeout(limit, lookup_host((plain, port))).await;
    let addresses: Vec<_> = match found {
        Ok(Ok(found)) => found.collect(),
        Ok(Err(error)) => {
            findings.problem(
                "dns",
                format!("the name {plain} leads nowhere: {error}"),
                format!("check the spelling, then: getent hosts {}", quoted(plain)),
            );
            return false;
        }
        Err(_) => {
            findings.problem(
                "dns",
                format!("the name {plain} was not resolved within {}", seconds(limit)),
                "cat /etc/resolv.conf".to_owned(),
            );
            return false;
        }
    };
    let mut failed = Vec::new();
    let mut good = Vec::new();
    for address in addresses {
        let begun = Instant::now();
        match tokio::time::timeout(limit, TcpStream::connect(address)).await {
            Ok(Ok(_)) => good.push(format!("{address} in {} ms", begun.elapsed().as_millis())),
            Ok(Err(error)) => failed.push(format!("{address}: {error}")),
            Err(_) => failed.push(format!("{address}: nothing within {}", seconds(limit))),
        }
    }
    if good.is_empty() {
        let next = if is_local(host) {
            format!("start the server: a2a serve --port {port}, or name another port")
        } else {
            format!("is it running, and does a firewall let you through? nc -vz {} {port}", quoted(plain))
        };
        findings.problem("tcp", format!("nobody answers at {host}:{port} ({})", failed.join("; ")), next);
        return false;
    }
    // A name of this machine often has an address that nobody listens on.
    if failed.is_empty() || is_local(host) {
        findings.ok("tcp", format!("{plain} is reached at {}", good.join(", ")));
    } else {
        let message = format!("{plain} is reached at {}, but not at {}", good.join(", "), failed.join("; "));
        findings.warning("tcp", message, format!("ask whoever runs it to correct the addresses of {plain}"));
    }
    true
}

/// Asks for anything, and looks at the certificate and the clock.
async fn answers(context: &Context, url: &Url, findings: &mut Findings) -> bool {
    let client = match client(context, context.settings.insecure) {
        Ok(client) => client,
        Err(problem) => {
            findings.problem("tls", problem, "check --ca-cert, --client-cert and --client-key".to_owned());
            return false;
        }
    };
    let before = now();
    let answer = match client.get(url.clone()).send().await {
        Ok(answer) => answer,
        Err(error) => {
            refused(context, url, &error, findings).await;
            return false;
        }
    };
    if url.scheme() == "https" {
        expiry(url, ending(&answer), findings);
    } else if !is_local(url.host_str().unwrap_or_default()) {
        findings.warning("tls", format!("{} is called without encryption", url.host_str().unwrap_or_default()), "use https".to_owned());
    }
    clock(&answer, before, findings);
    true
}

/// Finds out why there was no answer.
async fn refused(context: &Context, url: &Url, error: &reqwest::Error, findings: &mut Findings) {
    let cause = with_cause(error);
    let lower = cause.to_lowercase();
    let is_tls = url.scheme() == "https" && ["certificate", "tls", "handshake", "unknownissuer"].iter().any(|word| lower.contains(word));
    if !is_tls {
        let next = format!("a2a card get --debug{}", super::same(context));
        return findings.problem("http", format!("{} gives no answer: {cause}", url.host_str().unwrap_or_default()), next);
    }
    // What the certificate says about itself, whoever made it. Nothing but the public card is asked for.
    let anyone = match client(context, true) {
        Ok(client) => client.get(url.clone()).send().await.ok(),
        Err(_) => None,
    };
    let host = url.host_str().unwrap_or_default();
    if let Some(next) = missing_certificate(&cause) {
        return findings.problem("tls", format!("{host} wants a certificate of the client: {cause}"), next);
    }
    match anyone.as_ref().and_then(ending) {
        Some(end) if end <= now() => {
            findings.problem(
                "tls",
                format!("the certificate of {host} ended {} ago", span(now() - end)),
                "whoever runs it must renew it".to_owned(),
            );
        }
        _ if lower.contains("notvalidforname") || lower.contains("not valid for name") => {
            findings.problem(
                "tls",
                format!("the certificate is not one of {host}: {cause}"),
                "call it by the name in the certificate".to_owned(),
            );
        }
        _ if lower.contains("unknownissuer") || lower.contains("self-signed") || lower.contains("issuer") => {
            let next = "name the authority: --ca-cert FILE (or A2ACLI_CA_CERT)".to_owned();
            findings.problem("tls", format!("nobody here knows who made the certificate of {host}: {cause}"), next);
        }
        _ => findings.problem(
            "tls",
            format!("TLS with {host} fails: {cause}"),
            format!("openssl s_client -connect {host}:{}", url.port_or_known_default().unwrap_or(443)),
        ),
    }
}

fn ending(answer: &reqwest::Response) -> Option<i64> {
    let info = answer.extensions().get::<reqwest::tls::TlsInfo>()?;
    certificate::end(info.peer_certificate()?)
}

fn expiry(url: &Url, end: Option<i64>, findings: &mut Findings) {
    let host = url.host_str().unwrap_or_default();
    let Some(end) = end else { return findings.ok("tls", format!("TLS with {host} works")) };
    let left = end - now();
    match left {
        ..=0 => findings.problem("tls", format!("the certificate of {host} ended {} ago", span(-left)), "whoever runs it must renew it"),
        _ if left < SOON * 86_400 => {
            findings.warning("tls", format!("the certificate of {host} ends in {}", span(left)), "whoever runs it should renew it");
        }
        _ => findings.ok("tls", format!("TLS with {host} works, the certificate is good for {}", span(left))),
    }
}

/// Compares our clock with the one over there.
fn clock(answer: &reqwest::Response, before: i64, findings: &mut Findings) {
    let said = answer.headers().get(http::header::DATE).and_then(|value| value.to_str().ok());
    let Some(theirs) = said.and_then(|text| httpdate::parse_http_date(text).ok()) else {
        return findings.ok("clock", "the answer has no date to compare clocks with");
    };
    let theirs =
        theirs.duration_since(std::time::SystemTime::UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    // The answer was made somewhere between the two moments.
    let off = if theirs < before { theirs - before } else { (theirs - now()).max(0) };
    let which = if off < 0 { "ahead of" } else { "behind" };
    let message = format!("this clock is {} {which} the agent's", span(off.abs()));
    match off.abs() {
        ..NOTICED => findings.ok("clock", "the clocks agree"),
        NOTICED..WRONG => findings.warning("clock", message, "timedatectl set-ntp true, here or there"),
        _ => findings.problem(
            "clock",
            format!("{message}: signatures and tokens will be refused"),
            "timedatectl set-ntp true, here or there",
        ),
    }
}

/// An HTTP client as the settings want it, that tells about certificates.
pub(super) fn client(context: &Context, insecure: bool) -> Result<reqwest::Client, String> {
    let mut tls = crate::connect::tls(context).map_err(|trouble| trouble.message)?;
    tls.accept_anyone(insecure);
    let options = Options::new().connect_timeout(context.settings.connect_timeout).timeout(context.call_limit()).tls(&tls).certificates();
    Client::trusted(&options).map_err(|error| with_cause(&error))
}

fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}
