//! Reading what a card demands of its callers: its schemes by name, and the alternatives of them.

use std::collections::BTreeMap;

use chancery_core::{Object, SecurityRequirement, SecurityScheme};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use super::scheme::{ReadScheme, Wins, flow_name};

/// How many alternatives a card may gain by splitting its schemes; no honest card comes near, and a
/// dishonest one would multiply them without end. Those beyond are left out: they are other ways in.
const MOST_GAINED: usize = 64;

/// The schemes of a card, one flow each, and what became of those that had several.
#[derive(Debug, Default)]
pub(super) struct Schemes {
    pub(super) schemes: BTreeMap<String, SecurityScheme>,
    split: BTreeMap<String, Vec<String>>,
    gained: usize,
}

impl Schemes {
    /// CONV-CARD-007: v1.0 has one flow per scheme. The first keeps the name; each other becomes a
    /// scheme of its own.
    pub(super) fn new(read: BTreeMap<String, Option<ReadScheme>>, wins: Wins) -> Self {
        let mut all = Self::default();
        let mut rest = Vec::new();
        for (name, scheme) in read {
            let mut forms = scheme.map(|scheme| scheme.forms(wins)).unwrap_or_default().into_iter();
            if let Some(first) = forms.next() {
                rest.extend(forms.map(|other| (name.clone(), other)));
                all.schemes.insert(name, first);
            }
        }
        for (name, scheme) in rest {
            let flow = if let SecurityScheme::OAuth2(scheme) = &scheme { flow_name(&scheme.flows) } else { "other" };
            let mut own = format!("{name}-{flow}");
            while all.schemes.contains_key(&own) {
                own.push_str("-2");
            }
            all.schemes.insert(own.clone(), scheme);
            all.split.entry(name).or_default().push(own);
        }
        all
    }

    /// The requirements, with an alternative more for each flow that became a scheme of its own.
    pub(super) fn requirements(&mut self, read: Vec<ReadRequirement>) -> Vec<SecurityRequirement> {
        read.into_iter().flat_map(|requirement| self.alternatives(requirement.0)).collect()
    }

    fn alternatives(&mut self, requirement: SecurityRequirement) -> Vec<SecurityRequirement> {
        let split: Vec<_> = requirement.schemes.keys().filter_map(|name| self.split.get_key_value(name)).collect();
        let mut all = vec![requirement];
        for (name, others) in split {
            let more = all.len() * others.len();
            if self.gained + more > MOST_GAINED {
                break;
            }
            self.gained += more;
            let instead = |known: &SecurityRequirement, other: &String| {
                let mut alternative = known.clone();
                let scopes = alternative.schemes.remove(name).unwrap_or_default();
                alternative.schemes.insert(other.clone(), scopes);
                alternative
            };
            let more: Vec<_> = all.iter().flat_map(|known| others.iter().map(move |other| instead(known, other))).collect();
            all.extend(more);
        }
        all
    }
}

/// One alternative: `{"name":["scope"]}`, or `{"schemes":{"name":{"list":["scope"]}}}`, or the
/// latter with the bare list that one SDK writes.
#[derive(Debug)]
pub(super) struct ReadRequirement(SecurityRequirement);

impl<'de> Deserialize<'de> for ReadRequirement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Object::deserialize(deserializer)?;
        // A flat requirement may name a scheme `schemes`: its scopes are a list, not an object.
        if let Some(Value::Object(schemes)) = members.get_mut("schemes") {
            members = std::mem::take(schemes).into();
        }
        let mut requirement = SecurityRequirement::new();
        for (name, value) in members {
            let list = match value {
                Value::Object(mut wrapped) => wrapped.remove("list").unwrap_or_default(),
                list => list,
            };
            let scopes = Option::<Vec<String>>::deserialize(list)
                .map_err(|_| de::Error::custom(format_args!("the scopes of {name} are no list of strings")))?;
            requirement.schemes.insert(name, scopes.unwrap_or_default());
        }
        Ok(Self(requirement))
    }
}
