//! The agent card, both ways. Its security is wrapped as in v1.0 (V03-SEC-002); its interfaces are
//! those of v0.3.
//!
//! A scheme of protobuf holds one OAuth flow, as v1.0 does, so nothing has to be split here. The
//! device code flow is unknown to v0.3: its scheme is written without a flow, and a scheme without a
//! flow is read as one whose addresses nobody knows (CONV-CARD-007, CONV-CARD-008).

use std::collections::BTreeMap;

use chancery_core::{
    Binding, Capabilities, Card, Error, Extension, Interface, Provider, Result, SecurityScheme, Signature, Skill, Version,
    security::{
        ApiKeyLocation, ApiKeyScheme, AuthorizationCodeFlow, ClientCredentialsFlow, DeviceCodeFlow, HttpAuthScheme, ImplicitFlow,
        MutualTlsScheme, OAuth2Scheme, OAuthFlow, OpenIdConnectScheme, PasswordFlow,
    },
};
use pb::{o_auth_flows::Flow, security_scheme::Scheme};

use crate::{
    pb_json::{object_to_struct, struct_to_object},
    proto::a2a_v1 as pb,
    v1_0::proto::path::within,
    version::RequestedVersion,
};

/// The version that we declare; peers compare the first two numbers.
const PROTOCOL_VERSION: &str = "0.3.0";

/// Writes an agent card: of its interfaces those of v0.3, with JSON-RPC as the preferred one when it
/// is among them (CONV-CARD-002).
#[must_use]
pub fn card_to_proto(card: &Card) -> pb::AgentCard {
    let interfaces: Vec<_> = card.supported_interfaces.iter().filter(|interface| is_v0_3(interface)).collect();
    let json_rpc = interfaces.iter().find(|interface| interface.protocol_binding == Binding::JsonRpc.as_str());
    let preferred = json_rpc.or(interfaces.first());
    pb::AgentCard {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        name: card.name.clone(),
        description: card.description.clone(),
        url: preferred.map(|interface| interface.url.clone()).unwrap_or_default(),
        preferred_transport: preferred.map(|interface| interface.protocol_binding.clone()).unwrap_or_default(),
        additional_interfaces: interfaces.into_iter().map(write_interface).collect(),
        provider: card
            .provider
            .as_ref()
            .map(|provider| pb::AgentProvider { url: provider.url.clone(), organization: provider.organization.clone() }),
        version: card.version.clone(),
        documentation_url: card.documentation_url.clone().unwrap_or_default(),
        capabilities: Some(write_capabilities(&card.capabilities)),
        security_schemes: card.security_schemes.iter().map(|(name, scheme)| (name.clone(), write_scheme(scheme))).collect(),
        security: card.security_requirements.iter().map(Into::into).collect(),
        default_input_modes: card.default_input_modes.clone(),
        default_output_modes: card.default_output_modes.clone(),
        skills: card.skills.iter().map(write_skill).collect(),
        supports_authenticated_extended_card: card.capabilities.extended_agent_card.unwrap_or(false),
        signatures: card.signatures.iter().map(write_signature).collect(),
        icon_url: card.icon_url.clone().unwrap_or_default(),
    }
}

fn is_v0_3(interface: &Interface) -> bool {
    RequestedVersion::parse(Some(&interface.protocol_version)) == RequestedVersion::For(Version::V0_3)
}

fn write_interface(interface: &Interface) -> pb::AgentInterface {
    pb::AgentInterface { url: interface.url.clone(), transport: interface.protocol_binding.clone() }
}

fn write_capabilities(capabilities: &Capabilities) -> pb::AgentCapabilities {
    let extension = |extension: &Extension| pb::AgentExtension {
        uri: extension.uri.clone(),
        description: extension.description.clone(),
        required: extension.required,
        params: extension.params.as_deref().map(object_to_struct),
    };
    pb::AgentCapabilities {
        streaming: capabilities.streaming.unwrap_or(false),
        push_notifications: capabilities.push_notifications.unwrap_or(false),
        extensions: capabilities.extensions.iter().map(extension).collect(),
        state_transition_history: false,
    }
}

fn write_skill(skill: &Skill) -> pb::AgentSkill {
    pb::AgentSkill {
        id: skill.id.clone(),
        name: skill.name.clone(),
        description: skill.description.clone(),
        tags: skill.tags.clone(),
        examples: skill.examples.clone(),
        input_modes: skill.input_modes.clone(),
        output_modes: skill.output_modes.clone(),
        security: skill.security_requirements.iter().map(Into::into).collect(),
    }
}

fn write_signature(signature: &Signature) -> pb::AgentCardSignature {
    pb::AgentCardSignature {
        protected: signature.protected.clone(),
        signature: signature.signature.clone(),
        header: signature.header.as_deref().map(object_to_struct),
    }
}

fn write_scheme(scheme: &SecurityScheme) -> pb::SecurityScheme {
    let scheme = match scheme {
        SecurityScheme::ApiKey(scheme) => Some(Scheme::ApiKeySecurityScheme(pb::ApiKeySecurityScheme {
            description: scheme.description.clone(),
            location: scheme.location.as_str().to_owned(),
            name: scheme.name.clone(),
        })),
        SecurityScheme::HttpAuth(scheme) => Some(Scheme::HttpAuthSecurityScheme(pb::HttpAuthSecurityScheme {
            description: scheme.description.clone(),
            scheme: scheme.scheme.clone(),
            bearer_format: scheme.bearer_format.clone(),
        })),
        SecurityScheme::OAuth2(scheme) => Some(Scheme::Oauth2SecurityScheme(pb::OAuth2SecurityScheme {
            description: scheme.description.clone(),
            flows: Some(pb::OAuthFlows { flow: write_flow(&scheme.flows) }),
            oauth2_metadata_url: scheme.metadata_url.clone(),
        })),
        SecurityScheme::OpenIdConnect(scheme) => Some(Scheme::OpenIdConnectSecurityScheme(pb::OpenIdConnectSecurityScheme {
            description: scheme.description.clone(),
            open_id_connect_url: scheme.open_id_connect_url.clone(),
        })),
        SecurityScheme::MutualTls(scheme) => {
            Some(Scheme::MtlsSecurityScheme(pb::MutualTlsSecurityScheme { description: scheme.description.clone() }))
        }
        // The model has no other schemes; one that is added there needs its line here.
        _ => None,
    };
    pb::SecurityScheme { scheme }
}

fn write_flow(flow: &OAuthFlow) -> Option<Flow> {
    match flow {
        OAuthFlow::AuthorizationCode(flow) => Some(Flow::AuthorizationCode(pb::AuthorizationCodeOAuthFlow {
            authorization_url: flow.authorization_url.clone(),
            token_url: flow.token_url.clone(),
            refresh_url: flow.refresh_url.clone(),
            scopes: flow.scopes.clone(),
        })),
        OAuthFlow::ClientCredentials(flow) => Some(Flow::ClientCredentials(pb::ClientCredentialsOAuthFlow {
            token_url: flow.token_url.clone(),
            refresh_url: flow.refresh_url.clone(),
            scopes: flow.scopes.clone(),
        })),
        OAuthFlow::Implicit(flow) => Some(Flow::Implicit(pb::ImplicitOAuthFlow {
            authorization_url: flow.authorization_url.clone(),
            refresh_url: flow.refresh_url.clone(),
            scopes: flow.scopes.clone(),
        })),
        OAuthFlow::Password(flow) => Some(Flow::Password(pb::PasswordOAuthFlow {
            token_url: flow.token_url.clone(),
            refresh_url: flow.refresh_url.clone(),
            scopes: flow.scopes.clone(),
        })),
        _ => None,
    }
}

/// Reads an agent card. Lists may be empty, as real cards leave them.
///
/// # Errors
/// [`ErrorKind::InvalidParams`](chancery_core::ErrorKind::InvalidParams) naming the security scheme
/// that is wrong.
pub fn card_from_proto(wire: pb::AgentCard) -> Result<Card> {
    let mut card = Card::default();
    card.supported_interfaces = read_interfaces(&wire.protocol_version, wire.url, wire.preferred_transport, wire.additional_interfaces);
    card.name = wire.name;
    card.description = wire.description;
    // Python peers write a provider that says nothing when there is none.
    let provider = wire.provider.filter(|provider| *provider != pb::AgentProvider::default());
    card.provider = provider.map(|provider| Provider::new(provider.organization, provider.url));
    card.version = wire.version;
    card.documentation_url = Some(wire.documentation_url).filter(|url| !url.is_empty());
    card.capabilities = wire.capabilities.map(read_capabilities).unwrap_or_default();
    card.capabilities.extended_agent_card = yes(wire.supports_authenticated_extended_card);
    card.security_schemes = read_schemes(wire.security_schemes)?;
    card.security_requirements = wire.security.into_iter().map(Into::into).collect();
    card.default_input_modes = wire.default_input_modes;
    card.default_output_modes = wire.default_output_modes;
    card.skills = wire.skills.into_iter().map(read_skill).collect();
    card.signatures = wire.signatures.into_iter().map(read_signature).collect();
    card.icon_url = Some(wire.icon_url).filter(|url| !url.is_empty());
    Ok(card)
}

/// The main address and the additional ones, each once, the preferred one first (V03-CARD-014).
fn read_interfaces(version: &str, url: String, transport: String, additional: Vec<pb::AgentInterface>) -> Vec<Interface> {
    let version = match RequestedVersion::parse(Some(version)) {
        RequestedVersion::Nothing => Version::V0_3.as_str(),
        RequestedVersion::For(version) => version.as_str(),
        RequestedVersion::Other(text) => text,
    };
    let transport = if transport.is_empty() { Binding::JsonRpc.as_str().to_owned() } else { transport };
    let main = pb::AgentInterface { url, transport };
    let mut interfaces: Vec<Interface> = Vec::with_capacity(1 + additional.len());
    for wire in std::iter::once(main).chain(additional).filter(|wire| !wire.url.is_empty()) {
        let interface = Interface::new(wire.url, wire.transport, version);
        if !interfaces.contains(&interface) {
            interfaces.push(interface);
        }
    }
    interfaces
}

fn read_capabilities(wire: pb::AgentCapabilities) -> Capabilities {
    let extension = |wire: pb::AgentExtension| {
        let mut extension = Extension::new(wire.uri).described(wire.description);
        extension.required = wire.required;
        extension.params = wire.params.map(struct_to_object);
        extension
    };
    let mut capabilities = Capabilities::default();
    capabilities.streaming = yes(wire.streaming);
    capabilities.push_notifications = yes(wire.push_notifications);
    capabilities.extensions = wire.extensions.into_iter().map(extension).collect();
    capabilities
}

/// A flag of a message that cannot tell "no" from "not said".
fn yes(flag: bool) -> Option<bool> {
    flag.then_some(true)
}

fn read_skill(wire: pb::AgentSkill) -> Skill {
    let mut skill = Skill::new(wire.id, wire.description).named(wire.name).tags(wire.tags);
    skill.examples = wire.examples;
    skill.input_modes = wire.input_modes;
    skill.output_modes = wire.output_modes;
    skill.security_requirements = wire.security.into_iter().map(Into::into).collect();
    skill
}

fn read_signature(wire: pb::AgentCardSignature) -> Signature {
    let mut signature = Signature::new(wire.protected, wire.signature);
    signature.header = wire.header.map(struct_to_object);
    signature
}

fn read_schemes(schemes: BTreeMap<String, pb::SecurityScheme>) -> Result<BTreeMap<String, SecurityScheme>> {
    let read = |(name, scheme)| {
        let scheme = within(format_args!("securitySchemes.{name}"), read_scheme(scheme))?;
        Ok((name, scheme))
    };
    schemes.into_iter().map(read).collect()
}

fn read_scheme(wire: pb::SecurityScheme) -> Result<SecurityScheme> {
    Ok(match wire.scheme {
        Some(Scheme::ApiKeySecurityScheme(wire)) => {
            let mut scheme = ApiKeyScheme::new(within("apiKeySecurityScheme", read_location(&wire.location))?, wire.name);
            scheme.description = wire.description;
            SecurityScheme::ApiKey(scheme)
        }
        Some(Scheme::HttpAuthSecurityScheme(wire)) => {
            let mut scheme = HttpAuthScheme::new(wire.scheme, wire.bearer_format);
            scheme.description = wire.description;
            SecurityScheme::HttpAuth(scheme)
        }
        Some(Scheme::Oauth2SecurityScheme(wire)) => {
            let mut scheme = OAuth2Scheme::new(read_flow(wire.flows.and_then(|flows| flows.flow)));
            scheme.description = wire.description;
            scheme.metadata_url = wire.oauth2_metadata_url;
            SecurityScheme::OAuth2(scheme)
        }
        Some(Scheme::OpenIdConnectSecurityScheme(wire)) => {
            let mut scheme = OpenIdConnectScheme::new(wire.open_id_connect_url);
            scheme.description = wire.description;
            SecurityScheme::OpenIdConnect(scheme)
        }
        Some(Scheme::MtlsSecurityScheme(wire)) => {
            let mut scheme = MutualTlsScheme::default();
            scheme.description = wire.description;
            SecurityScheme::MutualTls(scheme)
        }
        None => return Err(Error::invalid_param("", "a security scheme holds exactly one scheme")),
    })
}

/// The place of a key; one that is not said is a header, as in JSON.
fn read_location(word: &str) -> Result<ApiKeyLocation> {
    if word.is_empty() {
        return Ok(ApiKeyLocation::default());
    }
    ApiKeyLocation::from_word(word).ok_or_else(|| Error::invalid_param("location", "must be header, query or cookie"))
}

fn read_flow(wire: Option<Flow>) -> OAuthFlow {
    match wire {
        Some(Flow::AuthorizationCode(wire)) => {
            let mut flow = AuthorizationCodeFlow::default();
            (flow.authorization_url, flow.token_url) = (wire.authorization_url, wire.token_url);
            (flow.refresh_url, flow.scopes) = (wire.refresh_url, wire.scopes);
            OAuthFlow::AuthorizationCode(flow)
        }
        Some(Flow::ClientCredentials(wire)) => {
            let mut flow = ClientCredentialsFlow::default();
            (flow.token_url, flow.refresh_url, flow.scopes) = (wire.token_url, wire.refresh_url, wire.scopes);
            OAuthFlow::ClientCredentials(flow)
        }
        Some(Flow::Implicit(wire)) => {
            let mut flow = ImplicitFlow::default();
            (flow.authorization_url, flow.refresh_url, flow.scopes) = (wire.authorization_url, wire.refresh_url, wire.scopes);
            OAuthFlow::Implicit(flow)
        }
        Some(Flow::Password(wire)) => {
            let mut flow = PasswordFlow::default();
            (flow.token_url, flow.refresh_url, flow.scopes) = (wire.token_url, wire.refresh_url, wire.scopes);
            OAuthFlow::Password(flow)
        }
        None => OAuthFlow::DeviceCode(DeviceCodeFlow::default()),
    }
}
