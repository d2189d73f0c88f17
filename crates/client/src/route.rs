//! One way to call the agent: an interface, its transport, and what goes along to it.

use std::{collections::BTreeSet, sync::Arc};

use chancery_core::{Binding, Card, Error, ErrorKind, Request, Result, Version};
use chancery_wire::{StreamMemory, facts, pick::Choice};
use url::Url;

use crate::{
    builder::Settings,
    call::{Answered, Call},
    credentials::{Attached, CredentialTarget},
    discover,
    failure::Failed,
    grpc::Grpc,
    http::{Http, RequestHead},
    jsonrpc::JsonRpc,
    observer::{Chosen, Notice, Wire},
    rest::Rest,
    trouble::Trouble,
};

/// One way to call the agent.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) version: Version,
    pub(crate) binding: Binding,
    pub(crate) url: String,
    pub(crate) tenant: String,
    /// What the card says about it, unless there is no card or nothing else may be tried.
    pub(crate) choice: Option<Choice>,
    /// Its place among the interfaces of the card, counted from 1; 0 without a card.
    pub(crate) place: usize,
    /// Whether a card says all this.
    pub(crate) declared: bool,
}

/// The way that is used.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) route: Route,
    /// Whether a repeated send with the same key is the same send.
    pub(crate) keyed: bool,
    transport: Arc<Transport>,
    /// The card, for what it says about credentials, and where it came from.
    pub(crate) card: Option<Arc<Card>>,
    pub(crate) card_url: Option<String>,
    /// The origins that credentials are for by themselves; `None` when whoever made the client has named this one.
    pub(crate) home: Option<Arc<BTreeSet<String>>>,
    /// Where credentials go.
    pub(crate) origin: String,
}

#[derive(Debug)]
pub(crate) enum Transport {
    JsonRpc(JsonRpc),
    Rest(Rest),
    Grpc(Box<Grpc>),
}

impl Route {
    pub(crate) fn new(choice: Choice, secure: bool, card: &Card) -> Self {
        let scheme = if secure { "https" } else { "http" };
        let url = if choice.url.contains("://") { choice.url.clone() } else { format!("{scheme}://{}", choice.url) };
        let is_it = |one: &chancery_core::Interface| {
            one.url == choice.url && one.tenant == choice.tenant && Binding::from_name(&one.protocol_binding) == Some(choice.binding)
        };
        let version = |one: &chancery_core::Interface| one.protocol_version.starts_with(choice.version.as_str());
        let interfaces = &card.supported_interfaces;
        let place = interfaces.iter().position(|one| is_it(one) && version(one)).or_else(|| interfaces.iter().position(is_it));
        let tenant = choice.tenant.clone();
        let place = place.map_or(0, |place| place + 1);
        Self { version: choice.version, binding: choice.binding, url, tenant, choice: Some(choice), place, declared: true }
    }
}

impl Route {
    /// Whether it is the same interface in the same version.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (self.version, self.binding, &self.url, &self.tenant) == (other.version, other.binding, &other.url, &other.tenant)
    }
}

impl Transport {
    pub(crate) fn new(http: &Http, settings: &Settings, route: &Route) -> Result<Self> {
        let parsed = Url::parse(&route.url);
        if route.binding != Binding::Grpc && parsed.is_err() {
            return Err(Error::invalid_param("url", "must be an http or https URL"));
        }
        if parsed.is_ok_and(|url| !url.username().is_empty() || url.password().is_some()) {
            return Err(Error::invalid_param("url", "must not hold a name or a password"));
        }
        Ok(match route.binding {
            Binding::JsonRpc => Self::JsonRpc(JsonRpc::new(http.clone(), &route.url, route.version)?),
            Binding::HttpJson => Self::Rest(Rest::new(http.clone(), &route.url, route.version)?),
            Binding::Grpc => Self::Grpc(Box::new(Grpc::new(settings, &route.url, route.version)?)),
            other => return Err(Error::new(ErrorKind::UnsupportedOperation, format!("{other} is not spoken here"))),
        })
    }
}

impl Peer {
    pub(crate) fn new(http: &Http, settings: &Settings, route: Route, keyed: bool) -> Result<Self> {
        let transport = Transport::new(http, settings, &route)?;
        // A repeated message without an id does not look the same to whoever gives it one.
        let keyed = settings.idempotent.unwrap_or(keyed) && facts(route.version).messages_have_ids;
        let origin = match &transport {
            Transport::Grpc(grpc) => grpc.origin(),
            _ => Url::parse(&route.url).map(|url| url.origin().ascii_serialization()).unwrap_or_default(),
        };
        Ok(Self { route, keyed, transport: Arc::new(transport), card: None, card_url: None, home: None, origin })
    }

    /// This way to the agent of a card, wherever that came from.
    pub(crate) fn of_card(mut self, card: &Arc<Card>, url: Option<String>, home: Option<Arc<BTreeSet<String>>>) -> Self {
        self.card = Some(card.clone());
        self.card_url = url;
        self.home = home;
        self
    }

    /// The same way, after another card.
    pub(crate) fn after_card(&self, card: &Arc<Card>) -> Self {
        let Self { route, keyed, transport, card_url, home, origin, .. } = self;
        let (route, transport, origin) = (route.clone(), transport.clone(), origin.clone());
        Self { route, keyed: *keyed, transport, card: Some(card.clone()), card_url: card_url.clone(), home: home.clone(), origin }
    }

    pub(crate) fn show(&self, settings: &Settings) {
        settings.observer.see(|| {
            let Route { version, binding, url, tenant, place, .. } = &self.route;
            let of = self.card.as_ref().map_or(0, |card| card.supported_interfaces.len());
            Wire::Chosen(Chosen { version: *version, binding: *binding, url, tenant, place: *place, of })
        });
    }

    fn target<'a>(&'a self, call: &'a Call, settings: &Settings) -> CredentialTarget<'a> {
        CredentialTarget {
            card: self.card.as_deref(),
            card_url: self.card_url.as_deref(),
            origin: &self.origin,
            home: self.home.as_deref(),
            binding: self.route.binding,
            certificate: settings.tls.identity().is_some(),
            on_behalf_of: call.caller.identity().presented.as_deref(),
        }
    }

    /// The credentials that go with every request.
    async fn attached(&self, call: &Call, settings: &Settings) -> Result<Attached> {
        let target = self.target(call, settings);
        let Some(credentials) = &settings.credentials.0 else { return target.no_stray(&settings.headers).map(|()| Attached::default()) };
        if !target.allows(&**credentials) {
            target.no_stray(&settings.headers)?;
            if !credentials.given().is_empty() {
                settings.observer.notice(|| Notice::Withheld { origin: self.origin.clone() });
            }
        }
        let attached = target.attach(&**credentials).await?;
        if !attached.placed.is_empty() && self.is_exposed() {
            settings.observer.notice(|| Notice::Unencrypted { origin: self.origin.clone() });
        }
        Ok(attached)
    }

    /// Whether others may listen on the way.
    fn is_exposed(&self) -> bool {
        Url::parse(&self.origin).is_ok_and(|url| url.scheme() == "http" && !discover::is_local(&url))
    }

    /// Whether credentials that were refused are others now.
    pub(crate) async fn renewed(&self, call: &Call, settings: &Settings, failed: &Failed) -> Result<bool> {
        let refused = Trouble::of(&failed.error).and_then(Trouble::status) == Some(401);
        let Some(credentials) = settings.credentials.0.as_ref().filter(|_| refused) else { return Ok(false) };
        let target = self.target(call, settings);
        let placed = target.attach(&**credentials).await?.placed;
        target.renew(&**credentials, &placed).await
    }

    pub(crate) async fn attempt(&self, call: &Call, settings: &Settings) -> Result<Answered, Failed> {
        let request = call.request_for(&self.route);
        let Attached { headers, query, placed } = self.attached(call, settings).await.map_err(Failed::here)?;
        let mut head = RequestHead {
            call: Some((request.operation(), self.route.version, self.route.binding)),
            headers: call.headers_for(&self.route, settings).map_err(Failed::here)?,
            query,
            placed,
            dry: settings.dry_run,
        };
        head.headers.extend(headers);
        if !request.operation().is_streaming() {
            return Ok(Answered::Reply(match &*self.transport {
                Transport::JsonRpc(rpc) => rpc.reply(&request, head).await?,
                Transport::Rest(rest) => rest.reply(&request, head).await?,
                Transport::Grpc(grpc) => grpc.reply(&request, head, call.deadline).await?,
            }));
        }
        let memory = self.memory(&request);
        Ok(Answered::Source(match &*self.transport {
            Transport::JsonRpc(rpc) => rpc.events(&request, head, memory).await?,
            Transport::Rest(rest) => rest.events(&request, head, memory).await?,
            Transport::Grpc(grpc) => grpc.events(&request, head, memory).await?,
        }))
    }

    /// What is known of a stream before it begins.
    fn memory(&self, request: &Request) -> StreamMemory {
        let mut memory = StreamMemory::new(chancery_core::Origin::new(self.route.version, self.route.binding));
        match request {
            Request::StreamMessage(send) => {
                memory.task.clone_from(&send.message.task_id);
                memory.context.clone_from(&send.message.context_id);
            }
            Request::Subscribe(subscribe) => memory.task = Some(subscribe.id.clone()),
            _ => {}
        }
        memory
    }
}
