//! `a2a card …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// What is done to a card.
#[derive(Debug, Subcommand)]
pub(crate) enum Card {
    Get(CardGet),
    Init(Box<CardInit>),
    Sign(Box<CardSign>),
    Verify(Box<CardVerify>),
    Diff(CardDiff),
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

/// Write a card to begin with; what is not said is marked in it
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a card init --name Weather --url https://weather.example.com")]
pub(crate) struct CardInit {
    /// The name shown to people
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// What the agent does
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// Where the agent is
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// A binding it is called over: jsonrpc, rest or grpc; repeat it for more, the preferred one first
    #[arg(long, value_parser = ["jsonrpc", "rest", "grpc"], ignore_case = true, hide_possible_values = true)]
    pub(crate) binding: Vec<String>,
    /// Something it can do; repeat it for more
    #[arg(long, value_name = "ID:NAME")]
    pub(crate) skill: Vec<String>,
    /// What callers have to present
    #[arg(long, value_enum)]
    pub(crate) auth: Option<CardWith>,
    /// A card to begin with: an agent, an address or a file
    #[arg(long, value_name = "REF")]
    pub(crate) from: Option<String>,
    /// Whom the card is for
    #[arg(long = "for", value_enum, value_name = "VERSION", default_value = "1.0")]
    pub(crate) version: CardFor,
    /// Where the card is written instead of stdout; nothing is overwritten
    #[arg(long, short = 'O', value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// What callers present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CardWith {
    /// A token in the Authorization header
    Bearer,
    /// A key in a header
    ApiKey,
    /// A token of an OAuth server
    Oauth2,
    /// A token of an OpenID provider
    Oidc,
    /// A certificate
    Mtls,
}

/// Readers of which version a card is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CardFor {
    /// Readers of 1.0
    #[value(name = "1.0")]
    Current,
    /// Readers of 0.3
    #[value(name = "0.3")]
    Older,
    /// Readers of both
    Both,
}

/// Add a signature to a card
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a card sign card.json --key 2026-11 -O signed.json")]
pub(crate) struct CardSign {
    /// The card
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A key of the store by its name, or a file with a private key [default: the newest of the store]
    #[arg(long, value_name = "KID|FILE")]
    pub(crate) key: Option<String>,
    /// The folder of keys
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Where the public keys are, to be said in the signature
    #[arg(long, value_name = "URL")]
    pub(crate) jku: Option<String>,
    /// What is signed: the form of the specification, that of the SDKs, or both where they differ
    #[arg(long, value_enum, default_value = "both")]
    pub(crate) form: SignedForm,
    /// Take out signatures of the same key first
    #[arg(long)]
    pub(crate) replace_kid: bool,
    /// Refuse a card that has something to warn of
    #[arg(long)]
    pub(crate) strict: bool,
    /// Write the signed card to the same file
    #[arg(long, conflicts_with = "out")]
    pub(crate) in_place: bool,
    /// Where the signed card is written instead of stdout
    #[arg(long, short = 'O', value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// What a signature is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SignedForm {
    /// The form of the specification
    Spec,
    /// The form of the SDKs, without anything empty
    Pruned,
    /// Both, if they differ for this card
    Both,
}

/// Check the signatures of a card
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a card verify localhost:8080 --allow-absent")]
pub(crate) struct CardVerify {
    /// The agent, instead of --agent-card
    #[arg(value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// Keys that are known to be the agent's
    #[arg(long, value_name = "FILE")]
    pub(crate) jwks: Option<PathBuf>,
    /// Certificates that chains may end in
    #[arg(long, value_name = "FILE.pem")]
    pub(crate) trust: Option<PathBuf>,
    /// Another form that is accepted: raw or js-memory; repeat it for more
    #[arg(long, value_name = "NAME", value_parser = ["raw", "js-memory"], hide_possible_values = true)]
    pub(crate) allow_form: Vec<String>,
    /// Take a card without signatures for good
    #[arg(long)]
    pub(crate) allow_absent: bool,
}

/// Show what changed between two cards, by meaning
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a card diff old.json new.json")]
pub(crate) struct CardDiff {
    /// The card before
    #[arg(value_name = "A")]
    pub(crate) before: PathBuf,
    /// The card after
    #[arg(value_name = "B")]
    pub(crate) after: PathBuf,
    /// End with 1 when a change is breaking
    #[arg(long)]
    pub(crate) exit_code: bool,
}
