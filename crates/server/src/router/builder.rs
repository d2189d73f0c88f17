//! What is left to decide before there is a router.

use std::sync::Arc;

use chancery_core::{
    Binding, Bytes, Result, ScopeTokens, Version,
    sync::{Mutex, RwLock},
};
use chancery_net::{Client, Guard, Options, Reach};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Inner, Router, sorted};
use crate::{
    auth::Auth,
    card::CardSigner,
    cors::Cors,
    endpoint::{Defaults, Endpoint, demand_built, tidy},
    hosts::Hosts,
    limit::{Limiter, Limits},
    metrics::Meter,
    route::Route,
    well_known::WellKnown,
};

/// The bindings that are served unless something else is said.
const BINDINGS: &[Binding] =
    if cfg!(feature = "grpc") { &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc] } else { &[Binding::JsonRpc, Binding::HttpJson] };

/// What is left to decide before there is a [`Router`].
#[must_use = "a builder serves nothing until it is built"]
pub struct Builder {
    endpoints: Vec<Endpoint>,
    base: String,
    hosts: Vec<String>,
    demands_host: bool,
    unnamed: Option<String>,
    several: Option<bool>,
    versions: Vec<Version>,
    bindings: Vec<Binding>,
    limits: Limits,
    origins: Vec<String>,
    routes: Vec<Route>,
    auth: Option<Auth>,
    scope_tokens: Option<Arc<dyn ScopeTokens>>,
    signer: Option<Arc<dyn CardSigner>>,
    keys: Vec<Value>,
    catalog: Option<String>,
    lenient_version: bool,
    key_client: Option<Client>,
    certificates: bool,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            endpoints: Vec::new(),
            base: "http://localhost".to_owned(),
            hosts: Vec::new(),
            demands_host: false,
            unnamed: None,
            several: None,
            versions: Version::RELEASED.to_vec(),
            bindings: BINDINGS.to_vec(),
            limits: Limits::default(),
            origins: Vec::new(),
            routes: Vec::new(),
            auth: None,
            scope_tokens: None,
            signer: None,
            keys: Vec::new(),
            catalog: None,
            lenient_version: false,
            key_client: None,
            certificates: false,
        }
    }

    /// Adds an endpoint.
    pub fn endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoints.push(endpoint);
        self
    }

    /// How the world reaches the router, such as `https://agents.example`: the base of every URL in the cards.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base = url.into();
        self
    }

    /// Other names by which the router is reached: a host such as `agents.internal`, a host and a port, or a base URL. A card that is asked
    /// for under one of them, by the `Host` header, names that one in its URLs. Every other `Host` gets [`base_url`](Self::base_url).
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts.extend(hosts.into_iter().map(Into::into));
        self
    }

    /// Refuses requests of HTTP/1.1 that do not have exactly one `Host` header, as RFC 9112 says. For those who accept connections
    /// themselves; other HTTP servers have looked already.
    pub fn demand_host(mut self, demand: bool) -> Self {
        self.demands_host = demand;
        self
    }

    /// The path of the agent that calls over gRPC are for in versions that cannot name one, where there are several agents. When not said, the
    /// one at `/`, or else the one that was added first.
    pub fn unnamed(mut self, path: impl Into<String>) -> Self {
        self.unnamed = Some(tidy(&path.into()));
        self
    }

    /// Whether there are, or will be, several agents: over gRPC, requests name theirs as the tenant then. When not said, it is so if
    /// several endpoints were added before the router is built.
    pub fn several(mut self, several: bool) -> Self {
        self.several = Some(several);
        self
    }

    /// Which versions are served; all when not said. The compact dialect comes with v1.0.
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.versions = versions.into_iter().collect();
        self
    }

    /// Which bindings are served; all when not said.
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.bindings = bindings.into_iter().collect();
        self
    }

    /// Takes a call of v1.0 for what it is although it does not name its version. The protocol says that it is v0.3 then, and not
    /// understood.
    pub fn lenient_version(mut self, lenient: bool) -> Self {
        self.lenient_version = lenient;
        self
    }

    /// How much of everything is allowed.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Lets web pages of this origin call the agents (CORS); `*` for all.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Has everything at a path such as `/login`, and below it, answered by this instead of by an agent. Bodies are read whole, within
    /// the limits; who may call is for the handler to decide.
    pub fn route<F, A>(mut self, path: impl Into<String>, handler: F) -> Self
    where
        F: Fn(http::Request<Bytes>) -> A + Send + Sync + 'static,
        A: Future<Output = http::Response<Bytes>> + Send + 'static,
    {
        self.routes.push(Route::new(tidy(&path.into()), handler));
        self
    }

    /// Who may call the agents; everybody when not said. The cards tell callers what they need. Cards, health, metrics and published keys
    /// stay open.
    pub fn auth(mut self, auth: Auth) -> Self {
        self.auth = Some(auth);
        self
    }

    /// Who verifies the scope tokens that come with calls, in the header `A2A-Scope-Token`. A call whose token does not verify is refused.
    /// Without this the header says nothing.
    pub fn scope_tokens(mut self, tokens: Arc<dyn ScopeTokens>) -> Self {
        self.scope_tokens = Some(tokens);
        self
    }

    /// Signs the cards of the agents, public and extended ones, and serves the public keys.
    pub fn signer(mut self, signer: Arc<dyn CardSigner>) -> Self {
        self.signer = Some(signer);
        self
    }

    /// Publishes more public keys at `/.well-known/jwks.json`, as JWKs: those of webhooks, for instance.
    pub fn published_keys(mut self, keys: impl IntoIterator<Item = Value>) -> Self {
        self.keys.extend(keys);
        self
    }

    /// Lists the agents in a catalog at `/.well-known/ai-catalog.json`, under identifiers that begin with this and end with the key of
    /// each, such as `urn:air:example.com:agents`. When not said, agents that are not one alone at `/` are listed under the name of the host.
    pub fn catalog(mut self, prefix: impl Into<String>) -> Self {
        self.catalog = Some(prefix.into());
        self
    }

    /// Who fetches the keys of token issuers; by default a client that reaches public addresses only.
    pub fn key_client(mut self, client: Client) -> Self {
        self.key_client = Some(client);
        self
    }

    /// Whether whoever accepts connections asks for client certificates, verifies them, and puts them into requests as
    /// [`PeerCertificate`](crate::auth::PeerCertificate).
    pub fn client_certificates(mut self, verified: bool) -> Self {
        self.certificates = verified;
        self
    }

    /// The router.
    ///
    /// # Errors
    /// When `auth` or one of the `hosts` means nothing, or a card cannot be written or signed.
    pub fn build(self) -> Result<Router> {
        let key_client = match self.key_client {
            Some(client) => client,
            None => Client::new(Reach::Guarded(Guard::new()), &Options::new())?,
        };
        if let Some(auth) = &self.auth {
            auth.prepare(&key_client, self.certificates)?;
        }
        demand_built(&self.bindings)?;
        let hosts = Arc::new(Hosts::new(&self.base, &self.hosts)?);
        let paths: Vec<_> = self.endpoints.iter().map(|endpoint| tidy(&endpoint.path)).collect();
        let unnamed = self.unnamed.or_else(|| paths.iter().min_by_key(|path| !path.is_empty()).cloned()).unwrap_or_default();
        let defaults = Defaults {
            hosts: hosts.clone(),
            unnamed: unnamed.clone(),
            several: self.several.unwrap_or(self.endpoints.len() > 1),
            versions: self.versions,
            bindings: self.bindings,
            auth: self.auth.map(Arc::new),
            scope_tokens: self.scope_tokens,
            key_client,
            certificates: self.certificates,
            signer: RwLock::new(self.signer),
        };
        let well_known = WellKnown { keys: self.keys, catalog: self.catalog };
        let shutdown = CancellationToken::new();
        let inner = Inner {
            agents: RwLock::new(sorted(Vec::new())),
            defaults,
            changing: Mutex::default(),
            limiter: Limiter::new(self.limits.clone()),
            limits: self.limits,
            meter: Meter::default(),
            lenient_version: self.lenient_version,
            cors: Cors(self.origins),
            routes: self.routes,
            documents: RwLock::new(well_known.documents(&hosts, &[])),
            hosts,
            demands_host: self.demands_host,
            #[cfg(feature = "grpc")]
            unnamed,
            well_known,
            #[cfg(feature = "grpc")]
            grpc: crate::grpc::Services::new(shutdown.clone()),
            shutdown,
        };
        let router = Router { inner: Arc::new(inner) };
        if !self.endpoints.is_empty() {
            self.endpoints.into_iter().try_for_each(|endpoint| router.mount(endpoint))?;
            router.check_skills()?;
        }
        Ok(router)
    }
}
