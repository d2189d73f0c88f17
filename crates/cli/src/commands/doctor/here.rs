//! What can be wrong before anything is sent.

use std::path::Path;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use chancery_config::{Config, nearest};
use chancery_engine::clock::{Clock as _, SystemClock};
use serde_json::Value;
use url::Url;

use super::Findings;
use crate::{context::Context, resume::quoted, settings::table::TABLE};

/// Variables that are no global options.
const OTHERS: [&str; 5] = ["A2ACLI_TOKEN", "A2ACLI_PUSH_TOKEN", "A2ACLI_AUTH_CREDENTIALS", "A2ACLI_SERVER", "A2ACLI_CLIENT_SECRET"];

/// Settings files and variables.
pub(super) fn settings(context: &Context, findings: &mut Findings) {
    let layers = &context.settings.layers;
    for file in layers.files().filter(|file| file.read) {
        let shown = layers.around.shown(&file.path);
        let secret = TABLE.iter().any(|spec| spec.secret && file.value(&spec.variable()).is_some());
        match (file.is_readable_by_others(), secret) {
            (true, true) => findings.warning(
                "settings",
                format!("{shown} holds a credential, and others can read it"),
                format!("chmod 600 {}", quoted(&file.path.display().to_string())),
            ),
            _ => findings.ok("settings", format!("settings are read from {shown}")),
        }
    }
    let known: Vec<_> = TABLE.iter().map(|spec| spec.variable()).chain(OTHERS.map(str::to_owned)).collect();
    for name in layers.around.variables.keys().filter(|name| name.starts_with("A2ACLI_") && !known.contains(name)) {
        let near = nearest(name, known.iter().map(String::as_str));
        let next = near.map_or_else(|| "a2a help environment".to_owned(), |near| format!("did you mean {near}?"));
        findings.warning("settings", format!("the variable {name} means nothing"), next);
    }
    if context.settings.insecure {
        findings.warning("settings", "certificates are not checked", "leave --insecure out, or name the authority: --ca-cert FILE");
    }
}

/// Proxies that calls go through.
pub(super) fn proxies(context: &Context, url: Option<&Url>, findings: &mut Findings) {
    let variables = &context.settings.layers.around.variables;
    let said = |name: &str| {
        [name.to_ascii_lowercase(), name.to_owned()].into_iter().find_map(|name| {
            let value = variables.get(&name).filter(|value| !value.is_empty())?;
            Some((name, value.clone()))
        })
    };
    let used = match url.map(Url::scheme) {
        Some("http") => vec!["HTTP_PROXY", "ALL_PROXY"],
        Some(_) => vec!["HTTPS_PROXY", "ALL_PROXY"],
        None => vec!["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"],
    };
    let Some((name, proxy)) = used.into_iter().find_map(said) else { return findings.ok("proxy", "no proxy is used") };
    let shown = shown_proxy(&proxy);
    let Some(host) = url.and_then(Url::host_str) else { return findings.ok("proxy", format!("{name} is set: calls go through {shown}")) };
    let except = said("NO_PROXY").map(|(_, hosts)| hosts).unwrap_or_default();
    if is_excepted(host, &except) {
        return findings.ok("proxy", format!("NO_PROXY names {host}, so {name} is not used"));
    }
    if is_local(host) {
        let message = format!("{name} sends calls for {host}, which is this machine, through {shown}");
        return findings.warning(
            "proxy",
            message,
            format!("export NO_PROXY={}{host}", if except.is_empty() { String::new() } else { format!("{except},") }),
        );
    }
    findings.ok("proxy", format!("{name} is set: calls for {host} go through {shown}"));
}

/// Whether calls go through a proxy, so that the way to the host itself says nothing.
pub(super) fn has_proxy(context: &Context, url: &Url) -> bool {
    let variables = &context.settings.layers.around.variables;
    let said = |name: &str| {
        [name.to_owned(), name.to_ascii_lowercase()].iter().find_map(|name| variables.get(name).filter(|value| !value.is_empty()))
    };
    let proxy = if url.scheme() == "http" { said("HTTP_PROXY") } else { said("HTTPS_PROXY") };
    let except = said("NO_PROXY").cloned().unwrap_or_default();
    proxy.or_else(|| said("ALL_PROXY")).is_some() && !is_excepted(url.host_str().unwrap_or_default(), &except)
}

/// A proxy without its password.
fn shown_proxy(proxy: &str) -> String {
    match Url::parse(proxy) {
        Ok(mut url) if url.password().is_some() || !url.username().is_empty() => {
            match url.set_password(None).and_then(|()| url.set_username("(hidden)")) {
                Ok(()) => url.to_string(),
                Err(()) => "a proxy with a password".to_owned(),
            }
        }
        Ok(url) => url.to_string(),
        Err(_) => "a proxy that is no URL".to_owned(),
    }
}

fn is_excepted(host: &str, except: &str) -> bool {
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    except.split(',').map(|entry| entry.trim().trim_start_matches('.')).filter(|entry| !entry.is_empty()).any(|entry| {
        entry == "*"
            || entry.eq_ignore_ascii_case(plain)
            || plain.to_ascii_lowercase().ends_with(&format!(".{}", entry.to_ascii_lowercase()))
    })
}

/// Whether a host is this machine.
pub(super) fn is_local(host: &str) -> bool {
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    plain.eq_ignore_ascii_case("localhost") || plain.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A bearer token that says itself when it ends.
pub(super) fn token(context: &Context, findings: &mut Findings) {
    let Some(token) = &context.settings.given.bearer else { return };
    let claims = token.expose().split('.').nth(1).and_then(|claims| BASE64_URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok());
    let claims: Option<Value> = claims.and_then(|claims| serde_json::from_slice(&claims).ok());
    let Some(ends) = claims.as_ref().and_then(|claims| claims.get("exp")).and_then(Value::as_i64) else {
        return findings.ok("token", "a bearer token is given; it does not say when it ends");
    };
    let left = ends - now();
    let login = format!("a2a auth login{}", super::same(context));
    match left {
        ..=0 => findings.problem("token", format!("the bearer token ended {} ago", span(-left)), login),
        1..300 => findings.warning("token", format!("the bearer token ends in {}", span(left)), login),
        _ => findings.ok("token", format!("the bearer token is good for {}", span(left))),
    }
}

/// The file of a server.
pub(super) fn file(path: &Path, findings: &mut Findings) {
    let shown = path.display().to_string();
    let check = format!("a2a serve --check {}", quoted(&shown));
    let config = match Config::load(path).and_then(|config| config.check().map(|()| config)) {
        Ok(config) => config,
        Err(problem) => return findings.problem("file", problem.to_string(), check),
    };
    findings.ok("file", format!("{shown} is good: {}", super::count(config.agents.len(), "agent")));
    let host = config.server.listen.rsplit_once(':').map_or("", |(host, _)| host);
    let everywhere = ["0.0.0.0", "[::]", "::"].contains(&host);
    match &config.server.public_url {
        None if everywhere => findings.warning(
            "file",
            format!("the server listens on {}, and its cards do not say how others call it", config.server.listen),
            "set public_url in [server]",
        ),
        Some(url) if !is_local(host) && Url::parse(url).ok().and_then(|url| url.host_str().map(is_local)).unwrap_or(false) => findings
            .warning(
                "file",
                format!("public_url is {url}, which is another machine for everybody else"),
                "set public_url in [server] to the address that others call",
            ),
        _ => {}
    }
    store(&config, findings);
}

/// Where the tasks of a server are kept.
fn store(config: &Config, findings: &mut Findings) {
    if config.store.ephemeral {
        return findings.ok("store", "tasks are kept in memory, and are gone when the server stops");
    }
    let data = &config.server.data;
    let shown = data.display();
    // What is not there yet is made by the server, if it may.
    let Some(folder) = data.ancestors().find(|folder| folder.as_os_str().is_empty() || folder.exists()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let trial = folder.join(format!(".a2a-doctor-{}", std::process::id()));
    match std::fs::write(&trial, b"").and_then(|()| std::fs::remove_file(&trial)) {
        Ok(()) => findings.ok("store", format!("tasks are kept in {shown}, which can be written")),
        Err(error) => findings.problem(
            "store",
            format!("tasks are kept in {shown}, which cannot be written: {error}"),
            format!("chown the folder {}, or set data in [server]", quoted(&folder.display().to_string())),
        ),
    }
}

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    SystemClock.now().unix().0
}

/// Seconds in words.
pub(super) fn span(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7_200 => format!("{} min", seconds / 60),
        seconds @ ..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_may_be_excepted_from_a_proxy() {
        for (host, except, expected) in [
            ("a.example.com", "example.com", true),
            ("a.example.com", ".example.com, other", true),
            ("example.com", "EXAMPLE.com", true),
            ("badexample.com", "example.com", false),
            ("[::1]", "::1", true),
            ("x", "*", true),
            ("x", "", false),
        ] {
            assert_eq!(is_excepted(host, except), expected, "{host} {except}");
        }
    }

    #[test]
    fn passwords_of_proxies_are_not_shown() {
        assert_eq!(shown_proxy("http://ada:secret@proxy.example:3128"), "http://(hidden)@proxy.example:3128/");
        assert_eq!(shown_proxy("http://proxy.example:3128"), "http://proxy.example:3128/");
    }
}
