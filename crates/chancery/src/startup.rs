//! Start-up errors: what keeps a server from starting, in words that say what to do next.
//!
//! They are for the operator, who sees them as the end of `main`. The cause stays beneath, as the system gave it.

use std::{io, net::SocketAddr, path::Path};

use chancery_core::{BoxError, Error, ErrorKind};
#[cfg(feature = "sqlite")]
use chancery_engine::store;

use crate::webhook::KeyError;

fn error(words: String, cause: impl Into<BoxError>) -> Error {
    Error::new(ErrorKind::Internal, words).caused_by(cause)
}

/// The text names no socket.
pub(crate) fn bad_address(text: &str, cause: io::Error) -> Error {
    let words = match cause.kind() {
        io::ErrorKind::InvalidInput => "it is not an address; write a host and a port, such as 127.0.0.1:7420",
        _ => "its host has no address; look for a mistake in the name, or write the address in numbers, such as 127.0.0.1:7420",
    };
    error(format!("cannot listen on {text:?}: {words}"), cause)
}

/// The socket is not to be had.
pub(crate) fn cannot_listen(address: SocketAddr, cause: io::Error) -> Error {
    let words = match cause.kind() {
        io::ErrorKind::AddrInUse => {
            "the port is in use by another program; stop that one, or serve on another port (0 is one that is free)"
        }
        io::ErrorKind::AddrNotAvailable => "this machine has no such address; 127.0.0.1 is reached from here only, 0.0.0.0 from everywhere",
        io::ErrorKind::PermissionDenied => "this user may not have the port; serve on one from 1024 on",
        _ => "the system does not allow it",
    };
    error(format!("cannot listen on {address}: {words}"), cause).with("address", address.to_string())
}

/// Nobody said where tasks are kept, and no store was built in that could be the default.
#[cfg(not(feature = "sqlite"))]
pub(crate) fn no_store() -> Error {
    let words = "nothing says where tasks are kept: give a store with Server::store, or build with the feature `sqlite`";
    Error::new(ErrorKind::Internal, words)
}

/// The folder for tasks and keys cannot be made.
#[cfg(feature = "sqlite")]
pub(crate) fn bad_folder(folder: &Path, cause: io::Error) -> Error {
    let words = match cause.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "this user may not write there",
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => "a file has its name",
        _ => "it cannot be made",
    };
    error(format!("cannot use the data folder {}: {words}; {ELSEWHERE}", folder.display()), cause)
}

/// The tasks in the folder cannot be opened.
#[cfg(feature = "sqlite")]
pub(crate) fn bad_store(folder: &Path, cause: store::Error) -> Error {
    let words = match &cause {
        cause if cause.is_in_use() => "another program has locked its tasks; stop that one",
        store::Error::Corrupt(_) => "its tasks are damaged, or of another program or a newer version of this one; use that one, or a copy",
        _ => "its tasks cannot be opened; let this user read and write all files in it",
    };
    error(format!("cannot use the data folder {}: {words}, or {ELSEWHERE}", folder.display()), cause)
}

/// The key in the folder that signs notifications cannot be used.
pub(crate) fn bad_key(folder: &Path, cause: KeyError) -> Error {
    let words = match &cause {
        KeyError::Invalid => "the key of its webhook signatures is damaged; delete it, and a new one is made",
        _ => "the key of its webhook signatures cannot be read or kept; let this user read and write all files in it",
    };
    error(format!("cannot use the data folder {}: {words}, or {ELSEWHERE}", folder.display()), cause)
}

const ELSEWHERE: &str = "choose another one with Server::data";
