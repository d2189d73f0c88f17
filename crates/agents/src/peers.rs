//! Peer directory: the agents that those of a file may pass work on to, by name and by URL, behind an allow list.

use std::sync::Arc;

use async_trait::async_trait;
use chancery_client::{Client, Keyring, Secrets};
use chancery_core::{Error, ErrorKind, Peer, Peers, Result, Secret, handoff::same_agent};
use chancery_engine::delegation::{OnAmbiguous, OnMessageReply, Passing};
use chancery_lattice::{Audience, Origin, Patterns};
use tokio::sync::watch;

use chancery_config::{self as config, Config};

use crate::settings;

/// Where the server is. Agents may be at work before it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerUrl(Arc<watch::Sender<Option<String>>>);

impl ServerUrl {
    /// The server is at this URL.
    pub(crate) fn set(&self, url: &str) {
        self.0.send_replace(Some(url.trim_end_matches('/').to_owned()));
    }

    async fn get(&self) -> String {
        let mut told = self.0.subscribe();
        // The sender is held by this very value.
        told.wait_for(Option::is_some).await.ok().and_then(|url| url.clone()).unwrap_or_default()
    }
}

/// Who may be asked, by name and by URL.
pub(crate) struct Directory {
    server: ServerUrl,
    /// The agents of the file: names and paths.
    own: Vec<(String, String)>,
    /// Others: names and URLs.
    others: Vec<(String, String)>,
    allow: Patterns<Audience>,
}

impl Directory {
    fn new(config: &Config, handoff: &config::Handoff, url: &ServerUrl) -> Self {
        Self {
            server: url.clone(),
            own: config.agents.iter().map(|agent| (agent.name.clone(), agent.path.clone())).collect(),
            others: handoff.peers.iter().map(|peer| (peer.name.clone(), peer.url.clone())).collect(),
            allow: handoff.allow.clone(),
        }
    }

    /// The base URL of an agent, by its name or its URL; `None` when work may not go there.
    pub(crate) async fn find(&self, agent: &str) -> Option<String> {
        if let Some((_, url)) = self.others.iter().find(|(name, _)| name == agent) {
            return Some(url.clone());
        }
        if let Some((_, path)) = self.own.iter().find(|(name, _)| name == agent) {
            return Some(at(&self.server.get().await, path));
        }
        let url = agent.trim_end_matches('/');
        self.allows(url).await.then(|| url.to_owned())
    }

    /// Whether work may go to a URL.
    async fn allows(&self, url: &str) -> bool {
        let origin = url.parse::<Origin>().map(|origin| origin.to_string());
        if self.others.iter().any(|(_, known)| same_agent(known, url)) || origin.is_ok_and(|origin| self.allow.allows(&origin)) {
            return true;
        }
        let here = self.server.get().await;
        self.own.iter().any(|(_, path)| same_agent(&at(&here, path), url))
    }
}

fn at(base: &str, path: &str) -> String {
    format!("{base}{}", path.trim_end_matches('/'))
}

/// Finds agents, if work may go there.
struct AllowedPeers {
    directory: Arc<Directory>,
    peers: chancery_client::Peers,
}

#[async_trait]
impl Peers for AllowedPeers {
    async fn peer(&self, agent: &str) -> Result<Peer> {
        if !self.directory.allows(agent).await {
            return Err(Error::new(ErrorKind::PermissionDenied, format!("[handoff] does not allow work to go to {agent}")));
        }
        self.peers.peer(agent).await
    }
}

/// How the agents of a file pass work on.
#[derive(Clone)]
pub(crate) struct Handoffs {
    pub(crate) directory: Arc<Directory>,
    pub(crate) passing: Passing,
}

impl Handoffs {
    /// As the file says; `None` when it says nothing about it.
    pub(crate) fn new(config: &Config, url: &ServerUrl) -> Option<Self> {
        let handoff = config.handoff.as_ref()?;
        let directory = Arc::new(Directory::new(config, handoff, url));
        // HO-50: what is exchanged for the caller's token, else what is the agent's own. A file whose exchange makes no sense was refused when
        // it was read.
        let exchange = config.auth.as_ref().and_then(|auth| settings::exchange(auth).ok().flatten());
        let client = match exchange {
            Some(exchange) => Client::builder().credentials(exchange.otherwise(keyring(handoff))),
            None => Client::builder().credentials(keyring(handoff)),
        };
        let peers = client.peers();
        let mut passing = Passing::new(Arc::new(AllowedPeers { directory: directory.clone(), peers }));
        passing = passing.relay(handoff.relay).grant_life(handoff.grants);
        passing = passing.on_ambiguous(match handoff.on_ambiguous {
            config::OnAmbiguous::Fail => OnAmbiguous::Fail,
            config::OnAmbiguous::Retry => OnAmbiguous::Retry,
        });
        passing = passing.on_message_reply(match handoff.on_message_reply {
            config::OnMessageReply::Complete => OnMessageReply::Complete,
            config::OnMessageReply::Fail => OnMessageReply::Fail,
        });
        passing.max_hops = handoff.max_hops.unwrap_or(passing.max_hops);
        passing.max_visits = handoff.max_visits.unwrap_or(passing.max_visits);
        passing = handoff.trusted_delegators.iter().fold(passing, |passing, name| passing.trusted_delegator(name));
        Some(Self { directory, passing })
    }
}

/// What other agents are shown: each what is its own.
fn keyring(handoff: &config::Handoff) -> Keyring {
    let mut keyring = Keyring::new();
    for peer in &handoff.peers {
        let with = |secrets: Secrets, secret: &Option<Secret>, put: fn(Secrets, Secret) -> Secrets| match secret {
            Some(secret) => put(secrets, secret.clone()),
            None => secrets,
        };
        let secrets = with(Secrets::new(), &peer.bearer, |secrets, token| secrets.bearer(token));
        let secrets = with(secrets, &peer.api_key, |secrets, key| secrets.api_key(key));
        if peer.bearer.is_some() || peer.api_key.is_some() {
            // What is no URL was refused when the file was read.
            keyring = keyring.clone().at(&peer.url, secrets).unwrap_or(keyring);
        }
    }
    keyring
}
