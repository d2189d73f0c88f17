//! Help: usage, one example, flags with what holds now, exit codes.

use std::{collections::BTreeMap, ffi::OsString, io::IsTerminal as _};

use clap::{
    Arg, ArgAction, Command, CommandFactory as _, ValueHint,
    builder::{PossibleValue, PossibleValuesParser},
};

use super::{
    Arguments,
    uses::{is_common, uses},
};
use crate::{
    settings::{
        Layers, Raw, Settings, Source, Surroundings,
        table::{OTHER, Spec, TABLE},
    },
    trouble::Trouble,
};

const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";
const EXITS: &str = "Exit codes: 0 done, 1 the agent or the check said no, 2 usage, 3 unreachable, 4 credentials, 5 timeout\n\
                     More: a2a help exit-codes, a2a help environment, a2a help references";
const MORE: &str = "Everything else: --help instead of -h";

/// The settings as options of the parser.
pub(super) struct Globals {
    /// What holds without flags, to be shown.
    effective: Option<Settings>,
    /// Whether options may stand anywhere; scripts for shells have only those that a command uses.
    anywhere: bool,
}

impl Globals {
    /// As the parser needs them.
    pub(super) fn parsed() -> Self {
        Self { effective: None, anywhere: true }
    }

    /// As help shows them.
    fn shown(effective: Option<Settings>) -> Self {
        Self { effective, anywhere: true }
    }

    /// As a shell completes them.
    pub(super) fn completed() -> Self {
        Self { effective: None, anywhere: false }
    }

    /// The options of a command. What it does not use can be given and is not shown, so that an option may stand anywhere.
    fn of(&self, path: &[&str]) -> Vec<Arg> {
        let shown = self.effective.as_ref().map(Settings::shown).unwrap_or_default();
        let around = self.effective.as_ref().map(|settings| &settings.layers.around);
        let mut options = Vec::new();
        for spec in TABLE {
            let used = uses(path, spec.name);
            if !used && !self.anywhere {
                continue;
            }
            let raw = shown.iter().find(|(known, _)| known.name == spec.name).map(|(_, raw)| raw);
            let held = around.zip(raw).and_then(|(around, raw)| held(spec, raw, around));
            options.push(self.option(spec, held.as_deref()).hide(!used));
        }
        if path.is_empty() {
            let version = Arg::new("version").long("version").short('v').action(ArgAction::Version).global(true);
            options.push(version.help("Print the version").help_heading(OTHER));
        }
        options
    }

    /// An option as the parser knows it.
    fn option(&self, spec: &Spec, held: Option<&str>) -> Arg {
        let mut arg = Arg::new(spec.name).long(spec.name).global(self.anywhere).help_heading(spec.heading).visible_aliases(spec.aliases);
        if let Some(short) = spec.short {
            arg = arg.short(short);
        }
        if !spec.words.is_empty() {
            let word = |(word, alias): &(&'static str, &'static str)| match *alias {
                "" => PossibleValue::new(*word),
                alias => PossibleValue::new(*word).alias(alias),
            };
            let words = PossibleValuesParser::new(spec.words.iter().map(word));
            arg = arg.value_parser(words).ignore_case(true).hide_possible_values(true);
        }
        let arg = match spec.value {
            Some(name) if spec.repeats => arg.value_name(name).action(ArgAction::Append),
            Some(name) => arg.value_name(name).action(ArgAction::Set).overrides_with(spec.name),
            None => arg.action(ArgAction::SetTrue).overrides_with(spec.name),
        };
        let holds = match held {
            Some(held) => format!(" [{held}]"),
            None if spec.default.is_empty() => String::new(),
            None => format!(" [default: {}]", spec.default),
        };
        let first = spec.help.split(". ").next().unwrap_or(spec.help);
        arg.help(format!("{first}{holds}")).long_help(format!("{}{holds}", spec.help)).hide_short_help(!is_common(spec.name))
    }
}

/// What holds without a flag, if somebody said so: `30s from ./.env`.
fn held(spec: &Spec, raw: &Raw, around: &Surroundings) -> Option<String> {
    let from = match &raw.source {
        Source::Environment(variable) => variable.clone(),
        Source::Local(path) | Source::Global(path) => around.shown(path),
        Source::Flag | Source::Overruled(_) | Source::Default => return None,
    };
    let value = if spec.secret { "set, hidden".to_owned() } else { raw.values.join(", ") };
    Some(format!("{value} from {from}"))
}

/// A tree of commands in which every one has its options and the same shape of help.
pub(super) fn dressed(command: Command, globals: &Globals) -> Command {
    grown(command, globals, &[])
}

fn grown(command: Command, globals: &Globals, path: &[&str]) -> Command {
    let command = command.args(globals.of(path)).mut_args(hinted).help_template(TEMPLATE).disable_help_subcommand(true);
    let help = Arg::new("help").long("help").short('h').action(ArgAction::Help).help_heading(OTHER);
    let help = help.help("Print help, --help more of it").long_help("Print help, -h less of it");
    let command = command.disable_help_flag(true).arg(help).after_help(MORE).after_long_help(EXITS);
    let command = if std::io::stdout().is_terminal() { command } else { command.term_width(80) };
    let names: Vec<_> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let below = [path, &[name.as_str()]].concat();
        command.mut_subcommand(&name, |command| grown(command, globals, &below))
    })
}

/// Says to shells what a value is: a file, a folder, or nothing that they know.
fn hinted(arg: Arg) -> Arg {
    let name = arg.get_value_names().filter(|_| arg.get_action().takes_values()).and_then(|names| names.first()).map(ToString::to_string);
    let Some(name) = name else { return arg };
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    arg.value_hint(match name.as_str() {
        "A" | "B" => ValueHint::FilePath,
        "REF" => ValueHint::AnyPath,
        _ if has(&["DIR"]) => ValueHint::DirPath,
        _ if has(&["FILE", "PATH"]) => ValueHint::FilePath,
        _ => ValueHint::Other,
    })
}

/// The help that was asked for, with the settings that hold here.
pub(super) fn effective(words: &[OsString]) -> Result<String, Trouble> {
    let settings = Layers::new(BTreeMap::new(), Surroundings::of_process()).and_then(Settings::new);
    let tree = dressed(Arguments::command(), &Globals::shown(settings.ok()));
    match tree.try_get_matches_from(words) {
        Err(error) if error.kind() == clap::error::ErrorKind::DisplayHelp => Ok(error.render().to_string()),
        _ => Err(Trouble::internal("help was asked for")),
    }
}
