//! Writing the card of the compact dialect.

use std::collections::BTreeMap;

use chancery_core::{Binding, Card, Extension, Interface, Provider, Signature, Skill, extension};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    flat::{self, Flat, Of},
    older::Declared,
    places::major_minor,
    read::{COMPACT_MODES, COMPACT_VERSION, INPUT_SCHEMA, OUTPUT_SCHEMA},
};

/// DIA-003-CARD-001. What the dialect has no member for keeps its name of v1.0 where it says more
/// than a reader would assume.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compact<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a Provider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface: Option<CompactInterface<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<&'a str>,
    capabilities: CompactCapabilities,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_input_modes: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_output_modes: Option<&'a [String]>,
    skills: Vec<CompactSkill<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<Declared<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    security_schemes: BTreeMap<&'a str, Flat<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<&'a BTreeMap<String, Vec<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<&'a Signature>,
}

#[derive(Debug, Serialize)]
struct CompactInterface<'a> {
    protocol: &'a str,
    endpoint: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    tenant: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CompactCapabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notifications: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extended_agent_card: Option<bool>,
    multi_turn: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CompactSkill<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    examples: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    input_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    accepted_mime_types: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    output_modes: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<&'a BTreeMap<String, Vec<String>>>,
}

pub(super) fn compact<'a>(card: &'a Card, id: &'a str) -> Compact<'a> {
    let schemas = schemas(card);
    let not_usual = |modes: &'a [String]| Some(modes).filter(|modes| *modes != COMPACT_MODES);
    // Schemas of all skills are members of the skills; others stay in the extension.
    let told = |found: &&Extension| {
        let known = |id: &String| card.skills.iter().any(|skill| skill.id == *id);
        !(found.uri == extension::SKILL_SCHEMA && schemas.is_some_and(|skills| skills.keys().all(known)))
    };
    Compact {
        id,
        name: &card.name,
        description: &card.description,
        provider: card.provider.as_ref(),
        interface: main(card).map(CompactInterface::new),
        version: Some(card.version.as_str()).filter(|version| *version != COMPACT_VERSION),
        documentation_url: card.documentation_url.as_deref(),
        icon_url: card.icon_url.as_deref(),
        capabilities: CompactCapabilities {
            streaming: card.capabilities.streaming,
            push_notifications: card.capabilities.push_notifications,
            extended_agent_card: card.capabilities.extended_agent_card,
            multi_turn: true,
        },
        default_input_modes: not_usual(&card.default_input_modes),
        default_output_modes: not_usual(&card.default_output_modes),
        skills: card.skills.iter().map(|skill| CompactSkill::new(skill, schemas)).collect(),
        extensions: card.capabilities.extensions.iter().filter(told).map(Declared::new).collect(),
        security_schemes: flat::schemes(card, Of::Compact),
        security: flat::requirements(&card.security_requirements),
        signature: card.signatures.first(),
    }
}

/// The one interface that the dialect can name.
fn main(card: &Card) -> Option<&Interface> {
    let newest = |found: &&Interface| major_minor(&found.protocol_version) == Some((1, 0));
    let rpc = |found: &&Interface| Binding::from_name(&found.protocol_binding) == Some(Binding::JsonRpc);
    let all = || card.supported_interfaces.iter();
    all().find(|found| newest(found) && rpc(found)).or_else(|| all().find(newest)).or_else(|| all().next())
}

/// DIA-003-CARD-003: the schemas of skills, by skill.
fn schemas(card: &Card) -> Option<&Map<String, Value>> {
    let extension = card.capabilities.extensions.iter().find(|found| found.uri == extension::SKILL_SCHEMA)?;
    extension.params.as_ref()?.get("skills")?.as_object()
}

impl<'a> CompactInterface<'a> {
    fn new(interface: &'a Interface) -> Self {
        let protocol = match Binding::from_name(&interface.protocol_binding) {
            Some(Binding::JsonRpc) => "json-rpc",
            Some(Binding::Grpc) => "grpc",
            Some(Binding::HttpJson) => "http",
            _ => &interface.protocol_binding,
        };
        Self { protocol, endpoint: &interface.url, version: &interface.protocol_version, tenant: &interface.tenant }
    }
}

impl<'a> CompactSkill<'a> {
    fn new(skill: &'a Skill, schemas: Option<&'a Map<String, Value>>) -> Self {
        let schema = |name: &str| schemas?.get(&skill.id)?.get(name);
        Self {
            id: &skill.id,
            name: &skill.name,
            description: &skill.description,
            tags: &skill.tags,
            examples: &skill.examples,
            input_schema: schema(INPUT_SCHEMA),
            output_schema: schema(OUTPUT_SCHEMA),
            accepted_mime_types: &skill.input_modes,
            output_modes: &skill.output_modes,
            security: flat::requirements(&skill.security_requirements),
        }
    }
}
