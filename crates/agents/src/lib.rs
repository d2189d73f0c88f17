//! A2A agents made from configuration: what the file `a2a.toml` of [Chancery](https://docs.rs/chancery) describes, served.
//!
//! [`Site`] makes agents and a server of a [`Config`]; [`demo::config`] is the configuration of the demo, whose agents are like others.
//!
//! ```
//! use std::{collections::BTreeMap, path::Path};
//!
//! use chancery_agents::Site;
//! use chancery_config::Config;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), chancery_agents::Error> {
//! let text = "[server]\nlisten = \"127.0.0.1:0\"\n[store]\nephemeral = true\n[[agent]]\nname = \"words\"\ncommand = [\"/usr/bin/wc\", \"-w\"]\n";
//! let config = Config::parse(Path::new("a2a.toml"), text, &BTreeMap::new())?;
//! let served = Site::new(config).bind().await?;
//! println!("serving at {}", served.running().url());
//! served.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! A program that has a server of its own mounts the agents there: [`Site::mounts`].
//!
//! Back ends are listed once, in [`chancery_config::backend`]; how each of them runs is said in `executor.rs`.

mod agent;
pub mod demo;
mod echo;
mod error;
mod executor;
mod files;
mod jsonl;
mod peers;
mod process;
mod reload;
pub mod settings;
mod site;
mod text;

pub use chancery_config::Config;

pub use self::{
    agent::Agent,
    error::Error,
    site::{Served, Site, TASKS},
};

/// What making and serving agents comes to.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod folder;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test calls its own server")]
mod guide;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test calls its own server")]
mod tests;
