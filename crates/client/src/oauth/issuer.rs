//! Who gives tokens, and where: what a scheme of the card says, and what the issuer says of itself.

use chancery_core::{
    Error, ErrorKind, Result, SecurityScheme,
    security::{OAuth2Scheme, OAuthFlow},
};
use serde::Deserialize;
use url::Url;

use super::{Flow, form::IssuerClient};
use crate::discover;

/// Where an issuer gives tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Issuer {
    /// What it calls itself, if it has said so.
    pub(super) name: Option<String>,
    pub(super) token: String,
    /// Where tokens are renewed; the token endpoint when nothing else is said.
    pub(super) refresh: String,
    pub(super) authorization: Option<String>,
    pub(super) device: Option<String>,
    /// Whether it gives tokens to clients that act for themselves.
    pub(super) to_clients: bool,
    /// Whether a secret goes into the form, because the issuer takes it nowhere else.
    pub(super) secret_in_form: bool,
    /// Whether it names itself when it sends a browser back (RFC 9207).
    pub(super) names_itself: bool,
}

/// What an issuer says of itself (OpenID Connect Discovery, RFC 8414).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    issuer: String,
    token_endpoint: String,
    authorization_endpoint: Option<String>,
    device_authorization_endpoint: Option<String>,
    grant_types_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    authorization_response_iss_parameter_supported: bool,
}

impl Issuer {
    /// The issuer that a scheme names; `None` when it is not a scheme of tokens.
    ///
    /// # Errors
    /// When the issuer cannot be asked, is not who it should be, or is reached over an open line.
    pub(super) async fn of(issuer_client: &IssuerClient, scheme: &SecurityScheme) -> Result<Option<Self>> {
        let issuer = match scheme {
            SecurityScheme::OAuth2(oauth) => Self::of_card(issuer_client, oauth).await?,
            SecurityScheme::OpenIdConnect(oidc) => Self::of_metadata(&Metadata::load(issuer_client, &oidc.open_id_connect_url).await?),
            _ => return Ok(None),
        };
        if issuer.token.is_empty() {
            // The implicit flow, which OAuth 2.1 has taken out.
            return Ok(None);
        }
        for url in [Some(&issuer.token), Some(&issuer.refresh), issuer.authorization.as_ref(), issuer.device.as_ref()].into_iter().flatten()
        {
            secure(url)?;
        }
        Ok(Some(issuer))
    }

    async fn of_card(issuer_client: &IssuerClient, scheme: &OAuth2Scheme) -> Result<Self> {
        let mut issuer = Self::of_flow(&scheme.flows);
        if scheme.metadata_url.is_empty() {
            return Ok(issuer);
        }
        let said = Self::of_metadata(&Metadata::load(issuer_client, &scheme.metadata_url).await?);
        // A card that names one issuer and sends the secrets of its clients elsewhere is not to be followed.
        let differs = |card: &Option<String>, own: &Option<String>| card.is_some() && own.is_some() && card != own;
        if issuer.token != said.token || differs(&issuer.authorization, &said.authorization) || differs(&issuer.device, &said.device) {
            return Err(refused("the card names other endpoints than the issuer does"));
        }
        (issuer.name, issuer.secret_in_form, issuer.names_itself) = (said.name, said.secret_in_form, said.names_itself);
        Ok(issuer)
    }

    fn of_flow(flow: &OAuthFlow) -> Self {
        let made = |token: &str, refresh: &str| {
            let refresh = if refresh.is_empty() { token } else { refresh };
            Self { token: token.to_owned(), refresh: refresh.to_owned(), ..Self::default() }
        };
        match flow {
            OAuthFlow::ClientCredentials(flow) => Self { to_clients: true, ..made(&flow.token_url, &flow.refresh_url) },
            OAuthFlow::DeviceCode(flow) => {
                Self { device: Some(flow.device_authorization_url.clone()), ..made(&flow.token_url, &flow.refresh_url) }
            }
            OAuthFlow::AuthorizationCode(flow) => {
                Self { authorization: Some(flow.authorization_url.clone()), ..made(&flow.token_url, &flow.refresh_url) }
            }
            // The flows that OAuth 2.1 has taken out are not offered.
            OAuthFlow::Password(flow) => made(&flow.token_url, &flow.refresh_url),
            _ => Self::default(),
        }
    }

    fn of_metadata(said: &Metadata) -> Self {
        let takes = |method: &str| said.token_endpoint_auth_methods_supported.as_ref().map(|all| all.iter().any(|one| one == method));
        let gives = |grant: &str| said.grant_types_supported.as_ref().is_none_or(|all| all.iter().any(|one| one == grant));
        Self {
            name: Some(said.issuer.clone()),
            token: said.token_endpoint.clone(),
            refresh: said.token_endpoint.clone(),
            authorization: said.authorization_endpoint.clone(),
            device: said.device_authorization_endpoint.clone(),
            to_clients: gives("client_credentials"),
            secret_in_form: takes("client_secret_basic") == Some(false) && takes("client_secret_post") == Some(true),
            names_itself: said.authorization_response_iss_parameter_supported,
        }
    }

    /// Whether tokens can be had here in this way.
    pub(super) fn offers(&self, flow: Flow) -> bool {
        match flow {
            Flow::ClientCredentials => self.to_clients,
            Flow::DeviceCode => self.device.is_some(),
            Flow::AuthorizationCode => self.authorization.is_some(),
        }
    }

    /// The host that tokens come from.
    pub(super) fn origin(&self) -> String {
        origin(&self.token).unwrap_or_default()
    }
}

impl Metadata {
    async fn load(issuer_client: &IssuerClient, url: &str) -> Result<Self> {
        secure(url)?;
        let said: Self = issuer_client.document(url).await?;
        if !describes(url, &said.issuer) {
            return Err(refused(format!("the issuer at {url} calls itself {:?}", super::form::printable(&said.issuer))));
        }
        Ok(said)
    }
}

/// Whether the document at this address is the one in which this issuer describes itself.
fn describes(url: &str, issuer: &str) -> bool {
    let Ok(name) = Url::parse(issuer) else { return false };
    let below = name.path().trim_end_matches('/');
    let at = |path: String| {
        let mut place = name.clone();
        place.set_path(&path);
        place
    };
    let places = [
        at(format!("{below}/.well-known/openid-configuration")),
        at(format!("/.well-known/oauth-authorization-server{below}")),
        at(format!("{below}/.well-known/oauth-authorization-server")),
    ];
    Url::parse(url).is_ok_and(|url| places.contains(&url))
}

/// Secrets go over lines that nobody listens on: https, or a line that does not leave the machine.
pub(super) fn secure(url: &str) -> Result<Url> {
    let parsed = Url::parse(url).map_err(|_| refused("an endpoint of the issuer is no URL"))?;
    match parsed.scheme() {
        "https" => Ok(parsed),
        "http" if discover::is_local(&parsed) => Ok(parsed),
        _ => Err(refused(format!("tokens are asked for over https only, and the endpoint is {}", super::form::printable(url)))),
    }
}

/// The origin of an address.
pub(super) fn origin(url: &str) -> Option<String> {
    Url::parse(url).ok().map(|url| url.origin().ascii_serialization())
}

/// The issuer is not one to give anything to.
pub(super) fn refused(words: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unauthenticated, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_belongs_to_its_issuer() {
        for (url, issuer, good) in [
            ("https://id.example/.well-known/openid-configuration", "https://id.example", true),
            ("https://id.example/.well-known/openid-configuration", "https://id.example/", true),
            ("https://id.example/t/.well-known/openid-configuration", "https://id.example/t", true),
            ("https://id.example/.well-known/oauth-authorization-server/t", "https://id.example/t", true),
            ("https://id.example/.well-known/openid-configuration", "https://other.example", false),
            ("https://id.example/.well-known/openid-configuration", "http://id.example", false),
            ("https://id.example/t/.well-known/openid-configuration", "https://id.example/u", false),
            ("https://id.example/.well-known/openid-configuration", "", false),
        ] {
            assert_eq!(describes(url, issuer), good, "{url} {issuer}");
        }
    }

    /// V10-SEC-008: what is secret goes over lines that nobody listens on.
    #[test]
    fn an_open_line_is_refused() {
        for (url, good) in [
            ("https://id.example/token", true),
            ("http://127.0.0.1:8080/token", true),
            ("http://localhost/token", true),
            ("http://id.example/token", false),
            ("ftp://127.0.0.1/token", false),
            ("", false),
        ] {
            assert_eq!(secure(url).is_ok(), good, "{url}");
        }
    }
}
