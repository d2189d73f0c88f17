//! `a2a auth …`, `config`, `completion`, `help`, `skill`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What is done with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum Auth {
    Login(AuthLogin),
    Status(AuthStatus),
    Logout(AuthLogout),
}

/// Obtain a token and keep it
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a auth login -a localhost:8080/secure --flow device")]
pub(crate) struct AuthLogin {
    /// The scheme of the card [default: the first that can be used]
    #[arg(long, value_name = "NAME")]
    pub(crate) scheme: Option<String>,
    /// How the token is obtained [default: device if the card offers it, else code]
    #[arg(long, value_name = "FLOW", value_parser = ["device", "client-credentials", "code"])]
    pub(crate) flow: Option<String>,
    /// The client; its secret is in A2ACLI_CLIENT_SECRET
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// A scope to ask for; repeat it for more
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// Where the token is kept
    #[arg(long, value_name = "STORE", value_parser = ["file", "keyring", "none"], default_value = "file")]
    pub(crate) store: String,
    /// One more parameter of the requests for tokens, such as audience=URL; repeat it for more
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) parameter: Vec<String>,
    /// Open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
}

/// Show which tokens are kept, never the tokens
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a auth status")]
pub(crate) struct AuthStatus {}

/// Forget tokens
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a auth logout --all")]
pub(crate) struct AuthLogout {
    /// Those of all agents
    #[arg(long)]
    pub(crate) all: bool,
}

/// What is done with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    Show(ConfigShow),
}

/// Show the settings that hold here, and where each comes from
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a config show")]
pub(crate) struct ConfigShow {}

/// Print a completion script
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a completion bash")]
pub(crate) struct Completion {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Show how a command is used, or what is to be known about a topic
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a help exit-codes")]
pub(crate) struct Help {
    /// A command, or references, environment or exit-codes
    #[arg(value_name = "COMMAND|TOPIC")]
    pub(crate) words: Vec<String>,
}

/// What is done with the skill.
#[derive(Debug, Subcommand)]
pub(crate) enum Skill {
    /// Print the skill
    #[command(before_help = "Example:\n  a2a skill print")]
    Print,
    Install(SkillInstall),
}

/// Put the skill where agents look for it: SCOPE/.agents/skills/a2a/
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a skill install --scope .")]
pub(crate) struct SkillInstall {
    /// The folder of the project [default: the home folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) scope: Option<PathBuf>,
}
