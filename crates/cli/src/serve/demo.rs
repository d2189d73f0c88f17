//! What only the demo has: doors behind TLS, and cards that are signed.

use std::{path::Path, sync::Arc};

use anyhow::Result;
use chancery::{Memory, Mount, Running, Server, Signing, Tls};
use chancery_client::seal::{Algorithm, KeyStore, SigningKey, StoreError};

use super::plan::{Plan, Rules, told};
use crate::agents::demo;

/// The demo once more, behind TLS.
pub(super) struct SecureDoor {
    /// In the announcement.
    pub(super) name: &'static str,
    /// Whether clients have to show a certificate.
    pub(super) mutual: bool,
    pub(super) running: Running,
    pub(super) certificates: demo::Certificates,
}

impl Plan {
    /// Serves the agents of the demo over TLS too: the same tasks, at ports of their own. What is kept nowhere has no place for certificates.
    pub(super) async fn secure_doors(&self, running: &Running) -> Result<Vec<SecureDoor>> {
        let Some(data) = &self.data else { return Ok(Vec::new()) };
        let certificates = demo::Certificates::open(data)?;
        let mut doors = Vec::new();
        for (name, mutual, port) in [("tls", false, 8443), ("mtls", true, 8444)] {
            let address = running.local_addr();
            // Who is not where everybody looks for it has these ports elsewhere too.
            let ports = if address.port() == 8080 { vec![port, 0] } else { vec![0] };
            let (cert, key) = certificates.server();
            let tls = Tls::open(cert, key).map_err(told)?;
            let tls = if mutual { tls.client_ca(certificates.authority()).map_err(told)? } else { tls };
            let mut bound = Err(anyhow::anyhow!("no port was tried"));
            for port in ports {
                bound = self.secure_door(running, tls.clone(), mutual).bind((address.ip(), port)).await.map_err(told);
                if bound.is_ok() {
                    break;
                }
                tracing::warn!(port, "another program has the port of the demo over TLS; a free one is taken");
            }
            doors.push(SecureDoor { name, mutual, running: bound?, certificates: certificates.clone() });
        }
        Ok(doors)
    }

    /// The same agents as those at work.
    fn secure_door(&self, running: &Running, tls: Tls, mutual: bool) -> Server {
        let mut server = Server::several().store(Memory::new()).versions(self.versions.iter().copied()).grace(self.drain).tls(tls);
        for (agent, engine) in self.agents.iter().zip(running.engines()) {
            let place = Mount::operations(&agent.path, agent.card.clone(), Arc::new(demo::Stage::new(engine))).key(&agent.name);
            let place = place.tenant(&agent.tenant).versions(agent.versions.iter().copied()).bindings(agent.bindings.iter().copied());
            let rules = Rules { all: None, config: None };
            // A certificate is enough where one is needed.
            server = server.mount(if mutual { place } else { rules.over(&agent.name, place) });
        }
        server
    }
}

/// What the cards of the demo are signed with.
pub(super) struct Seals {
    key: Arc<SigningKey>,
    /// Another key of the same name.
    other: Arc<SigningKey>,
}

impl Seals {
    /// The key in the data folder, made if there is none; or one that is kept nowhere.
    pub(super) fn open(data: Option<&Path>) -> Result<Self> {
        const NAME: &str = "demo";
        let key = match data.map(|data| KeyStore::new(data.join("keys"))) {
            None => SigningKey::generate(Algorithm::Es256, NAME)?,
            Some(store) => match store.key(NAME) {
                Err(StoreError::Missing(_)) => store.generate(Algorithm::Es256, NAME, jiff::Timestamp::now())?,
                key => key?,
            },
        };
        Ok(Self { key: Arc::new(key), other: Arc::new(SigningKey::generate(Algorithm::Es256, NAME)?) })
    }

    /// The place with the signature and the name in the catalog that its agent has.
    pub(super) fn over(&self, agent: &str, place: Mount) -> Mount {
        match agent {
            demo::SIGNED => place.signing(Signing::new(self.key.clone())),
            demo::SIGNED_BAD => place.signing(Signing::new(self.other.clone())),
            _ if agent == demo::PLAIN.name => place.listed(demo::LISTED.1),
            _ => place,
        }
    }
}
