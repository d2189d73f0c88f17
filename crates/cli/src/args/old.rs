//! Old spellings: rewritten before anything is parsed, each with a note.

use crate::settings::table::TABLE;

/// Options with a value that are not global; a command is looked for behind them.
const VALUED: &[&str] = &[
    "--text",
    "--file",
    "--data",
    "--text-part",
    "--file-part",
    "--data-part",
    "--media-type",
    "--request-payload",
    "--history",
    "--accept",
    "--message-id",
    "--task",
    "--context",
    "--polling-interval",
    "--parts",
    "--json",
    "-f",
    "--auth",
    "--limit",
    "--page-size",
];

/// Rewrites a command line, and says what is called otherwise now.
pub(crate) fn rewritten(words: Vec<String>) -> (Vec<String>, Vec<String>) {
    let mut line = Line { words, notes: Vec::new() };
    line.commands();
    line.flags();
    (line.words, line.notes)
}

struct Line {
    words: Vec<String>,
    notes: Vec<String>,
}

impl Line {
    /// Where the words are that are no options.
    fn places(&self) -> Vec<usize> {
        let mut places = Vec::new();
        let mut at = 1;
        while let Some(word) = self.words.get(at) {
            if word == "--" {
                break;
            }
            if !word.starts_with('-') || word == "-" {
                places.push(at);
            } else if takes_value(word) {
                at += 1;
            }
            at += 1;
        }
        places
    }

    fn note(&mut self, old: &str, new: &str) {
        self.notes.push(format!("\"{old}\" is now \"{new}\""));
    }

    fn commands(&mut self) {
        let places = self.places();
        let word = |at: usize| places.get(at).and_then(|place| self.words.get(*place)).map_or("", String::as_str);
        let count = places.len();
        match (word(0), word(1)) {
            ("discover" | "inspect", _) => self.replace(&places[..1], &["card", "get"]),
            ("show-config", _) => self.replace(&places[..1], &["config", "show"]),
            ("push-config", _) => self.replace(&places[..1], &["task", "push-config"]),
            ("download", _) => self.replace(&places[..1], &["task", "download"]),
            ("server", _) => self.replace(&places[..1], &["serve"]),
            ("get", "card") => self.replace(&places[..2], &["card", "get"]),
            ("get", "task") if count == 4 => self.with_agent(&places[..3], &["task", "get"]),
            ("list", "tasks") if count == 3 => self.with_agent(&places[..3], &["task", "list"]),
            ("cancel", _) if count == 3 => self.with_agent(&places[..2], &["task", "cancel"]),
            ("subscribe", _) if count == 3 => self.with_agent(&places[..2], &["task", "subscribe", "--stream"]),
            ("send", first) if count > 2 && is_address(first) && !self.names_agent() => self.send(&places),
            _ => {}
        }
    }

    /// Puts other words in the place of these.
    fn replace(&mut self, places: &[usize], new: &[&str]) {
        let old: Vec<_> = places.iter().map(|place| self.words[*place].clone()).collect();
        self.note(&old.join(" "), &new.join(" "));
        for place in places[1..].iter().rev() {
            self.words.remove(*place);
        }
        self.words.splice(places[0]..=places[0], new.iter().map(|word| (*word).to_owned()));
    }

    /// As [`replace`](Self::replace); the last of the places is the agent.
    fn with_agent(&mut self, places: &[usize], new: &[&str]) {
        let Some((agent, command)) = places.split_last() else { return };
        let address = self.words.remove(*agent);
        self.replace(command, new);
        let behind = command[0] + new.len();
        self.words.splice(behind..behind, ["-a".to_owned(), address]);
    }

    /// `send URL TEXT …`: the words are one text.
    fn send(&mut self, places: &[usize]) {
        let texts: Vec<_> = places[2..].iter().map(|place| self.words[*place].clone()).collect();
        for place in places[2..].iter().rev() {
            self.words.remove(*place);
        }
        let address = std::mem::take(&mut self.words[places[1]]);
        self.note("send URL TEXT", "send -a URL TEXT");
        self.words.splice(places[1]..=places[1], ["-a".to_owned(), address, texts.join(" ")]);
    }

    fn names_agent(&self) -> bool {
        self.words.iter().any(|word| {
            ["-a", "-e"].iter().any(|flag| word.starts_with(flag)) || word.starts_with("--agent-card") || word.starts_with("--endpoint")
        })
    }

    fn flags(&mut self) {
        let places = self.places();
        let command: Vec<_> = places.iter().take(2).map(|place| self.words[*place].clone()).collect();
        let command: Vec<_> = command.iter().map(String::as_str).collect();
        let pairs: &[(&str, &str)] = match command.as_slice() {
            ["send", ..] => &[
                ("--immediate", "--async"),
                ("--task", "--task-id"),
                ("--context", "--context-id"),
                ("--polling-interval", "--poll-interval"),
                ("--parts", "--request-payload"),
                ("--json", "--request-payload"),
                ("-f", "--request-payload"),
            ],
            ["task", ..] => &[
                ("--context", "--context-id"),
                ("--polling-interval", "--poll-interval"),
                ("--limit", "--page-size"),
                ("--with-artifacts", "--include-artifacts"),
            ],
            ["serve" | "demo-server", ..] => &[("--protocol", "--versions")],
            _ => &[],
        };
        for (old, new) in pairs {
            self.rename(old, new);
        }
        // There it is a word of today, and says what a card demands.
        if !matches!(command.as_slice(), ["card", "init", ..]) {
            self.authorization();
        }
        if matches!(command.as_slice(), ["serve" | "demo-server", ..]) {
            self.drop_card_compat();
        }
    }

    fn rename(&mut self, old: &str, new: &str) {
        for at in 1..self.words.len() {
            let word = &self.words[at];
            if word == "--" {
                return;
            }
            let rest = word.strip_prefix(old).filter(|rest| rest.is_empty() || rest.starts_with('=') && old.starts_with("--"));
            if let Some(rest) = rest {
                self.words[at] = format!("{new}{rest}");
                self.note(old, new);
            }
        }
    }

    /// `--auth CREDS`: what follows the scheme is the credential.
    fn authorization(&mut self) {
        let Some(at) = self.words.iter().position(|word| word == "--auth" || word.starts_with("--auth=")) else { return };
        let value = match self.words[at].strip_prefix("--auth=") {
            Some(value) => value.to_owned(),
            None if at + 1 < self.words.len() => self.words.remove(at + 1),
            None => return,
        };
        let basic = strip_scheme(&value, "basic")
            .and_then(chancery_core::json::from_base64)
            .and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        let (flag, value) = match basic {
            Some(pair) => ("--basic", pair),
            None => ("--bearer", strip_scheme(&value, "bearer").unwrap_or(&value).to_owned()),
        };
        self.words.splice(at..=at, [flag.to_owned(), value]);
        self.note("--auth", flag);
    }

    /// Cards are for all versions anyway.
    fn drop_card_compat(&mut self) {
        let before = self.words.len();
        self.words.retain(|word| word != "--card-compat");
        if self.words.len() < before {
            self.notes.push("\"--card-compat\" is not needed any more: every card is for all versions".to_owned());
        }
    }
}

fn strip_scheme<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (first, rest) = text.split_once(' ')?;
    first.eq_ignore_ascii_case(scheme).then(|| rest.trim())
}

fn takes_value(word: &str) -> bool {
    let global = TABLE.iter().filter(|spec| spec.value.is_some());
    let mut names = global.flat_map(|spec| {
        let longs = std::iter::once(spec.name).chain(spec.aliases.iter().copied()).map(|name| format!("--{name}"));
        longs.chain(spec.short.map(|short| format!("-{short}")))
    });
    VALUED.contains(&word) || names.any(|name| name == word)
}

/// A URL, a loopback name, or `host:port`.
fn is_address(word: &str) -> bool {
    let bare = word.split('/').next().unwrap_or_default();
    let (host, port) = bare.rsplit_once(':').unwrap_or((bare, ""));
    let port_is_number = port.parse::<u16>().is_ok();
    let named = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '[' | ']' | ':'));
    word.starts_with("http://")
        || word.starts_with("https://")
        || matches!(bare, "localhost" | "127.0.0.1" | "[::1]")
        || port_is_number && named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str) {
        let words = |line: &str| line.split('|').map(str::to_owned).collect::<Vec<_>>();
        let (rewritten, notes) = rewritten(words(&format!("a2a|{old}")));
        assert_eq!(rewritten, words(&format!("a2a|{new}")));
        assert_eq!(notes.is_empty(), old == new, "{notes:?}");
    }

    #[test]
    fn old_commands_are_rewritten() {
        check("discover|http://x", "card|get|http://x");
        check("-o|json|discover|http://x", "-o|json|card|get|http://x");
        check("get|card|http://x", "card|get|http://x");
        check("get|task|http://x|t1", "task|get|-a|http://x|t1");
        check("cancel|http://x|t1", "task|cancel|-a|http://x|t1");
        check("subscribe|http://x|t1|-q", "task|subscribe|--stream|-a|http://x|t1|-q");
        check("list|tasks|http://x|--limit|2|--context|c", "task|list|-a|http://x|--page-size|2|--context-id|c");
        check("push-config|list|t1", "task|push-config|list|t1");
        check("show-config", "config|show");
        check("server|--protocol|0.3|--card-compat", "serve|--versions|0.3");
    }

    #[test]
    fn a_send_with_an_address_is_told_from_one_without() {
        check("send|http://x|hello|there", "send|-a|http://x|hello there");
        check("send|localhost:8080|--immediate|hi", "send|-a|localhost:8080|hi|--async");
        check("send|http://x", "send|http://x");
        check("send|-a|y|http://x|hi", "send|-a|y|http://x|hi");
        check("send|hello", "send|hello");
        check("send|--task|t|hi", "send|--task-id|t|hi");
    }

    #[test]
    fn an_authorization_becomes_its_credential() {
        check("send|--auth|Bearer x|hi", "send|--bearer|x|hi");
        check("send|--auth=plain|hi", "send|--bearer|plain|hi");
        check("card|init|--auth|bearer", "card|init|--auth|bearer");
        check("send|--auth|Basic bWU6cHc=|hi", "send|--basic|me:pw|hi");
    }
}
