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
    /// each, such as `urn:air:example.com:agents`.
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
    /// When `auth` means nothing, or a card cannot be written or signed.
    pub fn build(self) -> Result<Router> {
        let key_client = match self.key_client {
            Some(client) => client,
            None => Client::new(Reach::Guarded(Guard::new()), &Options::new())?,
        };
        if let Some(auth) = &self.auth {
            auth.prepare(&key_client, self.certificates)?;
        }
        demand_built(&self.bindings)?;
        let defaults = Defaults {
            base: self.base.trim_end_matches('/').to_owned(),
            several: self.several.unwrap_or(self.endpoints.len() > 1),
            versions: self.versions,
            bindings: self.bindings,
            auth: self.auth.map(Arc::new),
            scope_tokens: self.scope_tokens,
            key_client,
            certificates: self.certificates,
            signer: RwLock::new(self.signer),
        };
        let well_known = WellKnown { keys: self.keys, base: defaults.base.clone(), catalog: self.catalog };
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
            documents: RwLock::new(well_known.documents(&[])),
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
