//! A card as text.

use chancery_core::{
    Card, Interface,
    security::{SecurityRequirement, SecurityScheme},
};

use super::Text;

/// Whether a card's signatures were verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// There are none.
    Absent,
    /// They say nothing, for this reason.
    Unverifiable(String),
}

impl Verdict {
    /// The verdict on a card whose signatures nobody checks yet.
    pub(crate) fn unchecked(card: &Card, reason: &str) -> Self {
        if card.signatures.is_empty() { Self::Absent } else { Self::Unverifiable(reason.to_owned()) }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::Unverifiable(reason) => write!(f, "unverifiable ({reason})"),
        }
    }
}

/// Writes a card.
pub(crate) fn card(text: &mut Text, card: &Card, verdict: &Verdict) {
    let yes = |word: Option<bool>| if word.unwrap_or(false) { "yes" } else { "no" };
    text.field("Name", &card.name);
    text.known("Description", &card.description);
    text.known("Version", &card.version);
    if let Some(provider) = &card.provider {
        text.known("Provider", join(&[&provider.organization, &provider.url]).as_str());
    }
    for one in &card.supported_interfaces {
        text.field("Interface", &interface(one));
    }
    text.field("Streaming", yes(card.capabilities.streaming));
    text.field("Push notifications", yes(card.capabilities.push_notifications));
    text.field("Extended card", yes(card.capabilities.extended_agent_card));
    for extension in &card.capabilities.extensions {
        text.field("Extension", &format!("{}{}", extension.uri, if extension.required { " (required)" } else { "" }));
    }
    for (name, one) in &card.security_schemes {
        text.field("Security scheme", &format!("{name} ({})", scheme(one)));
    }
    for one in &card.security_requirements {
        text.field("Security requirement", &requirement(one));
    }
    for skill in &card.skills {
        let name = if skill.name == skill.id || skill.name.is_empty() { String::new() } else { format!(" {}", skill.name) };
        let about = if skill.description.is_empty() { String::new() } else { format!(": {}", skill.description) };
        text.field("Skill", &format!("{}{name}{about}", skill.id));
    }
    text.field("Signature", &verdict.to_string());
}

/// `JSONRPC 1.0 http://localhost:8080/ tenant=harbor`
pub(crate) fn interface(one: &Interface) -> String {
    let tenant = if one.tenant.is_empty() { String::new() } else { format!("tenant={}", one.tenant) };
    join(&[&one.protocol_binding, &one.protocol_version, &one.url, &tenant])
}

/// A scheme in a few words.
pub(crate) fn scheme(scheme: &SecurityScheme) -> String {
    match scheme {
        SecurityScheme::ApiKey(key) => format!("API key in {} {}", key.location.as_str(), key.name),
        SecurityScheme::HttpAuth(http) => join(&["HTTP", &http.scheme, &http.bearer_format]),
        SecurityScheme::OAuth2(_) => "OAuth 2.0".to_owned(),
        SecurityScheme::OpenIdConnect(oidc) => join(&["OpenID Connect", &oidc.open_id_connect_url]),
        SecurityScheme::MutualTls(_) => "mutual TLS".to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// `oauth (read, write) and key`
fn requirement(requirement: &SecurityRequirement) -> String {
    let scopes = |scopes: &[String]| if scopes.is_empty() { String::new() } else { format!(" ({})", scopes.join(", ")) };
    let schemes: Vec<_> = requirement.schemes.iter().map(|(name, wanted)| format!("{name}{}", scopes(wanted))).collect();
    if schemes.is_empty() { "none".to_owned() } else { schemes.join(" and ") }
}

fn join(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ")
}
