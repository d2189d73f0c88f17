//! Which interface of a card a client uses: the version, the binding, the address.
//!
//! ```text
//!  card -> interfaces -> those we speak -> v1.0 first, then the newest -> in the card's order
//! ```

use chancery_core::{Binding, Card, ErrorKind, Interface, Result, Version};

use crate::card::{Form, FoundAt, Places, major_minor};

/// What a client can speak.
///
/// ```
/// use chancery_core::{Binding, Version};
/// use chancery_wire::{card::FoundAt, pick::{self, Speaks}};
///
/// let card = br#"{"url":"https://a.example/rpc","protocolVersion":"0.3.0"}"#;
/// let speaks = Speaks::new([Binding::JsonRpc, Binding::HttpJson]);
/// let choice = pick::choose(card, FoundAt::AgentCardJson("https://a.example"), &speaks)?.unwrap();
/// assert_eq!((choice.version, choice.binding), (Version::V0_3, Binding::JsonRpc));
/// assert_eq!(choice.url, "https://a.example/rpc");
/// # Ok::<(), chancery_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speaks {
    bindings: Vec<Binding>,
    only: Option<Version>,
    own_order: bool,
}

impl Speaks {
    /// These bindings, in every version; the card's order decides between them.
    pub fn new(bindings: impl IntoIterator<Item = Binding>) -> Self {
        Self { bindings: bindings.into_iter().collect(), only: None, own_order: false }
    }

    /// Only this version.
    #[must_use]
    pub fn only(mut self, version: Version) -> Self {
        self.only = Some(version);
        self
    }

    /// Within a version, the order in which the bindings were given decides, not the card's.
    #[must_use]
    pub fn in_own_order(mut self) -> Self {
        self.own_order = true;
        self
    }
}

/// One way to talk to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The version to speak.
    pub version: Version,
    /// How it travels.
    pub binding: Binding,
    /// The address, as the card writes it.
    pub url: String,
    /// What every request must carry; empty when there is nothing.
    pub tenant: String,
    /// The card does not say its version; this one is the likeliest.
    pub guessed: bool,
}

impl Choice {
    /// What to try once when the agent refuses the very first call in this way. Nothing may be
    /// tried after it has accepted a call, nor by a client that was told to speak one version.
    #[must_use]
    pub fn after(&self, refusal: ErrorKind) -> Option<Self> {
        // v0.2 was a guess: an agent of v0.1 may find fault with the request before the method.
        let doubtful = self.guessed && self.version == Version::V0_2;
        let misunderstood = match refusal {
            ErrorKind::MethodNotFound => true,
            ErrorKind::InvalidRequest | ErrorKind::InvalidParams => doubtful,
            _ => false,
        };
        let older = match self.version {
            Version::V1_0 => Version::V0_3,
            Version::V0_3 | Version::V0_2 => Version::V0_1,
            _ => return None,
        };
        (misunderstood && self.binding == Binding::JsonRpc).then(|| Self { version: older, guessed: true, ..self.clone() })
    }
}

/// The best way to talk to the agent of a card in any form; `None` when it offers none that we
/// speak.
///
/// # Errors
/// When the card cannot be read, naming the member.
pub fn choose(card: &[u8], found_at: FoundAt<'_>, speaks: &Speaks) -> Result<Option<Choice>> {
    candidates(card, found_at, speaks).map(|all| all.into_iter().next())
}

/// Every way to talk to the agent of a card in any form, best first, so that a client can go on to
/// the next when one cannot be reached.
///
/// # Errors
/// When the card cannot be read, naming the member.
pub fn candidates(card: &[u8], found_at: FoundAt<'_>, speaks: &Speaks) -> Result<Vec<Choice>> {
    let places = Places::read(card, found_at)?;
    Ok(ranked(&places.interfaces, places.form, speaks))
}

/// Every way to talk to the agent of a card that was read before, best first. Whether it came in
/// the compact form is no longer known then.
#[must_use]
pub fn candidates_of(card: &Card, speaks: &Speaks) -> Vec<Choice> {
    ranked(&card.supported_interfaces, Form::V1_0, speaks)
}

fn ranked(interfaces: &[Interface], form: Form, speaks: &Speaks) -> Vec<Choice> {
    let mut ranked: Vec<_> = interfaces.iter().filter_map(|interface| rank(interface, form, speaks)).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, choice)| choice).collect()
}

/// How an interface would be used, with its rank: less is better, equal keeps the card's order.
fn rank(interface: &Interface, form: Form, speaks: &Speaks) -> Option<((u32, bool, usize), Choice)> {
    let binding = Binding::from_name(&interface.protocol_binding).filter(|_| !interface.url.is_empty())?;
    let place = speaks.bindings.iter().position(|spoken| *spoken == binding)?;
    let declared = match form {
        Form::Compact => Version::Compact,
        _ => version(&interface.protocol_version)?,
    };
    if speaks.only.is_some_and(|only| only != declared) {
        return None;
    }
    let version = match (declared, binding) {
        // V02-GRPC-001, V02-REST-001: beside JSON-RPC, v0.2 is what v0.3 is.
        (Version::V0_2, Binding::Grpc | Binding::HttpJson) => Version::V0_3,
        (Version::V0_1, Binding::Grpc | Binding::HttpJson) | (Version::Compact, Binding::Grpc) => return None,
        (version, _) => version,
    };
    let age = match declared {
        Version::V1_0 | Version::Compact => 0,
        Version::V0_3 => 1,
        Version::V0_2 => 2,
        _ => 3,
    };
    // v0.2 is JSON-RPC first of all, even for those who prefer another binding.
    let unusual = declared != version;
    let order = if speaks.own_order { place } else { 0 };
    let choice = Choice {
        version,
        binding,
        url: interface.url.clone(),
        tenant: interface.tenant.clone(),
        guessed: matches!(form, Form::Older { guessed: true }),
    };
    Some(((age, unusual, order), choice))
}

fn version(text: &str) -> Option<Version> {
    match major_minor(text)? {
        (1, 0) => Some(Version::V1_0),
        (0, 3) => Some(Version::V0_3),
        (0, 2) => Some(Version::V0_2),
        (0, 1) => Some(Version::V0_1),
        _ => None,
    }
}
