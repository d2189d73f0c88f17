//! `command = […]`: an agent that is a program, spoken with over its standard streams.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Backend, Kind, Result, Section, Surroundings};
use crate::or;

/// The kind.
pub const KIND: Kind = Kind {
    key: "command",
    keys: &["mode", "chunk", "env", "cwd", "kill_after", "max_processes", "expose_stderr", "lifetime", "lenient"],
    noun: "a command",
    example: "command = [\"program\", \"argument\"]",
    docs: include_str!("command.toml"),
    read,
};

/// A program that is run for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program, found.
    pub program: PathBuf,
    /// What it is called with.
    pub arguments: Vec<String>,
    /// How one talks with it.
    pub mode: Mode,
    /// Variables of the server that it may see.
    pub env: Vec<String>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// How long it has to end after it was asked to.
    pub kill_after: Duration,
    /// How many of it may run at a time.
    pub max_processes: usize,
}

/// How one talks with a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// Text in, text out, one process for each message.
    Text {
        /// What ends a chunk of the output, if lines do not.
        chunk: Option<String>,
        /// Whether the caller of a failed task is shown the end of stderr.
        expose_stderr: bool,
    },
    /// A JSON object per line in both directions: `a2a-jsonl/1`.
    Jsonl {
        /// How long a process lives.
        lifetime: Lifetime,
        /// Whether a line that is no JSON is text of the answer.
        lenient: bool,
    },
}

/// How long a process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// As long as its task.
    Task,
    /// As long as the server, for many tasks.
    Pool,
}

fn read(section: &mut Section<'_, '_>, around: Surroundings<'_>) -> Result<Backend> {
    let Some(words) = section.texts(KIND.key)? else { return Err(section.table_error("command is missing")) };
    let cwd = section.text("cwd")?;
    let place = cwd.as_ref().map_or_else(|| around.folder.to_owned(), |cwd| around.folder.join(&cwd.value));
    if let Some(cwd) = &cwd
        && !place.is_dir()
    {
        return Err(section.error(cwd, format!("there is no folder {:?}", cwd.value)));
    }
    let Some(first) = words.value.first().filter(|first| !first.value.is_empty()) else {
        return Err(section.error(&words, "command must name a program"));
    };
    let program = program(&first.value, &place, around.path)
        .ok_or_else(|| section.error(first, format!("there is no program {:?}", first.value)).with_hint(sought(&first.value)))?;
    Ok(Backend::Command(Command {
        program,
        arguments: words.value.iter().skip(1).map(|word| word.value.clone()).collect(),
        mode: mode(section)?,
        env: section
            .texts("env")?
            .map_or_else(|| vec!["PATH".to_owned(), "LANG".to_owned()], |names| names.value.into_iter().map(|name| name.value).collect()),
        cwd: place,
        kill_after: or(section.duration("kill_after")?, || Duration::from_secs(5)),
        max_processes: or(section.count("max_processes")?, || 4),
    }))
}

fn mode(section: &mut Section<'_, '_>) -> Result<Mode> {
    #[derive(Clone, Copy, PartialEq)]
    enum Kind {
        Text,
        Jsonl,
    }
    let kind = or(section.choice("mode", &[("text", Kind::Text), ("jsonl", Kind::Jsonl)])?, || Kind::Text);
    let (other, keys): (_, &[&str]) =
        if kind == Kind::Text { ("jsonl", &["lifetime", "lenient"]) } else { ("text", &["chunk", "expose_stderr"]) };
    if let Some((key, span)) = keys.iter().find_map(|key| Some((key, section.key_span(key)?))) {
        return Err(section.error_at(&span, format!("{key} is for mode = {other:?}")));
    }
    if kind == Kind::Jsonl {
        let lifetime = section.choice("lifetime", &[("task", Lifetime::Task), ("pool", Lifetime::Pool)])?;
        return Ok(Mode::Jsonl { lifetime: or(lifetime, || Lifetime::Task), lenient: or(section.flag("lenient")?, || false) });
    }
    let chunk = section.text("chunk")?;
    if let Some(chunk) = chunk.as_ref().filter(|chunk| chunk.value.is_empty()) {
        return Err(section.error(chunk, "chunk must not be empty"));
    }
    Ok(Mode::Text { chunk: chunk.map(|chunk| chunk.value), expose_stderr: or(section.flag("expose_stderr")?, || false) })
}

/// The program: a path as it is, seen from where it runs; a word among the folders of `PATH`.
fn program(name: &str, cwd: &Path, path: Option<&String>) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(cwd.join(name)).filter(|path| is_program(path));
    }
    std::env::split_paths(path?).map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

fn sought(name: &str) -> &'static str {
    if name.contains('/') {
        "it must be a file that may be executed; relative paths begin at cwd, or at the folder of this file"
    } else {
        "it was sought in the folders of PATH"
    }
}
