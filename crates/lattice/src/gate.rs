//! Asked before work is passed on, while agents run: the same file, the same lattice, the same answer as the check
//! beforehand (LA-45).
//!
//! ```text
//!  Scope(task)  =  of the workflow  ⊓  of this agent  ⊓  carried by the caller  ⊓  in the transfer context     LA-11
//!      |
//!  is there an edge?  is all that is needed in Caps(B) ∩ Scope(task)?                                          LA-20 … 22
//!      |                                    `-- no --> Denied, or a person is asked                            LA-25
//!      yes
//!      |
//!  Passed: the scope that B gets, which is never more                                                          LA-23
//! ```

use std::collections::{BTreeMap, BTreeSet};

use chancery_core::{Card, Timestamp};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    caps::{Capabilities, Kind, Missing, Refused, Required, Violation, Why},
    pattern::{Name, Origin, Patterns},
    scope::Scope,
    workflow::{Edge, OnViolation, Workflow},
};

/// How strict a gate is (LA-24).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strictness {
    /// Nothing is checked. What was carried is carried on.
    Off,
    /// What is not allowed is told, and goes on.
    Warn,
    /// What is not allowed is not done.
    Enforce,
}

/// Decides, for the agent that it belongs to, what may be passed on to whom. It knows no network and no clock.
///
/// ```
/// use chancery_core::{Card, Timestamp};
/// use chancery_lattice::{Gate, Kind, Passage, Required, Workflow};
///
/// let refunds = Workflow::parse(r#"
///     [workflow]
///     name = "refunds"
///     scope = { skills = ["triage", "refund"], hops = 3 }
///     [[agent]]
///     id = "triage"
///     url = "https://triage.example.com"
///     [[agent]]
///     id = "billing"
///     url = "https://billing.example.com"
///     [[edge]]
///     from = "triage"
///     to = "billing"
///     kind = "handoff"
///     requires = ["refund"]
/// "#)?;
/// let gate = Gate::new("https://triage.example.com").workflow(refunds);
/// let billing = Card::new("Billing", "Pays back").skill("refund", "Pays back").skill("close", "Closes an account");
///
/// let passage = Passage::new("https://billing.example.com", Kind::Handoff, &billing, Timestamp::EPOCH);
/// let passed = gate.check(&passage).unwrap();
/// assert_eq!(serde_json::to_string(&passed.scope).unwrap(), r#"{"skills":["refund"],"hops":2}"#);
///
/// let denied = gate.check(&passage.requires(Required::skills(["close"]))).unwrap_err();
/// assert_eq!(denied.violation.missing[0].skill.as_deref(), Some("close"));
/// # Ok::<(), chancery_lattice::WorkflowError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Gate {
    agent: String,
    workflows: Vec<Workflow>,
    /// The ids of agents, by their workflow and their base address.
    ids: BTreeMap<(usize, String), String>,
    scope: Option<Scope>,
    strictness: Option<Strictness>,
    least_privilege: bool,
    on_violation: Option<OnViolation>,
    approvers: BTreeSet<String>,
}

/// Work that is about to be passed on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Passage<'a> {
    /// The base address of the agent that passes it on, when that is not the one that the gate was made with.
    pub from: Option<&'a str>,
    /// The base address of the agent that it goes to.
    pub to: &'a str,
    /// How.
    pub kind: Kind,
    /// The card of that agent.
    pub card: &'a Card,
    /// When.
    pub now: Timestamp,
    /// What is needed beside what the edge needs.
    pub required: Required,
    /// The workflow that the task belongs to, by its name, if that is known.
    pub workflow: Option<&'a str>,
    /// The scope of the token that the caller carried.
    pub carried: Option<Scope>,
    /// The scopes that the caller was granted otherwise, such as by OAuth. They count when it carried no token.
    pub scopes: BTreeSet<String>,
    /// The scope in the context of the task that came here.
    pub transferred: Option<Scope>,
    /// How often the task was passed on already.
    pub hops: u32,
    /// Who has allowed it, when it was refused before.
    pub approved_by: Option<&'a str>,
}

/// Work that may be passed on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Passed {
    /// How far the other agent may reach (LA-23).
    pub scope: Scope,
    /// What of the other agent may be used.
    pub effective: Capabilities,
    /// The workflow that it belongs to.
    pub workflow: Option<String>,
    /// The origins of the other agent and of all that can be reached from it, when a workflow says so (LA-32).
    pub audiences: Option<BTreeSet<String>>,
    /// What would have been refused by a gate that is stricter, or was, until somebody allowed it.
    pub warning: Option<Box<Violation>>,
}

/// Work that may not be passed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{violation}")]
#[non_exhaustive]
pub struct Denied {
    /// What is missing.
    pub violation: Box<Violation>,
    /// Whether a person is to be asked (LA-25).
    pub escalate: bool,
}

impl<'a> Passage<'a> {
    /// Work that goes to an agent, of which nothing else is known.
    #[must_use]
    pub fn new(to: &'a str, kind: Kind, card: &'a Card, now: Timestamp) -> Self {
        Self {
            from: None,
            to,
            kind,
            card,
            now,
            required: Required::default(),
            workflow: None,
            carried: None,
            scopes: BTreeSet::new(),
            transferred: None,
            hops: 0,
            approved_by: None,
        }
    }

    /// Says what is needed.
    #[must_use]
    pub fn requires(mut self, required: Required) -> Self {
        self.required = required;
        self
    }
}

impl Gate {
    /// The gate of the agent with this base address, or that workflows call so. It belongs to no workflow yet.
    pub fn new(agent: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            workflows: Vec::new(),
            ids: BTreeMap::new(),
            scope: None,
            strictness: None,
            least_privilege: true,
            on_violation: None,
            approvers: BTreeSet::new(),
        }
    }

    /// Adds a workflow.
    #[must_use]
    pub fn workflow(mut self, workflow: Workflow) -> Self {
        let at = self.workflows.len();
        let urls = workflow.agents.iter().filter_map(|agent| Some(((at, base(agent.url.as_deref()?)), agent.id.clone())));
        self.ids.extend(urls);
        self.workflows.push(workflow);
        self
    }

    /// Says where an agent is of which the workflows have only the id.
    #[must_use]
    pub fn known(mut self, id: &str, url: &str) -> Self {
        let places = self.workflows.iter().enumerate().filter(|(_, workflow)| workflow.agent(id).is_some());
        self.ids.extend(places.map(|(at, _)| ((at, base(url)), id.to_owned())));
        self
    }

    /// All that this agent may ever pass on.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// How strict it is. Without a word it is strict for the agents of its workflows, and off for others.
    #[must_use]
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = Some(strictness);
        self
    }

    /// Whether an edge that names skills passes on those alone; so it is unless said otherwise.
    #[must_use]
    pub fn least_privilege(mut self, least: bool) -> Self {
        self.least_privilege = least;
        self
    }

    /// What becomes of a task whose way is not allowed, where no edge says it.
    #[must_use]
    pub fn on_violation(mut self, on_violation: OnViolation) -> Self {
        self.on_violation = Some(on_violation);
        self
    }

    /// Those whose word allows one edge once.
    #[must_use]
    pub fn approvers<S: Into<String>>(mut self, approvers: impl IntoIterator<Item = S>) -> Self {
        self.approvers = approvers.into_iter().map(Into::into).collect();
        self
    }

    /// Whether somebody's word allows an edge (LA-25).
    #[must_use]
    pub fn is_approver(&self, who: &str) -> bool {
        self.approvers.contains(who)
    }

    /// Whether a person is to be asked about a violation that this gate found (LA-25).
    #[must_use]
    pub fn escalates(&self, violation: &Violation) -> bool {
        let workflow = self.workflows.iter().find(|workflow| violation.workflow.as_ref() == Some(&workflow.name));
        let edges = workflow.into_iter().flat_map(|workflow| &workflow.edges);
        let mut edges = edges.filter(|edge| edge.kind == violation.kind && Some(edge.label()) == violation.edge);
        edges.next().and_then(|edge| edge.on_violation).or(self.on_violation).unwrap_or_default() == OnViolation::Escalate
    }

    /// How strict it is for its agent (LA-24).
    #[must_use]
    pub fn strict(&self) -> Strictness {
        self.strict_for(None)
    }

    fn strict_for(&self, from: Option<&str>) -> Strictness {
        let belongs = || (0..self.workflows.len()).any(|at| self.own_id(at, from).is_some());
        self.strictness.unwrap_or_else(|| if belongs() { Strictness::Enforce } else { Strictness::Off })
    }

    /// Whether work may be passed on, and how far it may reach then.
    ///
    /// # Errors
    /// What is not allowed. When a person is to be asked, the same passage with the word of an approver is allowed.
    pub fn check(&self, passage: &Passage<'_>) -> Result<Passed, Denied> {
        let strict = self.strict_for(passage.from);
        let way = self.way(passage);
        let held = self.held(passage, way.as_ref());
        let scope = match way.as_ref().and_then(|way| way.edge) {
            Some(edge) => edge.passes_on(&held, self.least_privilege),
            None => held.passed_on(&Scope::top()),
        };
        let mut passed = Passed {
            scope,
            effective: Capabilities::of(passage.card),
            workflow: way.as_ref().map(|way| way.workflow.name.clone()).filter(|name| !name.is_empty()),
            audiences: way.as_ref().and_then(|way| Some(self.reachable(way, way.edge?, passage.to))),
            warning: None,
        };
        if strict == Strictness::Off {
            return Ok(passed);
        }
        match self.allowed(passage, way.as_ref(), &held) {
            Ok(effective) => passed.effective = effective,
            Err(violation) => {
                let approved = passage.approved_by.is_some_and(|who| self.is_approver(who));
                if strict == Strictness::Enforce && !approved {
                    let escalate = self.escalates(&violation);
                    return Err(Denied { violation, escalate });
                }
                passed.warning = Some(violation);
            }
        }
        Ok(passed)
    }

    /// The scope of the task at this agent (LA-11). What is absent is no limit.
    fn held(&self, passage: &Passage<'_>, way: Option<&Way<'_>>) -> Scope {
        let granted = || (!passage.scopes.is_empty()).then(|| named_scopes(&passage.scopes));
        let mut held = passage.carried.clone().or_else(granted).unwrap_or_default();
        let own = way.and_then(|way| way.workflow.agent(way.from)?.scope.as_ref());
        for limit in [self.scope.as_ref(), own, passage.transferred.as_ref()].into_iter().flatten() {
            held = held.meet(limit);
        }
        if let Some(way) = way {
            // The hops of a workflow are those of a whole way, and some of them are behind us.
            let mut whole = way.workflow.scope.clone();
            whole.hops = whole.hops.map(|hops| hops.saturating_sub(passage.hops));
            held = held.meet(&whole);
        }
        held
    }

    /// LA-20, LA-22, LA-45
    fn allowed(&self, passage: &Passage<'_>, way: Option<&Way<'_>>, held: &Scope) -> Result<Capabilities, Box<Violation>> {
        let mut required = passage.required.clone();
        let mut held = held.clone();
        let edge = way.and_then(|way| way.edge);
        if let Some(edge) = edge {
            required.skills.extend(edge.requires.iter().cloned());
            // What was checked beforehand is that this edge passes on these skills, and no others.
            if let Some(skills) = edge.skills(self.least_privilege) {
                held.skills = Some(held.skills.map_or_else(|| skills.clone(), |held| held.meet(&skills)));
            }
        }
        let violation = |refused| {
            let violation = Violation::new(passage.from.unwrap_or(&self.agent), passage.to, passage.kind, &required, refused);
            match (way, edge) {
                (Some(way), Some(edge)) => Box::new(violation.within(&way.workflow.name, edge.label())),
                (Some(way), None) => Box::new(Violation { workflow: Some(way.workflow.name.clone()), ..violation }),
                (None, _) => Box::new(violation),
            }
        };
        if way.is_some() && edge.is_none() {
            let missing = |skill| Missing { skill, why: Why::AudienceOutOfScope, scopes: BTreeSet::new() };
            let mut missing: Vec<_> = required.skills.iter().cloned().map(Some).map(missing).collect();
            if missing.is_empty() {
                missing.push(Missing { skill: None, why: Why::AudienceOutOfScope, scopes: BTreeSet::new() });
            }
            return Err(violation(Refused { allowed: Capabilities::default(), missing }));
        }
        required.within(&Capabilities::of(passage.card), &held, passage.to, passage.now).map_err(violation)
    }

    /// The workflow that a passage belongs to, and its edge there. The one that the task names comes first, then the
    /// first one that has such an edge, then the first one that this agent belongs to.
    fn way(&self, passage: &Passage<'_>) -> Option<Way<'_>> {
        let ways = self.workflows.iter().enumerate().filter_map(|(at, workflow)| {
            let from = self.own_id(at, passage.from)?;
            let edge = self.id(at, passage.to).and_then(|to| workflow.edge(from, to, passage.kind));
            Some(Way { at, workflow, from, edge })
        });
        ways.min_by_key(|way| (passage.workflow != Some(way.workflow.name.as_str()), way.edge.is_none()))
    }

    /// What a workflow calls this agent.
    fn own_id(&self, at: usize, from: Option<&str>) -> Option<&str> {
        from.and_then(|from| self.id(at, from)).or_else(|| self.id(at, &self.agent))
    }

    /// What a workflow calls the agent at an address, or the agent of that id.
    fn id(&self, at: usize, agent: &str) -> Option<&str> {
        let by_url = self.ids.get(&(at, base(agent))).map(String::as_str);
        by_url.or_else(|| self.workflows.get(at)?.agent(agent).map(|agent| agent.id.as_str()))
    }

    fn reachable(&self, way: &Way<'_>, edge: &Edge, to: &str) -> BTreeSet<String> {
        let ids = way.workflow.reachable(&edge.to);
        let urls = self.ids.iter().filter(|((at, _), id)| *at == way.at && ids.contains(id.as_str())).map(|((_, url), _)| url.as_str());
        urls.chain([to]).filter_map(|url| url.parse::<Origin>().ok()).map(|origin| origin.to_string()).collect()
    }
}

/// Where a passage goes in a workflow.
struct Way<'a> {
    at: usize,
    workflow: &'a Workflow,
    /// What the workflow calls this agent.
    from: &'a str,
    edge: Option<&'a Edge>,
}

/// Work that came in with a token (LA-26). The token has been verified; this asks whether it allows what is wanted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Arrival<'a> {
    /// The base address of the agent that it came to.
    pub at: &'a str,
    /// The card of that agent.
    pub card: &'a Card,
    /// Who sent it, as far as that is known.
    pub from: &'a str,
    /// How.
    pub kind: Kind,
    /// The scope of the token.
    pub carried: &'a Scope,
    /// How often the token was passed on.
    pub hops: u32,
    /// How often the message says that it was.
    pub claimed: u32,
    /// What is wanted.
    pub required: Required,
    /// When.
    pub now: Timestamp,
}

impl<'a> Arrival<'a> {
    /// Work that came to an agent from a caller of which nothing else is known.
    #[must_use]
    pub fn new(at: &'a str, card: &'a Card, carried: &'a Scope, now: Timestamp) -> Self {
        Self { at, card, from: "", kind: Kind::Delegate, carried, hops: 0, claimed: 0, required: Required::default(), now }
    }

    /// Whether the token allows it.
    ///
    /// # Errors
    /// What it does not allow.
    pub fn check(&self) -> Result<Capabilities, Box<Violation>> {
        let violation = |refused| Box::new(Violation::new(self.from, self.at, self.kind, &self.required, refused));
        // Nobody can take a hop off a token; a chain that is shorter hides somebody (LA-33).
        if self.claimed < self.hops {
            let missing = vec![Missing { skill: None, why: Why::HopsExhausted, scopes: BTreeSet::new() }];
            return Err(violation(Refused { allowed: Capabilities::default(), missing }));
        }
        // It is here already; hops are about passing it on.
        let carried = Scope { hops: None, ..self.carried.clone() };
        self.required.within(&Capabilities::of(self.card), &carried, self.at, self.now).map_err(violation)
    }
}

/// Scopes as a limit in that dimension alone. They are names, whatever characters are in them.
fn named_scopes(scopes: &BTreeSet<String>) -> Scope {
    let scopes: Patterns<Name> = scopes.iter().cloned().map(Name::Exact).collect();
    Scope { scopes: Some(scopes), ..Scope::top() }
}

/// An address as addresses are compared: without what goes without saying, and without a slash at its end (HO-32).
fn base(url: &str) -> String {
    let Ok(parsed) = Url::parse(url) else { return url.to_owned() };
    let Ok(origin) = url.parse::<Origin>() else { return url.to_owned() };
    format!("{origin}{}", parsed.path().trim_end_matches('/'))
}
