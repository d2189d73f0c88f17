//! Help: usage, one example, flags with what holds now, exit codes.

use std::{collections::BTreeMap, ffi::OsString, io::IsTerminal as _};

use clap::{Arg, ArgAction, Command, CommandFactory as _, builder::PossibleValuesParser};

use super::Arguments;
use crate::{
    settings::{
        Layers, Raw, Settings, Source, Surroundings,
        table::{Spec, TABLE},
    },
    trouble::Trouble,
};

const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";
const EXITS: &str = "Exit codes: 0 done, 1 the agent or the check said no, 2 usage, 3 unreachable, 4 credentials, 5 timeout\n\
                     More: a2a help exit-codes, a2a help environment, a2a help references";

/// The global options; `effective` says what holds without flags.
pub(super) fn globals(effective: Option<&Settings>) -> Vec<Arg> {
    let shown = effective.map(Settings::shown).unwrap_or_default();
    let raw = |spec: &Spec| shown.iter().find(|(known, _)| known.name == spec.name).map(|(_, raw)| raw);
    let around = effective.map(|settings| &settings.layers.around);
    let held = |spec: &Spec| around.zip(raw(spec)).and_then(|(around, raw)| held(spec, raw, around));
    let help = |spec: &Spec| match held(spec) {
        Some(held) => format!("{} [{held}]", spec.help),
        None if spec.default.is_empty() => spec.help.to_owned(),
        None => format!("{} [default: {}]", spec.help, spec.default),
    };
    let version = Arg::new("version").long("version").short('v').action(ArgAction::Version).global(true);
    let version = version.help("Print the version").help_heading("Settings");
    TABLE.iter().map(|spec| option(spec).help(help(spec))).chain([version]).collect()
}

/// An option as the parser knows it.
fn option(spec: &Spec) -> Arg {
    let mut arg = Arg::new(spec.name).long(spec.name).global(true).help_heading(spec.heading).visible_aliases(spec.aliases);
    if let Some(short) = spec.short {
        arg = arg.short(short);
    }
    if !spec.words.is_empty() {
        arg = arg.value_parser(PossibleValuesParser::new(spec.words)).hide_possible_values(true);
    }
    match spec.value {
        Some(name) if spec.repeats => arg.value_name(name).action(ArgAction::Append),
        Some(name) => arg.value_name(name).action(ArgAction::Set).overrides_with(spec.name),
        None => arg.action(ArgAction::SetTrue).overrides_with(spec.name),
    }
}

/// What holds without a flag, if somebody said so: `30s from ./.env`.
fn held(spec: &Spec, raw: &Raw, around: &Surroundings) -> Option<String> {
    let from = match &raw.source {
        Source::Environment(variable) => variable.clone(),
        Source::Local(path) | Source::Global(path) => around.shown(path),
        Source::Flag | Source::Default => return None,
    };
    let value = if spec.secret { "set, hidden".to_owned() } else { raw.values.join(", ") };
    Some(format!("{value} from {from}"))
}

/// A tree of commands in which every one has the same shape of help.
pub(super) fn dressed(command: Command) -> Command {
    let command = command.help_template(TEMPLATE).after_help(EXITS).disable_help_subcommand(true);
    let command = if std::io::stdout().is_terminal() { command } else { command.term_width(80) };
    let names: Vec<_> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, dressed))
}

/// The help that was asked for, with the settings that hold here.
pub(super) fn effective(words: &[OsString]) -> Result<String, Trouble> {
    let settings = Layers::new(BTreeMap::new(), Surroundings::of_process()).and_then(Settings::new);
    let tree = dressed(Arguments::command().args(globals(settings.as_ref().ok())));
    match tree.try_get_matches_from(words) {
        Err(error) if error.kind() == clap::error::ErrorKind::DisplayHelp => Ok(error.render().to_string()),
        _ => Err(Trouble::internal("help was asked for")),
    }
}
