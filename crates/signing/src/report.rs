//! What the check of a card's signatures found.

use serde::{Deserialize, Serialize};

use crate::{Algorithm, Form};

/// What the check of a card's signatures found. The same object goes to logs, to the command line and to the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// The verdict.
    pub result: Verdict,
    /// Why the card as a whole was refused, if no single signature is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The form that the good signature is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// The name of its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// Its algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alg: Option<Algorithm>,
    /// Where its key was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_source: Option<KeyOrigin>,
    /// `sha-256:` and the RFC 7638 thumbprint of its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thumbprint: Option<String>,
    /// Pointers to parts of the card that anybody could have changed.
    #[serde(default)]
    pub uncovered: Vec<String>,
    /// Pointers to members that no signature covers, and that are not used.
    #[serde(default)]
    pub ignored: Vec<String>,
    /// What became of each signature.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
}

/// The verdict on a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// A good signature covers all of it.
    Accept,
    /// A good signature leaves parts of it uncovered.
    AcceptReduced,
    /// A good signature covers all that a v1.0 card has; the document has more, which is ignored.
    AcceptCovered,
    /// There is no signature.
    Unsigned,
    /// There are signatures, and no key for any of them.
    NoKey,
    /// No signature is good.
    Reject,
}

impl Verdict {
    /// Whether a good signature was found.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Accept | Self::AcceptReduced | Self::AcceptCovered)
    }

    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::AcceptReduced => "accept-reduced",
            Self::AcceptCovered => "accept-covered",
            Self::Unsigned => "unsigned",
            Self::NoKey => "no-key",
            Self::Reject => "reject",
        }
    }
}

/// Where a key was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum KeyOrigin {
    /// Among the keys of the policy.
    Pinned,
    /// In the header's certificate chain.
    X5c,
    /// At the header's `jku`.
    Jku,
    /// At the card's `jwks_uri`.
    JwksUri,
    /// At `/.well-known/jwks.json` of the card's host.
    WellKnown,
    /// In the registry.
    Registry,
}

/// What became of one signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Attempt {
    /// Its place among the signatures.
    pub index: usize,
    /// What became of it.
    pub outcome: Outcome,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// It is good.
    Valid,
    /// It is not of this card and this key.
    BadSignature,
    /// It is not base64url as it should be.
    BadEncoding,
    /// Its header is no header.
    BadHeader,
    /// Its algorithm is not allowed, or not the key's.
    BadAlg,
    /// It demands that something be understood.
    Crit,
    /// There is no such key.
    NoKey,
    /// The key is not valid now, or revoked.
    KeyExpired,
    /// Its certificates lead to no trusted root.
    ChainUntrusted,
    /// A certificate is not valid now.
    ChainExpired,
    /// Its certificate is for another host.
    NameMismatch,
    /// It says that another host issued it.
    IssMismatch,
    /// The key is another one than before.
    KeyChanged,
}
