//! What the demo has beside its agents: an issuer of tokens, signed cards, and listeners behind TLS.

use std::{path::PathBuf, sync::Arc};

use chancery::{Mount, Running, Server, Signing, Tls};
use chancery_signing::{Algorithm, KeyStore, SigningKey, StoreError};

use super::{
    cards::{self, LISTED, PLAIN, SECURE, SIGNED, SIGNED_BAD},
    certificates::Certificates,
    faults::FaultInjector,
    issuer::{self, Issuer},
    login::{self, Logins},
};
use crate::{Agent, Error, Result, Site};

/// The demo once more, behind TLS.
pub struct TlsListener {
    /// `tls` or `mtls`.
    pub name: &'static str,
    /// Whether clients have to show a certificate.
    pub mutual: bool,
    /// The server.
    pub running: Running,
    /// What it shows, and what clients need.
    pub certificates: Certificates,
}

/// What the demo has beside its agents.
pub(crate) struct Demo {
    issuer: Issuer,
    /// The links that let tasks go on.
    logins: Logins,
    /// What cards are signed with.
    key: Arc<SigningKey>,
    /// Another key of the same name.
    other: Arc<SigningKey>,
}

impl Demo {
    /// The key of the cards is in the data folder, made if there is none; or it is kept nowhere.
    pub(crate) fn open(data: Option<&PathBuf>) -> Result<Self> {
        const NAME: &str = "demo";
        let issuer = Issuer::new()?;
        let key = match data.map(|data| KeyStore::new(data.join("keys"))) {
            None => SigningKey::generate(Algorithm::Es256, NAME)?,
            Some(store) => match store.key(NAME) {
                Err(StoreError::Missing(_)) => store.generate(Algorithm::Es256, NAME, jiff::Timestamp::now())?,
                key => key?,
            },
        };
        Ok(Self { issuer, logins: Logins::default(), key: Arc::new(key), other: Arc::new(SigningKey::generate(Algorithm::Es256, NAME)?) })
    }

    /// The server with the issuer and the catalog.
    pub(crate) fn extend(&self, server: Server) -> Server {
        let (issuer, logins) = (self.issuer.clone(), self.logins.clone());
        let server = server.route(issuer::PATH, move |request| std::future::ready(issuer.answer(&request)));
        server.route(login::PATH, move |request| logins.clone().answer(request)).catalog(LISTED.0)
    }

    /// The mount with faults, and with the rules, the signature and the name in the catalog that its agent has.
    pub(crate) fn mount(&self, agent: &Agent, mount: Mount) -> Mount {
        let logins = self.logins.clone();
        let mount = mount.through(|engine| Arc::new(FaultInjector::new(engine).logins(logins)));
        match agent.config().name.as_str() {
            SECURE => mount.auth(cards::rules()),
            SIGNED => mount.signing(Signing::new(self.key.clone())),
            SIGNED_BAD => mount.signing(Signing::new(self.other.clone())),
            name if name == PLAIN.name => mount.listed(LISTED.1),
            _ => mount,
        }
    }

    /// What is done when the address is known: the issuer has its name, and so the card that speaks of it; the listeners behind TLS open.
    pub(crate) async fn bound(&self, site: &Site, running: &Running) -> Result<Vec<TlsListener>> {
        self.issuer.settle(running.url());
        self.logins.settle(running.url());
        for agent in site.agents().iter().filter(|agent| agent.config().name == SECURE) {
            let mount = self.mount(agent, site.mount(agent)).auth(self.issuer.rules(cards::rules())?);
            running.replace(mount).map_err(Error::Server)?;
        }
        listen(site, running, &self.logins).await
    }
}

/// Serves the agents of the demo over TLS too: the same tasks, at ports of their own. What is kept nowhere has no place for certificates.
async fn listen(site: &Site, running: &Running, logins: &Logins) -> Result<Vec<TlsListener>> {
    let Some(data) = site.data() else { return Ok(Vec::new()) };
    let certificates = Certificates::open(data)?;
    let mut listeners = Vec::new();
    for (name, mutual, port) in [("tls", false, 8443), ("mtls", true, 8444)] {
        let address = running.local_addr();
        let (cert, key) = certificates.server();
        let tls = Tls::open(cert, key).map_err(Error::Server)?;
        let tls = if mutual { tls.client_ca(certificates.authority()).map_err(Error::Server)? } else { tls };
        // Who is not where everybody looks for it has these ports elsewhere too.
        let first = if address.port() == 8080 { port } else { 0 };
        let mut bound = server(site, running, logins, tls.clone(), mutual).bind((address.ip(), first)).await;
        if bound.is_err() && first != 0 {
            tracing::warn!(port, "another program has the port of the demo over TLS; a free one is taken");
            bound = server(site, running, logins, tls, mutual).bind((address.ip(), 0)).await;
        }
        listeners.push(TlsListener { name, mutual, running: bound.map_err(Error::Server)?, certificates: certificates.clone() });
    }
    Ok(listeners)
}

/// The same agents as those at work.
fn server(site: &Site, running: &Running, logins: &Logins, tls: Tls, mutual: bool) -> Server {
    let said = &site.config().server;
    let mut server = Server::several().versions(said.versions.iter().copied()).grace(said.drain).tls(tls);
    for (agent, engine) in site.agents().iter().zip(running.engines()) {
        let own = agent.config();
        let mount =
            agent.placed(Mount::operations(&own.path, own.card.clone(), Arc::new(FaultInjector::new(engine).logins(logins.clone()))));
        // A certificate is enough where one is needed.
        server = server.mount(if !mutual && own.name == SECURE { mount.auth(cards::rules()) } else { mount });
    }
    server
}
