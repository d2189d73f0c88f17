//! The `authentication` of v0.1: names of schemes, and a hint where to get credentials.

use std::collections::BTreeMap;

use chancery_core::{
    Card, Object, SecurityRequirement, SecurityScheme,
    security::{ApiKeyLocation, ApiKeyScheme, HttpAuthScheme, OAuthFlow, OpenIdConnectScheme},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scheme::{ReadScopes, direct_flow, oauth};

/// The end of the address of every OpenID Connect discovery document.
const DISCOVERY: &str = "/openid-configuration";

/// What v0.1 calls the schemes that are not of HTTP; compared without regard to case.
const API_KEY: &str = "apiKey";
const OAUTH2: &str = "oauth2";

/// The member as it is read.
#[derive(Debug, Deserialize)]
pub(super) struct ReadAuthentication {
    schemes: Option<Names>,
    credentials: Option<Value>,
}

/// V01-CARD-005: a list, or the bare name that one published card has.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a list of scheme names")]
enum Names {
    One(String),
    Many(Vec<String>),
}

impl ReadAuthentication {
    /// CONV-CARD-005. Each name is an alternative: a caller has one `Authorization` header.
    pub(super) fn security(self) -> (BTreeMap<String, SecurityScheme>, Vec<SecurityRequirement>) {
        let hint = Hint::new(self.credentials);
        let names = match self.schemes {
            None => Vec::new(),
            Some(Names::One(name)) => vec![name],
            Some(Names::Many(names)) => names,
        };
        let mut schemes = BTreeMap::new();
        let mut requirements = Vec::new();
        for name in names.iter().filter(|name| !name.is_empty()) {
            let key = name.to_ascii_lowercase();
            requirements.push(SecurityRequirement::new().and(key.as_str(), [""; 0]));
            schemes.insert(key, hint.scheme(name));
        }
        // Where the tokens of another scheme come from is told, but not demanded.
        if let Some(url) = &hint.discovery
            && !schemes.values().any(|scheme| matches!(scheme, SecurityScheme::OpenIdConnect(_)))
        {
            schemes.entry("openIdConnect".to_owned()).or_insert_with(|| SecurityScheme::OpenIdConnect(OpenIdConnectScheme::new(url)));
        }
        (schemes, requirements)
    }
}

/// What can be understood of `credentials`.
struct Hint {
    members: Object,
    discovery: Option<String>,
}

impl Hint {
    fn new(credentials: Option<Value>) -> Self {
        let members = match credentials {
            Some(Value::Object(members)) => members.into(),
            Some(Value::String(url)) if url.ends_with(DISCOVERY) => return Self { members: Object::new(), discovery: Some(url) },
            // Anything but a JSON object is for people to read.
            Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or_default(),
            _ => Object::new(),
        };
        let discovery = members.get("openIdConnectUrl").and_then(Value::as_str).map(str::to_owned);
        Self { members, discovery }
    }

    fn scheme(&self, name: &str) -> SecurityScheme {
        let text = |key: &str| self.members.get(key).and_then(Value::as_str);
        let http = |scheme: &str, format: &str| SecurityScheme::HttpAuth(HttpAuthScheme::new(scheme, format));
        match name.to_ascii_lowercase().as_str() {
            "bearer" => http("Bearer", ""),
            "jwt" => http("Bearer", "JWT"),
            "basic" => http("Basic", ""),
            "apikey" => {
                let location = text("in").and_then(ApiKeyLocation::from_word).unwrap_or_default();
                SecurityScheme::ApiKey(ApiKeyScheme::new(location, text("name").unwrap_or("X-API-Key")))
            }
            OAUTH2 => match (self.flow(), &self.discovery) {
                (None, Some(url)) => SecurityScheme::OpenIdConnect(OpenIdConnectScheme::new(url)),
                (flow, _) => oauth("", "", flow),
            },
            _ => http(name, ""),
        }
    }

    fn flow(&self) -> Option<OAuthFlow> {
        let text = |key: &str| self.members.get(key).and_then(Value::as_str).map(str::to_owned);
        let scopes = self.members.get("scopes").and_then(|scopes| ReadScopes::deserialize(scopes).ok());
        direct_flow(text("authorizationUrl"), text("tokenUrl"), text("refreshUrl"), scopes.map(Into::into))
    }
}

/// The member as it is written.
#[derive(Debug, Serialize)]
pub(super) struct Authentication<'a> {
    schemes: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<String>,
}

#[derive(Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Credentials<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    r#in: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_id_connect_url: Option<&'a str>,
}

/// CONV-CARD-005: the schemes of the first alternative, with public addresses only.
pub(super) fn authentication<'a>(card: &'a Card, alternatives: &[&'a SecurityRequirement]) -> Option<Authentication<'a>> {
    let schemes: Vec<_> = alternatives.first()?.schemes.keys().filter_map(|name| card.security_schemes.get(name)).collect();
    let names: Vec<_> = schemes.iter().map(|scheme| name(scheme)).collect();
    let credentials = credentials(&schemes, card);
    (!names.is_empty()).then_some(Authentication { schemes: names, credentials })
}

fn name(scheme: &SecurityScheme) -> &str {
    match scheme {
        SecurityScheme::HttpAuth(scheme) => &scheme.scheme,
        SecurityScheme::ApiKey(_) => API_KEY,
        _ => OAUTH2,
    }
}

fn credentials(schemes: &[&SecurityScheme], card: &Card) -> Option<String> {
    let mut all = Credentials::default();
    for scheme in schemes {
        match scheme {
            SecurityScheme::ApiKey(key) => (all.r#in, all.name) = (Some(key.location.as_str()), Some(key.name.as_str())),
            SecurityScheme::OAuth2(scheme) => (all.authorization_url, all.token_url) = addresses(&scheme.flows),
            SecurityScheme::OpenIdConnect(scheme) => all.open_id_connect_url = Some(&scheme.open_id_connect_url),
            // Where the tokens of an HTTP scheme come from.
            SecurityScheme::HttpAuth(_) => all.open_id_connect_url = all.open_id_connect_url.or_else(|| discovery(card)),
            _ => {}
        }
    }
    match (schemes, all.open_id_connect_url) {
        _ if all == Credentials::default() => None,
        ([SecurityScheme::OpenIdConnect(_)], Some(url)) if url.ends_with(DISCOVERY) => Some(url.to_owned()),
        _ => serde_json::to_string(&all).ok(),
    }
}

fn addresses(flow: &OAuthFlow) -> (Option<&str>, Option<&str>) {
    let (authorization, token) = match flow {
        OAuthFlow::AuthorizationCode(flow) => (flow.authorization_url.as_str(), flow.token_url.as_str()),
        OAuthFlow::ClientCredentials(flow) => ("", flow.token_url.as_str()),
        OAuthFlow::Implicit(flow) => (flow.authorization_url.as_str(), ""),
        OAuthFlow::Password(flow) => ("", flow.token_url.as_str()),
        OAuthFlow::DeviceCode(flow) => ("", flow.token_url.as_str()),
        _ => ("", ""),
    };
    let some = |url| Some(url).filter(|url: &&str| !url.is_empty());
    (some(authorization), some(token))
}

fn discovery(card: &Card) -> Option<&str> {
    card.security_schemes.values().find_map(|scheme| match scheme {
        SecurityScheme::OpenIdConnect(scheme) => Some(scheme.open_id_connect_url.as_str()),
        _ => None,
    })
}
