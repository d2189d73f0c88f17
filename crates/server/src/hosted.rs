//! An agent that is served: its operations, its rules, and its cards under every base URL.

use std::sync::{Arc, OnceLock};

use chancery_core::{Binding, Card, GrantLookup, Interface, Operations, Result, ScopeTokens, Version};
use http::HeaderValue;

use crate::{
    auth::Auth,
    card::{CardFiles, CardSigner},
    endpoint::Site,
    hosts::Hosts,
};

/// An agent that is served.
pub(crate) struct Hosted {
    /// Its key on the server; also the tenant by which gRPC finds it.
    pub(crate) key: String,
    /// Where it is: empty, or `/` and a name.
    pub(crate) path: String,
    /// The tenant that its card declares; empty for none. Over gRPC the key stands for it.
    pub(crate) tenant: String,
    /// Its name in the catalog.
    pub(crate) listed: String,
    pub(crate) operations: Arc<dyn Operations>,
    /// Who knows what grants open, if anybody does.
    pub(crate) grants: Option<Arc<dyn GrantLookup>>,
    pub(crate) card: Card,
    cards: Cards,
    /// The extensions that it knows.
    pub(crate) extensions: Vec<String>,
    pub(crate) versions: Vec<Version>,
    pub(crate) bindings: Vec<Binding>,
    /// Who may call it; everybody when nothing is said.
    pub(crate) auth: Option<Arc<Auth>>,
    /// Who verifies the scope tokens that come with calls; without, they say nothing.
    pub(crate) scope_tokens: Option<Arc<dyn ScopeTokens>>,
    /// What its cards are signed with, if they are.
    pub(crate) signer: Option<Arc<dyn CardSigner>>,
    /// Whether that was said of this agent alone.
    pub(crate) own_signer: bool,
}

/// The cards of an agent under each base URL. All but the first are written when somebody asks for them.
struct Cards {
    hosts: Arc<Hosts>,
    /// The interfaces under each base URL.
    interfaces: Arc<[Vec<Interface>]>,
    first: CardFiles,
    others: Box<[OnceLock<CardFiles>]>,
    since: HeaderValue,
}

impl Hosted {
    /// The agent at its site, with a card that the site has completed.
    pub(crate) fn new(
        site: Site,
        card: Card,
        (operations, grants): (Arc<dyn Operations>, Option<Arc<dyn GrantLookup>>),
        scope_tokens: Option<Arc<dyn ScopeTokens>>,
        default_signer: Option<Arc<dyn CardSigner>>,
        since: HeaderValue,
    ) -> Result<Self> {
        let interfaces = site.hosts.urls().map(|base| site.interfaces(base)).collect();
        let own_signer = site.signer.is_some();
        let signer = site.signer.unwrap_or(default_signer);
        Ok(Self {
            cards: Cards::new(site.hosts, interfaces, &card, &site.key, signer.as_deref(), since)?,
            extensions: card.capabilities.extensions.iter().map(|extension| extension.uri.clone()).collect(),
            key: site.key,
            path: site.path,
            tenant: site.tenant,
            listed: site.listed,
            operations,
            grants,
            card,
            versions: site.versions,
            bindings: site.bindings,
            auth: site.auth,
            scope_tokens,
            signer,
            own_signer,
        })
    }

    /// Where the agent is, as its card says.
    pub(crate) fn url(&self) -> &str {
        self.card.supported_interfaces.first().map_or("", |interface| interface.url.as_str())
    }

    /// The same agent, its cards signed by something else.
    pub(crate) fn signed(&self, signer: Option<Arc<dyn CardSigner>>, since: HeaderValue) -> Result<Self> {
        let (hosts, interfaces) = (self.cards.hosts.clone(), self.cards.interfaces.clone());
        Ok(Self {
            key: self.key.clone(),
            path: self.path.clone(),
            tenant: self.tenant.clone(),
            listed: self.listed.clone(),
            operations: self.operations.clone(),
            grants: self.grants.clone(),
            cards: Cards::new(hosts, interfaces, &self.card, &self.key, signer.as_deref(), since)?,
            card: self.card.clone(),
            extensions: self.extensions.clone(),
            versions: self.versions.clone(),
            bindings: self.bindings.clone(),
            auth: self.auth.clone(),
            scope_tokens: self.scope_tokens.clone(),
            signer,
            own_signer: self.own_signer,
        })
    }

    /// Its cards under the base URL at a place of the router's list.
    pub(crate) fn cards(&self, at: usize) -> &CardFiles {
        let cards = &self.cards;
        let Some(other) = at.checked_sub(1).and_then(|other| cards.others.get(other)) else { return &cards.first };
        if let Some(written) = other.get() {
            return written;
        }
        let mut card = self.card.clone();
        self.move_to(&mut card, at);
        match CardFiles::new(&card, &self.key, self.signer.as_deref(), cards.hosts.url(at), cards.since.clone()) {
            Ok(files) => other.get_or_init(|| files),
            Err(error) => {
                tracing::error!(agent = self.key, %error, "the card could not be written for another host");
                &cards.first
            }
        }
    }

    /// Writes into a card of this agent where it is under the base URL at a place of the list. A card that says something else of its
    /// own is left as it is.
    pub(crate) fn move_to(&self, card: &mut Card, at: usize) {
        if let [first, ..] = &*self.cards.interfaces
            && let Some(interfaces) = self.cards.interfaces.get(at)
            && card.supported_interfaces == *first
        {
            card.supported_interfaces.clone_from(interfaces);
        }
    }
}

impl Cards {
    fn new(
        hosts: Arc<Hosts>,
        interfaces: Arc<[Vec<Interface>]>,
        card: &Card,
        key: &str,
        signer: Option<&dyn CardSigner>,
        since: HeaderValue,
    ) -> Result<Self> {
        let first = CardFiles::new(card, key, signer, hosts.url(0), since.clone())?;
        let others = (1..hosts.count()).map(|_| OnceLock::new()).collect();
        Ok(Self { hosts, interfaces, first, others, since })
    }
}
