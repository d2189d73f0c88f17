//! What an agent can do by its card, what of that a scope lets another use, and what is missing.

use std::{collections::BTreeSet, fmt};

use chancery_core::{Card, SecurityRequirement, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    pattern::{Audience, Mode, Origin, Patterns},
    scope::{Scope, allows},
};

/// One skill of an agent, as a capability (LA-10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Capability {
    /// The skill.
    pub id: String,
    /// Media types that it takes.
    #[serde(rename = "in")]
    pub input: Patterns<Mode>,
    /// Media types that it gives.
    #[serde(rename = "out")]
    pub output: Patterns<Mode>,
    /// Sets of scopes; a caller needs all of one of them.
    pub needs: Vec<BTreeSet<String>>,
}

/// What an agent can do, by its card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Capabilities(Vec<Capability>);

impl Capabilities {
    /// Reads a card. Skills are in its order.
    #[must_use]
    pub fn of(card: &Card) -> Self {
        let all = card
            .skills
            .iter()
            .map(|skill| Capability {
                id: skill.id.clone(),
                input: modes(&skill.input_modes, &card.default_input_modes),
                output: modes(&skill.output_modes, &card.default_output_modes),
                needs: needs(if skill.security_requirements.is_empty() {
                    &card.security_requirements
                } else {
                    &skill.security_requirements
                }),
            })
            .collect();
        Self(all)
    }

    /// The capabilities.
    pub fn iter(&self) -> impl Iterator<Item = &Capability> {
        self.0.iter()
    }

    /// The capability of this id.
    #[must_use]
    pub fn get(&self, skill: &str) -> Option<&Capability> {
        self.0.iter().find(|capability| capability.id == skill)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a scope lets a caller use of these, at an agent with this address (LA-20).
    #[must_use]
    pub fn within(&self, scope: &Scope, url: &str, now: Timestamp) -> Self {
        if closed(scope, url, now).is_some() {
            return Self::default();
        }
        Self(self.0.iter().filter_map(|capability| capability.within(scope).ok()).collect())
    }
}

/// The media types of a skill, else those of its card. What is no media type is taken for none.
fn modes(own: &[String], default: &[String]) -> Patterns<Mode> {
    let modes = if own.is_empty() { default } else { own };
    modes.iter().filter_map(|mode| mode.parse().ok()).collect()
}

fn needs(requirements: &[SecurityRequirement]) -> Vec<BTreeSet<String>> {
    if requirements.is_empty() {
        return vec![BTreeSet::new()];
    }
    requirements.iter().map(|requirement| requirement.schemes.values().flatten().cloned().collect()).collect()
}

/// Why nothing at all is allowed at an address.
fn closed(scope: &Scope, url: &str, now: Timestamp) -> Option<Why> {
    let audience = || Some(Audience::Exact(url.parse::<Origin>().ok()?));
    if scope.hops == Some(0) {
        Some(Why::HopsExhausted)
    } else if scope.not_after.is_some_and(|end| now >= end) {
        Some(Why::Expired)
    } else if scope.audiences.as_ref().is_some_and(|audiences| !audience().is_some_and(|audience| audiences.covers(&audience))) {
        Some(Why::AudienceOutOfScope)
    } else {
        None
    }
}

impl Capability {
    /// What a scope leaves of it, or why nothing.
    fn within(&self, scope: &Scope) -> Result<Self, (Why, BTreeSet<String>)> {
        let refused = |why| Err((why, BTreeSet::new()));
        if !allows(scope.skills.as_ref(), &self.id) {
            return refused(Why::SkillOutOfScope);
        }
        let missing = |needs: &BTreeSet<String>| -> BTreeSet<String> {
            needs.iter().filter(|need| !allows(scope.scopes.as_ref(), need)).cloned().collect()
        };
        // Of several ways in, the one that lacks the least is the one to name.
        if let Some(missing) = self.needs.iter().map(missing).min_by_key(BTreeSet::len).filter(|missing| !missing.is_empty()) {
            return Err((Why::ScopeMissing, missing));
        }
        let narrowed =
            |own: &Patterns<Mode>, limit: &Option<Patterns<Mode>>| limit.as_ref().map_or_else(|| own.clone(), |limit| own.meet(limit));
        let (input, output) = (narrowed(&self.input, &scope.input_modes), narrowed(&self.output, &scope.output_modes));
        if input.is_empty() && scope.input_modes.is_some() {
            return refused(Why::InputMode);
        }
        if output.is_empty() && scope.output_modes.is_some() {
            return refused(Why::OutputMode);
        }
        Ok(Self { input, output, ..self.clone() })
    }
}

/// What a call needs of the agent that it goes to (LA-21).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Required {
    /// Skills by their ids; none for any skill.
    pub skills: BTreeSet<String>,
    /// Media types that are sent.
    pub input: Patterns<Mode>,
    /// Media types that must come back.
    pub output: Patterns<Mode>,
    /// What it may cost: a currency and an amount in its smallest units.
    pub amount: Option<(String, u64)>,
}

impl Required {
    /// These skills.
    pub fn skills<S: Into<String>>(skills: impl IntoIterator<Item = S>) -> Self {
        Self { skills: skills.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Whether a scope allows all of it at an agent (LA-22); otherwise what is missing, and why.
    ///
    /// # Errors
    /// What is missing.
    pub fn within(&self, capabilities: &Capabilities, scope: &Scope, url: &str, now: Timestamp) -> Result<Capabilities, Refused> {
        let allowed = capabilities.within(scope, url, now);
        let mut missing: Vec<_> = self.skills.iter().filter_map(|skill| self.lacks(skill, capabilities, scope, url, now)).collect();
        if self.skills.is_empty() && allowed.is_empty() {
            missing.push(Missing { skill: None, why: closed(scope, url, now).unwrap_or(Why::Empty), scopes: BTreeSet::new() });
        }
        if self.amount.as_ref().is_some_and(|(currency, amount)| !scope.affords(currency, *amount)) {
            missing.push(Missing { skill: None, why: Why::BudgetExceeded, scopes: BTreeSet::new() });
        }
        if missing.is_empty() { Ok(allowed) } else { Err(Refused { allowed, missing }) }
    }

    fn lacks(&self, skill: &str, capabilities: &Capabilities, scope: &Scope, url: &str, now: Timestamp) -> Option<Missing> {
        let missing = |why, scopes| Some(Missing { skill: Some(skill.to_owned()), why, scopes });
        let Some(capability) = capabilities.get(skill) else { return missing(Why::UnknownSkill, BTreeSet::new()) };
        if let Some(why) = closed(scope, url, now) {
            return missing(why, BTreeSet::new());
        }
        match capability.within(scope) {
            Err((why, scopes)) => missing(why, scopes),
            Ok(left) if !self.input.iter().all(|mode| left.input.covers(mode)) => missing(Why::InputMode, BTreeSet::new()),
            Ok(left) if !self.output.iter().all(|mode| left.output.covers(mode)) => missing(Why::OutputMode, BTreeSet::new()),
            Ok(_) => None,
        }
    }
}

/// A call that a scope does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// What would be allowed.
    pub allowed: Capabilities,
    /// What is not.
    pub missing: Vec<Missing>,
}

/// Something that a call needs and a scope does not allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Missing {
    /// The skill, unless it is about the call as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// Why.
    pub why: Why,
    /// The scopes that are missing.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub scopes: BTreeSet<String>,
}

/// Why something is not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// The agent has no such skill.
    UnknownSkill,
    /// The skill is not in the scope.
    SkillOutOfScope,
    /// The agent is not in the scope.
    AudienceOutOfScope,
    /// The skill demands scopes that are not in the scope.
    ScopeMissing,
    /// Nothing that may be sent is taken.
    InputMode,
    /// Nothing that is given may come back.
    OutputMode,
    /// It costs more than may be spent.
    BudgetExceeded,
    /// The task may not be passed on once more.
    HopsExhausted,
    /// The scope has ended.
    Expired,
    /// There is nothing that the scope allows.
    Empty,
}

/// A call that was not made, as it is told to the peer and in reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Violation {
    /// Who wanted to pass work on.
    pub from: String,
    /// To whom.
    pub to: String,
    /// How.
    pub kind: Kind,
    /// The workflow, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Its edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
    /// The skills that are needed.
    pub required: BTreeSet<String>,
    /// The skills that are allowed.
    pub allowed: BTreeSet<String>,
    /// What is missing, and why.
    pub missing: Vec<Missing>,
}

impl Violation {
    /// What was refused, between two agents.
    #[must_use]
    pub fn new(from: impl Into<String>, to: impl Into<String>, kind: Kind, required: &Required, refused: Refused) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            kind,
            workflow: None,
            edge: None,
            required: required.skills.clone(),
            allowed: refused.allowed.iter().map(|capability| capability.id.clone()).collect(),
            missing: refused.missing,
        }
    }

    /// Names the workflow and its edge.
    #[must_use]
    pub fn within(mut self, workflow: impl Into<String>, edge: impl Into<String>) -> Self {
        self.workflow = Some(workflow.into());
        self.edge = Some(edge.into());
        self
    }
}

impl fmt::Display for Violation {
    /// In words, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} may not pass work on to {}", self.from, self.to)?;
        for (at, missing) in self.missing.iter().enumerate() {
            write!(f, "{}{missing}", if at == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skill = self.skill.as_deref().unwrap_or("any skill");
        match self.why {
            Why::UnknownSkill => write!(f, "there is no skill {skill}"),
            Why::SkillOutOfScope => write!(f, "{skill} is not in its scope"),
            Why::AudienceOutOfScope => write!(f, "that agent may not be asked for {skill}"),
            Why::ScopeMissing => {
                let scopes: Vec<_> = self.scopes.iter().map(String::as_str).collect();
                write!(f, "{skill} demands {}", scopes.join(" and "))
            }
            Why::InputMode => write!(f, "nothing that may be sent is taken by {skill}"),
            Why::OutputMode => write!(f, "nothing that {skill} gives may come back"),
            Why::BudgetExceeded => write!(f, "it costs more than may be spent"),
            Why::HopsExhausted => write!(f, "it was passed on as often as it may be"),
            Why::Expired => write!(f, "its scope has ended"),
            Why::Empty => write!(f, "its scope allows no skill there"),
        }
    }
}

/// How work is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The caller goes on with the result.
    #[serde(alias = "delegation")]
    Delegate,
    /// The caller gives its task away.
    Handoff,
}
