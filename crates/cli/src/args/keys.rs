//! `a2a keys …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Keys that sign cards
#[derive(Debug, Args)]
pub(crate) struct Keys {
    /// The folder of keys
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

/// What is done with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    Generate(KeysGenerate),
    List(KeysList),
    Show(KeysOne),
    Jwks(KeysJwks),
    Rotate(KeysRotate),
    Import(KeysImport),
    Remove(KeysRemove),
}

/// Make a key
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a keys generate --kid 2026-11")]
pub(crate) struct KeysGenerate {
    /// The algorithm
    #[arg(long, value_parser = ["ES256", "EdDSA", "RS256"], default_value = "ES256")]
    pub(crate) alg: String,
    /// The name of the key [default: year and month]
    #[arg(long)]
    pub(crate) kid: Option<String>,
}

/// List the keys
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a keys list -o table")]
pub(crate) struct KeysList {}

/// Show the public part of a key
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a keys show 2026-11")]
pub(crate) struct KeysOne {
    /// The name of the key
    pub(crate) kid: String,
}

/// Remove a key
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a keys remove 2026-11")]
pub(crate) struct KeysRemove {
    /// The name of the key
    pub(crate) kid: String,
}

/// Print the public parts as a JWK set
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a keys jwks")]
pub(crate) struct KeysJwks {
    /// Where it is written instead of stdout
    #[arg(long, short = 'O', value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Make a new key and forget the oldest
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a keys rotate --kid 2026-12")]
pub(crate) struct KeysRotate {
    /// The algorithm
    #[arg(long, value_parser = ["ES256", "EdDSA", "RS256"], default_value = "ES256")]
    pub(crate) alg: String,
    /// The name of the new key [default: year and month]
    #[arg(long)]
    pub(crate) kid: Option<String>,
    /// How many keys stay, the new one included
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) keep: usize,
}

/// Take in a key from a file: a private JWK, or PKCS#8 as PEM
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a keys import key.pem --kid 2026-10")]
pub(crate) struct KeysImport {
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The name of the key; PEM has none
    #[arg(long)]
    pub(crate) kid: Option<String>,
}
