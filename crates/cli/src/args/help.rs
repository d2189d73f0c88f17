//! Help: usage, one example, flags with what holds now, exit codes.

use std::{collections::BTreeMap, ffi::OsString, io::IsTerminal as _};

use clap::{Arg, ArgAction, Command, CommandFactory as _, builder::PossibleValuesParser};

use super::Arguments;
use crate::{
    settings::{Layers, Settings, Source, Surroundings, table::TABLE},
    trouble::Trouble,
};

const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";
const EXITS: &str = "Exit codes: 0 done, 1 the agent or the check said no, 2 usage, 3 unreachable, 4 credentials, 5 timeout\n\
                     More: a2a help exit-codes, a2a help environment, a2a help references";

/// The global options; `effective` says what holds without flags.
pub(super) fn globals(effective: Option<&Settings>) -> Vec<Arg> {
    let shown: BTreeMap<_, _> =
        effective.map(|settings| settings.shown()).into_iter().flatten().map(|(spec, raw)| (spec.name, raw)).collect();
    let mut all: Vec<_> = TABLE
        .iter()
        .map(|spec| {
            let mut arg = Arg::new(spec.name).long(spec.name).global(true).help_heading(spec.heading);
            if let Some(short) = spec.short {
                arg = arg.short(short);
            }
            arg = arg.visible_aliases(spec.aliases);
            arg = match spec.value {
                Some(name) if spec.repeats => arg.value_name(name).action(ArgAction::Append),
                Some(name) => arg.value_name(name).action(ArgAction::Set).overrides_with(spec.name),
                None => arg.action(ArgAction::SetTrue).overrides_with(spec.name),
            };
            if !spec.words.is_empty() {
                arg = arg.value_parser(PossibleValuesParser::new(spec.words)).hide_possible_values(true);
            }
            let raw = shown.get(spec.name).filter(|raw| raw.source != Source::Default);
            let value = || raw.map(|raw| if spec.secret { "set, hidden".to_owned() } else { raw.values.join(", ") }).unwrap_or_default();
            let around = effective.map(|settings| &settings.layers.around);
            let held = match raw.map(|raw| &raw.source) {
                Some(Source::Environment(variable)) => format!(" [{} from {variable}]", value()),
                Some(Source::Local(path) | Source::Global(path)) => {
                    format!(" [{} from {}]", value(), around.map_or_else(String::new, |around| around.shown(path)))
                }
                _ if !spec.default.is_empty() => format!(" [default: {}]", spec.default),
                _ => String::new(),
            };
            arg.help(format!("{}{held}", spec.help))
        })
        .collect();
    let version = Arg::new("version").long("version").short('v').action(ArgAction::Version).global(true);
    all.push(version.help("Print the version").help_heading("Settings"));
    all
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
