//! One `[[agent]]` of the file.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use chancery_core::{Binding, Card, Skill, Version};
use toml::de::{DeTable, DeValue};

use super::{
    BINDINGS, Backend, VERSIONS, backend, card, or,
    section::{Document, Keys, Result, Section, Value, kind},
};

/// An agent as the file says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Its key on the server.
    pub name: String,
    /// Where it is served: `/`, or `/NAME`.
    pub path: String,
    /// Its card, without the interfaces, which depend on where the server is.
    pub card: Card,
    /// The file that was laid over the card.
    pub card_file: Option<PathBuf>,
    /// The tenant that its interfaces declare; empty for none. No key of the file says it.
    pub tenant: String,
    /// The bindings it is served in, the preferred one first; `None` for those of the server.
    pub bindings: Option<Vec<Binding>>,
    /// The versions it is served in; `None` for those of the server.
    pub versions: Option<Vec<Version>>,
    /// How long it may work on one message.
    pub timeout: Duration,
    /// How many of its tasks may run at a time.
    pub concurrency: Option<usize>,
    /// Who may call it: these alternatives instead of those of `[auth]`, or everybody when there are none.
    pub auth: Option<super::auth::Alternatives>,
    /// Scopes that its skills need, by their ids.
    pub skill_scopes: Vec<(String, Vec<String>)>,
    /// What happens to its turns when the server died.
    pub on_restart: OnRestart,
    /// What does the work.
    pub backend: Backend,
}

/// What happens to the turns of an agent when the server died.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnRestart {
    /// Their tasks fail.
    #[default]
    Fail,
    /// They are run again.
    Rerun,
}

impl Agent {
    /// An agent of which only this is said: served at the root, in the bindings and the versions of the server.
    #[must_use]
    pub fn new(name: impl Into<String>, card: Card, backend: Backend) -> Self {
        Self {
            name: name.into(),
            path: "/".to_owned(),
            card,
            card_file: None,
            tenant: String::new(),
            bindings: None,
            versions: None,
            timeout: Duration::from_secs(600),
            concurrency: None,
            auth: None,
            skill_scopes: Vec::new(),
            on_restart: OnRestart::default(),
            backend,
        }
    }
}

/// Keys that every agent may have.
const COMMON: [&str; 12] =
    ["name", "description", "path", "version", "skills", "card", "bindings", "versions", "timeout", "concurrency", "auth", "on_restart"];
/// Back ends that a later release will have.
const LATER: &[&str] = &["host", "http", "model", "openai", "mcp", "upstream", "a2a", "wasm", "script", "executor"];
pub(crate) const SKILL: Keys = Keys::new(&["id", "name", "description", "tags", "examples", "scopes"], &[]);
/// Paths that belong to the server.
const OWN_PATHS: [&str; 5] = ["/.well-known", "/console", "/healthz", "/metrics", "/readyz"];

/// Every key of `[[agent]]`: the common ones, and those of each back end.
pub(crate) fn keys() -> Keys {
    let own = backend::KINDS.iter().flat_map(|kind| std::iter::once(kind.key).chain(kind.keys.iter().copied()));
    Keys { known: COMMON.into_iter().chain(own).collect(), later: LATER }
}

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
    let mut section = Section::open(document, "[[agent]]", table, span, &keys(), false)?;
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
                return Err(section
                    .error(&scopes, what)
                    .with_hint("add [[auth.scheme]], or let callers be asked: take auth = [\"none\"] away"));
            }
            skill_scopes.push((skill.id.clone(), scopes.value.into_iter().map(|scope| scope.value).collect()));
        }
        card = card.with_skill(skill);
    }
    if card.skills.is_empty() {
        card = card.skill(&name, &description);
    }
    let backend = backend::read(document, &mut section, &name, folder)?;
    card = card.gives(backend.output_modes());
    let card_file = section.text("card")?;
    if let Some(file) = &card_file {
        let at = folder.join(&file.value);
        if !at.is_file() {
            return Err(section.error(file, format!("there is no file {:?}", file.value)));
        }
        card = card::merged(&card, &at, !skill_scopes.is_empty())?;
    }
    if !skill_scopes.is_empty() {
        // There the callers find which skills are theirs.
        card.capabilities.extended_agent_card = Some(true);
    }
    let on_restart = section.choice("on_restart", &[("fail", OnRestart::Fail), ("rerun", OnRestart::Rerun)])?;
    Ok(Agent {
        path,
        card,
        tenant: String::new(),
        card_file: card_file.map(|file| folder.join(file.value)),
        bindings: section.choices("bindings", &BINDINGS)?,
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
        return Err(document.error_at(&section.span, "the agent has no name").with_hint("add name = \"...\""));
    };
    let fine = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.value.chars().all(fine) || !name.value.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        let what = format!("{:?} cannot be a name", name.value);
        return Err(section.error(&name, what).with_hint("use letters, digits, \".\", \"_\" and \"-\"; what people read is in the card"));
    }
    if others.iter().any(|other| other.name == name.value) {
        return Err(section.error(&name, format!("there is an agent {:?} already", name.value)));
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
            .error(&said, what)
            .with_hint("begin with \"/\", do not end with it, and use letters, digits, \".\", \"_\", \"~\" and \"-\""));
    }
    if OWN_PATHS.iter().any(|own| path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))) {
        return Err(section.error(&said, format!("the path {path:?} belongs to the server")));
    }
    match others.iter().find(|other| other.path == path) {
        Some(other) => Err(clash(section, Some(&said), path, other)),
        None => Ok(said.value),
    }
}

fn clash(section: &Section<'_, '_>, said: Option<&Value<String>>, path: &str, other: &Agent) -> super::Error {
    let what = format!("the agent {:?} is at {path:?} already", other.name);
    match said {
        Some(said) => section.error(said, what),
        None => section.table_error(what).with_hint("give one of them another path"),
    }
}

/// A skill, and the scopes that it needs.
type Demanding = (Skill, Option<Value<Vec<Value<String>>>>);

fn skills(document: &Document<'_>, entry: Option<(Range<usize>, DeValue<'_>)>, description: &str) -> Result<Vec<Demanding>> {
    let Some((key, value)) = entry else { return Ok(Vec::new()) };
    let DeValue::Array(items) = value else {
        return Err(document.error_at(&key, format!("skills of [[agent]] must be a list, not {}", kind(&value))));
    };
    let mut skills: Vec<Demanding> = Vec::new();
    for item in items {
        let span = item.span();
        let skill = match item.into_inner() {
            DeValue::String(id) => (Skill::new(id, description), None),
            DeValue::Table(table) => skill(document, table, span.clone(), description)?,
            other => return Err(document.error_at(&span, format!("a skill must be a string or a table, not {}", kind(&other)))),
        };
        if skills.iter().any(|(known, _)| known.id == skill.0.id) {
            return Err(document.error_at(&span, format!("there is a skill {:?} already", skill.0.id)));
        }
        skills.push(skill);
    }
    Ok(skills)
}

fn skill<'t>(document: &Document<'t>, table: DeTable<'t>, span: Range<usize>, description: &str) -> Result<Demanding> {
    let mut section = Section::open(document, "skills", table, span, &SKILL, false)?;
    let Some(id) = section.text("id")? else {
        return Err(document.error_at(&section.span, "the skill has no id").with_hint("add id = \"...\""));
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
        return Err(section
            .error(scopes, "scopes must not be empty")
            .with_hint("leave it out: everybody who may call may use the skill then"));
    }
    Ok((skill, scopes))
}
