//! Follows every path of a workflow with the scopes that can arrive on it, before anything runs (LA-40).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chancery_core::{Card, Timestamp, extension};
use serde::Serialize;

use crate::{
    caps::{Capabilities, Kind, Refused, Violation, Why},
    pattern::{Mode, Patterns},
    scope::Scope,
    workflow::{Agent, Edge, Workflow},
};

/// An agent holds at most this many scopes that none of the others covers; more become one that covers all.
const WIDTH: usize = 64;

/// What is known of an agent of a workflow.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Known {
    /// Its card.
    pub card: Card,
    /// Its address.
    pub url: String,
    /// Whether its card can be trusted.
    pub trust: Trust,
    /// Whether its callers have a credential of a kind that it takes.
    pub callable: bool,
}

/// Whether a card can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// Its signature covers all of it.
    Verified,
    /// Its signature leaves something out, or was not checked.
    Reduced,
    /// It has none.
    Unsigned,
}

impl Known {
    /// A card and the address of its agent. Whether a signature holds is not known here.
    #[must_use]
    pub fn new(card: Card, url: impl Into<String>) -> Self {
        let trust = if card.signatures.is_empty() { Trust::Unsigned } else { Trust::Reduced };
        Self { card, url: url.into(), trust, callable: true }
    }

    /// Says whether callers have a credential of a kind that it takes.
    #[must_use]
    pub fn callable(mut self, callable: bool) -> Self {
        self.callable = callable;
        self
    }

    /// Says whether the card can be trusted.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }
}

/// What was found out about a workflow (LA-43).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Its name.
    pub workflow: String,
    /// Its agents, as in the file.
    pub agents: Vec<AgentReport>,
    /// Its edges, as in the file.
    pub edges: Vec<EdgeReport>,
    /// What is wrong or worth a look.
    pub findings: Vec<Finding>,
}

/// An agent of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AgentReport {
    /// The agent.
    pub id: String,
    /// What it can do by its card.
    pub caps: Capabilities,
    /// The scopes that can arrive there; none covers another.
    pub reaches: Vec<Scope>,
    /// The skills that somebody can use.
    #[serde(skip)]
    pub(crate) usable: Vec<String>,
    #[serde(skip)]
    pub(crate) trust: Trust,
}

/// An edge of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EdgeReport {
    /// Who passes work on.
    pub from: String,
    /// To whom.
    pub to: String,
    /// How.
    pub kind: Kind,
    /// The skills that it is for.
    pub required: BTreeSet<String>,
    /// The skills that can be used over it.
    pub effective: BTreeSet<String>,
    /// Whether all that is required is allowed, on every path.
    pub ok: bool,
    /// What is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
    /// Why nothing is known about it: a card is missing, here or on the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
}

/// Something that is wrong with a workflow, or worth a look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What kind.
    pub code: Code,
    /// How bad.
    pub level: Level,
    /// In words.
    pub message: String,
    /// The agent or the edge.
    #[serde(rename = "where")]
    pub place: String,
    /// The agents on the way there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Level {
    /// The workflow breaks its own rules.
    Error,
    /// It may be meant.
    Warning,
}

/// What was found (LA-41, LA-42).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub enum Code {
    /// What an edge requires is not allowed on a path.
    E01,
    /// An agent can be asked for more than it may be.
    E02,
    /// An edge or the start names an agent that is not there.
    E03,
    /// The target of an edge has no such skill.
    E04,
    /// There is no card.
    E05,
    /// A handoff may go round for ever.
    E06,
    /// Nothing leads to an agent.
    W01,
    /// A handoff may go round until its hops are used up.
    W02,
    /// The target of a handoff does not know of handoffs.
    W03,
    /// A card is not signed, or not wholly.
    W04,
    /// An agent takes no credential of the kinds that its callers have.
    W05,
    /// A grant is wider than what can arrive.
    W06,
    /// Two agents have a skill of the same id.
    W07,
    /// An agent takes nothing that the one before gives.
    W08,
    /// So many scopes arrive at an agent that they were taken together.
    W09,
}

impl Code {
    /// How bad it is.
    #[must_use]
    pub fn level(self) -> Level {
        if self <= Self::E06 { Level::Error } else { Level::Warning }
    }
}

impl Report {
    /// Whether the workflow keeps its own rules.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.findings.iter().all(|finding| finding.level != Level::Error)
    }
}

impl Workflow {
    /// Checks every path, with the cards of the agents. An agent whose card could not be had is left out here,
    /// or has the reason instead.
    #[must_use]
    pub fn check(&self, cards: &BTreeMap<String, Result<Known, String>>, now: Timestamp) -> Report {
        let mut check = Check::new(self, cards, now);
        check.names();
        check.paths();
        check.agents();
        check.edges();
        check.cycles();
        check.report()
    }
}

struct Check<'a> {
    workflow: &'a Workflow,
    now: Timestamp,
    known: BTreeMap<&'a str, (&'a Known, Capabilities)>,
    missing: BTreeMap<&'a str, &'a str>,
    /// The scopes that arrive at an agent; none covers another.
    arrivals: BTreeMap<&'a str, Vec<Scope>>,
    /// By the place of the edge in the file: the skills that can be used, and the first violation with its path.
    effective: Vec<BTreeSet<String>>,
    violations: Vec<Option<(Violation, Vec<String>)>>,
    /// The skills of an agent that somebody can use.
    usable: BTreeMap<&'a str, BTreeSet<String>>,
    findings: BTreeSet<(Code, String, String, Vec<String>)>,
}

impl<'a> Check<'a> {
    fn new(workflow: &'a Workflow, cards: &'a BTreeMap<String, Result<Known, String>>, now: Timestamp) -> Self {
        let mut known = BTreeMap::new();
        let mut missing = BTreeMap::new();
        for agent in &workflow.agents {
            match cards.get(&agent.id) {
                Some(Ok(found)) => drop(known.insert(agent.id.as_str(), (found, Capabilities::of(&found.card)))),
                Some(Err(why)) => drop(missing.insert(agent.id.as_str(), why.as_str())),
                None => drop(missing.insert(agent.id.as_str(), "it has neither a card nor an address")),
            }
        }
        let edges = workflow.edges.len();
        Self {
            workflow,
            now,
            known,
            missing,
            arrivals: BTreeMap::new(),
            effective: vec![BTreeSet::new(); edges],
            violations: vec![None; edges],
            usable: BTreeMap::new(),
            findings: BTreeSet::new(),
        }
    }

    fn find(&mut self, code: Code, place: impl Into<String>, message: impl Into<String>, path: &[String]) {
        self.findings.insert((code, place.into(), message.into(), path.to_vec()));
    }

    /// Names that lead nowhere, and cards that are not there.
    fn names(&mut self) {
        let workflow = self.workflow;
        for (id, why) in self.missing.clone() {
            self.find(Code::E05, id, format!("there is no card of {id}: {why}"), &[]);
        }
        for start in workflow.start.iter().filter(|start| workflow.agent(start).is_none()) {
            self.find(Code::E03, start, format!("the workflow starts at {start}, which is none of its agents"), &[]);
        }
        for edge in &workflow.edges {
            for id in [&edge.from, &edge.to] {
                if workflow.agent(id).is_none() {
                    self.find(Code::E03, edge.label(), format!("{id} is none of the agents"), &[]);
                }
            }
            if let Some((_, caps)) = self.known.get(edge.to.as_str()) {
                let unknown: Vec<_> = edge.requires.iter().filter(|skill| caps.get(skill).is_none()).cloned().collect();
                for skill in unknown {
                    self.find(Code::E04, edge.label(), format!("{} has no skill {skill}", edge.to), &[]);
                }
            }
        }
    }

    /// The work list: ends because hops fall and meets shrink.
    fn paths(&mut self) {
        let workflow = self.workflow;
        let mut open = VecDeque::new();
        for agent in workflow.start.iter().filter_map(|start| workflow.agent(start)) {
            self.ask(agent, &workflow.scope, &[]);
            if let Some((known, caps)) = self.known.get(agent.id.as_str()) {
                let effective = caps.within(&workflow.scope, &known.url, self.now);
                self.usable.entry(&agent.id).or_default().extend(effective.iter().map(|capability| capability.id.clone()));
            }
            open.extend(self.arrive(agent, workflow.scope.clone(), &[]));
        }
        while let Some((agent, scope, path)) = open.pop_front() {
            for (at, edge) in workflow.edges.iter().enumerate().filter(|(_, edge)| edge.from == agent.id) {
                let Some(target) = workflow.agent(&edge.to) else { continue };
                if !self.may_pass(at, edge, &scope, &path) {
                    continue;
                }
                let arriving = edge.passes_on(&scope, true);
                // What is asked of the target is not limited by how far it may pass it on.
                self.ask(target, &Scope { hops: None, ..arriving.clone() }, &path);
                open.extend(self.arrive(target, arriving, &path));
            }
        }
    }

    /// A scope that arrives at an agent, unless one that covers it has already.
    fn arrive(&mut self, agent: &'a Agent, scope: Scope, path: &[String]) -> Option<(&'a Agent, Scope, Vec<String>)> {
        let scope = agent.scope.as_ref().map_or(scope.clone(), |own| scope.meet(own));
        let arrivals = self.arrivals.entry(&agent.id).or_default();
        if arrivals.iter().any(|arrived| scope.is_within(arrived)) {
            return None;
        }
        let path: Vec<_> = path.iter().cloned().chain([agent.id.clone()]).collect();
        arrivals.retain(|arrived| !arrived.is_within(&scope));
        arrivals.push(scope.clone());
        if arrivals.len() <= WIDTH {
            return Some((agent, scope, path));
        }
        let wide = arrivals.drain(..).reduce(|a, b| a.join(&b)).unwrap_or_default();
        arrivals.push(wide.clone());
        self.find(Code::W09, &agent.id, format!("more than {WIDTH} scopes arrive at {}; they were taken together", agent.id), &[]);
        Some((agent, wide, path))
    }

    /// Whether an edge may be used with a scope (LA-20, LA-22).
    fn may_pass(&mut self, at: usize, edge: &'a Edge, scope: &Scope, path: &[String]) -> bool {
        let Some((target, caps)) = self.known.get(edge.to.as_str()) else { return false };
        let (allowed, refused) = match edge.required().within(caps, scope, &target.url, self.now) {
            Ok(allowed) => (allowed, None),
            Err(refused) => (refused.allowed.clone(), Some(refused)),
        };
        let allowed: BTreeSet<_> = allowed.iter().map(|capability| capability.id.clone()).collect();
        self.usable.entry(&edge.to).or_default().extend(allowed.clone());
        self.effective[at].extend(allowed);
        let passes = refused.is_none();
        if let Some(refused) = refused {
            self.refuse(at, edge, refused, path);
        }
        passes
    }

    fn refuse(&mut self, at: usize, edge: &Edge, refused: Refused, path: &[String]) {
        let path: Vec<_> = path.iter().cloned().chain([edge.to.clone()]).collect();
        let violation =
            Violation::new(&edge.from, &edge.to, edge.kind, &edge.required(), refused).within(&self.workflow.name, edge.label());
        // A skill that does not exist has its own finding.
        for missing in violation.missing.clone().iter().filter(|missing| missing.why != Why::UnknownSkill) {
            let message = in_words(edge, missing.skill.as_deref(), missing.why, &missing.scopes, &path);
            self.find(Code::E01, edge.label(), message, &path);
        }
        self.violations[at].get_or_insert((violation, path));
    }

    /// The agent without a card that keeps anything from being known of what arrives at another one.
    fn cut_off(&self, id: &str) -> Option<&'a str> {
        let is_cut = |missing: &&&str| self.workflow.reachable(missing).contains(id);
        if self.arrivals.contains_key(id) { None } else { self.missing.keys().find(is_cut).copied() }
    }

    /// Why nothing is known about an edge.
    fn unchecked(&self, edge: &Edge) -> Option<String> {
        let without = if self.missing.contains_key(edge.to.as_str()) { Some(edge.to.as_str()) } else { self.cut_off(&edge.from) };
        without.map(|id| format!("there is no card of {id}"))
    }

    /// What a scope lets somebody ask of an agent, and whether that is more than may be.
    fn ask(&mut self, agent: &'a Agent, scope: &Scope, path: &[String]) {
        let Some((known, caps)) = self.known.get(agent.id.as_str()) else { return };
        let asked = caps.within(scope, &known.url, self.now);
        let beyond: Vec<_> = match &agent.allow {
            Some(allow) => {
                let inside = asked.within(&Scope { hops: None, ..allow.clone() }, &known.url, self.now);
                asked
                    .iter()
                    .filter(|capability| inside.get(&capability.id) != Some(capability))
                    .map(|capability| capability.id.clone())
                    .collect()
            }
            None => Vec::new(),
        };
        let path: Vec<_> = path.iter().cloned().chain([agent.id.clone()]).collect();
        for skill in beyond {
            self.find(Code::E02, &agent.id, format!("{} can be asked for {skill}, which it may not be", agent.id), &path);
        }
    }

    fn agents(&mut self) {
        let workflow = self.workflow;
        let unreached = workflow.agents.iter().filter(|agent| !self.arrivals.contains_key(agent.id.as_str()));
        // What a missing card keeps from being followed may well lead there.
        for agent in unreached.filter(|agent| self.cut_off(&agent.id).is_none()).collect::<Vec<_>>() {
            self.find(Code::W01, &agent.id, format!("nothing leads to {}", agent.id), &[]);
        }
        let mut owners: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (id, (known, caps)) in self.known.clone() {
            if known.trust != Trust::Verified {
                let what =
                    if known.trust == Trust::Unsigned { "is not signed" } else { "is not signed in all its parts, or was not checked" };
                self.find(Code::W04, id, format!("the card of {id} {what}"), &[]);
            }
            for capability in caps.iter() {
                owners.entry(capability.id.clone()).or_default().push(id);
            }
        }
        for (skill, agents) in owners.into_iter().filter(|(_, agents)| agents.len() > 1) {
            self.find(Code::W07, agents.join(", "), format!("{} agents have a skill {skill}", agents.len()), &[]);
        }
    }

    fn edges(&mut self) {
        let workflow = self.workflow;
        for edge in &workflow.edges {
            if self.known.get(edge.to.as_str()).is_some_and(|(known, _)| !known.callable) {
                self.find(Code::W05, edge.label(), format!("no credential is configured that {} would take", edge.to), &[]);
            }
            if let (Some(grant), Some(arrivals)) = (&edge.grant, self.arrivals.get(edge.from.as_str())) {
                let holds = |held: &Scope| {
                    let passed = grant.meet(held);
                    (grant.skills.is_none() || passed.skills == grant.skills) && (grant.scopes.is_none() || passed.scopes == grant.scopes)
                };
                if !arrivals.iter().any(holds) {
                    self.find(Code::W06, edge.label(), format!("{} grants more than it can hold", edge.from), &[]);
                }
            }
            let (Some((_, given)), Some((target, taken))) = (self.known.get(edge.from.as_str()), self.known.get(edge.to.as_str())) else {
                continue;
            };
            let gives = modes(given, |capability| &capability.output);
            let takes = modes(taken, |capability| &capability.input);
            let knows_handoffs = target.card.capabilities.extensions.iter().any(|known| known.uri == extension::HANDOFF);
            if !gives.is_empty() && !takes.is_empty() && gives.meet(&takes).is_empty() {
                self.find(Code::W08, edge.label(), format!("{} takes nothing that {} gives", edge.to, edge.from), &[]);
            }
            if edge.kind == Kind::Handoff && !knows_handoffs {
                self.find(Code::W03, edge.label(), format!("{} does not say that it knows of handoffs", edge.to), &[]);
            }
        }
    }

    /// Handoffs that may come back to where they were.
    fn cycles(&mut self) {
        let workflow = self.workflow;
        let reach = |from: &str| {
            let mut seen = BTreeSet::new();
            let mut open = vec![from.to_owned()];
            while let Some(at) = open.pop() {
                for edge in workflow.edges.iter().filter(|edge| edge.kind == Kind::Handoff && edge.from == at) {
                    if seen.insert(edge.to.clone()) {
                        open.push(edge.to.clone());
                    }
                }
            }
            seen
        };
        let reached: BTreeMap<_, _> = workflow.agents.iter().map(|agent| (agent.id.clone(), reach(&agent.id))).collect();
        let mut told = BTreeSet::new();
        for (id, seen) in reached.iter().filter(|(id, seen)| seen.contains(*id)) {
            let cycle: BTreeSet<_> =
                seen.iter().filter(|other| reached.get(*other).is_some_and(|back| back.contains(id))).cloned().collect();
            if !told.insert(cycle.clone()) {
                continue;
            }
            let leaves = workflow.edges.iter().any(|edge| cycle.contains(&edge.from) && !cycle.contains(&edge.to));
            let path: Vec<_> = cycle.into_iter().collect();
            let round = path.join(", ");
            if !leaves && workflow.scope.hops.is_none() {
                self.find(
                    Code::E06,
                    &round,
                    format!("a handoff among {round} may go round for ever; limit hops, or add an edge that leaves"),
                    &path,
                );
            } else {
                self.find(Code::W02, &round, format!("a handoff among {round} may go round until its hops are used up"), &path);
            }
        }
    }

    fn report(self) -> Report {
        let unchecked: Vec<_> = self.workflow.edges.iter().map(|edge| self.unchecked(edge)).collect();
        let Self { workflow, known, mut arrivals, effective, violations, mut usable, findings, .. } = self;
        let agents = workflow.agents.iter().map(|agent| {
            let id = agent.id.as_str();
            let mut reaches = arrivals.remove(id).unwrap_or_default();
            reaches.sort();
            let (caps, trust) =
                known.get(id).map_or((Capabilities::default(), Trust::Unsigned), |(known, caps)| (caps.clone(), known.trust));
            let usable = usable.remove(id).unwrap_or_default();
            // In the order of the card.
            let usable = caps.iter().map(|capability| capability.id.clone()).filter(|skill| usable.contains(skill)).collect();
            AgentReport { id: id.to_owned(), caps, reaches, usable, trust }
        });
        let agents = agents.collect();
        let results = workflow.edges.iter().zip(effective).zip(violations).zip(unchecked);
        let edges = results.map(|(((edge, effective), violation), unchecked)| EdgeReport {
            from: edge.from.clone(),
            to: edge.to.clone(),
            kind: edge.kind,
            required: edge.requires.clone(),
            effective,
            ok: violation.is_none() && unchecked.is_none() && known.contains_key(edge.to.as_str()) && workflow.agent(&edge.from).is_some(),
            violation: violation.map(|(violation, _)| violation),
            unchecked,
        });
        let findings = findings.into_iter().map(|(code, place, message, path)| Finding { code, level: code.level(), message, place, path });
        Report { workflow: workflow.name.clone(), agents, edges: edges.collect(), findings: findings.collect() }
    }
}

fn modes(caps: &Capabilities, of: impl Fn(&crate::caps::Capability) -> &Patterns<Mode>) -> Patterns<Mode> {
    caps.iter().map(of).fold(Patterns::none(), |all, modes| all.join(modes))
}

fn in_words(edge: &Edge, skill: Option<&str>, why: Why, scopes: &BTreeSet<String>, path: &[String]) -> String {
    let way = path.join(" -> ");
    let (from, to) = (&edge.from, &edge.to);
    let skill = skill.unwrap_or("a skill");
    match why {
        Why::SkillOutOfScope => format!("{to} offers {skill}, but {from} may not pass it on, on the path {way}"),
        Why::AudienceOutOfScope => format!("{to} is none of the agents that {from} may ask, on the path {way}"),
        Why::ScopeMissing => {
            let scopes: Vec<_> = scopes.iter().map(String::as_str).collect();
            format!("{skill} of {to} demands {}, which {from} does not hold, on the path {way}", scopes.join(" and "))
        }
        Why::InputMode => format!("nothing that {from} may send is taken by {skill} of {to}, on the path {way}"),
        Why::OutputMode => format!("nothing that {skill} of {to} gives may come back to {from}, on the path {way}"),
        Why::BudgetExceeded => format!("{skill} of {to} costs more than {from} may spend, on the path {way}"),
        Why::HopsExhausted => format!("{from} may not pass work on any more, on the path {way}"),
        Why::Expired => format!("the scope of {from} has ended, on the path {way}"),
        Why::UnknownSkill => format!("{to} has no {skill}"),
        Why::Empty => format!("{from} may use no skill of {to}, on the path {way}"),
    }
}
