//! The demo's agent cards: one agent under several paths, each with something different.

use chancery::auth::{Auth, Digest, Holder, Scheme};
use chancery_config::{Agent, Backend};
use chancery_core::{Binding, Card, Extension, Skill, Version, security::ApiKeyLocation};

/// One of the demo's cards, and what is different about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variant {
    /// Its key on the server.
    pub(crate) name: &'static str,
    /// Where it is.
    pub(crate) path: &'static str,
    /// What is different, in words.
    pub(crate) about: &'static str,
    /// The bindings, the preferred one first.
    pub(crate) bindings: &'static [Binding],
    /// The versions.
    pub(crate) versions: &'static [Version],
    /// The tenant that its interfaces declare; empty for none.
    pub(crate) tenant: &'static str,
    /// Whether it declares streams.
    pub(crate) streaming: bool,
    /// Whether it declares notifications.
    pub(crate) push: bool,
    /// An extension that it declares, and whether it demands it.
    pub(crate) extension: Option<(&'static str, bool)>,
}

/// The variant that demands credentials.
pub(crate) const SECURE: &str = "secure";
/// The variant whose card is signed.
pub(crate) const SIGNED: &str = "signed";
/// The variant whose card has a signature of a key that is not the one which it names.
pub(crate) const SIGNED_BAD: &str = "signed-bad";
/// What identifiers in the demo's catalog begin with, and the name of the plain variant there.
pub(crate) const LISTED: (&str, &str) = ("urn:air:localhost:demo", "echo");
/// The header of its key.
const KEY: &str = "X-API-Key";

/// Who may call the variant that demands credentials: everybody who reads the manual. Nothing here is secret.
pub(crate) fn rules() -> Auth {
    let bearer = Scheme::bearer().holder(Holder::new("demo", Digest::of("demo-token")));
    let key = Scheme::api_key(ApiKeyLocation::Header, KEY).holder(Holder::new("demo", Digest::of("demo-key")));
    Auth::new().scheme("bearer", bearer).scheme("key", key)
}

/// Where a credential was found that is of this scheme of [`rules`].
pub(crate) fn place(scheme: Option<&str>) -> String {
    match scheme {
        None => "none".to_owned(),
        Some("bearer") => "bearer, header Authorization".to_owned(),
        Some("key") => format!("key, header {KEY}"),
        Some("mtls") => "mtls, certificate of the client".to_owned(),
        // Those of the issuer.
        Some(other) => format!("{other}, header Authorization"),
    }
}

/// The extension of the variant that declares one.
pub(crate) const EXTENSION: &str = "urn:chancery:demo/ext/v1";

const ALL_BINDINGS: &[Binding] = &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];
const ALL_VERSIONS: &[Version] = &Version::RELEASED;

/// The plain variant.
pub(crate) const PLAIN: Variant = Variant {
    name: "demo",
    path: "/",
    about: "Everything",
    bindings: ALL_BINDINGS,
    versions: ALL_VERSIONS,
    tenant: "",
    streaming: true,
    push: true,
    extension: None,
};

/// Every card of the demo.
pub(crate) const VARIANTS: &[Variant] = &[
    PLAIN,
    Variant { name: "nostream", path: "/nostream", about: "Declares no streams", streaming: false, ..PLAIN },
    Variant { name: "nopush", path: "/nopush", about: "Declares no notifications", push: false, ..PLAIN },
    Variant { name: "tenant", path: "/tenant", about: "Declares a tenant", tenant: "harbor", versions: &[Version::V1_0], ..PLAIN },
    Variant { name: "legacy", path: "/legacy", about: "Speaks 0.3 only", versions: &[Version::V0_3], ..PLAIN },
    Variant {
        name: "rest-first",
        path: "/rest-first",
        about: "Prefers HTTP+JSON",
        bindings: &[Binding::HttpJson, Binding::JsonRpc, Binding::Grpc],
        ..PLAIN
    },
    Variant { name: SECURE, path: "/secure", about: "Demands a token, a key or that one signs in", ..PLAIN },
    Variant { name: SIGNED, path: "/signed", about: "Has a signed card", ..PLAIN },
    Variant { name: SIGNED_BAD, path: "/signed-bad", about: "Has a card with a bad signature", ..PLAIN },
    Variant { name: "ext", path: "/ext", about: "Demands an extension", extension: Some((EXTENSION, true)), ..PLAIN },
];

impl Variant {
    /// Its card, without interfaces.
    #[must_use]
    pub(crate) fn card(&self) -> Card {
        let name = if self.name == PLAIN.name { "Demo".to_owned() } else { format!("Demo {}", self.path) };
        let card = Card::new(name, format!("Does what the first word of a message says. {}.", self.about))
            .version(env!("CARGO_PKG_VERSION"))
            .takes(["text/plain", "*/*"])
            .gives(["text/plain", "*/*"])
            .with_skill(skill())
            .streaming(self.streaming)
            .push_notifications(self.push);
        let mut card = card;
        card.capabilities.extended_agent_card = (self.name == SECURE).then_some(true);
        match self.extension {
            Some((uri, required)) => {
                let extension = Extension::new(uri).described("An extension that does nothing, for tests of clients");
                card.extension(if required { extension.required() } else { extension })
            }
            None => card,
        }
    }
}

/// The agents of the demo, one for each card.
pub(crate) fn agents() -> impl Iterator<Item = Agent> {
    VARIANTS.iter().map(|variant| {
        let mut agent = Agent::new(variant.name, variant.card(), Backend::Demo);
        agent.path = variant.path.to_owned();
        agent.tenant = variant.tenant.to_owned();
        agent.bindings = Some(variant.bindings.to_vec());
        agent.versions = Some(variant.versions.to_vec());
        agent
    })
}

/// The card of an agent of the demo for callers who are known: what others need not know of is in it.
pub(crate) fn extended_card(agent: &Agent) -> Option<Card> {
    let extended = || agent.card.clone().skill("members", "Is there for callers who are known, and does what the other skill does");
    (agent.name == SECURE).then(extended)
}

fn skill() -> Skill {
    let skill = Skill::new("demo", "Streams, waits, asks, fails, shows files and lists what it got; anything else is said back");
    let examples = ["hi", "stream 5", "slow 3s", "ask", "login", "fail", "reject", "message hi", "files", "cut 2", "unspecified 2s"];
    examples.iter().chain(&["parts", "request"]).fold(skill.named("Demo").tags(["demo", "test"]), |skill, text| skill.example(*text))
}
