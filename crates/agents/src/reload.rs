//! Hot reload: a changed configuration applied to a site at work.

use chancery_config::Config;

use crate::{
    Served, settings,
    site::{build, ruled},
};

impl Served {
    /// Applies what can be applied to agents at work, and logs what cannot: agents come, go and change, and cards are signed with other keys,
    /// without a task lost or a stream cut; the rest of the file needs a new start.
    pub fn reload(&mut self, changed: Config) {
        let (site, running) = (&self.site, &self.running);
        let current = &site.config;
        let mut same = changed.clone();
        same.agents.clone_from(&current.agents);
        same.signing.clone_from(&current.signing);
        if changed.signing != current.signing {
            match running.sign(changed.signing.as_ref().and_then(settings::signing)) {
                Ok(()) => tracing::info!("the cards are signed as the file says now"),
                Err(error) => tracing::error!(%error, "the cards could not be signed"),
            }
        }
        if same != *current {
            tracing::warn!(
                "only agents and the keys of their cards are changed while the server runs; start it again for the rest of the file"
            );
        }
        let built = build(&changed, &site.children, &site.url);
        if (built.len() == 1) != (current.agents.len() == 1) {
            tracing::warn!("an agent alone is at another path than one of several: start the server again");
        } else {
            let old = |name: &str| current.agents.iter().find(|agent| agent.name == name);
            for (agent, built) in changed.agents.iter().zip(&built).filter(|(agent, _)| old(&agent.name) != Some(agent)) {
                let moved = old(&agent.name).is_some_and(|old| old.path != agent.path);
                match running.replace(ruled(site.auth.as_ref(), &changed, built, built.mount(changed.retention.tasks))) {
                    Ok(()) if moved => tracing::info!(agent = agent.name, path = agent.path, "the agent moved"),
                    Ok(()) => tracing::info!(agent = agent.name, "the agent is as the file says now"),
                    Err(error) => tracing::error!(agent = agent.name, %error, "the agent could not be changed"),
                }
            }
            for gone in current.agents.iter().filter(|agent| !changed.agents.iter().any(|kept| kept.name == agent.name)) {
                running.remove(&gone.name);
                tracing::info!(agent = gone.name, "the agent is not served any more; its tasks are kept");
            }
        }
        self.site.config = changed;
    }
}
