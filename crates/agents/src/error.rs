//! The error of agents that cannot be made or served.

use std::{io, path::PathBuf};

/// Why agents cannot be made or served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is wrong.
    #[error(transparent)]
    Config(#[from] chancery_config::Error),
    /// The data folder cannot be made.
    #[error("the folder {} cannot be made", folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The tasks in the data folder cannot be opened.
    #[error("{} cannot be opened", file.display())]
    Store {
        /// Which file.
        file: PathBuf,
        /// Why.
        source: chancery::store::Error,
    },
    /// What is no network.
    #[error("allow: {network} is no network")]
    Network {
        /// As the file has it.
        network: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The address is not to be had.
    #[error("cannot serve on {listen}: {}", cause(error))]
    Bind {
        /// Which address.
        listen: String,
        /// Why.
        error: chancery::Error,
    },
    /// A certificate, a key or an agent that the server does not take.
    #[error("{}", cause(.0))]
    Server(chancery::Error),
    /// The certificates of the demo cannot be made.
    #[error("no certificates can be made in {}", folder.display())]
    Certificates {
        /// Where.
        folder: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The key of the demo's cards cannot be read or kept.
    #[error(transparent)]
    KeyStore(#[from] chancery_signing::StoreError),
    /// No key can be made.
    #[error(transparent)]
    Key(#[from] chancery_signing::KeyError),
    /// Something else that the demo needs is not there.
    #[error("{0}")]
    Demo(String),
}

/// The cause, if there is one: whoever reads it is the operator.
fn cause(error: &chancery::Error) -> String {
    let cause = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    match error.metadata().get("address") {
        Some(address) => format!("cannot listen on {address}: {cause}"),
        None => cause,
    }
}
