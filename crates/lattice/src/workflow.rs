//! A workflow: which agents there are, and who may pass what to whom.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    caps::{Kind, Required},
    pattern::{Name, Patterns},
    scope::Scope,
};

/// Agents, and the ways that work may take between them.
///
/// ```
/// # use chancery_lattice::Workflow;
/// let refunds = Workflow::parse(r#"
///     [workflow]
///     name = "refunds"
///     start = ["triage"]
///     scope = { skills = ["triage", "refund"], hops = 3 }
///
///     [[agent]]
///     id = "triage"
///     card = "cards/triage.json"
///
///     [[agent]]
///     id = "billing"
///     url = "https://billing.example.com"
///
///     [[edge]]
///     from = "triage"
///     to = "billing"
///     kind = "handoff"
///     requires = ["refund"]
/// "#)?;
/// assert_eq!(refunds.edges[0].label(), "triage->billing");
/// # Ok::<(), chancery_lattice::WorkflowError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workflow {
    /// Its name; empty when it has none.
    pub name: String,
    /// The agents that work comes in at.
    pub start: Vec<String>,
    /// What comes in may reach this far.
    pub scope: Scope,
    /// The agents.
    pub agents: Vec<Agent>,
    /// The ways between them.
    pub edges: Vec<Edge>,
}

/// An agent of a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agent {
    /// What the workflow calls it.
    pub id: String,
    /// Where its card is: a file or any other reference.
    pub card: Option<String>,
    /// Its address.
    pub url: Option<String>,
    /// All that may ever be asked of it.
    pub allow: Option<Scope>,
    /// All that it may ever pass on.
    pub scope: Option<Scope>,
}

/// A way that work may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Edge {
    /// Who passes work on.
    pub from: String,
    /// To whom.
    pub to: String,
    /// How.
    pub kind: Kind,
    /// The skills that it is for; none for any.
    #[serde(default, alias = "needs", skip_serializing_if = "BTreeSet::is_empty")]
    pub requires: BTreeSet<String>,
    /// What goes along. When not said, no more than what is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Scope>,
    /// What becomes of a task whose way is not allowed, when the edge says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_violation: Option<OnViolation>,
}

/// What becomes of a task whose way is not allowed (LA-25).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnViolation {
    /// It fails.
    #[default]
    Fail,
    /// A person is asked.
    Escalate,
}

impl Workflow {
    /// The agent of this id.
    #[must_use]
    pub fn agent(&self, id: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.id == id)
    }

    /// An agent and all that work may come to from there, by their ids.
    #[must_use]
    pub fn reachable<'a>(&'a self, from: &'a str) -> BTreeSet<&'a str> {
        let mut seen = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            let next = self.edges.iter().filter(|edge| edge.from == at).map(|edge| edge.to.as_str());
            open.extend(next.filter(|to| seen.insert(to)));
        }
        seen
    }

    /// The edge between two agents, if work may be passed on there in this way.
    #[must_use]
    pub fn edge(&self, from: &str, to: &str, kind: Kind) -> Option<&Edge> {
        self.edges.iter().find(|edge| edge.from == from && edge.to == to && edge.kind == kind)
    }
}

impl Edge {
    /// `from->to`
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}->{}", self.from, self.to)
    }

    /// What a call over this edge needs.
    #[must_use]
    pub fn required(&self) -> Required {
        Required { skills: self.requires.clone(), ..Required::default() }
    }

    /// What goes along over this edge of the scope that its agent holds: what is granted, and one hop less. With the
    /// least privilege, an edge that grants no skills by name grants those that it requires (LA-23).
    #[must_use]
    pub fn passes_on(&self, held: &Scope, least_privilege: bool) -> Scope {
        let mut grant = self.grant.clone().unwrap_or_default();
        if least_privilege && grant.skills.is_none() && !self.requires.is_empty() {
            grant.skills = Scope::of_skills(&self.requires).skills;
        }
        held.passed_on(&grant)
    }

    /// The skills that may be asked for over this edge: those that it grants or requires; `None` for any.
    pub(crate) fn skills(&self, least_privilege: bool) -> Option<Patterns<Name>> {
        let required = || Scope::of_skills(&self.requires).skills.unwrap_or_default();
        match self.grant.as_ref().and_then(|grant| grant.skills.as_ref()) {
            Some(granted) => Some(granted.join(&required())),
            None => (least_privilege && !self.requires.is_empty()).then(required),
        }
    }
}
