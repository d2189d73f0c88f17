//! Task grants of callers without credentials: a key to one task of an agent (HO-54).

use chancery_core::GrantedTask;
use http::HeaderMap;

use crate::{auth::Denial, call, hosted::Hosted};

/// A caller who would not be let in but for the grant that it shows. It is let in for one task, and for everything else it is whoever it
/// was without the grant.
pub(crate) struct GrantHolder {
    pub(crate) granted: GrantedTask,
    /// What it is told when it asks for anything else.
    pub(crate) denial: Denial,
}

/// What the grant in the head of a request opens at an agent. One that opens nothing is as good as none: whoever shows it is told what
/// everybody is told who shows nothing.
pub(crate) async fn granted(agent: &Hosted, headers: &HeaderMap) -> Option<GrantedTask> {
    let (grants, token) = (agent.grants.as_ref()?, call::grant(headers)?);
    grants.granted(&token).await.unwrap_or_else(|error| {
        tracing::warn!(agent = agent.key, %error, cause = std::error::Error::source(&error), "a grant could not be looked up");
        None
    })
}

#[cfg(feature = "grpc")]
/// The agent whose task the grant in the head of a request opens.
pub(crate) async fn issuer<'a>(agents: &'a [std::sync::Arc<Hosted>], headers: &HeaderMap) -> Option<&'a Hosted> {
    for agent in agents {
        if granted(agent, headers).await.is_some() {
            return Some(agent);
        }
    }
    None
}
