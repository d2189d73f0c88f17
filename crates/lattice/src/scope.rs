//! A scope: how far a task may reach, in eight independent dimensions.

use std::collections::BTreeMap;

use chancery_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::pattern::{Audience, Mode, Name, Pattern, Patterns};

/// How far a task may reach. What is not said is not limited; an empty list allows nothing (LA-1).
///
/// ```
/// use chancery_lattice::Scope;
///
/// let held: Scope = serde_json::from_str(r#"{"skills": ["triage", "invoice.*"], "hops": 3}"#)?;
/// let grant: Scope = serde_json::from_str(r#"{"skills": ["invoice.create", "refund"]}"#)?;
/// let passed_on = held.meet(&grant);
/// assert_eq!(serde_json::to_string(&passed_on)?, r#"{"skills":["invoice.create"],"hops":3}"#);
/// assert!(passed_on.is_within(&held));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Scope {
    /// Skills, by their ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Patterns<Name>>,
    /// The agents that may be asked, by their origins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audiences: Option<Patterns<Audience>>,
    /// Scopes as in OAuth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Patterns<Name>>,
    /// Media types that may be sent.
    #[serde(alias = "input_modes", skip_serializing_if = "Option::is_none")]
    pub input_modes: Option<Patterns<Mode>>,
    /// Media types that may come back.
    #[serde(alias = "output_modes", skip_serializing_if = "Option::is_none")]
    pub output_modes: Option<Patterns<Mode>>,
    /// What may be spent, in the smallest units of each currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BTreeMap<String, u64>>,
    /// How often the task may still be passed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops: Option<u32>,
    /// When it ends.
    #[serde(alias = "not_after", skip_serializing_if = "Option::is_none")]
    pub not_after: Option<Timestamp>,
}

impl Scope {
    /// No limit at all.
    #[must_use]
    pub fn top() -> Self {
        Self::default()
    }

    /// Nothing at all.
    #[must_use]
    pub fn bottom() -> Self {
        Self {
            skills: Some(Patterns::none()),
            audiences: Some(Patterns::none()),
            scopes: Some(Patterns::none()),
            input_modes: Some(Patterns::none()),
            output_modes: Some(Patterns::none()),
            budget: Some(BTreeMap::new()),
            hops: Some(0),
            not_after: Some(Timestamp::MIN),
        }
    }

    /// A limit on skills and nothing else. What is no name of a skill is left out.
    #[must_use]
    pub fn of_skills<S: AsRef<str>>(skills: impl IntoIterator<Item = S>) -> Self {
        let skills = skills.into_iter().filter_map(|skill| skill.as_ref().parse().ok()).collect();
        Self { skills: Some(skills), ..Self::default() }
    }

    /// What both allow, exactly (LA-7).
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Self {
            skills: both(&self.skills, &other.skills, Patterns::meet),
            audiences: both(&self.audiences, &other.audiences, Patterns::meet),
            scopes: both(&self.scopes, &other.scopes, Patterns::meet),
            input_modes: both(&self.input_modes, &other.input_modes, Patterns::meet),
            output_modes: both(&self.output_modes, &other.output_modes, Patterns::meet),
            budget: both(&self.budget, &other.budget, poorer),
            hops: both(&self.hops, &other.hops, |a, b| *a.min(b)),
            not_after: both(&self.not_after, &other.not_after, |a, b| *a.min(b)),
        }
    }

    /// What either allows, dimension by dimension: at least as much as both, perhaps more.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        Self {
            skills: either(&self.skills, &other.skills, Patterns::join),
            audiences: either(&self.audiences, &other.audiences, Patterns::join),
            scopes: either(&self.scopes, &other.scopes, Patterns::join),
            input_modes: either(&self.input_modes, &other.input_modes, Patterns::join),
            output_modes: either(&self.output_modes, &other.output_modes, Patterns::join),
            budget: either(&self.budget, &other.budget, richer),
            hops: either(&self.hops, &other.hops, |a, b| *a.max(b)),
            not_after: either(&self.not_after, &other.not_after, |a, b| *a.max(b)),
        }
    }

    /// Whether this allows nothing that the other does not (LA-7).
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.meet(other) == *self
    }

    /// The scope that goes with a task that is passed on: one hop less, and never more than was granted
    /// (LA-23).
    #[must_use]
    pub fn passed_on(&self, grant: &Self) -> Self {
        let mut passed = self.meet(grant);
        passed.hops = passed.hops.map(|hops| hops.saturating_sub(1));
        passed
    }

    /// Whether so much of a currency may be spent.
    #[must_use]
    pub fn affords(&self, currency: &str, amount: u64) -> bool {
        self.budget.as_ref().is_none_or(|budget| budget.get(currency).is_some_and(|most| amount <= *most))
    }
}

/// Whether a dimension allows a text.
pub(crate) fn allows<P: Pattern>(dimension: Option<&Patterns<P>>, text: &str) -> bool {
    dimension.is_none_or(|patterns| patterns.allows(text))
}

fn both<T: Clone>(a: &Option<T>, b: &Option<T>, meet: impl FnOnce(&T, &T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(meet(a, b)),
        (limit, None) | (None, limit) => limit.clone(),
    }
}

fn either<T>(a: &Option<T>, b: &Option<T>, join: impl FnOnce(&T, &T) -> T) -> Option<T> {
    Some(join(a.as_ref()?, b.as_ref()?))
}

/// Currencies that both have, with the smaller amount (LA-5).
fn poorer(a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    a.iter().filter_map(|(currency, amount)| Some((currency.clone(), *amount.min(b.get(currency)?)))).collect()
}

fn richer(a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut most = a.clone();
    for (currency, amount) in b {
        let kept = most.entry(currency.clone()).or_default();
        *kept = (*kept).max(*amount);
    }
    most
}
