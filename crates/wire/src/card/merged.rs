//! Writing v1.0 and v0.3 into one document: readers of each ignore what is the other's.

use std::collections::BTreeMap;

use chancery_core::{Card, Interface, Provider, SecurityRequirement, Signature, Skill};
use serde::Serialize;

use super::{
    flat::{self, Both, Of},
    older::{self, OlderCapabilities, OlderPlaces},
    places::major_minor,
};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Merged<'a> {
    name: &'a str,
    description: &'a str,
    supported_interfaces: Vec<&'a Interface>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a Provider>,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<&'a str>,
    capabilities: OlderCapabilities<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    security_schemes: BTreeMap<&'a str, Both<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    security_requirements: &'a [SecurityRequirement],
    default_input_modes: &'a [String],
    default_output_modes: &'a [String],
    skills: Vec<MergedSkill<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    signatures: &'a [Signature],
    // From here on for v0.3.
    #[serde(flatten)]
    places: OlderPlaces<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<&'a BTreeMap<String, Vec<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supports_authenticated_extended_card: Option<bool>,
}

#[derive(Debug, Serialize)]
struct MergedSkill<'a> {
    #[serde(flatten)]
    skill: &'a Skill,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<&'a BTreeMap<String, Vec<String>>>,
}

/// CONV-CARD-001. CONV-CARD-002: without an interface for readers of v0.3 there is nothing to merge.
pub(super) fn merged(card: &Card) -> Option<Merged<'_>> {
    older::of_v0_3(card).next()?;
    let mut capabilities = OlderCapabilities::new(card);
    capabilities.extended_agent_card = card.capabilities.extended_agent_card;
    Some(Merged {
        name: &card.name,
        description: &card.description,
        supported_interfaces: newest_first(card),
        provider: card.provider.as_ref(),
        version: &card.version,
        documentation_url: card.documentation_url.as_deref(),
        icon_url: card.icon_url.as_deref(),
        capabilities,
        security_schemes: flat::both(card, Of::Merged),
        security_requirements: &card.security_requirements,
        default_input_modes: &card.default_input_modes,
        default_output_modes: &card.default_output_modes,
        skills: card.skills.iter().map(|skill| MergedSkill { skill, security: flat::requirements(&skill.security_requirements) }).collect(),
        signatures: &card.signatures,
        places: OlderPlaces::v0_3(card),
        security: flat::requirements(&card.security_requirements),
        supports_authenticated_extended_card: older::has_extended(card),
    })
}

/// CONV-CARD-002: interfaces of v1.0 come first. A signed card is left as it was signed.
fn newest_first(card: &Card) -> Vec<&Interface> {
    let mut interfaces: Vec<_> = card.supported_interfaces.iter().collect();
    if card.signatures.is_empty() {
        interfaces.sort_by_key(|interface| major_minor(&interface.protocol_version) != Some((1, 0)));
    }
    interfaces
}
