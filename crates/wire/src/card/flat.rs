//! Writing security schemes in the form of v0.3: members side by side, told apart by `type`.

use std::{borrow::Cow, collections::BTreeMap};

use chancery_core::{
    Card, SecurityRequirement, SecurityScheme,
    security::{HttpAuthScheme, OAuthFlow, Scopes},
};
use serde::Serialize;

use super::scheme::flow_name;

/// Whose flat form it is: they differ in what they can say about OAuth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// V02-CARD-004: no metadata address.
    V0_2,
    /// CONV-CARD-008: no device code and no PKCE flag.
    V0_3,
    /// Beside the wrapped form of v1.0: both, since one SDK of v1.0 reads the flat form wherever it
    /// finds one. Readers of v0.3 ignore them.
    Merged,
    /// snake_case: v1.0 in flat form.
    Snake,
    /// DIA-003-SEC-001: the same, with the members of the flow in the scheme too.
    Compact,
}

/// A scheme, flat.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Flat<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#in: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bearer_format: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flows: Option<BTreeMap<&'static str, Flow<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oauth2_metadata_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_id_connect_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(flatten)]
    direct: Option<Flow<'a>>,
}

/// A scheme, wrapped as in v1.0 and flat beside it.
#[derive(Debug, Serialize)]
pub(super) struct Both<'a> {
    #[serde(flatten)]
    wrapped: Cow<'a, SecurityScheme>,
    #[serde(flatten)]
    flat: Flat<'a>,
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Flow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_authorization_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<&'a Scopes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pkce_required: Option<bool>,
}

/// The schemes of a card, flat.
pub(super) fn schemes(card: &Card, of: Of) -> BTreeMap<&str, Flat<'_>> {
    card.security_schemes.iter().map(|(name, scheme)| (name.as_str(), flat(scheme, of))).collect()
}

/// The schemes of a card in both forms.
pub(super) fn both(card: &Card, of: Of) -> BTreeMap<&str, Both<'_>> {
    let both = |scheme| Both { wrapped: wrapped(scheme, of), flat: flat(scheme, of) };
    card.security_schemes.iter().map(|(name, scheme)| (name.as_str(), both(scheme))).collect()
}

/// The scheme as it is, but one of v0.3 with the device code flow: a flow that it does not know
/// makes one SDK refuse the whole card. What the caller must send is a bearer token all the same.
fn wrapped(scheme: &SecurityScheme, of: Of) -> Cow<'_, SecurityScheme> {
    match scheme {
        SecurityScheme::OAuth2(oauth) if flow(&oauth.flows, of).is_none() => {
            let mut bearer = HttpAuthScheme::new("Bearer", "");
            oauth.description.clone_into(&mut bearer.description);
            Cow::Owned(SecurityScheme::HttpAuth(bearer))
        }
        _ => Cow::Borrowed(scheme),
    }
}

/// Requirements, flat: the scopes by scheme.
pub(super) fn requirements(requirements: &[SecurityRequirement]) -> Vec<&BTreeMap<String, Vec<String>>> {
    requirements.iter().map(|requirement| &requirement.schemes).collect()
}

fn flat(scheme: &SecurityScheme, of: Of) -> Flat<'_> {
    let said = |text: &'_ str| !text.is_empty();
    let (flat, description) = match scheme {
        SecurityScheme::ApiKey(key) => {
            (Flat { r#type: "apiKey", r#in: Some(key.location.as_str()), name: Some(&key.name), ..Flat::default() }, &key.description)
        }
        SecurityScheme::HttpAuth(http) => {
            let bearer_format = Some(http.bearer_format.as_str()).filter(|text| said(text));
            (Flat { r#type: "http", scheme: Some(&http.scheme), bearer_format, ..Flat::default() }, &http.description)
        }
        SecurityScheme::OAuth2(oauth) => {
            let flow = flow(&oauth.flows, of);
            let direct = flow.clone().filter(|_| of == Of::Compact);
            // V03-SEC-005: without `flows` one SDK cannot read the whole card.
            let flows = Some(flow.map(|flow| (flow_name(&oauth.flows), flow)).into_iter().collect());
            let oauth2_metadata_url = Some(oauth.metadata_url.as_str()).filter(|text| said(text) && of != Of::V0_2);
            (Flat { r#type: "oauth2", flows, oauth2_metadata_url, direct, ..Flat::default() }, &oauth.description)
        }
        SecurityScheme::OpenIdConnect(oidc) => {
            let open_id_connect_url = Some(oidc.open_id_connect_url.as_str());
            (Flat { r#type: "openIdConnect", open_id_connect_url, ..Flat::default() }, &oidc.description)
        }
        SecurityScheme::MutualTls(tls) => (Flat { r#type: "mutualTLS", ..Flat::default() }, &tls.description),
        _ => return Flat::default(),
    };
    Flat { description: Some(description.as_str()).filter(|text| said(text)), ..flat }
}

/// The flow, with every member that v0.3 demands; `None` for one that the form does not know.
fn flow(flow: &OAuthFlow, of: Of) -> Option<Flow<'_>> {
    let newest = !matches!(of, Of::V0_2 | Of::V0_3);
    let brief = matches!(of, Of::Snake | Of::Compact);
    let (mut members, refresh_url) = match flow {
        OAuthFlow::AuthorizationCode(flow) => {
            let pkce_required = Some(flow.pkce_required).filter(|required| newest && *required);
            let authorization_url = Some(flow.authorization_url.as_str());
            (Flow { authorization_url, token_url: Some(&flow.token_url), pkce_required, ..Flow::default() }, &flow.refresh_url)
        }
        OAuthFlow::ClientCredentials(flow) => (Flow { token_url: Some(&flow.token_url), ..Flow::default() }, &flow.refresh_url),
        OAuthFlow::Implicit(flow) => (Flow { authorization_url: Some(&flow.authorization_url), ..Flow::default() }, &flow.refresh_url),
        OAuthFlow::Password(flow) => (Flow { token_url: Some(&flow.token_url), ..Flow::default() }, &flow.refresh_url),
        OAuthFlow::DeviceCode(flow) if newest => {
            let device_authorization_url = Some(flow.device_authorization_url.as_str());
            (Flow { device_authorization_url, token_url: Some(&flow.token_url), ..Flow::default() }, &flow.refresh_url)
        }
        _ => return None,
    };
    members.refresh_url = Some(refresh_url.as_str()).filter(|url| !url.is_empty());
    members.scopes = Some(flow.scopes()).filter(|scopes| !brief || !scopes.is_empty());
    Some(members)
}
