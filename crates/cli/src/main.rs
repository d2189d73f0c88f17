//! The binary `a2a`.

mod args;
mod card;
mod commands;
mod connect;
mod context;
mod files;
#[cfg(test)]
#[path = "../../config/src/folder.rs"]
mod folder;
mod follow;
mod log;
mod media;
mod message;
mod print;
mod redact;
mod reference;
mod report;
mod resume;
mod serve;
mod settings;
mod stop;
mod trouble;
mod trust;
mod wait;
mod wallet;
mod wire;

use std::{collections::BTreeMap, ffi::OsString, process::ExitCode, sync::Arc};

use crate::{
    args::{Parsed, ParsedLine, old},
    context::Context,
    print::{Notes, Printer},
    settings::{Color, Form, Layers, Settings, Surroundings},
    trouble::Trouble,
};

// Tasks in memory cost a fifth less with it (docs/performance.md). It takes the place of the system's `malloc`, so SQLite
// has it too, except where a program cannot do that.
#[cfg(not(windows))]
use mimalloc as _;

#[cfg(windows)]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    match run(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => ExitCode::from(trouble.exit),
    }
}

/// Parses, reads the settings, does the work; what goes wrong has been told when this ends.
fn run(words: Vec<OsString>) -> Result<(), Trouble> {
    let (words, notes) = modern(words);
    let parsed = match args::parse(&words) {
        Ok(ParsedLine::Run(parsed)) => *parsed,
        Ok(ParsedLine::Print(text)) => return early(&words).write(&text),
        Ok(ParsedLine::Lost(help, trouble)) => {
            let printer = early(&words);
            if !printer.is_json() {
                Notes::new(false, false, Color::Auto).insist(&help);
            }
            return Err(told(&printer, trouble));
        }
        Err(trouble) => return Err(told(&early(&words), trouble)),
    };
    let Parsed { command, path, flags } = parsed;
    let path: Vec<_> = path.iter().map(String::as_str).collect();
    let unused: Vec<_> = args::unused(&path, flags.keys().copied()).into_iter().map(|name| format!("--{name}")).collect();
    let context = Layers::new(flags, Surroundings::of_process()).and_then(Settings::new).and_then(Context::new);
    let context = context.map_err(|trouble| told(&early(&words), trouble))?;
    notes.iter().for_each(|note| context.notes.note(note));
    unused.iter().for_each(|flag| context.notes.note(&format!("{flag} means nothing to \"a2a {}\"", path.join(" "))));
    commands::run(&context, command).map_err(|trouble| told(&context.printer, trouble))
}

fn told(printer: &Printer, trouble: Trouble) -> Trouble {
    let hint = trouble.general_hint();
    let trouble = trouble.or_hint(|| hint.to_owned());
    printer.trouble(&trouble);
    trouble
}

/// The command line in today's words. One that is no UTF-8 has no old words either.
fn modern(words: Vec<OsString>) -> (Vec<OsString>, Vec<String>) {
    let texts: Option<Vec<String>> = words.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    match texts.map(old::rewritten) {
        Some((texts, notes)) => (texts.into_iter().map(OsString::from).collect(), notes),
        None => (words, Vec::new()),
    }
}

/// A printer for when nothing is known but the words: `-o json` counts even if the rest is wrong.
fn early(words: &[OsString]) -> Printer {
    let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--").collect();
    let mut output = None;
    for (at, word) in words.iter().enumerate() {
        output = match *word {
            "-o" | "--output" => words.get(at + 1).copied().or(output),
            _ => word.strip_prefix("--output=").or_else(|| word.strip_prefix("-o").filter(|rest| !rest.is_empty())).or(output),
        };
    }
    let layers = Layers::new(BTreeMap::new(), Surroundings::of_process()).ok();
    let below = layers.as_ref().and_then(|layers| layers.raw("output")).and_then(|raw| raw.values.last().cloned());
    let output = output.map(|text| text.trim_start_matches('=').to_owned()).or(below);
    let form = if output.is_some_and(|text| text.eq_ignore_ascii_case("json")) { Form::Json } else { Form::Text };
    let lines = words.iter().any(|word| matches!(*word, "--stream" | "--compact"));
    Printer::plain(form, lines, Arc::new(Notes::new(false, false, Color::Auto)))
}
