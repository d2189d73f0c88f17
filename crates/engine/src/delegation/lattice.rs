//! How far work may reach, by the lattice of scopes: asked before it is passed on, and where it arrives with a token.

use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard},
};

use chancery_core::{Caller, Card, Message, Object, Passage, Secret, TaskId, Timestamp, Trail, TransferContext, extension, sync::Mutex};
use chancery_lattice::{Arrival, Kind, Passed, Required, Scope, Violation};
use serde_json::Value;

use super::{ReachPolicy, Step};
use crate::{
    agent::{Agent, Failure, Outcome},
    clock::{Clock as _, SystemClock},
    turn::Turn,
};

/// A [`chancery_lattice::Gate`] between agents that run.
///
/// ```
/// use chancery_engine::delegation::Lattice;
/// use chancery_lattice::{Gate, Workflow};
///
/// # fn lattice(file: &str) -> Result<Lattice, chancery_lattice::WorkflowError> {
/// let refunds = Workflow::parse(file)?;
/// Ok(Lattice::new(Gate::new("https://triage.example.com").workflow(refunds).approvers(["alice"])))
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Lattice(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    gate: chancery_lattice::Gate,
    /// Tasks of which somebody has allowed the next step, and who.
    approved: Mutex<BTreeMap<TaskId, String>>,
}

/// How many tasks wait for a step that was allowed, at the most. What was allowed longest ago is forgotten first, and
/// asked about again.
const APPROVALS: usize = 10_000;

impl Lattice {
    /// Asks this gate.
    #[must_use]
    pub fn new(gate: chancery_lattice::Gate) -> Self {
        Self(Arc::new(Inner { gate, approved: Mutex::default() }))
    }

    fn approved(&self) -> MutexGuard<'_, BTreeMap<TaskId, String>> {
        self.0.approved.lock()
    }

    fn ask(&self, step: &Step<'_>, approved_by: Option<&str>) -> Result<Passed, chancery_lattice::Denied> {
        let kind = kind(step.kind);
        let mut passage = chancery_lattice::Passage::new(step.to, kind, step.card, step.now);
        passage.from = Some(step.from).filter(|from| !from.is_empty());
        passage.required = Required::skills(step.requires);
        let carried = step.caller.call().carried.as_ref();
        let named = [Some(step.workflow), step.received.map(|context| context.workflow.as_str())];
        let named = named.into_iter().flatten().find(|name| !name.is_empty());
        passage.workflow = named.or_else(|| carried?.workflow.as_deref());
        passage.carried = carried.map(|carried| scope(&carried.scope));
        passage.scopes.clone_from(&step.caller.identity().scopes);
        passage.transferred = step.received.and_then(|context| context.scope.as_ref()).map(scope);
        // The trail has this step already.
        passage.hops = step.trail.hop.saturating_sub(1);
        passage.approved_by = approved_by;
        self.0.gate.check(&passage)
    }

    /// Looks at a message before an agent does: remembers what somebody has allowed (LA-25), and refuses what the token
    /// that came with it does not allow (LA-26).
    fn arrive(&self, task: &TaskId, caller: &Caller, message: &Message, card: &Card, now: Timestamp) -> Option<Outcome> {
        if let Some(who) = self.approver(caller, message) {
            let mut approved = self.approved();
            if approved.len() >= APPROVALS {
                approved.pop_first();
            }
            approved.insert(task.clone(), who.to_owned());
        }
        let carried = caller.call().carried.as_ref()?;
        let at = card.supported_interfaces.first().map_or("", |interface| interface.url.as_str());
        let limit = scope(&carried.scope);
        let mut arrival = Arrival::new(at, card, &limit, now);
        // One that cannot be read was refused when it came.
        let context = TransferContext::of(message).ok().flatten();
        let trail = Trail::of(message).unwrap_or_default();
        (arrival.hops, arrival.claimed) = (carried.hops, u32::try_from(trail.chain.len()).unwrap_or(u32::MAX));
        if let Some(last) = trail.chain.last() {
            (arrival.from, arrival.kind) = (&last.agent, kind(last.kind));
        }
        let delegated = message.metadata.get(extension::DELEGATION).and_then(|call| call.get("skill")).and_then(Value::as_str);
        arrival.required = Required::skills(context.into_iter().flat_map(|context| context.requires).chain(delegated.map(str::to_owned)));
        let violation = arrival.check().err()?;
        tracing::warn!(%violation, "the token of a message does not allow it");
        let mut refusal = Message::agent("The scope token of this request does not allow what it asks for.");
        refusal.metadata.insert(extension::SCOPE.to_owned(), serde_json::json!({"violation": object(&violation)}));
        refusal.extensions.push(extension::SCOPE.to_owned());
        Some(Outcome::Rejected(refusal))
    }

    /// Who allows the next step of a task with this message, if somebody does who may. Who it is was proved to the server;
    /// what the message says of it must agree.
    fn approver<'a>(&self, caller: &'a Caller, message: &Message) -> Option<&'a str> {
        let approve = message.metadata.get(extension::SCOPE)?.get("approve")?;
        let who = caller.identity().subject.as_deref()?;
        let said = approve.get("by").and_then(Value::as_str);
        (self.0.gate.is_approver(who) && said.is_none_or(|said| said == who)).then_some(who)
    }
}

impl ReachPolicy for Lattice {
    fn check(&self, step: &Step<'_>) -> Result<Option<Object>, Object> {
        // Who has the step allowed has it once, whatever comes of it.
        let task = step.trail.chain.last().map(|entry| &entry.task_id);
        let approved = task.and_then(|task| self.approved().remove(task));
        match self.ask(step, approved.as_deref()) {
            Ok(passed) => {
                if let Some(violation) = &passed.warning {
                    tracing::warn!(%violation, approved, "work is passed on beyond its scope");
                }
                Ok(Some(object(&passed.scope)).filter(|scope| !scope.is_empty()))
            }
            Err(denied) => Err(object(&denied.violation)),
        }
    }

    fn warning(&self, step: &Step<'_>) -> Option<Object> {
        self.ask(step, None).ok()?.warning.map(|violation| object(&violation))
    }

    fn escalates(&self, violation: &Object) -> bool {
        let violation = serde_json::from_value::<Violation>(Value::from(violation.clone()));
        violation.is_ok_and(|violation| self.0.gate.escalates(&violation))
    }

    #[cfg(feature = "biscuit")]
    fn token(&self, step: &Step<'_>) -> Option<Secret> {
        let carried = step.caller.call().carried.as_ref()?;
        // It was asked already, so a refusal here was allowed by somebody; the token goes along as narrow as it must be.
        let (limit, audiences) = match self.ask(step, None) {
            Ok(passed) => (passed.scope, passed.audiences),
            Err(_) => (Scope::top(), None),
        };
        let hop = chancery_lattice::Hop::new(step.from, step.to, limit).audiences(audiences);
        match hop.narrow(&carried.token) {
            Ok(token) => Some(token),
            Err(error) => {
                tracing::warn!(%error, "the scope token cannot be passed on");
                None
            }
        }
    }

    #[cfg(not(feature = "biscuit"))]
    fn token(&self, _step: &Step<'_>) -> Option<Secret> {
        None
    }
}

/// An agent whose messages pass a [`Lattice`] first.
#[derive(Debug, Clone)]
pub struct Guarded<A> {
    agent: A,
    lattice: Lattice,
}

impl<A> Guarded<A> {
    /// Has a lattice look at every message before the agent.
    pub fn new(agent: A, lattice: Lattice) -> Self {
        Self { agent, lattice }
    }
}

impl<A: Agent> Agent for Guarded<A> {
    async fn run(&self, turn: Turn) -> Result<Outcome, Failure> {
        let refused = self.lattice.arrive(turn.task_id(), turn.caller(), turn.message(), &turn.card(), SystemClock.now());
        match refused {
            Some(refusal) => Ok(refusal),
            None => self.agent.run(turn).await,
        }
    }
}

fn kind(passage: Passage) -> Kind {
    match passage {
        Passage::Handoff => Kind::Handoff,
        Passage::Delegation => Kind::Delegate,
    }
}

/// A scope that another agent wrote. One that cannot be read allows nothing.
fn scope(written: &Object) -> Scope {
    serde_json::from_value(Value::from(written.clone())).unwrap_or_else(|_| Scope::bottom())
}

fn object(written: &impl serde::Serialize) -> Object {
    match serde_json::to_value(written) {
        Ok(Value::Object(members)) => members.into(),
        // Scopes and violations are objects.
        _ => Object::new(),
    }
}

#[cfg(test)]
mod tests;
