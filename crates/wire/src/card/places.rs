//! Where the agent is, as a card of each form says it.

use chancery_core::{Binding, Interface, Result};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use crate::json;

/// Where a card was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FoundAt<'a> {
    /// At `/.well-known/agent-card.json` below this base URL.
    AgentCardJson(&'a str),
    /// At `/.well-known/agent.json` below this base URL.
    AgentJson(&'a str),
    /// In a file, a registry, an answer.
    #[default]
    Elsewhere,
}

impl<'a> FoundAt<'a> {
    fn base(self) -> Option<&'a str> {
        match self {
            Self::AgentCardJson(base) | Self::AgentJson(base) => Some(base),
            Self::Elsewhere => None,
        }
    }
}

/// What kind of card it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// It lists `supportedInterfaces`, whatever it says beside, or says nothing about places.
    V1_0,
    /// It has one `interface` with an `endpoint`.
    Compact,
    /// It has a `url`. `guessed` when the card does not say which version is spoken there.
    Older { guessed: bool },
}

/// The interfaces of a card and how it told them (CONV-PICK-001, steps 2 to 5).
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) form: Form,
    pub(crate) interfaces: Vec<Interface>,
}

impl Places {
    /// Finds the interfaces of a card in any form. Only members of the form at hand are looked at:
    /// those of the others may be anything there.
    pub(crate) fn read(json: &[u8], found_at: FoundAt<'_>) -> Result<Self> {
        let card: AnyCard = json::read(json)?;
        if let Some(interfaces) = card.supported_interfaces.filter(|list| !list.is_empty()) {
            let unsaid = match (&card.url, card.protocol_version.as_ref().and_then(Value::as_str)) {
                (Some(_), Some(version)) => known(version),
                _ => "1.0".to_owned(),
            };
            return Ok(Self { form: Form::V1_0, interfaces: interfaces.into_iter().map(|found| with_version(found, &unsaid)).collect() });
        }
        if let Some(interface) = card.interface.as_ref().and_then(compact) {
            return Ok(Self { form: Form::Compact, interfaces: vec![interface] });
        }
        if card.url.is_some() {
            return json::read::<OlderCard>(json).map(|card| card.places(found_at));
        }
        // DIA-002-CARD-002: without a word about places, the agent is where its card is.
        let interfaces = found_at.base().map(|base| Interface::new(base, Binding::JsonRpc.as_str(), "1.0"));
        Ok(Self { form: Form::V1_0, interfaces: interfaces.into_iter().collect() })
    }
}

/// Major and minor number of a version, whatever follows them; `1` is `1.0`.
pub(crate) fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim().split('.');
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next().map_or(Some(0), |minor| minor.parse().ok())?;
    Some((major, minor))
}

/// The version of an older card as interfaces write it. CONV-PICK-001, step 5: one that says 1.x
/// means v1.0.
fn known(version: &str) -> String {
    match major_minor(version) {
        Some((1, _)) => "1.0".to_owned(),
        Some((major, minor)) => format!("{major}.{minor}"),
        None => version.to_owned(),
    }
}

fn with_version(mut interface: Interface, unsaid: &str) -> Interface {
    if interface.protocol_version.is_empty() {
        unsaid.clone_into(&mut interface.protocol_version);
    }
    interface
}

/// DIA-003-CARD-002, DIA-003-CARD-005: an object with an `endpoint`; anything else is no interface.
fn compact(interface: &Value) -> Option<Interface> {
    let text = |key: &str| interface.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let binding = match text("protocol") {
        None | Some("json-rpc") => Binding::JsonRpc.as_str(),
        Some("grpc") => Binding::Grpc.as_str(),
        Some("http") => Binding::HttpJson.as_str(),
        Some(custom) => custom,
    };
    Some(Interface::new(text("endpoint")?, binding, text("version").unwrap_or("1.0")).tenant(text("tenant").unwrap_or_default()))
}

/// What tells the forms apart.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyCard {
    #[serde(alias = "supported_interfaces")]
    supported_interfaces: Option<Vec<Interface>>,
    interface: Option<Value>,
    url: Option<IgnoredAny>,
    #[serde(alias = "protocol_version")]
    protocol_version: Option<Value>,
}

/// The places of v0.1, v0.2 and v0.3, and what tells these apart when the card does not.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OlderCard {
    url: String,
    #[serde(alias = "protocol_version")]
    protocol_version: Option<String>,
    #[serde(alias = "preferred_transport")]
    preferred_transport: Option<String>,
    #[serde(alias = "additional_interfaces")]
    additional_interfaces: Option<Vec<Additional>>,
    authentication: Option<IgnoredAny>,
    #[serde(alias = "default_input_modes")]
    default_input_modes: Option<IgnoredAny>,
    skills: Option<Vec<SkillHints>>,
}

#[derive(Deserialize)]
struct Additional {
    url: Option<String>,
    transport: Option<String>,
    tenant: Option<String>,
}

#[derive(Deserialize)]
struct SkillHints {
    description: Option<IgnoredAny>,
    tags: Option<IgnoredAny>,
}

impl Additional {
    fn interface(self, version: &str) -> Interface {
        let transport = self.transport.unwrap_or_default();
        Interface::new(self.url.unwrap_or_default(), transport_name(&transport), version).tenant(self.tenant.unwrap_or_default())
    }
}

impl OlderCard {
    fn places(self, found_at: FoundAt<'_>) -> Places {
        let said = self.protocol_version.as_deref().filter(|version| major_minor(version).is_some()).map(known);
        let form = Form::Older { guessed: said.is_none() };
        let version = said.unwrap_or_else(|| self.guess(found_at).to_owned());
        // V02-CARD-003: before v0.3, `url` is JSON-RPC, whatever else is said.
        let transport = match (version.as_str(), self.preferred_transport.as_deref()) {
            ("0.1" | "0.2", _) | (_, None | Some("")) => Binding::JsonRpc.as_str(),
            (_, Some(transport)) => transport_name(transport),
        };
        let mut main = Interface::new(self.url, transport, version.as_str());
        let mut others: Vec<Interface> = Vec::new();
        let mut repeated = false;
        for found in self.additional_interfaces.filter(|_| version != "0.1").unwrap_or_default() {
            let found = found.interface(&version);
            let is_main = (&found.url, &found.protocol_binding) == (&main.url, &main.protocol_binding);
            // The main interface is listed again, and only there it can have a tenant.
            if is_main && !repeated {
                (repeated, main.tenant) = (true, found.tenant);
            } else if found != main {
                others.push(found);
            }
        }
        let interfaces = std::iter::once(main).chain(others).collect();
        Places { form, interfaces }
    }

    /// CONV-PICK-001, step 4: a card that does not say its version. What was optional in v0.1 only
    /// gives v0.1 away when it is missing.
    fn guess(&self, found_at: FoundAt<'_>) -> &'static str {
        let bare = |skill: &SkillHints| skill.description.is_none() || skill.tags.is_none();
        let is_v0_1 = self.authentication.is_some() || self.default_input_modes.is_none() || self.skills.iter().flatten().any(bare);
        match found_at {
            _ if is_v0_1 => "0.1",
            FoundAt::AgentCardJson(_) => "0.3",
            FoundAt::AgentJson(_) | FoundAt::Elsewhere => "0.2",
        }
    }
}

/// V03-CARD-008: peers disagree about upper and lower case.
fn transport_name(name: &str) -> &str {
    Binding::from_name(name).map_or(name, |binding| binding.as_str())
}
