//! Other agents, as those who pass work on reach them.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{card::Card, error::Result, operations::Operations};

/// Finds other agents. A client implements it; whoever passes work on asks it and knows no network.
///
/// Credentials are the finder's business: the one that a caller showed to us is never shown to another agent.
#[async_trait]
pub trait Peers: Send + Sync {
    /// Reads the card of the agent with this base URL, if it is to be trusted, and agrees on a way to talk.
    ///
    /// # Errors
    /// The agent cannot be reached, or its card is not to be trusted.
    async fn peer(&self, agent: &str) -> Result<Peer>;
}

/// Another agent.
#[derive(Clone)]
#[non_exhaustive]
pub struct Peer {
    /// Its card.
    pub card: Arc<Card>,
    /// Its operations.
    pub operations: Arc<dyn Operations>,
}

impl Peer {
    /// An agent by its card and its operations.
    #[must_use]
    pub fn new(card: impl Into<Arc<Card>>, operations: Arc<dyn Operations>) -> Self {
        Self { card: card.into(), operations }
    }
}
