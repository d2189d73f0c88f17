//! What is wrong with a command line, in our words.

use std::ffi::OsString;

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};

use chancery_config::nearest;

use crate::trouble::Trouble;

/// The trouble behind an error of the parser.
pub(super) fn trouble(error: &clap::Error, words: &[OsString]) -> Trouble {
    let (path, command) = command(words);
    let help = format!("{} --help", path.join(" "));
    let arg = text(error, ContextKind::InvalidArg).unwrap_or_default();
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => unknown_argument(&arg, &command, &help),
        ErrorKind::InvalidSubcommand => unknown_command(error, &path, &command, &help),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let what = if path.len() == 1 { "no command is given".to_owned() } else { format!("{} needs a command", path.join(" ")) };
            Trouble::usage(what).hint(help)
        }
        ErrorKind::InvalidValue if value.is_empty() => Trouble::usage(format!("{arg} needs a value")).hint(help),
        ErrorKind::InvalidValue => invalid_value(error, &arg, &value, &help),
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            Trouble::usage(format!("{arg}: {value:?} is not good: {why}")).hint(help)
        }
        ErrorKind::MissingRequiredArgument => Trouble::usage(format!("{arg} is missing")).hint(help),
        ErrorKind::ArgumentConflict => {
            let other = text(error, ContextKind::PriorArg).unwrap_or_else(|| "another option".to_owned());
            match arg == other {
                true => Trouble::usage(format!("{arg} is given twice")).hint(help),
                false => Trouble::usage(format!("{arg} and {other} cannot go together")).hint(help),
            }
        }
        ErrorKind::TooManyValues => Trouble::usage(format!("{arg} takes no value, and {value:?} is one")).hint(help),
        ErrorKind::InvalidUtf8 => Trouble::usage("an argument is no UTF-8"),
        _ => Trouble::usage("the command line cannot be understood").hint(help),
    }
}

fn unknown_argument(arg: &str, command: &Command, help: &str) -> Trouble {
    if !arg.starts_with('-') {
        return Trouble::usage(format!("{arg:?} is one argument too many")).hint(help.to_owned());
    }
    let name = arg.split('=').next().unwrap_or(arg);
    let trouble = Trouble::usage(format!("unknown option {name}"));
    let flags: Vec<String> =
        command.get_arguments().flat_map(|known| known.get_long_and_visible_aliases().unwrap_or_default()).map(str::to_owned).collect();
    match nearest(name.trim_start_matches('-'), flags.iter().map(String::as_str)) {
        Some(near) => trouble.hint(format!("did you mean --{near}? See: {help}")),
        None => trouble.hint(format!("see: {help}")),
    }
}

fn unknown_command(error: &clap::Error, path: &[String], command: &Command, help: &str) -> Trouble {
    let word = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
    let trouble = Trouble::usage(format!("unknown command {word:?}"));
    let known: Vec<_> = command.get_subcommands().filter(|known| !known.is_hide_set()).map(Command::get_name).collect();
    let before = path.iter().skip(1).map(|word| format!("{word} ")).collect::<String>();
    match nearest(&word, known.iter().copied()) {
        Some(near) => trouble.hint(format!("did you mean \"{before}{near}\"?")),
        None => trouble.hint(help.to_owned()),
    }
}

fn invalid_value(error: &clap::Error, arg: &str, value: &str, help: &str) -> Trouble {
    let words = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(words)) => words.clone(),
        _ => Vec::new(),
    };
    let trouble = Trouble::usage(format!("{arg}: {value:?} is none of {}", words.join(", ")));
    match nearest(value, words.iter().map(String::as_str)) {
        Some(near) => trouble.hint(format!("did you mean {near}?")),
        None => trouble.hint(help.to_owned()),
    }
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        other => Some(other.to_string()),
    }
}

/// The command that the words lead to, as far as they do.
fn command(words: &[OsString]) -> (Vec<String>, Command) {
    let mut tree = super::tree();
    tree.build();
    let (mut path, mut command) = (vec!["a2a".to_owned()], tree);
    for word in words.iter().skip(1).filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-')) {
        let Some(below) = command.find_subcommand(word).cloned() else { continue };
        path.push(below.get_name().to_owned());
        command = below;
    }
    (path, command)
}
