//! How an agent wants to be authenticated to, as its card says.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};

use crate::{json, oneof::oneof, proto_enum};

/// One way to authenticate.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecurityScheme {
    /// A key in a header, a query parameter or a cookie.
    ApiKey(ApiKeyScheme),
    /// HTTP authentication: `Bearer`, `Basic`, ….
    HttpAuth(HttpAuthScheme),
    /// OAuth 2.0.
    OAuth2(OAuth2Scheme),
    /// OpenID Connect.
    OpenIdConnect(OpenIdConnectScheme),
    /// A client certificate.
    MutualTls(MutualTlsScheme),
}

oneof! {
    SecurityScheme, "a security scheme" {
        ApiKey(ApiKeyScheme) = "apiKeySecurityScheme" | "api_key_security_scheme";
        HttpAuth(HttpAuthScheme) = "httpAuthSecurityScheme" | "http_auth_security_scheme";
        OAuth2(OAuth2Scheme) = "oauth2SecurityScheme" | "oauth2_security_scheme";
        OpenIdConnect(OpenIdConnectScheme) = "openIdConnectSecurityScheme" | "open_id_connect_security_scheme";
        MutualTls(MutualTlsScheme) = "mtlsSecurityScheme" | "mtls_security_scheme";
    }
}

proto_enum::word_enum! {
    /// Where an API key travels.
    ApiKeyLocation {
        /// In a header.
        #[default]
        Header = "header";
        /// In a query parameter.
        Query = "query";
        /// In a cookie.
        Cookie = "cookie";
    }
}

/// A key in a header, a query parameter or a cookie.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ApiKeyScheme {
    /// Free text; empty when not given.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Where the key travels.
    pub location: ApiKeyLocation,
    /// The name of the header, parameter or cookie.
    #[serde(deserialize_with = "json::or_default")]
    pub name: String,
}

/// HTTP authentication.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct HttpAuthScheme {
    /// Free text; empty when not given.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The HTTP scheme, such as `Bearer`.
    #[serde(deserialize_with = "json::or_default")]
    pub scheme: String,
    /// A hint such as `JWT`; empty when not given.
    #[serde(alias = "bearer_format", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub bearer_format: String,
}

/// OAuth 2.0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OAuth2Scheme {
    /// Free text; empty when not given.
    #[serde(default, deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The flow; v1.0 allows exactly one per scheme.
    pub flows: OAuthFlow,
    /// RFC 8414 metadata; empty when not given.
    #[serde(
        default,
        rename = "oauth2MetadataUrl",
        alias = "oauth2_metadata_url",
        deserialize_with = "json::or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub metadata_url: String,
}

/// OpenID Connect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct OpenIdConnectScheme {
    /// Free text; empty when not given.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The discovery document.
    #[serde(alias = "open_id_connect_url", deserialize_with = "json::or_default")]
    pub open_id_connect_url: String,
}

/// A client certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct MutualTlsScheme {
    /// Free text; empty when not given.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// How a token is obtained.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OAuthFlow {
    /// By way of the user's browser.
    AuthorizationCode(AuthorizationCodeFlow),
    /// From machine to machine.
    ClientCredentials(ClientCredentialsFlow),
    /// Deprecated.
    Implicit(ImplicitFlow),
    /// Deprecated.
    Password(PasswordFlow),
    /// On another device (RFC 8628).
    DeviceCode(DeviceCodeFlow),
}

oneof! {
    OAuthFlow, "an OAuth flow" {
        AuthorizationCode(AuthorizationCodeFlow) = "authorizationCode" | "authorization_code";
        ClientCredentials(ClientCredentialsFlow) = "clientCredentials" | "client_credentials";
        Implicit(ImplicitFlow) = "implicit";
        Password(PasswordFlow) = "password";
        DeviceCode(DeviceCodeFlow) = "deviceCode" | "device_code";
    }
}

/// Scope names with a short description each.
pub type Scopes = BTreeMap<String, String>;

/// The authorization code flow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct AuthorizationCodeFlow {
    /// The authorization endpoint.
    #[serde(alias = "authorization_url", deserialize_with = "json::or_default")]
    pub authorization_url: String,
    /// The token endpoint.
    #[serde(alias = "token_url", deserialize_with = "json::or_default")]
    pub token_url: String,
    /// The refresh endpoint; empty when not given.
    #[serde(alias = "refresh_url", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub refresh_url: String,
    /// The scopes.
    #[serde(deserialize_with = "json::or_default")]
    pub scopes: Scopes,
    /// Whether PKCE is mandatory.
    #[serde(alias = "pkce_required", deserialize_with = "json::or_default", skip_serializing_if = "json::is_false")]
    pub pkce_required: bool,
}

/// The client credentials flow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ClientCredentialsFlow {
    /// The token endpoint.
    #[serde(alias = "token_url", deserialize_with = "json::or_default")]
    pub token_url: String,
    /// The refresh endpoint; empty when not given.
    #[serde(alias = "refresh_url", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub refresh_url: String,
    /// The scopes.
    #[serde(deserialize_with = "json::or_default")]
    pub scopes: Scopes,
}

/// The device code flow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct DeviceCodeFlow {
    /// The device authorization endpoint.
    #[serde(alias = "device_authorization_url", deserialize_with = "json::or_default")]
    pub device_authorization_url: String,
    /// The token endpoint.
    #[serde(alias = "token_url", deserialize_with = "json::or_default")]
    pub token_url: String,
    /// The refresh endpoint; empty when not given.
    #[serde(alias = "refresh_url", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub refresh_url: String,
    /// The scopes.
    #[serde(deserialize_with = "json::or_default")]
    pub scopes: Scopes,
}

/// The implicit flow; deprecated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ImplicitFlow {
    /// The authorization endpoint.
    #[serde(alias = "authorization_url", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub authorization_url: String,
    /// The refresh endpoint; empty when not given.
    #[serde(alias = "refresh_url", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub refresh_url: String,
    /// The scopes.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Scopes::is_empty")]
    pub scopes: Scopes,
}

/// The password flow; deprecated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct PasswordFlow {
    /// The token endpoint.
    #[serde(alias = "token_url", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub token_url: String,
    /// The refresh endpoint; empty when not given.
    #[serde(alias = "refresh_url", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub refresh_url: String,
    /// The scopes.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Scopes::is_empty")]
    pub scopes: Scopes,
}

/// Schemes that are needed together, each with the scopes it must grant. A list of requirements
/// is a list of alternatives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecurityRequirement {
    /// Scheme name to required scopes.
    pub schemes: BTreeMap<String, Vec<String>>,
}

impl Serialize for SecurityRequirement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct List<'a>(&'a [String]);
        impl Serialize for List<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut list = serializer.serialize_struct("StringList", 1)?;
                if !self.0.is_empty() {
                    list.serialize_field("list", self.0)?;
                }
                list.end()
            }
        }
        let schemes: BTreeMap<_, _> = self.schemes.iter().map(|(name, scopes)| (name, List(scopes))).collect();
        let mut requirement = serializer.serialize_struct("SecurityRequirement", 1)?;
        requirement.serialize_field("schemes", &schemes)?;
        requirement.end()
    }
}

impl<'de> Deserialize<'de> for SecurityRequirement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The normative form is {"list": [...]}; one SDK writes the bare array.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum List {
            Bare(Vec<String>),
            Wrapped {
                #[serde(default, deserialize_with = "json::or_default")]
                list: Vec<String>,
            },
        }
        #[derive(Deserialize)]
        #[serde(default)]
        #[derive(Default)]
        struct Members {
            #[serde(deserialize_with = "json::or_default")]
            schemes: BTreeMap<String, List>,
        }
        let members = Members::deserialize(deserializer)?;
        let scopes = |list| match list {
            List::Bare(scopes) | List::Wrapped { list: scopes } => scopes,
        };
        Ok(Self { schemes: members.schemes.into_iter().map(|(name, list)| (name, scopes(list))).collect() })
    }
}

impl SecurityRequirement {
    /// A requirement that is met without any scheme; add schemes with [`and`](Self::and).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Also demands this scheme, with these scopes.
    #[must_use]
    pub fn and<S: Into<String>>(mut self, scheme: impl Into<String>, scopes: impl IntoIterator<Item = S>) -> Self {
        self.schemes.insert(scheme.into(), scopes.into_iter().map(Into::into).collect());
        self
    }
}

impl HttpAuthScheme {
    /// `Bearer` with a format hint, `Basic`, or any other HTTP scheme.
    pub fn new(scheme: impl Into<String>, bearer_format: impl Into<String>) -> Self {
        Self { scheme: scheme.into(), bearer_format: bearer_format.into(), ..Self::default() }
    }
}

impl ApiKeyScheme {
    /// A key of this name at this place.
    pub fn new(location: ApiKeyLocation, name: impl Into<String>) -> Self {
        Self { location, name: name.into(), ..Self::default() }
    }
}

impl OAuth2Scheme {
    /// A scheme with this flow.
    #[must_use]
    pub fn new(flow: OAuthFlow) -> Self {
        Self { description: String::new(), flows: flow, metadata_url: String::new() }
    }
}

impl OpenIdConnectScheme {
    /// A scheme with this discovery document.
    pub fn new(url: impl Into<String>) -> Self {
        Self { open_id_connect_url: url.into(), ..Self::default() }
    }
}

impl OAuthFlow {
    /// The scopes of the flow, whichever it is.
    #[must_use]
    pub fn scopes(&self) -> &Scopes {
        match self {
            Self::AuthorizationCode(flow) => &flow.scopes,
            Self::ClientCredentials(flow) => &flow.scopes,
            Self::Implicit(flow) => &flow.scopes,
            Self::Password(flow) => &flow.scopes,
            Self::DeviceCode(flow) => &flow.scopes,
        }
    }
}
