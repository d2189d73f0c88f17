//! What a server says when it begins: which agents are where.

use std::io::Write as _;

use crate::mount::Mount;

/// An agent that is about to be served: its name and version, and its path.
pub(crate) struct Announced {
    name: String,
    path: String,
}

/// The agents of these mounts.
pub(crate) fn agents(mounts: &[Mount]) -> Vec<Announced> {
    let announced = |mount: &Mount| {
        let card = mount.card();
        Announced { name: format!("{} {}", card.name, card.version), path: mount.path.trim_matches('/').to_owned() }
    };
    mounts.iter().map(announced).collect()
}

/// Says on stderr where they are, a line for each.
pub(crate) fn print(agents: &[Announced], base: &str) {
    // Who has closed stderr does not want to know.
    drop(std::io::stderr().write_all(lines(agents, base).as_bytes()));
}

fn lines(agents: &[Announced], base: &str) -> String {
    let line = |agent: &Announced| {
        let url = match agent.path.as_str() {
            "" => base.to_owned(),
            path => format!("{base}/{path}"),
        };
        format!("{} at {url} (card: {url}/.well-known/agent-card.json)\n", agent.name)
    };
    agents.iter().map(line).collect()
}
