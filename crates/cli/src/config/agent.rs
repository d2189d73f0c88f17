//! One `[[agent]]` of the file.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use chancery_core::{Binding, Card, Skill, Version};
use chancery_engine::OnRestart;
use toml::de::{DeTable, DeValue};

use super::{
    BINDINGS, VERSIONS, card, or,
    section::{Document, Keys, Result, Section, Value, kind},
};

/// An agent as the file says it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Agent {
    /// Its key on the server.
    pub(crate) name: String,
    /// Where it is served: `/`, or `/NAME`.
    pub(crate) path: String,
    /// Its card, without the interfaces, which depend on where the server is.
    pub(crate) card: Card,
    /// The file that was laid over the card.
    pub(crate) card_file: Option<PathBuf>,
    /// The bindings it is served in.
    pub(crate) bindings: Vec<Binding>,
    /// The versions it is served in; `None` for those of the server.
    pub(crate) versions: Option<Vec<Version>>,
    /// How long it may work on one message.
    pub(crate) timeout: Duration,
    /// How many of its tasks may run at a time.
    pub(crate) concurrency: Option<usize>,
    /// Who may call it: these alternatives instead of those of `[auth]`, or everybody when there are none.
    pub(crate) auth: Option<super::auth::Alternatives>,
    /// Scopes that its skills need, by their ids.
    pub(crate) skill_scopes: Vec<(String, Vec<String>)>,
    /// What happens to its turns when the server died.
    pub(crate) on_restart: OnRestart,
    /// What does the work.
    pub(crate) backend: Backend,
}

/// What does the work of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Backend {
    /// Gives back what it gets.
    Echo,
    /// A program.
    Command(Command),
}

/// A program that is run for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    /// The program, found, and its arguments.
    pub(crate) program: PathBuf,
    /// What it is called with.
    pub(crate) arguments: Vec<String>,
    /// How one talks with it.
    pub(crate) mode: Mode,
    /// Variables of the server that it may see.
    pub(crate) env: Vec<String>,
    /// Where it runs.
    pub(crate) cwd: PathBuf,
    /// How long it has to end after it was asked to.
    pub(crate) kill_after: Duration,
    /// How many of it may run at a time.
    pub(crate) max_processes: usize,
}

/// How one talks with a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mode {
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
pub(crate) enum Lifetime {
    /// As long as its task.
    Task,
    /// As long as the server, for many tasks.
    Pool,
}

pub(super) const KEYS: Keys = Keys {
    known: &[
        "name",
        "description",
        "path",
        "version",
        "skills",
        "card",
        "bindings",
        "versions",
        "timeout",
        "concurrency",
        "auth",
        "on_restart",
        "command",
        "mode",
        "chunk",
        "env",
        "cwd",
        "kill_after",
        "max_processes",
        "expose_stderr",
        "lifetime",
        "lenient",
        "echo",
    ],
    later: &["host", "http", "model", "openai", "mcp", "upstream", "a2a", "wasm", "script", "executor"],
};
pub(super) const SKILL: Keys = Keys { known: &["id", "name", "description", "tags", "examples", "scopes"], later: &[] };
const BACKENDS: [&str; 2] = ["command", "echo"];
/// Keys that only mean something beside a command.
const OF_COMMAND: [&str; 9] = ["mode", "chunk", "env", "cwd", "kill_after", "max_processes", "expose_stderr", "lifetime", "lenient"];
/// Paths that belong to the server.
const OWN_PATHS: [&str; 5] = ["/.well-known", "/console", "/healthz", "/metrics", "/readyz"];

/// Reads one agent; `others` are those before it.
pub(crate) fn read<'t>(
    document: &Document<'t>,
    mut table: DeTable<'t>,
    span: Range<usize>,
    folder: &Path,
    alone: bool,
    others: &[Agent],
    auth: Option<&super::Auth>,
) -> Result<Agent> {
    let skills = table.remove_entry("skills");
    let mut section = Section::open(document, "[[agent]]", table, span.clone(), &KEYS, false)?;
    let name = name(document, &mut section, others)?;
    let path = path(&mut section, &name, alone, others)?;
    let description = or(section.text("description")?, || format!("The agent {name}"));
    let mut card = Card::new(&name, &description).takes(["text/plain", "*/*"]).streaming(true).push_notifications(true);
    if let Some(version) = section.text("version")? {
        card = card.version(version.value);
    }
    let own = super::auth::alternatives(&mut section, "auth", auth, true)?;
    let open = auth.is_none() || own.as_ref().is_some_and(Vec::is_empty);
    let mut skill_scopes = Vec::new();
    for (skill, scopes) in self::skills(document, skills.map(|(key, value)| (key.span(), value.into_inner())), &description)? {
        if let Some(scopes) = scopes {
            if open {
                let what = format!("the skill {:?} demands scopes of callers that nobody asks who they are", skill.id);
                return Err(section.wrong(&scopes, what).hint("add [[auth.scheme]], or let callers be asked: take auth = [\"none\"] away"));
            }
            skill_scopes.push((skill.id.clone(), scopes.value.into_iter().map(|scope| scope.value).collect()));
        }
        card = card.with_skill(skill);
    }
    if card.skills.is_empty() {
        card = card.skill(&name, &description);
    }
    let backend = backend(document, &mut section, &name, folder)?;
    if !matches!(&backend, Backend::Command(Command { mode: Mode::Text { .. }, .. })) {
        card = card.gives(["text/plain", "*/*"]);
    } else {
        card = card.gives(["text/plain", "application/octet-stream"]);
    }
    let card_file = section.text("card")?;
    if let Some(file) = &card_file {
        let at = folder.join(&file.value);
        if !at.is_file() {
            return Err(section.wrong(file, format!("there is no file {:?}", file.value)));
        }
        card = card::merged(&card, &at)?;
    }
    if !skill_scopes.is_empty() {
        // There the callers find which skills are theirs.
        card.capabilities.extended_agent_card = Some(true);
    }
    let on_restart = section.choice("on_restart", &[("fail", OnRestart::Fail), ("rerun", OnRestart::Rerun)])?;
    Ok(Agent {
        path,
        card,
        card_file: card_file.map(|file| folder.join(file.value)),
        bindings: section.choices("bindings", &BINDINGS)?.unwrap_or_else(|| BINDINGS.map(|(_, binding)| binding).to_vec()),
        versions: section.choices("versions", &VERSIONS)?,
        timeout: or(section.duration("timeout")?, || Duration::from_secs(600)),
        concurrency: section.count("concurrency")?.map(|count| count.value),
        auth: own,
        skill_scopes,
        on_restart: or(on_restart, OnRestart::default),
        backend,
        name,
    })
}

fn name(document: &Document<'_>, section: &mut Section<'_, '_>, others: &[Agent]) -> Result<String> {
    let Some(name) = section.text("name")? else {
        return Err(document.problem(&section.span, "the agent has no name").hint("add name = \"...\""));
    };
    let fine = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.value.chars().all(fine) || !name.value.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        let what = format!("{:?} cannot be a name", name.value);
        return Err(section.wrong(&name, what).hint("use letters, digits, \".\", \"_\" and \"-\"; what people read is in the card"));
    }
    if others.iter().any(|other| other.name == name.value) {
        return Err(section.wrong(&name, format!("there is an agent {:?} already", name.value)));
    }
    Ok(name.value)
}

fn path(section: &mut Section<'_, '_>, name: &str, alone: bool, others: &[Agent]) -> Result<String> {
    let said = section.text("path")?;
    let Some(said) = said else {
        let path = if alone { "/".to_owned() } else { format!("/{name}") };
        return match others.iter().find(|other| other.path == path) {
            Some(other) => Err(clash(section, None, &path, other)),
            None => Ok(path),
        };
    };
    let path = said.value.as_str();
    let fine = |c: char| c.is_ascii_alphanumeric() || "/._-~".contains(c);
    let right = path == "/" || (path.starts_with('/') && !path.ends_with('/') && !path.contains("//") && path.chars().all(fine));
    if !right {
        let what = format!("{path:?} cannot be a path");
        return Err(section
            .wrong(&said, what)
            .hint("begin with \"/\", do not end with it, and use letters, digits, \".\", \"_\", \"~\" and \"-\""));
    }
    if OWN_PATHS.iter().any(|own| path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))) {
        return Err(section.wrong(&said, format!("the path {path:?} belongs to the server")));
    }
    match others.iter().find(|other| other.path == path) {
        Some(other) => Err(clash(section, Some(&said), path, other)),
        None => Ok(said.value),
    }
}

fn clash(section: &Section<'_, '_>, said: Option<&Value<String>>, path: &str, other: &Agent) -> super::Problem {
    let what = format!("the agent {:?} is at {path:?} already", other.name);
    match said {
        Some(said) => section.wrong(said, what),
        None => section.wrong_at_all(what).hint("give one of them another path"),
    }
}

/// A skill, and the scopes that it needs.
type Demanding = (Skill, Option<Value<Vec<Value<String>>>>);

fn skills(document: &Document<'_>, entry: Option<(Range<usize>, DeValue<'_>)>, description: &str) -> Result<Vec<Demanding>> {
    let Some((key, value)) = entry else { return Ok(Vec::new()) };
    let DeValue::Array(items) = value else {
        return Err(document.problem(&key, format!("skills of [[agent]] must be a list, not {}", kind(&value))));
    };
    let mut skills: Vec<Demanding> = Vec::new();
    for item in items {
        let span = item.span();
        let skill = match item.into_inner() {
            DeValue::String(id) => (Skill::new(id, description), None),
            DeValue::Table(table) => skill(document, table, span.clone(), description)?,
            other => return Err(document.problem(&span, format!("a skill must be a string or a table, not {}", kind(&other)))),
        };
        if skills.iter().any(|(known, _)| known.id == skill.0.id) {
            return Err(document.problem(&span, format!("there is a skill {:?} already", skill.0.id)));
        }
        skills.push(skill);
    }
    Ok(skills)
}

fn skill<'t>(document: &Document<'t>, table: DeTable<'t>, span: Range<usize>, description: &str) -> Result<Demanding> {
    let mut section = Section::open(document, "skills", table, span, &SKILL, false)?;
    let Some(id) = section.text("id")? else {
        return Err(document.problem(&section.span, "the skill has no id").hint("add id = \"...\""));
    };
    let mut skill = Skill::new(id.value, or(section.text("description")?, || description.to_owned()));
    if let Some(name) = section.text("name")? {
        skill = skill.named(name.value);
    }
    if let Some(tags) = section.texts("tags")? {
        skill = skill.tags(tags.value.into_iter().map(|tag| tag.value));
    }
    for example in section.texts("examples")?.map(|examples| examples.value).unwrap_or_default() {
        skill = skill.example(example.value);
    }
    let scopes = section.texts("scopes")?;
    if let Some(scopes) = scopes.as_ref().filter(|scopes| scopes.value.iter().all(|scope| scope.value.is_empty())) {
        return Err(section.wrong(scopes, "scopes must not be empty").hint("leave it out: everybody who may call may use the skill then"));
    }
    Ok((skill, scopes))
}

fn backend(document: &Document<'_>, section: &mut Section<'_, '_>, name: &str, folder: &Path) -> Result<Backend> {
    let given: Vec<_> = BACKENDS.iter().filter_map(|key| section.key_span(key).map(|span| (*key, span))).collect();
    let Some((_, second)) = given.iter().max_by_key(|(_, span)| span.start) else {
        let what = format!("the agent {name:?} has no back end");
        return Err(document.problem(&section.span, what).hint("add command = [\"program\", \"argument\"] or echo = true"));
    };
    if given.len() > 1 {
        return Err(document.problem(second, format!("the agent {name:?} has two back ends")).hint("keep one of \"command\" and \"echo\""));
    }
    let Some(words) = section.texts("command")? else { return echo(document, section) };
    let cwd = section.text("cwd")?;
    let place = cwd.as_ref().map_or_else(|| folder.to_owned(), |cwd| folder.join(&cwd.value));
    if let Some(cwd) = &cwd
        && !place.is_dir()
    {
        return Err(section.wrong(cwd, format!("there is no folder {:?}", cwd.value)));
    }
    let Some(first) = words.value.first().filter(|first| !first.value.is_empty()) else {
        return Err(section.wrong(&words, "command must name a program"));
    };
    let program = program(document, &first.value, &place)
        .ok_or_else(|| section.wrong(first, format!("there is no program {:?}", first.value)).hint(sought(&first.value)))?;
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

fn echo(document: &Document<'_>, section: &mut Section<'_, '_>) -> Result<Backend> {
    if let Some(span) = OF_COMMAND.iter().filter_map(|key| section.key_span(key)).min_by_key(|span| span.start) {
        let key = &document.text[span.clone()];
        return Err(document.problem(&span, format!("{key} is for agents with a command")));
    }
    match section.flag("echo")? {
        Some(echo) if !echo.value => Err(section.wrong(&echo, "echo can only be true").hint("give the agent another back end instead")),
        _ => Ok(Backend::Echo),
    }
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
        return Err(section.wrong_span(&span, format!("{key} is for mode = {other:?}")));
    }
    if kind == Kind::Jsonl {
        let lifetime = section.choice("lifetime", &[("task", Lifetime::Task), ("pool", Lifetime::Pool)])?;
        return Ok(Mode::Jsonl { lifetime: or(lifetime, || Lifetime::Task), lenient: or(section.flag("lenient")?, || false) });
    }
    let chunk = section.text("chunk")?;
    if let Some(chunk) = chunk.as_ref().filter(|chunk| chunk.value.is_empty()) {
        return Err(section.wrong(chunk, "chunk must not be empty"));
    }
    Ok(Mode::Text { chunk: chunk.map(|chunk| chunk.value), expose_stderr: or(section.flag("expose_stderr")?, || false) })
}

/// The program: a path as it is, seen from where it runs; a word among the folders of `PATH`.
fn program(document: &Document<'_>, name: &str, cwd: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(cwd.join(name)).filter(|path| is_program(path));
    }
    let path = document.variables.get("PATH")?;
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|path| is_program(path))
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
