//! Outbound HTTP of [Chancery](https://docs.rs/chancery): the SSRF guard, and the only place where HTTP clients are made.
//!
//! A webhook's URL, a card's address or the place of a key set comes from somebody else. Without a guard that somebody makes us call our
//! own neighbors: the database, the router, the metadata service of the cloud (server-side request forgery). So requests made on a
//! stranger's word go to public addresses only, and to what the operator has opened:
//!
//! ```text
//!  text --parse--> Url --Guard::check--> scheme, user info, name, literal address
//!                                            |
//!                          name of a host    |    literal address
//!                      +---------------------+---------+
//!                      v                               v
//!               resolve once, check every answer   already checked
//!                      |                               |
//!                      `--> connect to that very address, no proxy, no redirect <--'
//! ```
//!
//! The text of a host is never compared with addresses: `http://2130706433/` is 127.0.0.1, and only the parser knows that. The answers of
//! the resolver are checked where the connection is made, so that a name which answers differently the second time (DNS rebinding) gains
//! nothing.
//!
//! ```
//! use chancery_net::{Blocked, Guard};
//!
//! let guard = Guard::new();
//! assert!(guard.check("https://client.example/hook").is_ok());
//! assert_eq!(guard.check("http://0x7f.1/"), Err(Blocked::Address([127, 0, 0, 1].into())));
//!
//! let guard = Guard::new().allow("10.20.0.0/16".parse()?);
//! assert!(guard.check("http://10.20.3.4/hook").is_ok());
//! assert!(guard.check("http://10.21.3.4/hook").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod client;
mod connect;
mod guard;
mod key_cache;
mod tls;

pub use address::Blocked;
pub use client::{BodyError, Client, FetchError, Options, Reach, blocked, read_body};
pub use connect::Connector;
pub use guard::{Guard, Resolver};
pub use ipnet::IpNet;
pub use key_cache::{CachePolicy, KeyCache, KeySource, KeysUnavailable, Stale};
pub use tls::Tls;
