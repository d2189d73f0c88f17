//! Reading one way to authenticate: flat, wrapped, or both at once.

use chancery_core::{
    SecurityScheme,
    security::{
        ApiKeyLocation, ApiKeyScheme, AuthorizationCodeFlow, ClientCredentialsFlow, DeviceCodeFlow, HttpAuthScheme, ImplicitFlow,
        MutualTlsScheme, OAuth2Scheme, OAuthFlow, OpenIdConnectScheme, PasswordFlow, Scopes,
    },
};
use serde::{Deserialize, Deserializer, de};

/// Which form counts when a scheme is written in two and they disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wins {
    /// CONV-CARD-010: members of v1.0 win over older ones.
    Wrapped,
    /// V03-SEC-003: in a card of an older version the flat members do.
    Flat,
}

/// One scheme in either form. Several when it is OAuth with several flows, none when it is of a
/// kind that nobody knows.
#[derive(Debug)]
pub(super) struct ReadScheme {
    flat: Vec<SecurityScheme>,
    wrapped: Vec<SecurityScheme>,
}

impl ReadScheme {
    pub(super) fn forms(mut self, wins: Wins) -> Vec<SecurityScheme> {
        match (self.flat.as_mut_slice(), self.wrapped.as_slice()) {
            ([], _) => self.wrapped,
            (_, []) => self.flat,
            _ if wins == Wins::Wrapped => self.wrapped,
            // What the flat form has no word for is no disagreement.
            ([SecurityScheme::OAuth2(flat)], [SecurityScheme::OAuth2(wrapped)]) => {
                match (&mut flat.flows, &wrapped.flows) {
                    (OAuthFlow::AuthorizationCode(flat), OAuthFlow::AuthorizationCode(wrapped)) => {
                        flat.pkce_required = wrapped.pkce_required
                    }
                    (OAuthFlow::DeviceCode(unsaid), said) if *unsaid == DeviceCodeFlow::default() => flat.flows = said.clone(),
                    _ => {}
                }
                self.flat
            }
            _ => self.flat,
        }
    }
}

impl<'de> Deserialize<'de> for ReadScheme {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        let wrapped = members.wrapped().map_err(de::Error::custom)?;
        Ok(Self { flat: members.flat(), wrapped })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members {
    // V03-SEC-002, which is also the form of v1.0.
    #[serde(alias = "api_key_security_scheme")]
    api_key_security_scheme: Option<ApiKeyScheme>,
    #[serde(alias = "http_auth_security_scheme")]
    http_auth_security_scheme: Option<HttpAuthScheme>,
    #[serde(alias = "oauth2_security_scheme")]
    oauth2_security_scheme: Option<WrappedOAuth2>,
    #[serde(alias = "open_id_connect_security_scheme")]
    open_id_connect_security_scheme: Option<OpenIdConnectScheme>,
    #[serde(alias = "mtls_security_scheme")]
    mtls_security_scheme: Option<MutualTlsScheme>,
    // V03-SEC-001.
    r#type: Option<String>,
    description: Option<String>,
    r#in: Option<ApiKeyLocation>,
    name: Option<String>,
    scheme: Option<String>,
    #[serde(alias = "bearer_format")]
    bearer_format: Option<String>,
    flows: Option<Flows>,
    #[serde(alias = "oauth2_metadata_url")]
    oauth2_metadata_url: Option<String>,
    #[serde(alias = "open_id_connect_url")]
    open_id_connect_url: Option<String>,
    // DIA-003-SEC-001: a flow whose members stand in the scheme.
    #[serde(alias = "authorization_url")]
    authorization_url: Option<String>,
    #[serde(alias = "token_url")]
    token_url: Option<String>,
    #[serde(alias = "refresh_url")]
    refresh_url: Option<String>,
    scopes: Option<ReadScopes>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrappedOAuth2 {
    description: Option<String>,
    flows: Option<Flows>,
    #[serde(alias = "oauth2_metadata_url")]
    oauth2_metadata_url: Option<String>,
}

impl Members {
    fn wrapped(&mut self) -> Result<Vec<SecurityScheme>, &'static str> {
        let oauth2 = self.oauth2_security_scheme.take().map(|scheme| {
            let flows = scheme.flows.map(Flows::list).unwrap_or_default();
            oauth_each(&scheme.description.unwrap_or_default(), &scheme.oauth2_metadata_url.unwrap_or_default(), flows)
        });
        let others = [
            self.api_key_security_scheme.take().map(SecurityScheme::ApiKey),
            self.http_auth_security_scheme.take().map(SecurityScheme::HttpAuth),
            self.open_id_connect_security_scheme.take().map(SecurityScheme::OpenIdConnect),
            self.mtls_security_scheme.take().map(SecurityScheme::MutualTls),
        ];
        let mut found: Vec<_> = others.into_iter().flatten().map(|scheme| vec![scheme]).chain(oauth2).collect();
        match found.len() {
            0 | 1 => Ok(found.pop().unwrap_or_default()),
            _ => Err("a security scheme is of one kind only"),
        }
    }

    fn flat(self) -> Vec<SecurityScheme> {
        let description = self.description.unwrap_or_default();
        let scheme = match self.r#type.unwrap_or_default().to_ascii_lowercase().as_str() {
            "apikey" => {
                let mut scheme = ApiKeyScheme::new(self.r#in.unwrap_or_default(), self.name.unwrap_or_default());
                scheme.description = description;
                SecurityScheme::ApiKey(scheme)
            }
            "http" | "httpauth" => {
                let mut scheme = HttpAuthScheme::new(self.scheme.unwrap_or_default(), self.bearer_format.unwrap_or_default());
                scheme.description = description;
                SecurityScheme::HttpAuth(scheme)
            }
            "oauth2" => {
                let mut flows = self.flows.map(Flows::list).unwrap_or_default();
                if flows.is_empty() {
                    let scopes = self.scopes.map(Scopes::from);
                    flows.extend(direct_flow(self.authorization_url, self.token_url, self.refresh_url, scopes));
                }
                return oauth_each(&description, &self.oauth2_metadata_url.unwrap_or_default(), flows);
            }
            "openidconnect" => {
                let mut scheme = OpenIdConnectScheme::new(self.open_id_connect_url.unwrap_or_default());
                scheme.description = description;
                SecurityScheme::OpenIdConnect(scheme)
            }
            "mutualtls" => {
                let mut scheme = MutualTlsScheme::default();
                scheme.description = description;
                SecurityScheme::MutualTls(scheme)
            }
            _ => return Vec::new(),
        };
        vec![scheme]
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Flows {
    #[serde(alias = "authorization_code")]
    authorization_code: Option<AuthorizationCodeFlow>,
    #[serde(alias = "client_credentials")]
    client_credentials: Option<ClientCredentialsFlow>,
    #[serde(alias = "device_code")]
    device_code: Option<DeviceCodeFlow>,
    password: Option<PasswordFlow>,
    implicit: Option<ImplicitFlow>,
}

impl Flows {
    /// All flows, in the order in which they may keep the name of their scheme.
    fn list(self) -> Vec<OAuthFlow> {
        let flows = [
            self.authorization_code.map(OAuthFlow::AuthorizationCode),
            self.client_credentials.map(OAuthFlow::ClientCredentials),
            self.device_code.map(OAuthFlow::DeviceCode),
            self.password.map(OAuthFlow::Password),
            self.implicit.map(OAuthFlow::Implicit),
        ];
        flows.into_iter().flatten().collect()
    }
}

/// Scopes with their descriptions, or only their names.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "scopes and their descriptions")]
pub(super) enum ReadScopes {
    Described(Scopes),
    Named(Vec<String>),
}

impl From<ReadScopes> for Scopes {
    fn from(read: ReadScopes) -> Self {
        match read {
            ReadScopes::Described(scopes) => scopes,
            ReadScopes::Named(names) => names.into_iter().map(|name| (name, String::new())).collect(),
        }
    }
}

/// DIA-003-SEC-001: the members of a flow that has no name. With an authorization endpoint it is
/// the code flow, else that of clients.
pub(super) fn direct_flow(
    authorization_url: Option<String>,
    token_url: Option<String>,
    refresh_url: Option<String>,
    scopes: Option<Scopes>,
) -> Option<OAuthFlow> {
    let (refresh_url, scopes) = (refresh_url.unwrap_or_default(), scopes.unwrap_or_default());
    match (authorization_url, token_url) {
        (Some(authorization_url), token_url) => {
            let mut flow = AuthorizationCodeFlow::default();
            (flow.authorization_url, flow.token_url) = (authorization_url, token_url.unwrap_or_default());
            (flow.refresh_url, flow.scopes) = (refresh_url, scopes);
            Some(OAuthFlow::AuthorizationCode(flow))
        }
        (None, Some(token_url)) => {
            let mut flow = ClientCredentialsFlow::default();
            (flow.token_url, flow.refresh_url, flow.scopes) = (token_url, refresh_url, scopes);
            Some(OAuthFlow::ClientCredentials(flow))
        }
        (None, None) => None,
    }
}

/// An OAuth scheme for each flow; one if there is none.
fn oauth_each(description: &str, metadata_url: &str, flows: Vec<OAuthFlow>) -> Vec<SecurityScheme> {
    if flows.is_empty() {
        return vec![oauth(description, metadata_url, None)];
    }
    flows.into_iter().map(|flow| oauth(description, metadata_url, Some(flow))).collect()
}

/// An OAuth scheme. V03-SEC-005: no flow stands for the one that older versions have no word for,
/// the device code flow.
pub(super) fn oauth(description: &str, metadata_url: &str, flow: Option<OAuthFlow>) -> SecurityScheme {
    let mut scheme = OAuth2Scheme::new(flow.unwrap_or_else(|| OAuthFlow::DeviceCode(DeviceCodeFlow::default())));
    description.clone_into(&mut scheme.description);
    metadata_url.clone_into(&mut scheme.metadata_url);
    SecurityScheme::OAuth2(scheme)
}

/// The member of `flows` that holds a flow.
pub(super) fn flow_name(flow: &OAuthFlow) -> &'static str {
    match flow {
        OAuthFlow::AuthorizationCode(_) => "authorizationCode",
        OAuthFlow::ClientCredentials(_) => "clientCredentials",
        OAuthFlow::Implicit(_) => "implicit",
        OAuthFlow::Password(_) => "password",
        OAuthFlow::DeviceCode(_) => "deviceCode",
        _ => "other",
    }
}
