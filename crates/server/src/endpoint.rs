//! Endpoints: operations at a path, under a card that says so.

use std::{fmt, sync::Arc};

use chancery_core::{
    Binding, Card, Error, ErrorKind, Extension, GrantLookup, Interface, Operations, Result, ScopeTokens, Version, extension, sync::RwLock,
};
use chancery_net::Client;
use chancery_wire::facts;

use crate::{auth::Auth, card::CardSigner, hosts::Hosts};

/// Operations and the path they are served at.
#[must_use = "an endpoint is nothing until a router has it"]
pub struct Endpoint {
    pub(crate) path: String,
    pub(crate) card: Card,
    pub(crate) operations: Arc<dyn Operations>,
    pub(crate) grants: Option<Arc<dyn GrantLookup>>,
    pub(crate) options: EndpointOptions,
}

impl Endpoint {
    /// Operations at a path such as `/writer`, or `/`. The router writes into the card where they are, in which versions and bindings,
    /// and what callers must prove.
    pub fn new(path: impl Into<String>, card: Card, operations: impl Operations + 'static) -> Self {
        Self::shared(path, card, Arc::new(operations))
    }

    /// The same, with operations that others use too.
    pub fn shared(path: impl Into<String>, card: Card, operations: Arc<dyn Operations>) -> Self {
        Self { path: path.into(), card, operations, grants: None, options: EndpointOptions::default() }
    }

    /// Lets callers in who show a grant of one task. Without this, grants are left to the operations.
    pub fn grants(mut self, grants: Arc<dyn GrantLookup>) -> Self {
        self.grants = Some(grants);
        self
    }

    /// What is different here from the rest of the router.
    pub fn options(mut self, options: EndpointOptions) -> Self {
        self.options = options;
        self
    }
}

/// What is different at an endpoint from the rest of the router.
#[derive(Clone, Default)]
#[must_use = "options change nothing until an endpoint has them"]
pub struct EndpointOptions {
    pub(crate) key: Option<String>,
    pub(crate) tenant: String,
    pub(crate) versions: Option<Vec<Version>>,
    pub(crate) bindings: Option<Vec<Binding>>,
    /// What is said about who may call; nothing, everybody, or these.
    pub(crate) auth: Option<Option<Arc<Auth>>>,
    /// What is said about signatures; nothing, none, or these.
    pub(crate) signer: Option<Option<Arc<dyn CardSigner>>>,
    pub(crate) listed: Option<String>,
}

impl EndpointOptions {
    /// Nothing is different.
    pub fn new() -> Self {
        Self::default()
    }

    /// The key of the agent on the server; made from the path when not said.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The name of the agent in the catalog, instead of its key.
    pub fn listed(mut self, name: impl Into<String>) -> Self {
        self.listed = Some(name.into());
        self
    }

    /// The value that clients repeat in every request, as the card tells them.
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = tenant.into();
        self
    }

    /// Who may call, instead of those who may call the others.
    pub fn auth(mut self, auth: Auth) -> Self {
        self.auth = Some(Some(Arc::new(auth)));
        self
    }

    /// Lets everybody call, whatever the router says of the others.
    pub fn open(mut self) -> Self {
        self.auth = Some(None);
        self
    }

    /// What signs the cards, instead of what signs those of the others.
    pub fn signer(mut self, signer: Arc<dyn CardSigner>) -> Self {
        self.signer = Some(Some(signer));
        self
    }

    /// Leaves the cards unsigned, whatever the router says of the others.
    pub fn unsigned(mut self) -> Self {
        self.signer = Some(None);
        self
    }

    /// The versions that are served, instead of all that the router has.
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.versions = Some(versions.into_iter().collect());
        self
    }

    /// The bindings that are served, the preferred one first.
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.bindings = Some(bindings.into_iter().collect());
        self
    }
}

impl fmt::Debug for EndpointOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointOptions").field("key", &self.key).finish_non_exhaustive()
    }
}

/// What endpoints are served with unless their options say something else.
pub(crate) struct Defaults {
    /// The bases of every URL.
    pub(crate) hosts: Arc<Hosts>,
    /// The path of the agent that gRPC finds without a name.
    pub(crate) unnamed: String,
    /// Whether gRPC needs a name to find an agent.
    pub(crate) several: bool,
    pub(crate) versions: Vec<Version>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) auth: Option<Arc<Auth>>,
    pub(crate) scope_tokens: Option<Arc<dyn ScopeTokens>>,
    /// Fetches the keys of issuers.
    pub(crate) key_client: Client,
    /// Whether clients can show certificates.
    pub(crate) certificates: bool,
    /// Signs the cards of endpoints that have no signer of their own.
    pub(crate) signer: RwLock<Option<Arc<dyn CardSigner>>>,
}

impl Defaults {
    /// Where and how an endpoint is served.
    pub(crate) fn site(&self, path: &str, options: EndpointOptions) -> Result<Site> {
        let path = tidy(path);
        let made = || if path.is_empty() { "agent".to_owned() } else { path[1..].to_owned() };
        let key = options.key.unwrap_or_else(made);
        let auth = match options.auth {
            None => self.auth.clone(),
            Some(own) => own.map(|auth| auth.prepare(&self.key_client, self.certificates).map(|()| auth)).transpose()?,
        };
        demand_built(options.bindings.as_deref().unwrap_or_default())?;
        Ok(Site {
            url: format!("{}{path}", self.hosts.url(0)),
            hosts: self.hosts.clone(),
            several: self.several,
            unnamed: path == self.unnamed,
            listed: options.listed.unwrap_or_else(|| key.clone()),
            tenant: options.tenant,
            versions: options.versions.unwrap_or_else(|| self.versions.clone()),
            bindings: options.bindings.unwrap_or_else(|| self.bindings.clone()),
            signer: options.signer,
            key,
            path,
            auth,
        })
    }
}

/// Where and how an endpoint is served: its options, completed by what the router says of all.
pub struct Site {
    pub(crate) key: String,
    /// Empty, or `/` and a name.
    pub(crate) path: String,
    pub(crate) hosts: Arc<Hosts>,
    url: String,
    several: bool,
    /// Whether gRPC finds it without a name.
    unnamed: bool,
    pub(crate) listed: String,
    pub(crate) tenant: String,
    pub(crate) versions: Vec<Version>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) auth: Option<Arc<Auth>>,
    pub(crate) signer: Option<Option<Arc<dyn CardSigner>>>,
}

impl Site {
    /// The key of the agent on the server.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The URL of the agent.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Makes a card true: where the agent is, in which versions and bindings, what it can do, and what callers must prove.
    pub fn complete(&self, card: &mut Card) {
        self.describe(card);
        match &self.auth {
            Some(auth) => auth.describe(card),
            None if !card.security_requirements.is_empty() => {
                tracing::warn!(agent = self.key, "the card demands credentials that are not checked here");
            }
            None => {}
        }
    }

    fn describe(&self, card: &mut Card) {
        card.capabilities.streaming.get_or_insert(true);
        card.capabilities.push_notifications.get_or_insert(true);
        card.supported_interfaces = self.interfaces(self.hosts.url(0));
        let known = card.capabilities.extensions.iter().any(|known| known.uri == extension::SEQUENCE);
        if self.bindings.contains(&Binding::Grpc) && !known {
            let words = "Shows the place of every event in its task's log, to resume a stream after it";
            card.capabilities.extensions.push(Extension::new(extension::SEQUENCE).described(words));
        }
    }

    /// Where the agent is under a base URL, in each version and binding.
    pub(crate) fn interfaces(&self, base: &str) -> Vec<Interface> {
        let url = format!("{base}{}", self.path);
        let host = base.split_once("://").map_or(base, |(_, rest)| rest);
        let host = host.split('/').next().unwrap_or(host);
        let mut interfaces = Vec::new();
        for version in &self.versions {
            for binding in &self.bindings {
                let facts = facts(*version);
                let beside_the_list = facts.listed_unless.is_some_and(|newer| self.versions.contains(&newer));
                // Where several share a service, what cannot name an agent reaches one of them only.
                let elsewhere = *binding == Binding::Grpc && self.several && !facts.names_tenants && !self.unnamed;
                if !facts.interfaces.contains(binding) || beside_the_list || elsewhere {
                    continue;
                }
                let url = match binding {
                    // Clients hand this to their gRPC library, which knows no `http://`.
                    Binding::Grpc => host.to_owned(),
                    _ => url.clone(),
                };
                let mut interface = Interface::new(url, binding.as_str(), version.as_str());
                interface.tenant = match binding {
                    // A name is all by which gRPC can tell agents apart.
                    Binding::Grpc if self.several && facts.names_tenants => if self.path.is_empty() { "" } else { &self.key }.to_owned(),
                    _ if facts.names_tenants => self.tenant.clone(),
                    _ => String::new(),
                };
                interfaces.push(interface);
            }
        }
        interfaces
    }
}

/// Refuses bindings that were left out when the program was built.
pub(crate) fn demand_built(bindings: &[Binding]) -> Result<()> {
    if cfg!(not(feature = "grpc")) && bindings.contains(&Binding::Grpc) {
        return Err(Error::new(ErrorKind::Internal, "gRPC cannot be served: build with the feature `grpc`, or leave it out of `bindings`"));
    }
    Ok(())
}

/// A path without a slash at its end, and with one at its beginning unless it is the root.
pub(crate) fn tidy(path: &str) -> String {
    let path = path.trim_matches('/');
    if path.is_empty() { String::new() } else { format!("/{path}") }
}
