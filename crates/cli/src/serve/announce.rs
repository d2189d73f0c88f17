//! What a server says when it is ready.

use std::path::Path;

use chancery_agents::Served;
use serde_json::json;

/// Says where everything is, and what to try.
pub(super) fn announcement(source: &str, served: &Served, json: bool) -> String {
    let (site, running, listeners) = (served.site(), served.running(), served.tls_listeners());
    let (config, demo) = (site.config(), site.is_demo());
    let url = running.url();
    let cards: Vec<_> = config.agents.iter().map(|agent| card_url(url, &agent.path)).collect();
    if json {
        let pid = std::process::id();
        let mut ready = json!({"ready": true, "pid": pid, "listen": running.local_addr().to_string(), "url": url, "cards": cards});
        for listener in listeners {
            ready[listener.name] = listener.running.url().into();
        }
        if let Some(authority) = listeners.first().map(|listener| listener.certificates.authority()) {
            ready["certificates"] = authority.parent().unwrap_or(&authority).display().to_string().into();
        }
        return format!("{ready}\n");
    }
    let versions: Vec<_> = config.server.versions.iter().map(|version| version.as_str()).collect();
    let bindings: Vec<_> = config.server.bindings.iter().map(|binding| binding.as_str()).collect();
    let mut text = String::new();
    let mut line = |line: String| text.extend([line.as_str(), "\n"]);
    line(format!("Config: {}", source));
    line(format!("Listening: {url} ({}; {})", bindings.join(", "), versions.join(" ")));
    let shown = if demo { 1 } else { cards.len() };
    for card in &cards[..shown] {
        line(format!("Card: {card}"));
    }
    if demo {
        let others: Vec<_> = config.agents.iter().skip(1).map(|agent| agent.path.as_str()).collect();
        line(format!("Variants: {}", others.join(" ")));
    }
    for listener in listeners {
        let (client, key) = listener.certificates.client();
        let shown = match listener.mutual {
            true => format!(" --client-cert {} --client-key {}", at_home(&client), at_home(&key)),
            false => String::new(),
        };
        let about = if listener.mutual { "Mutual TLS" } else { "TLS" };
        line(format!("{about}: {} (--ca-cert {}{shown})", listener.running.url(), at_home(&listener.certificates.authority())));
    }
    match site.data() {
        Some(data) => line(format!("Data: {} (kept across restarts)", at_home(data))),
        None => line("Data: in memory, gone at the end".to_owned()),
    }
    line(format!("Process: {}", std::process::id()));
    let first = config.agents.first().map(|agent| agent.path.trim_end_matches('/').to_owned()).unwrap_or_default();
    let words = if demo { "stream 5" } else { "hello" };
    line("Try:".to_owned());
    line(format!("  a2a send -a {url}{first} \"{}\"", if demo { "hi" } else { words }));
    line(format!("  a2a send -a {url}{first} --stream \"{words}\""));
    line(format!("  curl {url}{first}/.well-known/agent-card.json"));
    for (path, options) in [("message:send", ""), ("message:stream", "-N ")] {
        line(format!(
            "  curl {options}{url}{first}/{path} -H 'A2A-Version: 1.0' -H 'Content-Type: application/a2a+json' -d \
                 '{{\"message\":{{\"messageId\":\"1\",\"role\":\"ROLE_USER\",\"parts\":[{{\"text\":\"{words}\"}}]}}}}'"
        ));
    }
    line(format!("  curl {url}{first}/tasks -H 'A2A-Version: 1.0'"));
    line(String::new());
    text
}

fn card_url(url: &str, path: &str) -> String {
    format!("{url}{}/.well-known/agent-card.json", path.trim_end_matches('/'))
}

/// A path as people write it.
fn at_home(path: &Path) -> String {
    let below = std::env::var_os("HOME").and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned));
    below.map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()))
}
