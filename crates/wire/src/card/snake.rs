//! Writing v1.0 with snake_case names and flat security.

use std::collections::BTreeMap;

use chancery_core::{Capabilities, Card, Interface, Object, Provider, Signature, Skill, json::from_base64};
use serde::Serialize;
use serde_json::Value;

use super::flat::{self, Flat, Of};

/// DIA-002-CARD-001: all names in snake_case but those of `capabilities`.
#[derive(Debug, Serialize)]
pub(super) struct Snake<'a> {
    name: &'a str,
    description: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a Provider>,
    supported_interfaces: Vec<SnakeInterface<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<&'a str>,
    capabilities: &'a Capabilities,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    security_schemes: BTreeMap<&'a str, Flat<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<&'a BTreeMap<String, Vec<String>>>,
    default_input_modes: &'a [String],
    default_output_modes: &'a [String],
    skills: Vec<SnakeSkill<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jwks_uri: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    signatures: &'a [Signature],
}

#[derive(Debug, Serialize)]
struct SnakeInterface<'a> {
    url: &'a str,
    protocol_binding: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    tenant: &'a str,
    protocol_version: &'a str,
}

#[derive(Debug, Serialize)]
struct SnakeSkill<'a> {
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

pub(super) fn snake(card: &Card) -> Snake<'_> {
    Snake {
        name: &card.name,
        description: &card.description,
        version: &card.version,
        provider: card.provider.as_ref(),
        supported_interfaces: card.supported_interfaces.iter().map(SnakeInterface::new).collect(),
        documentation_url: card.documentation_url.as_deref(),
        icon_url: card.icon_url.as_deref(),
        capabilities: &card.capabilities,
        security_schemes: flat::schemes(card, Of::Snake),
        security: flat::requirements(&card.security_requirements),
        default_input_modes: &card.default_input_modes,
        default_output_modes: &card.default_output_modes,
        skills: card.skills.iter().map(SnakeSkill::new).collect(),
        jwks_uri: card.signatures.iter().find_map(key_set),
        signatures: &card.signatures,
    }
}

/// DIA-002-CARD-004: v1.0 keeps the address of the keys in the header of the signature.
fn key_set(signature: &Signature) -> Option<String> {
    let header: Object = serde_json::from_slice(&from_base64(&signature.protected)?).ok()?;
    header.get("jku").and_then(Value::as_str).map(str::to_owned)
}

impl<'a> SnakeInterface<'a> {
    fn new(interface: &'a Interface) -> Self {
        Self {
            url: &interface.url,
            protocol_binding: &interface.protocol_binding,
            tenant: &interface.tenant,
            protocol_version: &interface.protocol_version,
        }
    }
}

impl<'a> SnakeSkill<'a> {
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
