//! The agent card: what an agent is, where it is and how to talk to it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    json::{self, Object},
    origin::{Binding, Version},
    security::{SecurityRequirement, SecurityScheme},
};

/// An agent's description of itself; v1.0 calls it `AgentCard`.
///
/// ```
/// use chancery_core::{Binding, Card, Version};
/// let card = Card::new("Echo", "Repeats what it hears")
///     .skill("echo", "Says your words back")
///     .interface("https://echo.example/rpc", Binding::JsonRpc, Version::V1_0);
/// assert_eq!(card.skills[0].name, "echo");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Card {
    /// The name shown to people.
    #[serde(deserialize_with = "json::or_default")]
    pub name: String,
    /// What the agent does.
    #[serde(deserialize_with = "json::or_default")]
    pub description: String,
    /// Where it can be reached, the preferred way first.
    #[serde(alias = "supported_interfaces", deserialize_with = "json::or_default")]
    pub supported_interfaces: Vec<Interface>,
    /// Who runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    /// The version of the agent itself.
    #[serde(deserialize_with = "json::or_default")]
    pub version: String,
    /// Where to read more.
    #[serde(alias = "documentation_url", skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    /// Which optional features it has.
    #[serde(deserialize_with = "json::or_default")]
    pub capabilities: Capabilities,
    /// Ways to authenticate, by name.
    #[serde(alias = "security_schemes", deserialize_with = "json::or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// What a caller must present: any one of these.
    #[serde(alias = "security_requirements", deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<SecurityRequirement>,
    /// MIME types it takes unless a skill says otherwise.
    #[serde(alias = "default_input_modes", deserialize_with = "json::or_default")]
    pub default_input_modes: Vec<String>,
    /// MIME types it produces unless a skill says otherwise.
    #[serde(alias = "default_output_modes", deserialize_with = "json::or_default")]
    pub default_output_modes: Vec<String>,
    /// What it can do.
    #[serde(deserialize_with = "json::or_default")]
    pub skills: Vec<Skill>,
    /// Signatures over the canonical card.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<Signature>,
    /// A picture of it.
    #[serde(alias = "icon_url", skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
}

/// One place where an agent can be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Interface {
    /// An absolute URL; for gRPC `host:port`.
    #[serde(deserialize_with = "json::or_default")]
    pub url: String,
    /// `JSONRPC`, `GRPC`, `HTTP+JSON`, or the URI of a custom binding.
    #[serde(alias = "protocol_binding", deserialize_with = "json::or_default")]
    pub protocol_binding: String,
    /// A value that clients must repeat in every request; empty when there is none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// `Major.Minor` of the protocol spoken there.
    #[serde(alias = "protocol_version", deserialize_with = "json::or_default")]
    pub protocol_version: String,
}

/// Who runs an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Provider {
    /// The provider's site.
    #[serde(deserialize_with = "json::or_default")]
    pub url: String,
    /// The provider's name.
    #[serde(deserialize_with = "json::or_default")]
    pub organization: String,
}

/// Optional features; absent means no.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Capabilities {
    /// Streams can be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// Webhooks can be registered.
    #[serde(alias = "push_notifications", skip_serializing_if = "Option::is_none")]
    pub push_notifications: Option<bool>,
    /// Extensions that the agent knows.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    /// Authenticated callers can read a fuller card.
    #[serde(alias = "extended_agent_card", skip_serializing_if = "Option::is_none")]
    pub extended_agent_card: Option<bool>,
}

/// An extension that an agent knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Extension {
    /// The extension's name.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub uri: String,
    /// How this agent uses it; empty when not given.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether clients must activate it.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_false")]
    pub required: bool,
    /// The extension's own configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Object>,
}

/// Something an agent can do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Skill {
    /// Unique within the card.
    #[serde(deserialize_with = "json::or_default")]
    pub id: String,
    /// The name shown to people.
    #[serde(deserialize_with = "json::or_default")]
    pub name: String,
    /// What it does.
    #[serde(deserialize_with = "json::or_default")]
    pub description: String,
    /// Keywords, at least one.
    #[serde(deserialize_with = "json::or_default")]
    pub tags: Vec<String>,
    /// Sample requests.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// MIME types it takes, instead of the card's.
    #[serde(alias = "input_modes", deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// MIME types it produces, instead of the card's.
    #[serde(alias = "output_modes", deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// What a caller must present in addition.
    #[serde(alias = "security_requirements", deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<SecurityRequirement>,
}

/// A JWS over the canonical card, payload detached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Signature {
    /// The protected header, base64url of its JSON.
    #[serde(deserialize_with = "json::or_default")]
    pub protected: String,
    /// The signature, base64url.
    #[serde(deserialize_with = "json::or_default")]
    pub signature: String,
    /// The unprotected header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<Object>,
}

impl Card {
    /// A card with a name and a description, version `1.0.0`, plain text in and out.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            version: "1.0.0".to_owned(),
            default_input_modes: vec!["text/plain".to_owned()],
            default_output_modes: vec!["text/plain".to_owned()],
            ..Self::default()
        }
    }

    /// Sets the agent's own version.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Adds a skill. Its name and its one tag are its id; see [`Skill`] for more.
    #[must_use]
    pub fn skill(self, id: impl Into<String>, description: impl Into<String>) -> Self {
        self.with_skill(Skill::new(id, description))
    }

    /// Adds a skill that was built elsewhere.
    #[must_use]
    pub fn with_skill(mut self, skill: Skill) -> Self {
        self.skills.push(skill);
        self
    }

    /// Adds a place where the agent can be reached; the first one is preferred.
    #[must_use]
    pub fn interface(mut self, url: impl Into<String>, binding: Binding, version: Version) -> Self {
        self.supported_interfaces.push(Interface::new(url, binding.as_str(), version.as_str()));
        self
    }

    /// Says who runs the agent.
    #[must_use]
    pub fn provider(mut self, organization: impl Into<String>, url: impl Into<String>) -> Self {
        self.provider = Some(Provider { url: url.into(), organization: organization.into() });
        self
    }

    /// Declares that streams can be opened.
    #[must_use]
    pub fn streaming(mut self, yes: bool) -> Self {
        self.capabilities.streaming = Some(yes);
        self
    }

    /// Declares that webhooks can be registered.
    #[must_use]
    pub fn push_notifications(mut self, yes: bool) -> Self {
        self.capabilities.push_notifications = Some(yes);
        self
    }

    /// Declares an extension.
    #[must_use]
    pub fn extension(mut self, extension: Extension) -> Self {
        self.capabilities.extensions.push(extension);
        self
    }

    /// Declares a way to authenticate.
    #[must_use]
    pub fn security_scheme(mut self, name: impl Into<String>, scheme: SecurityScheme) -> Self {
        self.security_schemes.insert(name.into(), scheme);
        self
    }

    /// Adds one alternative of what a caller must present.
    #[must_use]
    pub fn require(mut self, requirement: SecurityRequirement) -> Self {
        self.security_requirements.push(requirement);
        self
    }

    /// MIME types the agent takes.
    #[must_use]
    pub fn takes<S: Into<String>>(mut self, modes: impl IntoIterator<Item = S>) -> Self {
        self.default_input_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// MIME types the agent produces.
    #[must_use]
    pub fn gives<S: Into<String>>(mut self, modes: impl IntoIterator<Item = S>) -> Self {
        self.default_output_modes = modes.into_iter().map(Into::into).collect();
        self
    }
}

impl Interface {
    /// An interface without a tenant.
    pub fn new(url: impl Into<String>, binding: impl Into<String>, version: impl Into<String>) -> Self {
        Self { url: url.into(), protocol_binding: binding.into(), tenant: String::new(), protocol_version: version.into() }
    }

    /// Sets the value that clients must repeat.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = tenant.into();
        self
    }
}

impl Skill {
    /// A skill whose name and tag are its id.
    pub fn new(id: impl Into<String>, description: impl Into<String>) -> Self {
        let id = id.into();
        Self { name: id.clone(), tags: vec![id.clone()], id, description: description.into(), ..Self::default() }
    }

    /// Sets the name shown to people.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the keywords.
    #[must_use]
    pub fn tags<S: Into<String>>(mut self, tags: impl IntoIterator<Item = S>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a sample request.
    #[must_use]
    pub fn example(mut self, text: impl Into<String>) -> Self {
        self.examples.push(text.into());
        self
    }
}

impl Extension {
    /// An optional extension.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }

    /// Says how this agent uses it.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Demands that clients activate it.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Sets one parameter.
    #[must_use]
    pub fn param(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.params.get_or_insert_default().insert(key.into(), value.into());
        self
    }
}

impl Provider {
    /// A provider with a name and a site.
    pub fn new(organization: impl Into<String>, url: impl Into<String>) -> Self {
        Self { url: url.into(), organization: organization.into() }
    }
}

impl Signature {
    /// A signature from its two required members.
    pub fn new(protected: impl Into<String>, signature: impl Into<String>) -> Self {
        Self { protected: protected.into(), signature: signature.into(), header: None }
    }
}
