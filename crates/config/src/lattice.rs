//! `[workflows]`, `[lattice]`, `[scope]`: authorization of work that is passed on: allowed workflows, enforcement, trusted token issuers.

use std::path::{Path, PathBuf};

use chancery_lattice::{OnViolation, Roots, Strictness, Workflow, WorkflowError};

use super::{
    auth::{Nested, tables},
    error::{Error, nearest},
    or, reason,
    section::{Document, Keys, Result, Section},
    unreadable,
};

pub(crate) const WORKFLOWS: Keys = Keys::new(&["files"], &[]);
pub(crate) const LATTICE: Keys = Keys::new(&["mode", "least_privilege", "on_violation", "approvers"], &[]);
pub(crate) const SCOPE: Keys = Keys::new(&[], &[]);
pub(crate) const ROOT: Keys = Keys::new(&["kid", "public_key"], &[]);

/// `[workflows]`, `[lattice]` and `[scope]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Lattice {
    /// Each file, and what it says.
    pub workflows: Vec<(PathBuf, Workflow)>,
    /// How strict; as the workflows want it when not said.
    pub mode: Option<Strictness>,
    /// Whether an edge that names skills passes on those alone.
    pub least_privilege: bool,
    /// What becomes of a task whose way is not allowed, where no edge says it.
    pub on_violation: OnViolation,
    /// Whose word allows an edge once.
    pub approvers: Vec<String>,
    /// The number and the public key of each root.
    pub roots: Vec<(u32, String)>,
}

pub(crate) fn lattice(
    document: &Document<'_>,
    mut workflows: Section<'_, '_>,
    mut lattice: Section<'_, '_>,
    roots: Option<Nested<'_>>,
    folder: &Path,
) -> Result<Lattice> {
    let mut files = Vec::new();
    for file in or(workflows.texts("files")?, Vec::new) {
        let path = folder.join(&file.value);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| workflows.error(&file, format!("the workflow {:?} cannot be read: {}", file.value, reason(&error))))?;
        files.push((path, Workflow::parse(&text).map_err(|error| unusable(&file.value, &text, &error))?));
    }
    let modes = [("off", Strictness::Off), ("warn", Strictness::Warn), ("enforce", Strictness::Enforce)];
    let endings = [("fail", OnViolation::Fail), ("escalate", OnViolation::Escalate)];
    Ok(Lattice {
        workflows: files,
        mode: lattice.choice("mode", &modes)?.map(|mode| mode.value),
        least_privilege: or(lattice.flag("least_privilege")?, || true),
        on_violation: or(lattice.choice("on_violation", &endings)?, OnViolation::default),
        approvers: or(lattice.texts("approvers")?, Vec::new).into_iter().map(|name| name.value).collect(),
        roots: self::roots(document, roots)?,
    })
}

fn roots(document: &Document<'_>, nested: Option<Nested<'_>>) -> Result<Vec<(u32, String)>> {
    let mut roots = Vec::new();
    for (span, table) in tables(document, nested, "[[scope.roots]]")? {
        let mut section = Section::open(document, "[[scope.roots]]", table, span, &ROOT, false)?;
        let missing =
            |section: &Section<'_, '_>, key| section.table_error(format!("the root has no {key}")).with_hint(format!("add {key} = …"));
        let Some(kid) = section.count("kid")? else { return Err(missing(&section, "kid")) };
        let Ok(number) = u32::try_from(kid.value) else { return Err(section.error(&kid, "kid is too large")) };
        if roots.iter().any(|(known, _)| *known == number) {
            return Err(section.error(&kid, format!("there is a root {number} already")));
        }
        let Some(key) = section.text("public_key")? else { return Err(missing(&section, "public_key")) };
        if let Err(error) = Roots::new().root(number, &key.value) {
            return Err(section.error(&key, error.to_string()).with_hint("write it like \"ed25519/\" and 64 hexadecimal digits"));
        }
        roots.push((number, key.value));
    }
    Ok(roots)
}

/// Reads the file of a workflow.
///
/// # Errors
/// The first thing that is wrong with it, with its line.
pub fn workflow(file: &Path) -> Result<Workflow> {
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
    Workflow::parse(&text).map_err(|error| unusable(&file.display().to_string(), &text, &error))
}

/// What is wrong with a workflow, in its own file.
fn unusable(file: &str, text: &str, error: &WorkflowError) -> Error {
    let made = match error.span() {
        Some(span) => Error::at(file, text, &span, error.message()),
        None => Error::of_file(file, error.message()),
    };
    let allowed = error.allowed();
    let near = error.wrong().and_then(|word| nearest(word, allowed.iter().map(String::as_str)));
    match (near, allowed) {
        (_, []) => made,
        (Some(near), _) => made.with_hint(format!("did you mean {near:?}? It may be {}", allowed.join(", "))),
        (None, [only]) => made.with_hint(format!("write {only}")),
        (None, several) => made.with_hint(format!("it may be {}", several.join(", "))),
    }
}
