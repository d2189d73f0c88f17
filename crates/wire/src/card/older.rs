//! Writing the card of v0.3 and of v0.2.

use std::collections::BTreeMap;

use chancery_core::{Binding, Card, Extension, Interface, Object, Provider, SecurityRequirement, SecurityScheme, Signature, Skill};
use serde::Serialize;

use super::{
    authentication::{self, Authentication},
    flat::{self, Both, Flat, Of},
    places::major_minor,
};

/// A card of v0.3 or v0.2.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Older<'a> {
    #[serde(flatten)]
    places: OlderPlaces<'a>,
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a Provider>,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    capabilities: OlderCapabilities<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    security_schemes: BTreeMap<&'a str, Scheme<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<&'a BTreeMap<String, Vec<String>>>,
    default_input_modes: &'a [String],
    default_output_modes: &'a [String],
    skills: Vec<OlderSkill<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supports_authenticated_extended_card: Option<bool>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    signatures: &'a [Signature],
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<Authentication<'a>>,
}

/// Where the agent is, in the words of v0.3.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OlderPlaces<'a> {
    protocol_version: &'static str,
    url: &'a str,
    preferred_transport: &'a str,
    additional_interfaces: Vec<Additional<'a>>,
}

#[derive(Debug, Serialize)]
struct Additional<'a> {
    url: &'a str,
    transport: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    tenant: &'a str,
}

/// Capabilities with what v0.3 has beside or instead.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OlderCapabilities<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notifications: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extended_agent_card: Option<bool>,
    state_transition_history: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<Declared<'a>>,
}

/// An extension, saying also that it is not required.
#[derive(Debug, Serialize)]
pub(super) struct Declared<'a> {
    uri: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a Object>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Scheme<'a> {
    Flat(Flat<'a>),
    Both(Both<'a>),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OlderSkill<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    tags: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    examples: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    input_modes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    output_modes: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<&'a BTreeMap<String, Vec<String>>>,
}

/// V03-CARD-002, V03-SEC-001.
pub(super) fn v0_3(card: &Card) -> Older<'_> {
    older(card, OlderPlaces::v0_3(card))
}

/// V03-REST-018: one SDK reads flat schemes only, another wrapped ones only.
pub(super) fn v0_3_rest(card: &Card) -> Older<'_> {
    let security_schemes = flat::both(card, Of::V0_3).into_iter().map(|(name, scheme)| (name, Scheme::Both(scheme))).collect();
    Older { security_schemes, ..older(card, OlderPlaces::v0_3(card)) }
}

/// V02-CARD-002.
pub(super) fn v0_2(card: &Card) -> Older<'_> {
    without_tls(card, &possible(card))
}

/// CONV-CARD-003.
pub(super) fn agent_json(card: &Card) -> Older<'_> {
    let possible = possible(card);
    Older { authentication: authentication::authentication(card, &possible), ..without_tls(card, &possible) }
}

/// V02-CARD-004: a scheme of mutual TLS makes a client of v0.2 refuse the whole card.
fn without_tls<'a>(card: &'a Card, possible: &[&'a SecurityRequirement]) -> Older<'a> {
    let mut schemes = flat::schemes(card, Of::V0_2);
    schemes.retain(|name, _| card.security_schemes.get(*name).is_some_and(|scheme| !is_tls(scheme)));
    let mut older = older(card, OlderPlaces::v0_2(card));
    older.security_schemes = schemes.into_iter().map(|(name, scheme)| (name, Scheme::Flat(scheme))).collect();
    older.security = possible.iter().map(|requirement| &requirement.schemes).collect();
    older.skills.iter_mut().for_each(|skill| skill.security.clear());
    older.signatures = &[];
    older
}

/// The alternatives that need no client certificate.
fn possible(card: &Card) -> Vec<&SecurityRequirement> {
    let needs_tls = |name: &String| card.security_schemes.get(name).is_some_and(is_tls);
    card.security_requirements.iter().filter(|requirement| !requirement.schemes.keys().any(needs_tls)).collect()
}

fn is_tls(scheme: &SecurityScheme) -> bool {
    matches!(scheme, SecurityScheme::MutualTls(_))
}

fn older<'a>(card: &'a Card, places: OlderPlaces<'a>) -> Older<'a> {
    Older {
        places,
        name: &card.name,
        description: &card.description,
        icon_url: card.icon_url.as_deref(),
        provider: card.provider.as_ref(),
        version: &card.version,
        documentation_url: card.documentation_url.as_deref(),
        capabilities: OlderCapabilities::new(card),
        security_schemes: flat::schemes(card, Of::V0_3).into_iter().map(|(name, scheme)| (name, Scheme::Flat(scheme))).collect(),
        security: flat::requirements(&card.security_requirements),
        default_input_modes: &card.default_input_modes,
        default_output_modes: &card.default_output_modes,
        skills: card.skills.iter().map(OlderSkill::new).collect(),
        supports_authenticated_extended_card: has_extended(card),
        signatures: &card.signatures,
        authentication: None,
    }
}

/// Written only where it is true, as SDKs do.
pub(super) fn has_extended(card: &Card) -> Option<bool> {
    card.capabilities.extended_agent_card.filter(|yes| *yes)
}

/// The interfaces that speak v0.3.
pub(super) fn of_v0_3(card: &Card) -> impl Iterator<Item = &Interface> {
    card.supported_interfaces.iter().filter(|interface| major_minor(&interface.protocol_version) == Some((0, 3)))
}

impl<'a> OlderPlaces<'a> {
    /// CONV-CARD-002: the main one is JSON-RPC where one is. All are listed, the main one too.
    pub(super) fn v0_3(card: &'a Card) -> Self {
        let listed: Vec<_> = of_v0_3(card).collect();
        let main = listed.iter().copied().find(is_rpc).or_else(|| listed.first().copied());
        let main = main.or_else(|| card.supported_interfaces.iter().find(is_rpc)).or_else(|| card.supported_interfaces.first());
        let listed = if listed.is_empty() { main.into_iter().collect() } else { listed };
        Self::new("0.3.0", main, listed)
    }

    /// V02-CARD-003: clients of v0.2 speak JSON-RPC only. Its methods are those of v0.3, and what
    /// serves several versions does so at one address.
    fn v0_2(card: &'a Card) -> Self {
        let speaking = |minor| {
            let fits = move |found: &&Interface| major_minor(&found.protocol_version) == Some((0, minor)) && is_rpc(found);
            card.supported_interfaces.iter().find(fits)
        };
        let main = speaking(2).or_else(|| speaking(3)).or_else(|| card.supported_interfaces.iter().find(is_rpc));
        let main = main.or_else(|| card.supported_interfaces.first());
        Self::new("0.2.6", main, main.into_iter().collect())
    }

    fn new(protocol_version: &'static str, main: Option<&'a Interface>, listed: Vec<&'a Interface>) -> Self {
        let additional = |interface: &&'a Interface| Additional {
            url: &interface.url,
            transport: &interface.protocol_binding,
            tenant: &interface.tenant,
        };
        Self {
            protocol_version,
            url: main.map_or("", |interface| &interface.url),
            preferred_transport: main.map_or(Binding::JsonRpc.as_str(), |interface| &interface.protocol_binding),
            additional_interfaces: listed.iter().map(additional).collect(),
        }
    }
}

fn is_rpc(interface: &&Interface) -> bool {
    Binding::from_name(&interface.protocol_binding) == Some(Binding::JsonRpc)
}

impl<'a> OlderCapabilities<'a> {
    pub(super) fn new(card: &'a Card) -> Self {
        Self {
            streaming: card.capabilities.streaming,
            push_notifications: card.capabilities.push_notifications,
            extended_agent_card: None,
            state_transition_history: false,
            extensions: card.capabilities.extensions.iter().map(Declared::new).collect(),
        }
    }
}

impl<'a> Declared<'a> {
    pub(super) fn new(extension: &'a Extension) -> Self {
        Self { uri: &extension.uri, description: &extension.description, required: extension.required, params: extension.params.as_ref() }
    }
}

impl<'a> OlderSkill<'a> {
    fn new(skill: &'a Skill) -> Self {
        Self {
            id: &skill.id,
            name: &skill.name,
            description: &skill.description,
            tags: &skill.tags,
            examples: &skill.examples,
            input_modes: &skill.input_modes,
            output_modes: &skill.output_modes,
            security: flat::requirements(&skill.security_requirements),
        }
    }
}
