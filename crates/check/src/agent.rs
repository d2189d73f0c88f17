//! The agent under test: its card, and its interfaces that speak v1.0.

use std::time::Duration;

use chancery_core::{Binding, Bytes, Card, Secret, Version};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::{
    Error, Options, Result, Suite,
    checks::{CHECKS, Check, Scope},
    finding::{Finding, Level, Status},
    interface::{Interface, no_answer},
    run::finding,
};

/// Why a rule is broken, or not seen to be kept.
#[derive(Debug, Clone)]
pub(crate) enum Miss {
    Fail(String),
    NotTested(String),
    /// What was waited for did not come in time, which says nothing about the rule.
    Late(String),
}

/// An agent that is to be checked.
#[derive(Clone)]
pub struct Target {
    card: Card,
    body: Bytes,
    url: Option<String>,
    client: chancery_client::Builder,
    http: chancery_net::Options,
    headers: Vec<(String, Secret)>,
    has_credentials: bool,
    bindings: Vec<Binding>,
}

impl Target {
    /// Reads the card of an agent: a URL of the agent, or of its card.
    ///
    /// # Errors
    /// As [`chancery_client::Builder::read_card`].
    pub async fn read(client: chancery_client::Builder, reference: &str) -> Result<Self> {
        let text = client.read_card(reference).await?;
        Ok(Self::new(text.card, text.body, Some(text.url), client))
    }

    /// An agent whose card is at hand, with the bytes that it was read from and the address that they were fetched from.
    #[must_use]
    pub fn new(card: Card, body: Bytes, url: Option<String>, client: chancery_client::Builder) -> Self {
        let (headers, bindings) = (Vec::new(), Vec::new());
        Self { card, body, url, client, http: chancery_net::Options::new().no_timeout(), headers, has_credentials: false, bindings }
    }

    /// How requests are made that the client does not make: those that are wrong on purpose.
    #[must_use]
    pub fn http(mut self, options: chancery_net::Options) -> Self {
        self.http = options;
        self
    }

    /// Sends a header with every request that the client does not make.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Says that the client and the headers have credentials.
    #[must_use]
    pub fn has_credentials(mut self, yes: bool) -> Self {
        self.has_credentials = yes;
        self
    }

    /// Checks the interfaces of these bindings only.
    #[must_use]
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.bindings = bindings.into_iter().collect();
        self
    }
}

impl Options {
    /// Whether a check is wanted at all.
    pub(crate) fn takes(&self, check: &Check) -> bool {
        (self.suite != Suite::Tck || !check.tck.is_empty()) && check.level <= self.level && self.selection.takes(check.id)
    }
}

/// The agent.
pub(crate) struct Agent {
    pub(crate) card: Card,
    /// The card as it came.
    pub(crate) body: Value,
    /// Where it was served, and its headers.
    pub(crate) served: Option<(String, HeaderMap)>,
    pub(crate) http: reqwest::Client,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) has_credentials: bool,
    /// How long an answer may take.
    pub(crate) patience: Duration,
}

impl Agent {
    /// Every media type that the agent takes.
    pub(crate) fn input_modes(&self) -> Vec<&str> {
        let skills = self.card.skills.iter().flat_map(|skill| &skill.input_modes);
        self.card.default_input_modes.iter().chain(skills).map(String::as_str).collect()
    }
}

/// Where a check is done.
pub(crate) struct Place<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) interface: Option<&'a Interface>,
}

impl Place<'_> {
    /// The interface.
    pub(crate) fn interface(&self) -> Result<&Interface, Miss> {
        self.interface.ok_or_else(|| Miss::NotTested("there is no interface".to_owned()))
    }
}

/// Whether a URL leads to this machine.
pub(crate) fn is_loopback(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// The checks that the options leave, not done yet.
#[must_use]
pub fn listed(options: &Options) -> Vec<Finding> {
    CHECKS.iter().filter(|check| options.takes(check)).map(|check| finding(check, "", Status::NotTested, String::new())).collect()
}

/// What is known about a check, by its id or by that of the official test kit; and on what it is done, in words.
#[must_use]
pub fn explained(id: &str) -> Option<(Finding, String)> {
    let check =
        CHECKS.iter().find(|check| check.id.eq_ignore_ascii_case(id) || check.tck.iter().any(|tck| tck.eq_ignore_ascii_case(id)))?;
    let scope = match check.scope {
        Scope::Card => "the card, once",
        Scope::Agent => "all interfaces together",
        Scope::Any => "every interface",
        Scope::Json => "every interface that speaks JSON",
        Scope::Rpc => "JSON-RPC",
        Scope::Rest => "HTTP+JSON",
        Scope::Grpc => "gRPC",
    };
    let makes = if check.makes { "makes tasks" } else { "makes no task" };
    Some((finding(check, "", Status::NotTested, String::new()), format!("{scope}; {makes}")))
}

/// The agent with its interfaces; what is not checked of them is told.
pub(crate) async fn agent(target: &Target, options: &Options) -> Result<(Agent, Vec<Finding>)> {
    // A client that puts nothing right.
    let http = chancery_net::Client::trusted(&target.http).map_err(|error| Error::Http(error.into()))?;
    let body: Value = serde_json::from_slice(&target.body).map_err(Error::CardNotJson)?;
    let served = match &target.url {
        Some(url) => {
            let asked = tokio::time::timeout(options.timeout, http.get(url).send()).await;
            let answer = asked.map_err(|_| Error::Unreachable(no_answer(options.timeout).into()))?;
            let answer = answer.map_err(|error| Error::Unreachable(error.into()))?;
            Some((url.clone(), answer.headers().clone()))
        }
        None => None,
    };
    let card = target.card.clone();
    let extensions: Vec<_> = card.capabilities.extensions.iter().filter(|one| one.required).map(|one| one.uri.clone()).collect();
    let headers = headers(&target.headers)?;
    let mut interfaces = Vec::new();
    let mut untested = Vec::new();
    for interface in &card.supported_interfaces {
        let Some(binding) = Binding::from_name(&interface.protocol_binding) else { continue };
        if !target.bindings.is_empty() && !target.bindings.contains(&binding) {
            continue;
        }
        let wanted = |version: &String| interface.protocol_version.starts_with(version.as_str());
        if !options.versions.is_empty() && !options.versions.iter().any(wanted) {
            continue;
        }
        if !interface.protocol_version.starts_with("1.0") {
            untested.push(older(&interface.protocol_version, binding));
            continue;
        }
        // One that repeats itself is one.
        if interfaces.iter().any(|known: &Interface| known.binding == binding && known.url == interface.url) {
            continue;
        }
        let builder = target.client.clone().timeout(options.timeout).resubscribes(0).retries(0).poll_failures(0);
        interfaces.push(Interface {
            binding,
            url: interface.url.clone(),
            tenant: interface.tenant.clone(),
            extensions: extensions.clone(),
            http: http.clone(),
            headers: headers.clone(),
            client: builder.over(binding, Version::V1_0, &interface.url)?,
            patience: options.timeout,
            done: OnceCell::new(),
        });
    }
    let (has_credentials, patience) = (target.has_credentials, options.timeout);
    Ok((Agent { card, body, served, http, interfaces, has_credentials, patience }, untested))
}

/// An interface of an older version, for which there are no checks.
fn older(version: &str, binding: Binding) -> Finding {
    let family = version.split('.').take(2).collect::<String>();
    Finding {
        id: format!("V{family}-*"),
        tck: Vec::new(),
        level: Level::Must,
        clause: version.to_owned(),
        title: format!("the rules of {version}"),
        place: binding.to_string(),
        status: Status::NotTested,
        note: format!("this suite has no checks of {version}"),
        evidence: Vec::new(),
    }
}

fn headers(given: &[(String, Secret)]) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let (name, value) = (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value.expose()));
        let (Ok(name), Ok(mut value)) = (name, value) else { return Err(Error::Header) };
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}
