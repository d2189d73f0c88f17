//! The command line: every command and its flags.

mod card;
mod graph;
mod help;
mod keys;
mod manage;
pub(crate) mod old;
mod parts;
mod problem;
mod send;
mod task;
mod tools;
mod uses;

use std::ffi::OsString;

use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

#[allow(unused_imports, reason = "commands name their own arguments")]
pub(crate) use self::{
    card::{Card, CardDiff, CardFor, CardGet, CardInit, CardSign, CardVerify, CardWith, SignedForm},
    graph::{Graph, GraphCheck, GraphFile, GraphShow, Picture},
    keys::{Keys, KeysCommand},
    manage::{Auth, AuthLogin, AuthLogout, AuthStatus, Completion, Config, ConfigShow, Help, Skill, SkillInstall},
    parts::{Flag as PartFlag, Parts},
    send::Send,
    task::{Authorize, Cancel, Download, Get, List, PushConfig, PushConfigCreate, PushConfigList, PushConfigOne, Subscribe, Task},
    tools::{Bench, Chat, Conformance, DeadLetters, Doctor, Push, PushListen, Redeliver},
    uses::unused,
};
use crate::{serve::Serve, settings, trouble::Trouble};

/// Serve, call and check A2A agents
#[derive(Debug, Parser)]
#[command(name = "a2a", version, disable_version_flag = true, disable_help_subcommand = true, propagate_version = true)]
#[command(subcommand_required = true, max_term_width = 120)]
#[command(before_help = "Example:\n  a2a send -a localhost:8080 hi")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Send(Box<Send>),
    /// Cards: fetch, check and show
    #[command(subcommand)]
    Card(Card),
    /// Tasks: read, follow, cancel, list, download
    #[command(subcommand)]
    Task(Task),
    /// Tokens: obtain, show, forget
    #[command(subcommand)]
    Auth(Auth),
    /// Settings
    #[command(subcommand)]
    Config(Config),
    Conformance(Box<Conformance>),
    Completion(Completion),
    Chat(Chat),
    Serve(Box<Serve>),
    DemoServer(Box<DemoServer>),
    Help(Help),
    /// The skill that tells other agents how to use this program
    #[command(subcommand)]
    Skill(Skill),
    /// Webhooks: receive, and look after what could not be delivered
    #[command(subcommand)]
    Push(Push),
    Bench(Box<Bench>),
    Doctor(Doctor),
    /// Workflows: who may pass what to whom
    #[command(subcommand)]
    Graph(Graph),
    /// Keys that sign cards: make, list, rotate, remove
    Keys(Keys),
    Version(Nothing),
}

/// Serve the demo agents, as `serve --demo`
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a demo-server --port 0")]
pub(crate) struct DemoServer {
    #[command(flatten)]
    pub(crate) serve: Serve,
}

/// Print the version, the commit, its date and the target
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a version -o json")]
pub(crate) struct Nothing {}

/// A command line that was understood.
pub(crate) struct Parsed {
    pub(crate) command: Command,
    /// The words that name it.
    pub(crate) path: Vec<String>,
    /// The flags that are settings.
    pub(crate) flags: std::collections::BTreeMap<&'static str, Vec<String>>,
}

/// What else a command line can ask for.
pub(crate) enum ParsedLine {
    /// A command.
    Run(Box<Parsed>),
    /// Help or the version, to be printed.
    Print(String),
    /// Nothing, because the command is missing: help that shows which there are.
    Lost(String, Trouble),
}

/// The whole tree of commands.
pub(crate) fn tree() -> clap::Command {
    help::dressed(Arguments::command(), &help::Globals::parsed())
}

/// The tree of commands as shells complete it.
pub(crate) fn completed() -> clap::Command {
    help::dressed(Arguments::command(), &help::Globals::completed())
}

/// Understands a command line.
pub(crate) fn parse(words: &[OsString]) -> Result<ParsedLine, Trouble> {
    let matches = match tree().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => match error.kind() {
            clap::error::ErrorKind::DisplayHelp => return help::effective(words).map(ParsedLine::Print),
            clap::error::ErrorKind::MissingSubcommand | clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                let asking: Vec<_> = words.iter().cloned().chain(["-h".into()]).collect();
                return Ok(ParsedLine::Lost(help::effective(&asking)?, problem::trouble(&error, words)));
            }
            clap::error::ErrorKind::DisplayVersion => return Ok(ParsedLine::Print(error.render().to_string())),
            _ => return Err(problem::trouble(&error, words)),
        },
    };
    let arguments = Arguments::from_arg_matches(&matches).map_err(|error| problem::trouble(&error, words))?;
    let (path, deepest) = deepest(&matches);
    Ok(ParsedLine::Run(Box::new(Parsed { command: arguments.command, path, flags: settings::flags(deepest) })))
}

/// The help of a command that is named by words.
pub(crate) fn help_of(words: &[String]) -> Result<String, Trouble> {
    let mut line: Vec<OsString> = vec!["a2a".into()];
    line.extend(words.iter().map(OsString::from));
    line.push("--help".into());
    match parse(&line)? {
        ParsedLine::Print(text) => Ok(text),
        ParsedLine::Run(_) | ParsedLine::Lost(..) => Err(Trouble::internal("help was asked for")),
    }
}

/// The command that is run: the words that name it, and what was said to it.
fn deepest(matches: &ArgMatches) -> (Vec<String>, &ArgMatches) {
    let (mut path, mut deepest) = (Vec::new(), matches);
    while let Some((name, below)) = deepest.subcommand() {
        path.push(name.to_owned());
        deepest = below;
    }
    (path, deepest)
}

#[cfg(test)]
mod tests;
