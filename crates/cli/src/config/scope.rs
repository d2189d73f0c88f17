//! How far work may reach: the workflows, how strictly they are kept, and whose tokens are believed.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use chancery_engine::pass::Lattice;
use chancery_lattice::{Gate, OnViolation, Roots, Strictness, Workflow, WorkflowError};

use super::{
    auth::{Listed, tables},
    or,
    problem::Problem,
    reason,
    section::{Document, Keys, Result, Section},
};

pub(super) const WORKFLOWS: Keys = Keys { known: &["files"], later: &[] };
pub(super) const LATTICE: Keys = Keys { known: &["mode", "least_privilege", "on_violation", "approvers"], later: &[] };
pub(super) const SCOPE: Keys = Keys { known: &[], later: &[] };
pub(super) const ROOT: Keys = Keys { known: &["kid", "public_key"], later: &[] };

/// `[workflows]`, `[lattice]` and `[scope]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reach {
    /// Each file, and what it says.
    pub(crate) workflows: Vec<(PathBuf, Workflow)>,
    /// How strict; as the workflows want it when not said.
    pub(crate) mode: Option<Strictness>,
    /// Whether an edge that names skills passes on those alone.
    pub(crate) least_privilege: bool,
    /// What becomes of a task whose way is not allowed, where no edge says it.
    pub(crate) on_violation: OnViolation,
    /// Whose word allows an edge once.
    pub(crate) approvers: Vec<String>,
    /// The number and the public key of each root.
    pub(crate) roots: Vec<(u32, String)>,
}

impl Reach {
    /// The gate of an agent, if anything is said about how far it reaches. In the workflows it has its own name.
    pub(crate) fn lattice(&self, agent: &str) -> Option<Lattice> {
        if self.workflows.is_empty() && self.mode.is_none() && self.roots.is_empty() {
            return None;
        }
        let gate = Gate::new(agent).least_privilege(self.least_privilege).on_violation(self.on_violation).approvers(&self.approvers);
        let gate = self.workflows.iter().fold(gate, |gate, (_, workflow)| gate.workflow(workflow.clone()));
        Some(Lattice::new(match self.mode {
            Some(mode) => gate.strictness(mode),
            None => gate,
        }))
    }

    /// Who verifies tokens, if any are believed.
    pub(crate) fn tokens(&self) -> Option<Arc<Roots>> {
        // What is no key was refused when it was read.
        let add = |roots: Roots, (kid, key): &(u32, String)| roots.clone().root(*kid, key).unwrap_or(roots);
        (!self.roots.is_empty()).then(|| Arc::new(self.roots.iter().fold(Roots::new(), add)))
    }
}

pub(super) fn reach(
    document: &Document<'_>,
    mut workflows: Section<'_, '_>,
    mut lattice: Section<'_, '_>,
    roots: Option<Listed<'_>>,
    folder: &Path,
) -> Result<Reach> {
    let mut files = Vec::new();
    for file in or(workflows.texts("files")?, Vec::new) {
        let path = folder.join(&file.value);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| workflows.wrong(&file, format!("the workflow {:?} cannot be read: {}", file.value, reason(&error))))?;
        files.push((path, Workflow::parse(&text).map_err(|error| unusable(&file.value, &text, &error))?));
    }
    let modes = [("off", Strictness::Off), ("warn", Strictness::Warn), ("enforce", Strictness::Enforce)];
    let endings = [("fail", OnViolation::Fail), ("escalate", OnViolation::Escalate)];
    Ok(Reach {
        workflows: files,
        mode: lattice.choice("mode", &modes)?.map(|mode| mode.value),
        least_privilege: or(lattice.flag("least_privilege")?, || true),
        on_violation: or(lattice.choice("on_violation", &endings)?, OnViolation::default),
        approvers: or(lattice.texts("approvers")?, Vec::new).into_iter().map(|name| name.value).collect(),
        roots: self::roots(document, roots)?,
    })
}

fn roots(document: &Document<'_>, listed: Option<Listed<'_>>) -> Result<Vec<(u32, String)>> {
    let mut roots = Vec::new();
    for (span, table) in tables(document, listed, "[[scope.roots]]")? {
        let mut section = Section::open(document, "[[scope.roots]]", table, span, &ROOT, false)?;
        let missing =
            |section: &Section<'_, '_>, key| section.wrong_at_all(format!("the root has no {key}")).hint(format!("add {key} = …"));
        let Some(kid) = section.count("kid")? else { return Err(missing(&section, "kid")) };
        let Ok(number) = u32::try_from(kid.value) else { return Err(section.wrong(&kid, "kid is too large")) };
        if roots.iter().any(|(known, _)| *known == number) {
            return Err(section.wrong(&kid, format!("there is a root {number} already")));
        }
        let Some(key) = section.text("public_key")? else { return Err(missing(&section, "public_key")) };
        if let Err(error) = Roots::new().root(number, &key.value) {
            return Err(section.wrong(&key, error.to_string()).hint("write it like \"ed25519/\" and 64 hexadecimal digits"));
        }
        roots.push((number, key.value));
    }
    Ok(roots)
}

/// What is wrong with a workflow, in its own file.
fn unusable(file: &str, text: &str, error: &WorkflowError) -> Problem {
    match error {
        WorkflowError::Unreadable(cause) => match cause.span() {
            Some(span) => Problem::at(file, text, &span, cause.message().trim().replace('\n', "; ")),
            None => Problem::of_file(file, cause.message().trim()),
        },
        other => Problem::of_file(file, other.to_string()),
    }
}
