//! Hosting: starts agents on engines and mounts them on the router, with cards that are true.

use std::sync::Arc;

use chancery_core::{GrantLookup, Peers, Result};
use chancery_engine::{Builder, Engine, Options, push::Schedule, store::Store};
use chancery_server::Router;

use crate::{
    grant::RandomGrants,
    mount::{Mount, Target},
    signing::CardKeys,
    webhook::Webhooks,
};

/// What agents are started with.
pub(crate) struct Host {
    pub(crate) router: Router,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) webhooks: Webhooks,
    pub(crate) schedule: Option<Schedule>,
    /// What holds for agents that say nothing else.
    pub(crate) options: Options,
    /// Who finds other agents.
    pub(crate) peers: Option<Arc<dyn Peers>>,
}

impl Host {
    /// Starts an agent and mounts it. One that runs already goes on, as the mount says now. Returns its engine, if it has one.
    pub(crate) fn mount(&self, mount: Mount, running: Option<Engine>) -> Result<Option<Engine>> {
        let Mount { path, target, mut options, extended, signing, .. } = mount;
        options = match signing {
            None => options,
            Some(None) => options.unsigned(),
            Some(Some(signing)) => options.signer(Arc::new(CardKeys::new(signing, self.router.base_url()))),
        };
        let site = self.router.site(&path, options)?;
        match target {
            Target::Agent(builder, wrap) => {
                let builder = match extended {
                    Some(card) => builder.extended_card(card),
                    None => *builder,
                };
                let builder = builder.defaults(&self.options);
                let builder = builder.with_cards(|card| site.complete(card)).name(site.key()).base_url(site.url()).tokens(RandomGrants);
                let builder = match &self.peers {
                    Some(peers) => builder.reach(peers.clone(), site.url()),
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
                let (operations, grants) = (wrap(engine.clone()), Arc::new(engine.clone()) as Arc<dyn GrantLookup>);
                self.router.mount_at(site, card, operations, Some(grants))?;
                Ok(Some(engine))
            }
            Target::Operations(mut card, operations) => {
                site.complete(&mut card);
                self.router.mount_at(site, *card, operations, None)?;
                Ok(None)
            }
        }
    }

    fn start(&self, builder: Builder) -> Engine {
        let builder = builder.shared_store(self.store.clone()).sender(self.webhooks.clone());
        match &self.schedule {
            Some(schedule) => builder.schedule(schedule.clone()).start(),
            None => builder.start(),
        }
    }
}
