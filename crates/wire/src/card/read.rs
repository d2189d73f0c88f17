//! One reader for cards of every form.

use std::collections::BTreeMap;

use chancery_core::{Capabilities, Card, Extension, Object, Provider, Result, Signature, Skill, extension};
use serde::Deserialize;
use serde_json::Value;

use super::{
    authentication::ReadAuthentication,
    places::{Form, FoundAt, Places},
    scheme::{ReadScheme, Wins},
    security::{ReadRequirement, Schemes},
};
use crate::{json, object::Objects};

/// What the compact form leaves unsaid.
pub(super) const COMPACT_VERSION: &str = "0";
pub(super) const COMPACT_MODES: [&str; 2] = ["text/plain", "application/json"];

/// The names of a skill's schemas in the extension.
pub(super) const INPUT_SCHEMA: &str = "inputSchema";
pub(super) const OUTPUT_SCHEMA: &str = "outputSchema";

pub(super) fn read(json: &[u8], found_at: FoundAt<'_>) -> Result<Card> {
    let places = Places::read(json, found_at)?;
    let members: Members = json::read(json)?;
    let mut card = match places.form {
        Form::V1_0 => members.card(Wins::Wrapped),
        Form::Compact => compact(members.card(Wins::Flat), json::read(json)?),
        Form::Older { .. } => older(members.card(Wins::Flat), json::read(json)?, &places),
    };
    card.supported_interfaces = places.interfaces;
    Ok(card)
}

/// The members that all forms share, by whatever name, and both names of the requirements.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members {
    name: Option<String>,
    description: Option<String>,
    provider: Option<Provider>,
    version: Option<String>,
    #[serde(alias = "documentation_url")]
    documentation_url: Option<String>,
    #[serde(alias = "icon_url")]
    icon_url: Option<String>,
    capabilities: Option<Capabilities>,
    #[serde(alias = "security_schemes")]
    security_schemes: Option<BTreeMap<String, Option<ReadScheme>>>,
    #[serde(alias = "security_requirements")]
    security_requirements: Option<Vec<ReadRequirement>>,
    security: Option<Vec<ReadRequirement>>,
    #[serde(alias = "default_input_modes")]
    default_input_modes: Option<Vec<String>>,
    #[serde(alias = "default_output_modes")]
    default_output_modes: Option<Vec<String>>,
    skills: Option<Vec<ReadSkill>>,
    signatures: Option<Vec<Signature>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadSkill {
    id: Option<String>,
    name: Option<String>,
    description: Option<String>,
    tags: Option<Vec<String>>,
    examples: Option<Vec<String>>,
    #[serde(alias = "input_modes")]
    input_modes: Option<Vec<String>>,
    #[serde(alias = "output_modes")]
    output_modes: Option<Vec<String>>,
    #[serde(alias = "security_requirements")]
    security_requirements: Option<Vec<ReadRequirement>>,
    security: Option<Vec<ReadRequirement>>,
}

impl Members {
    fn card(self, wins: Wins) -> Card {
        let mut schemes = Schemes::new(self.security_schemes.unwrap_or_default(), wins);
        let mut card = Card::default();
        card.name = self.name.unwrap_or_default();
        card.description = self.description.unwrap_or_default();
        card.provider = self.provider;
        card.version = self.version.unwrap_or_default();
        card.documentation_url = self.documentation_url;
        card.icon_url = self.icon_url;
        card.capabilities = self.capabilities.unwrap_or_default();
        card.security_requirements = schemes.requirements(newer(self.security_requirements, self.security));
        card.default_input_modes = self.default_input_modes.unwrap_or_default();
        card.default_output_modes = self.default_output_modes.unwrap_or_default();
        card.skills = self.skills.unwrap_or_default().into_iter().map(|skill| skill.skill(&mut schemes)).collect();
        card.signatures = self.signatures.unwrap_or_default();
        card.security_schemes = schemes.schemes;
        card
    }
}

impl ReadSkill {
    fn skill(self, schemes: &mut Schemes) -> Skill {
        let mut skill = Skill::default();
        skill.id = self.id.unwrap_or_default();
        skill.name = self.name.unwrap_or_default();
        skill.description = self.description.unwrap_or_default();
        skill.tags = self.tags.unwrap_or_default();
        skill.examples = self.examples.unwrap_or_default();
        skill.input_modes = self.input_modes.unwrap_or_default();
        skill.output_modes = self.output_modes.unwrap_or_default();
        skill.security_requirements = schemes.requirements(newer(self.security_requirements, self.security));
        skill
    }
}

/// The requirements under their name of v1.0, else under the older one.
fn newer(v1_0: Option<Vec<ReadRequirement>>, older: Option<Vec<ReadRequirement>>) -> Vec<ReadRequirement> {
    v1_0.filter(|list| !list.is_empty()).or(older).unwrap_or_default()
}

/// Members of v0.1, v0.2 and v0.3 only.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OlderMembers {
    #[serde(alias = "supports_authenticated_extended_card")]
    supports_authenticated_extended_card: Option<bool>,
    authentication: Option<ReadAuthentication>,
}

fn older(mut card: Card, members: OlderMembers, places: &Places) -> Card {
    card.capabilities.extended_agent_card = card.capabilities.extended_agent_card.or(members.supports_authenticated_extended_card);
    // V02-CARD-005: beside schemes of v0.2, `authentication` repeats them for readers of v0.1.
    if let (true, Some(authentication)) = (card.security_schemes.is_empty(), members.authentication) {
        (card.security_schemes, card.security_requirements) = authentication.security();
    }
    let is_v0_1 = places.interfaces.iter().any(|interface| interface.protocol_version == "0.1");
    for modes in [&mut card.default_input_modes, &mut card.default_output_modes] {
        if is_v0_1 && modes.is_empty() {
            modes.push("text/plain".to_owned());
        }
        long_words(modes);
    }
    for skill in &mut card.skills {
        long_words(&mut skill.input_modes);
        long_words(&mut skill.output_modes);
    }
    card
}

/// V01-CARD-004: v0.1 has short words for media types, and they live on in younger cards.
fn long_words(modes: &mut [String]) {
    for mode in modes {
        match mode.as_str() {
            "text" => "text/*",
            "data" => "application/json",
            "file" => "*/*",
            _ => continue,
        }
        .clone_into(mode);
    }
}

/// Members of the compact form only.
#[derive(Deserialize)]
struct CompactMembers {
    extensions: Option<Vec<Extension>>,
    signature: Option<Value>,
    skills: Option<Vec<CompactSkill>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompactSkill {
    #[serde(alias = "accepted_mime_types")]
    accepted_mime_types: Option<Vec<String>>,
    #[serde(alias = "input_schema")]
    input_schema: Option<Value>,
    #[serde(alias = "output_schema")]
    output_schema: Option<Value>,
}

fn compact(mut card: Card, members: CompactMembers) -> Card {
    if card.version.is_empty() {
        COMPACT_VERSION.clone_into(&mut card.version);
    }
    for modes in [&mut card.default_input_modes, &mut card.default_output_modes] {
        if modes.is_empty() {
            *modes = COMPACT_MODES.map(str::to_owned).to_vec();
        }
    }
    card.capabilities.extensions.extend(members.extensions.unwrap_or_default());
    // DIA-003-SIGN-001: a bare hash is no signature.
    let signed = |signature: &Signature| !signature.protected.is_empty() && !signature.signature.is_empty();
    if let Some(signature) = members.signature.and_then(|value| Signature::deserialize(Objects(value)).ok()).filter(signed) {
        card.signatures.push(signature);
    }
    let mut schemas = Object::new();
    for (skill, found) in card.skills.iter_mut().zip(members.skills.unwrap_or_default()) {
        if let (true, Some(modes)) = (skill.input_modes.is_empty(), found.accepted_mime_types) {
            skill.input_modes = modes;
        }
        let own = [(INPUT_SCHEMA, found.input_schema), (OUTPUT_SCHEMA, found.output_schema)];
        let own: Object = own.into_iter().filter_map(|(name, schema)| Some((name.to_owned(), schema?))).collect();
        if !own.is_empty() {
            schemas.insert(skill.id.clone(), own.into());
        }
    }
    // Schemas that the card already tells as an extension are left to it.
    let known = card.capabilities.extensions.iter().any(|found| found.uri == extension::SKILL_SCHEMA);
    if !known && !schemas.is_empty() {
        card.capabilities.extensions.push(Extension::new(extension::SKILL_SCHEMA).param("skills", schemas));
    }
    card
}
