//! Starts agents and mounts them on the router, with cards that are true.

use std::sync::Arc;

use chancery_core::{Card, GrantLookup, Peers, Result, extension};
use chancery_engine::{Builder, Engine, Options};
use chancery_server::{Router, Site};

use crate::{
    grant::RandomGrants,
    mount::{Mount, Target},
    options::refused,
    signing::CardKeys,
};

/// What agents are started with.
pub(crate) struct Host {
    pub(crate) router: Router,
    /// What holds for agents that say nothing else: where tasks are kept, who sends notifications, and the rest.
    pub(crate) options: Options,
    /// Who finds other agents.
    pub(crate) peers: Option<Arc<dyn Peers>>,
    /// Whether the cards offer to show the place of events.
    pub(crate) sequence: bool,
}

impl Host {
    /// Starts an agent and mounts it. One that runs already, among these, goes on as the mount says now. Returns its engine, if it has one.
    pub(crate) fn mount(&self, mount: Mount, running: &[Engine]) -> Result<Option<Engine>> {
        mount.check()?;
        let Mount { path, target, mut options, extended, signing, .. } = mount;
        options = match signing {
            None => options,
            Some(None) => options.unsigned(),
            Some(Some(signing)) => options.signer(Arc::new(CardKeys::new(signing))),
        };
        if let Target::Agent(builder, _) = &target
            && let Some(key) = builder.key()
        {
            options = options.key(key);
        }
        let site = self.router.site(&path, options)?;
        match target {
            Target::Agent(builder, wrap) => {
                let builder = match extended {
                    Some(card) => builder.extended_card(card),
                    None => *builder,
                };
                let running = running.iter().find(|engine| engine.name() == site.key()).cloned();
                let said = builder.options().clone();
                let builder = self.completed(builder, &site)?;
                let card = builder.card().clone();
                let engine = match running {
                    Some(engine) => {
                        demand_unchanged(&said)?;
                        engine.change(builder);
                        engine
                    }
                    None if !builder.options().has_store() => {
                        return Err(refused(
                            "the agent",
                            "it has no store, nor has the server; say Engine::new(…).store(…) or Server::store",
                        ));
                    }
                    None => builder.start(),
                };
                let (operations, grants) = (wrap(engine.clone()), Arc::new(engine.clone()) as Arc<dyn GrantLookup>);
                self.router.mount_at(site, card, operations, Some(grants))?;
                Ok(Some(engine))
            }
            Target::Operations(mut card, operations) => {
                self.complete(&mut card, &site)?;
                self.router.mount_at(site, *card, operations, None)?;
                Ok(None)
            }
        }
    }

    /// An agent with what the server says where it says nothing itself, and with cards that are true.
    fn completed(&self, builder: Builder, site: &Site) -> Result<Builder> {
        let mut here = Options::new().base_url(site.url()).tokens(RandomGrants);
        if let Some(peers) = &self.peers {
            here = here.reach(peers.clone());
        }
        let mut wrong = Ok(());
        let builder = builder.defaults(&self.options).defaults(&here).name(site.key());
        let builder = builder.with_cards(|card| {
            if let Err(error) = self.complete(card, site) {
                wrong = Err(error);
            }
        });
        wrong.map(|()| builder)
    }

    fn complete(&self, card: &mut Card, site: &Site) -> Result<()> {
        if !card.supported_interfaces.is_empty() {
            let words = "it writes the interfaces of its cards itself; leave Card::interface out (or clear those of a card that was read elsewhere), \
                         and say where and how it is reached by Server::public_url, Server::bindings, Mount::bindings and Mount::tenant";
            return Err(refused(&format!("interfaces of the card {:?}", card.name), words));
        }
        site.complete(card);
        if !self.sequence {
            card.capabilities.extensions.retain(|extension| extension.uri != extension::SEQUENCE);
        }
        Ok(())
    }
}

/// What an agent that runs keeps until it ends.
fn demand_unchanged(said: &Options) -> Result<()> {
    let kept: Vec<_> = said.said().into_iter().filter(|said| ["store", "sender", "schedule", "clock", "by_hand"].contains(said)).collect();
    match kept.is_empty() {
        true => Ok(()),
        false => {
            Err(refused(&kept.join(", "), "the agent runs and keeps what it was started with; leave it out, or remove the agent first"))
        }
    }
}
