use super::*;

fn parsed(line: &str) -> Result<Parsed, Trouble> {
    let words: Vec<OsString> = std::iter::once("a2a").chain(line.split_whitespace()).map(OsString::from).collect();
    match parse(&words)? {
        ParsedLine::Run(parsed) => Ok(*parsed),
        ParsedLine::Lost(_, trouble) => Err(trouble),
        ParsedLine::Print(text) => panic!("{text}"),
    }
}

fn trouble(line: &str) -> Trouble {
    parsed(line).err().unwrap_or_else(|| panic!("{line} is understood"))
}

#[test]
fn the_tree_is_well_formed() {
    tree().debug_assert();
}

#[test]
fn global_options_stand_anywhere() {
    for line in ["-o json task get t", "task -o json get t", "task get -o json t", "task get t --output=json"] {
        assert_eq!(parsed(line).unwrap().flags["output"], ["json"], "{line}");
    }
    assert_eq!(parsed("send x --transport grpc --transport rest").unwrap().flags["transport"], ["grpc", "rest"]);
}

/// A2ACLI_SEND_006: the part flags keep their order, in both spellings.
#[test]
fn part_flags_keep_their_order() {
    let Command::Send(send) = parsed("send --text a --file b --media-type c --data-part {} --text-part d").unwrap().command else {
        panic!()
    };
    let expected =
        [(PartFlag::Text, "a"), (PartFlag::File, "b"), (PartFlag::MediaType, "c"), (PartFlag::Data, "{}"), (PartFlag::Text, "d")];
    assert_eq!(send.parts.0, expected.map(|(flag, value)| (flag, value.to_owned())));
}

#[test]
fn what_is_misspelled_is_suggested() {
    for (line, message, hint) in [
        ("send --agentcard x", "unknown option --agentcard", "did you mean --agent-card? See: a2a send --help"),
        ("task lst", "unknown command \"lst\"", "did you mean \"task list\"?"),
        ("sned hi", "unknown command \"sned\"", "did you mean \"send\"?"),
        ("auth login --flow devise", "--flow <FLOW>: \"devise\" is none of device, client-credentials, code", "did you mean device?"),
        ("task get", "<TASK_ID> is missing", "a2a task get --help"),
        ("", "no command is given", "a2a --help"),
        ("task", "a2a task needs a command", "a2a task --help"),
        ("send a b", "\"b\" is one argument too many", "a2a send --help"),
        ("send --text", "--text <TEXT> needs a value", "a2a send --help"),
    ] {
        let trouble = trouble(line);
        assert_eq!((trouble.message.as_str(), trouble.hint.as_deref(), trouble.exit), (message, Some(hint), 2), "{line}");
    }
}

/// Every command that does something shows one example.
#[test]
fn every_command_has_one_example() {
    fn walk(command: &clap::Command, path: &str, leaves: &mut usize) {
        let mut below = command.get_subcommands().peekable();
        if below.peek().is_none() {
            let example = command.get_before_help().map(ToString::to_string).unwrap_or_default();
            assert!(example.starts_with(&format!("Example:\n  {path}")), "{path}: {example:?}");
            // A line that is broken cannot be copied.
            assert!(example.lines().all(|line| line.len() <= 80), "{path}: {example:?}");
            *leaves += 1;
        }
        below.for_each(|below| walk(below, &format!("{path} {}", below.get_name()), leaves));
    }
    let mut leaves = 0;
    walk(&tree(), "a2a", &mut leaves);
    assert!(leaves > 25, "{leaves}");
}
