//! Where a request came from: labels only. What a version looks like is `chancery-wire`'s business.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A protocol version that Chancery speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Version {
    /// The first public protocol: `tasks/send`.
    #[serde(rename = "0.1")]
    V0_1,
    /// `message/send`, the card at `agent.json`.
    #[serde(rename = "0.2")]
    V0_2,
    /// `message/send`, the card at `agent-card.json`, three bindings.
    #[serde(rename = "0.3")]
    V0_3,
    /// The current protocol.
    #[default]
    #[serde(rename = "1.0")]
    V1_0,
    /// The compact dialect of v1.0: `A2A.` methods and `/messages` paths.
    #[serde(rename = "compact")]
    Compact,
}

/// How a version travels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Binding {
    /// JSON-RPC 2.0 over HTTP.
    #[default]
    #[serde(rename = "JSONRPC")]
    JsonRpc,
    /// HTTP with JSON bodies.
    #[serde(rename = "HTTP+JSON")]
    HttpJson,
    /// gRPC.
    #[serde(rename = "GRPC")]
    Grpc,
}

/// How v0.3 peers put inline bytes into the protobuf shape: most encode them twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileBytes {
    /// The bytes field holds base64 text (Python, Go).
    #[default]
    Double,
    /// The bytes field holds the bytes (JavaScript).
    Single,
}

/// The way a request came in, remembered so that later answers and webhooks go out the same way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Origin {
    /// The version spoken.
    pub version: Version,
    /// The binding used.
    pub binding: Binding,
    /// How the peer writes inline bytes.
    pub file_bytes: FileBytes,
}

impl Origin {
    /// An origin with the usual form of inline bytes.
    #[must_use]
    pub fn new(version: Version, binding: Binding) -> Self {
        Self { version, binding, file_bytes: FileBytes::default() }
    }

    /// Sets how the peer writes inline bytes.
    #[must_use]
    pub fn file_bytes(mut self, form: FileBytes) -> Self {
        self.file_bytes = form;
        self
    }
}

impl Version {
    /// The current version.
    pub const LATEST: Self = Self::V1_0;

    /// The released versions, newest first.
    pub const RELEASED: [Self; 4] = [Self::V1_0, Self::V0_3, Self::V0_2, Self::V0_1];

    /// Everything that is spoken: the released versions, newest first, and the compact dialect.
    pub const ALL: [Self; 5] = [Self::V1_0, Self::V0_3, Self::V0_2, Self::V0_1, Self::Compact];

    /// `1.0`, `0.3`, … as in `A2A-Version`; `compact` for the compact dialect.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1",
            Self::V0_2 => "0.2",
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
            Self::Compact => "compact",
        }
    }
}

impl Binding {
    /// `JSONRPC`, `HTTP+JSON` or `GRPC`, as cards write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
            Self::Grpc => "GRPC",
        }
    }

    /// Reads a card's name of a binding; custom bindings are URIs and give `None`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::JsonRpc, Self::HttpJson, Self::Grpc].into_iter().find(|binding| binding.as_str().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
