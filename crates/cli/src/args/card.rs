//! `a2a card …`.

use clap::{Args, Subcommand};

/// What is done to a card.
#[derive(Debug, Subcommand)]
pub(crate) enum Card {
    Get(CardGet),
}

/// Fetch, check and show a card
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a card get localhost:8080")]
pub(crate) struct CardGet {
    /// The agent, instead of --agent-card
    #[arg(value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// The card for authenticated callers
    #[arg(long)]
    pub(crate) extended: bool,
    /// Check the card against the rules of the protocol
    #[arg(long)]
    pub(crate) validate: bool,
    /// Do not check signatures
    #[arg(long)]
    pub(crate) no_verify: bool,
}
