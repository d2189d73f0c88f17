//! Hosting: starts agents on engines and mounts them, with cards that are true.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use chancery_core::{Binding, Card, Error, Extension, Interface, Operations, Peers, Result, ScopeTokens, Version, extension, sync::RwLock};
use chancery_engine::{
    Builder, Engine,
    clock::{Clock as _, SystemClock},
    push::Schedule,
    store::Store,
};
use chancery_wire::facts;
use http::HeaderValue;

use crate::{
    auth::Auth,
    grant::Grants,
    mount::{Mount, What, tidy},
    router::Hosted,
    signing::Seal,
    webhook::Webhooks,
};

/// What agents are started with.
pub(crate) struct Host {
    pub(crate) base: String,
    /// Whether gRPC needs a name to find an agent.
    pub(crate) several: bool,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) webhooks: Webhooks,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) versions: Vec<Version>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) auth: Option<Arc<Auth>>,
    pub(crate) scope_tokens: Option<Arc<dyn ScopeTokens>>,
    /// Fetches keys.
    pub(crate) post: chancery_net::Client,
    /// Whether clients can show certificates.
    pub(crate) certificates: bool,
    /// Signs the cards of agents that have nothing of their own for that.
    pub(crate) seal: RwLock<Option<Arc<Seal>>>,
    /// Who finds other agents.
    pub(crate) peers: Option<Arc<dyn Peers>>,
}

impl Host {
    /// Makes an agent ready to be served. One that runs already goes on, as the mount says now.
    pub(crate) fn host(&self, mount: Mount, running: Option<Engine>) -> Result<(Hosted, Option<Engine>)> {
        let path = tidy(&mount.path);
        let made = || if path.is_empty() { "agent".to_owned() } else { path[1..].to_owned() };
        let key = mount.key.unwrap_or_else(made);
        let versions = mount.versions.unwrap_or_else(|| self.versions.clone());
        let bindings = mount.bindings.unwrap_or_else(|| self.bindings.clone());
        let limiter = Where { base: &self.base, path: &path, key: &key, tenant: &mount.tenant, several: self.several };
        let auth = match mount.auth {
            None => self.auth.clone(),
            Some(None) => None,
            Some(Some(auth)) => {
                auth.prepare(&self.post, self.certificates)?;
                Some(Arc::new(auth))
            }
        };
        let describe = |card: &mut Card| {
            describe(card, &limiter, &versions, &bindings);
            match &auth {
                Some(auth) => auth.describe(card),
                None if !card.security_requirements.is_empty() => {
                    tracing::warn!(agent = key, "the card demands credentials that are not checked here");
                }
                None => {}
            }
        };
        let (card, operations, engine): (Card, Arc<dyn Operations>, _) = match mount.what {
            What::Agent(builder, wrap) => {
                let here = format!("{}{path}", self.base);
                let builder = builder.with_cards(describe).name(key.clone()).base_url(here.clone()).tokens(Grants);
                let builder = match &self.peers {
                    Some(peers) => builder.reach(peers.clone(), here),
                    None => builder,
                };
                let card = builder.card().clone();
                let engine = match running {
                    Some(engine) => {
                        engine.change(builder);
                        engine
                    }
                    None => self.start(builder),
                };
                (card, wrap(engine.clone()), Some(engine))
            }
            What::Operations(mut card, operations) => {
                describe(&mut card);
                (*card, operations, None)
            }
        };
        let own_seal = mount.signing.is_some();
        let seal = match mount.signing {
            None => self.seal.read().clone(),
            Some(own) => own.map(|signing| Arc::new(Seal::new(signing, &self.base))),
        };
        if let Some(auth) = &auth {
            auth.check_skills(&card)?;
            if !self.auth.as_ref().is_some_and(|shared| Arc::ptr_eq(shared, auth)) {
                auth.find_skills(std::iter::once(&card))?;
            }
        }
        let mut agent = Hosted::new(&key, &path, &card, operations, seal, now()?)?;
        (agent.own_seal, agent.tenant, agent.listed) = (own_seal, mount.tenant, mount.listed.unwrap_or(key));
        (agent.versions, agent.bindings, agent.auth) = (versions, bindings, auth);
        agent.scope_tokens.clone_from(&self.scope_tokens);
        agent.engine.clone_from(&engine);
        Ok((agent, engine))
    }

    fn start(&self, builder: Builder) -> Engine {
        let builder = builder.shared_store(self.store.clone()).sender(self.webhooks.clone());
        match &self.schedule {
            Some(schedule) => builder.schedule(schedule.clone()).start(),
            None => builder.start(),
        }
    }
}

/// Now, as an HTTP date.
pub(crate) fn now() -> Result<HeaderValue> {
    let seconds = u64::try_from(SystemClock.now().unix().0).unwrap_or_default();
    let now = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    HeaderValue::from_str(&now).map_err(Error::internal)
}

/// Where an agent is, for its card.
struct Where<'a> {
    base: &'a str,
    path: &'a str,
    key: &'a str,
    tenant: &'a str,
    several: bool,
}

/// Makes a card true: where the agent is, in which versions, and what it can do.
fn describe(card: &mut Card, mount: &Where<'_>, versions: &[Version], bindings: &[Binding]) {
    card.capabilities.streaming.get_or_insert(true);
    card.capabilities.push_notifications.get_or_insert(true);
    let Where { base, path, .. } = mount;
    let host = base.split_once("://").map_or(*base, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or(host);
    card.supported_interfaces.clear();
    for version in versions {
        for binding in bindings {
            let facts = facts(*version);
            let beside_the_list = facts.listed_unless.is_some_and(|newer| versions.contains(&newer));
            // What cannot name an agent is of no use where several share a service.
            let nameless = *binding == Binding::Grpc && mount.several && !facts.names_tenants;
            if !facts.interfaces.contains(binding) || beside_the_list || nameless {
                continue;
            }
            let url = match binding {
                // Clients hand this to their gRPC library, which knows no `http://`.
                Binding::Grpc => host.to_owned(),
                _ => format!("{base}{path}"),
            };
            let mut interface = Interface::new(url, binding.as_str(), version.as_str());
            interface.tenant = match binding {
                // A name is all by which gRPC can tell agents apart.
                Binding::Grpc if mount.several => if path.is_empty() { "" } else { mount.key }.to_owned(),
                _ if facts.names_tenants => mount.tenant.to_owned(),
                _ => String::new(),
            };
            card.supported_interfaces.push(interface);
        }
    }
    let known = card.capabilities.extensions.iter().any(|known| known.uri == extension::SEQUENCE);
    if bindings.contains(&Binding::Grpc) && !known {
        let words = "Shows the mount of every event in its task's log, to resume a stream after it";
        card.capabilities.extensions.push(Extension::new(extension::SEQUENCE).described(words));
    }
}
