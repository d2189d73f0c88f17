//! What can be typed besides messages.

use chancery_config::nearest;

use crate::trouble::Trouble;

/// Every command, what it takes, and what it does.
const ALL: [(&str, &str, &str); 10] = [
    ("/new", "", "forgets the conversation, and begins another with the first agent"),
    ("/task", "", "shows where the task stands"),
    ("/cancel", "", "cancels the task"),
    ("/file", "PATH", "puts a file, or the URL of one, into the next message"),
    ("/data", "JSON", "puts data into the next message"),
    ("/card", "", "shows the agent's card"),
    ("/raw", "", "shows the last answer as JSON"),
    ("/save", "FILE", "saves the conversation; FILE.json with everything in it"),
    ("/help", "", "shows this"),
    ("/quit", "", "ends, as Ctrl-D does"),
];

/// A line of the user.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Something to say; what begins with two slashes says the second one.
    Say(&'a str),
    New,
    Task,
    Cancel,
    File(&'a str),
    Data(&'a str),
    Card,
    Raw,
    Save(&'a str),
    Help,
    Quit,
}

/// Understands a line.
pub(super) fn parse(line: &str) -> Result<Line<'_>, Trouble> {
    let line = line.trim_end_matches(['\n', '\r']);
    let Some(below) = line.strip_prefix('/') else { return Ok(Line::Say(line)) };
    if below.starts_with('/') {
        return Ok(Line::Say(below));
    }
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let parsed = match name {
        "/new" => Line::New,
        "/task" => Line::Task,
        "/cancel" => Line::Cancel,
        "/file" => Line::File(rest),
        "/data" => Line::Data(rest),
        "/card" => Line::Card,
        "/raw" => Line::Raw,
        "/save" => Line::Save(rest),
        "/help" | "/?" => Line::Help,
        "/quit" | "/exit" => Line::Quit,
        _ => {
            let trouble = Trouble::usage(format!("there is no command {name}"));
            return Err(match nearest(name, ALL.iter().map(|(name, ..)| *name)) {
                Some(near) => trouble.hint(format!("did you mean {near}? What begins with // is said with one /")),
                None => trouble.hint("/help shows the commands; what begins with // is said with one /"),
            });
        }
    };
    let takes = ALL.iter().find(|(known, ..)| *known == name).map_or("", |(_, takes, _)| takes);
    match (takes.is_empty(), rest.is_empty()) {
        (true, false) => Err(Trouble::usage(format!("{name} takes nothing")).hint(format!("what begins with // is said: /{line}"))),
        (false, true) => Err(Trouble::usage(format!("{name} needs {takes}")).hint(format!("{name} {takes}"))),
        _ => Ok(parsed),
    }
}

/// The commands as help shows them.
pub(super) fn help() -> String {
    let mut text = String::new();
    for (name, takes, does) in ALL {
        text.push_str(&format!("  {:<12} {does}\n", format!("{name} {takes}")));
    }
    text.push_str("  Anything else is said to the agent. Ctrl-C stops waiting; the task goes on.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_messages_or_commands() {
        for (line, expected) in [
            ("hello", Line::Say("hello")),
            ("", Line::Say("")),
            ("//etc/hosts", Line::Say("/etc/hosts")),
            (" /new", Line::Say(" /new")),
            ("/new\r\n", Line::New),
            ("/file  a b.txt ", Line::File("a b.txt")),
            ("/data {\"a\": 1}", Line::Data("{\"a\": 1}")),
            ("/exit", Line::Quit),
        ] {
            assert_eq!(parse(line).unwrap(), expected, "{line:?}");
        }
    }

    #[test]
    fn what_is_no_command_is_not_said_by_mistake() {
        assert!(parse("/taks").unwrap_err().hint.unwrap().contains("/task?"));
        assert!(parse("/file").unwrap_err().hint.unwrap().contains("/file PATH"));
        assert!(parse("/new york").unwrap_err().hint.unwrap().contains("//new york"));
        assert!(parse("/etc/hosts").unwrap_err().message.contains("/etc/hosts"));
    }

    #[test]
    fn help_names_every_command() {
        let text = help();
        for (name, ..) in ALL {
            assert!(text.contains(name) && !matches!(parse(&format!("{name} x")), Ok(Line::Say(_))), "{name}");
        }
    }
}
