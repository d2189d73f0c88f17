//! Back ends: what does the work of an agent. The one list of their kinds, to which a new one is added.
//!
//! A kind is a module here with its data, its keys, its validation and its part of the default file, a variant of [`Backend`] and an entry in
//! [`KINDS`]; the compiler then asks `chancery-agents` how it runs.

pub mod command;
pub mod echo;

use std::path::Path;

use self::command::{Command, Mode};
use crate::section::{Document, Result, Section};

/// What does the work of an agent.
// Exhaustive on purpose: whoever runs back ends has to say how a new one is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// Gives back what it gets.
    Echo,
    /// A program.
    Command(Command),
    /// An agent of the demo. It is built in: no key of the file chooses it.
    Demo,
}

/// A kind of back end, as the file knows it.
#[derive(Debug)]
pub struct Kind {
    /// The key of `[[agent]]` that chooses it.
    pub key: &'static str,
    /// The other keys that only agents with it have.
    pub keys: &'static [&'static str],
    /// What an agent with it has, for sentences: `a command`.
    pub noun: &'static str,
    /// How the key is written.
    pub example: &'static str,
    /// Its part of the default file: every key with its meaning.
    pub docs: &'static str,
    read: fn(&mut Section<'_, '_>, Surroundings<'_>) -> Result<Backend>,
}

/// Every kind that a file may choose.
pub const KINDS: &[&Kind] = &[&command::KIND, &echo::KIND];

/// What a back end is read among.
#[derive(Clone, Copy)]
struct Surroundings<'a> {
    /// The folder that relative paths begin at.
    folder: &'a Path,
    /// The folders that programs are sought in, as the environment says it.
    path: Option<&'a String>,
}

impl Backend {
    /// The media types of what it gives, for the card.
    #[must_use]
    pub fn output_modes(&self) -> [&'static str; 2] {
        match self {
            Self::Command(Command { mode: Mode::Text { .. }, .. }) => ["text/plain", "application/octet-stream"],
            Self::Command(_) | Self::Echo | Self::Demo => ["text/plain", "*/*"],
        }
    }
}

/// Reads the one back end that an agent must have.
pub(crate) fn read(document: &Document<'_>, section: &mut Section<'_, '_>, name: &str, folder: &Path) -> Result<Backend> {
    let given: Vec<_> = KINDS.iter().filter_map(|kind| section.key_span(kind.key).map(|span| (*kind, span))).collect();
    let kind = match &given[..] {
        [] => {
            let examples: Vec<_> = KINDS.iter().map(|kind| kind.example).collect();
            return Err(section
                .table_error(format!("the agent {name:?} has no back end"))
                .with_hint(format!("add {}", examples.join(" or "))));
        }
        [(kind, _)] => kind,
        [first, .., last] => {
            let second = if first.1.start > last.1.start { &first.1 } else { &last.1 };
            let keys: Vec<_> = given.iter().map(|(kind, _)| format!("{:?}", kind.key)).collect();
            let error = document.error_at(second, format!("the agent {name:?} has two back ends"));
            return Err(error.with_hint(format!("keep one of {}", keys.join(" and "))));
        }
    };
    let others = KINDS.iter().filter(|other| other.key != kind.key);
    let foreign = others.flat_map(|other| other.keys.iter().filter_map(|key| Some((other.noun, section.key_span(key)?))));
    if let Some((noun, span)) = foreign.min_by_key(|(_, span)| span.start) {
        let key = &document.text[span.clone()];
        return Err(document.error_at(&span, format!("{key} is for agents with {noun}")));
    }
    (kind.read)(section, Surroundings { folder, path: document.variables.get("PATH") })
}
