//! Which settings a command uses: those are in its help and offered to the shell, the others are taken and mean nothing there.

use crate::settings::table::TABLE;

/// How and where results are shown.
const SHOWN: &[&str] = &["output", "compact", "jq", "quiet", "color", "config", "profile"];
/// What a card is found with.
const CARD: &[&str] = &[
    "agent-card",
    "registry",
    "require-signature",
    "no-cache",
    "timeout",
    "connect-timeout",
    "client-cert",
    "client-key",
    "ca-cert",
    "insecure",
    "debug",
];
/// What an agent is called with, beside its card.
const CALL: &[&str] =
    &["endpoint", "transport", "a2a-version", "tenant", "svc-param", "extension", "bearer", "api-key", "basic", "verbose", "dry-run"];

/// Settings that are in the short help, too.
const COMMON: &[&str] = &["agent-card", "output", "async", "wait", "stream", "context-id", "task-id", "listen", "version"];

/// Whether the setting is in the short help of a command that uses it.
pub(super) fn is_common(name: &str) -> bool {
    COMMON.contains(&name)
}

/// Whether the command at the end of these words uses a setting.
pub(crate) fn uses(path: &[&str], name: &str) -> bool {
    let among = |lists: &[&[&str]]| lists.iter().any(|list| list.contains(&name));
    match path {
        ["config", ..] => true,
        ["send"] => among(&[SHOWN, CARD, CALL, &["async", "wait", "poll-interval", "context-id", "task-id", "metadata", "stream"]]),
        ["chat"] => among(&[SHOWN, CARD, CALL, &["poll-interval", "context-id", "task-id", "metadata", "stream"]]),
        ["task", "get"] => among(&[SHOWN, CARD, CALL, &["wait", "poll-interval", "stream"]]),
        ["task", "cancel"] => among(&[SHOWN, CARD, CALL, &["metadata"]]),
        ["task", "list"] => among(&[SHOWN, CARD, CALL, &["context-id", "stream"]]),
        ["task", "subscribe"] => among(&[SHOWN, CARD, CALL, &["poll-interval", "stream"]]),
        ["task", "authorize"] => among(&[SHOWN, CARD, CALL, &["poll-interval"]]),
        ["task", "push-config", "list"] | ["push", "listen"] => among(&[SHOWN, CARD, CALL, &["stream"]]),
        ["task", _] | ["task", "push-config", _] | ["card", "get"] | ["conformance" | "bench" | "doctor"] => among(&[SHOWN, CARD, CALL]),
        ["card", "init" | "verify"] | ["auth", "login"] | ["graph", _] => among(&[SHOWN, CARD]),
        ["auth", "logout"] => among(&[SHOWN, &["agent-card"]]),
        ["push", "dead-letters"] => among(&[SHOWN, &["stream"]]),
        ["push", "redeliver"] => among(&[SHOWN, &["dry-run"]]),
        ["serve" | "demo-server"] => among(&[&["output", "quiet", "color"]]),
        ["completion" | "help"] | ["skill", _] => among(&[&["quiet", "color"]]),
        ["version"] | ["keys", _] | ["card", _] | ["auth", _] => among(&[SHOWN]),
        _ => false,
    }
}

/// The flags that were given and mean nothing to the command. How results are shown is never one of them.
pub(crate) fn unused<'a>(path: &[&str], flags: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let matters = |name: &str| {
        let about = TABLE.iter().find(|spec| spec.name == name).map_or("", |spec| spec.heading);
        // `serve --transport` is what an older program had.
        matches!(about, "Agent" | "Call" | "Credentials") && !(path == ["serve"] && name == "transport")
    };
    flags.filter(|name| matters(name) && !uses(path, name)).collect()
}
