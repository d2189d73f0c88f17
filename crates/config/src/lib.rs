//! The configuration file `a2a.toml` of [Chancery](https://docs.rs/chancery), as plain data.
//!
//! [`Config::load`] reads a file whole, or refuses it with one [`Error`] that names the file, the line and the column, marks what is wrong,
//! and says what was probably meant. No key is ignored: what this release does not do yet is refused by name. Values are `A2A_SECTION_KEY` of
//! the environment before those of the file, and `${NAME}` in a text is a variable.
//!
//! ```
//! use std::{collections::BTreeMap, path::Path};
//!
//! use chancery_config::{Backend, Config};
//!
//! let text = "[[agent]]\nname = \"echo\"\necho = true\n";
//! let config = Config::parse(Path::new("a2a.toml"), text, &BTreeMap::new())?;
//! assert_eq!(config.server.listen, "127.0.0.1:8080");
//! assert_eq!(config.agents[0].backend, Backend::Echo);
//!
//! let error = Config::parse(Path::new("a2a.toml"), "[servr]\n", &BTreeMap::new()).unwrap_err();
//! assert_eq!(error.hint(), Some("did you mean \"server\"?"));
//! # Ok::<_, chancery_config::Error>(())
//! ```
//!
//! Nothing is served here: `chancery-agents` makes agents and a server of a [`Config`]. A new back end of agents is added to
//! [`backend::KINDS`].

mod agent;
pub mod auth;
pub mod backend;
mod card;
mod error;
mod handoff;
mod lattice;
mod quantity;
mod section;
mod signing;
mod watch;

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use chancery_core::{Binding, Card, Validate, Version};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use url::Url;

use self::section::{Document, Keys, Result, Section, Value, kind};
pub use self::{
    agent::{Agent, OnRestart},
    auth::{Auth, Tls},
    backend::Backend,
    error::{Error, nearest},
    handoff::{Handoff, OnAmbiguous, OnMessageReply, Peer},
    lattice::{Lattice, workflow},
    quantity::{duration, size},
    signing::{Key, Signing},
    watch::Watch,
};

/// A file with every key and its meaning, and one agent that echoes.
#[must_use]
pub fn default_file() -> String {
    let echo = &backend::echo::KIND;
    let others = backend::KINDS.iter().copied().filter(|kind| kind.key != echo.key);
    let docs: Vec<_> = std::iter::once(echo).chain(others).map(|kind| kind.docs).collect();
    format!("{}{}", include_str!("default.toml"), docs.join("\n"))
}

/// The wire versions by name.
pub const VERSIONS: [(&str, Version); 4] = {
    let [newest, second, third, oldest] = Version::RELEASED;
    [(newest.as_str(), newest), (second.as_str(), second), (third.as_str(), third), (oldest.as_str(), oldest)]
};
/// The bindings by name.
pub const BINDINGS: [(&str, Binding); 3] = [("jsonrpc", Binding::JsonRpc), ("rest", Binding::HttpJson), ("grpc", Binding::Grpc)];

/// Everything a file says.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file itself.
    pub file: PathBuf,
    /// `[server]`.
    pub server: Server,
    /// `[store]`.
    pub store: Store,
    /// `[push]`.
    pub push: Push,
    /// `[auth]`; everybody may call when there is none.
    pub auth: Option<Auth>,
    /// `[guard]`.
    pub guard: Guard,
    /// `[signing]`; cards are not signed when there is none.
    pub signing: Option<Signing>,
    /// `[tls]`.
    pub tls: Option<Tls>,
    /// `[workflows]`, `[lattice]` and `[scope]`.
    pub lattice: Lattice,
    /// `[handoff]`, if it is there.
    pub handoff: Option<Handoff>,
    /// `[limits]`.
    pub limits: Limits,
    /// `[retention]`.
    pub retention: Retention,
    /// `[log]`.
    pub log: Log,
    /// Each `[[agent]]`, in the order of the file.
    pub agents: Vec<Agent>,
}

/// Where and what the server serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Host and port.
    pub listen: String,
    /// The base of every URL in the cards.
    pub public_url: Option<String>,
    /// Other names by which clients reach the server.
    pub hosts: Vec<String>,
    /// The folder of the store.
    pub data: PathBuf,
    /// The served versions.
    pub versions: Vec<Version>,
    /// The served bindings, the preferred one first.
    pub bindings: Vec<Binding>,
    /// Whether a request without a version header is read by its shape.
    pub lenient_version: bool,
    /// How long running tasks may go on when the server stops.
    pub drain: Duration,
    /// Whether a changed file is applied at once.
    pub reload: bool,
}

/// Where tasks are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Store {
    /// In memory only: nothing outlives the process.
    pub ephemeral: bool,
    /// What a commit survives.
    pub durability: Durability,
}

/// What an answered write survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// The loss of power.
    #[default]
    Power,
    /// The end of the process.
    Process,
}

/// How webhooks are called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Push {
    /// Private networks that webhooks may be in, as address and prefix length.
    pub allow: Vec<String>,
    /// The pauses before a failed notification is tried again; those of the server when not said.
    pub schedule: Option<Vec<Duration>>,
}

/// SSRF guard: which addresses are called on a stranger's word, beside public ones: those of webhooks and of keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guard {
    /// Networks, as address and prefix length.
    pub allow: Vec<String>,
    /// Whether this machine itself may be called. A server that listens on loopback only calls it in any case.
    pub loopback: bool,
}

/// How much a request may hold, and how many there may be; what is not said is left to the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a body.
    pub body: Option<u64>,
    /// Parts of a message.
    pub parts: Option<usize>,
    /// Depth of free JSON.
    pub json_depth: Option<usize>,
    /// Requests under way.
    pub requests: Option<usize>,
    /// Open streams of one caller.
    pub streams: Option<usize>,
}

/// How long finished tasks are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// `None` is for ever.
    pub tasks: Option<Duration>,
}

/// What is written to stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// Lines for machines.
    pub json: bool,
    /// The least important level that is written.
    pub level: LogLevel,
}

/// How important a line of the log is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something may be wrong.
    Warn,
    /// What an operator wants to know.
    #[default]
    Info,
    /// What a developer wants to know.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// Its name in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

const SECTIONS: Keys = Keys::new(
    &[
        "server",
        "store",
        "push",
        "guard",
        "auth",
        "signing",
        "tls",
        "workflows",
        "lattice",
        "scope",
        "handoff",
        "limits",
        "retention",
        "log",
        "agent",
    ],
    &["bus", "trust"],
);
const SERVER: Keys = Keys::new(
    &["listen", "public_url", "hosts", "data", "versions", "bindings", "lenient_version", "drain", "reload"],
    &["console", "database", "bus"],
);
const STORE: Keys = Keys::new(&["ephemeral", "durability"], &["database"]);
const PUSH: Keys = Keys::new(&["allow", "schedule"], &["timeout", "signing_key"]);
const GUARD: Keys = Keys::new(&["allow", "loopback"], &[]);
const LIMITS: Keys = Keys::new(&["body", "parts", "json_depth", "requests", "streams"], &["headers", "rate", "tasks"]);
const RETENTION: Keys = Keys::new(&["tasks"], &["events"]);
const LOG: Keys = Keys::new(&["format", "level"], &["otlp"]);

impl Config {
    /// Reads a file, with the environment of this process.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn load(file: impl AsRef<Path>) -> Result<Self> {
        let file = file.as_ref();
        let text = std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
        // A variable that is no text cannot be written into the file by name either.
        let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::parse(file, &text, &variables.collect())
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn parse(file: &Path, text: &str, variables: &BTreeMap<String, String>) -> Result<Self> {
        let shown = file.display().to_string();
        let document = Document { file: &shown, text, variables };
        let mut root = DeTable::parse(text).map_err(|error| unparsed(&document, &error))?.into_inner();
        let agents = root.remove_entry("agent");
        known_sections(&document, &root)?;
        let schemes = nested(&mut root, "auth", "scheme");
        let exchange = nested(&mut root, "auth", "exchange");
        let roots = nested(&mut root, "scope", "roots");
        let keys = nested(&mut root, "signing", "keys");
        let (passes, peers) = (root.contains_key("handoff"), nested(&mut root, "handoff", "peers"));
        let mut open = |title: &'static str, keys: &Keys| section(&document, &mut root, title, keys);
        let server = server(open("[server]", &SERVER)?, &folder(file))?;
        let store = store(open("[store]", &STORE)?)?;
        let push = push(open("[push]", &PUSH)?)?;
        let auth = auth::auth(&document, open("[auth]", &auth::AUTH)?, schemes, exchange, &folder(file))?;
        let guard = guard(open("[guard]", &GUARD)?)?;
        let signing = signing::signing(&document, open("[signing]", &signing::SIGNING)?, keys, &folder(file))?;
        let tls = auth::tls(open("[tls]", &auth::TLS)?, &folder(file))?;
        open("[scope]", &lattice::SCOPE)?;
        let (workflows, lattice) = (open("[workflows]", &lattice::WORKFLOWS)?, open("[lattice]", &lattice::LATTICE)?);
        let lattice = lattice::lattice(&document, workflows, lattice, roots, &folder(file))?;
        let handoff = handoff::handoff(&document, open("[handoff]", &handoff::HANDOFF)?, peers)?;
        let limits = limits(open("[limits]", &LIMITS)?)?;
        let retention = retention(open("[retention]", &RETENTION)?)?;
        let log = log(open("[log]", &LOG)?)?;
        let agents = self::agents(&document, agents, file, auth.as_ref())?;
        Ok(Self {
            file: file.to_owned(),
            server,
            store,
            push,
            auth,
            guard,
            signing,
            tls,
            lattice,
            handoff: passes.then_some(handoff),
            limits,
            retention,
            log,
            agents,
        })
    }

    /// Checks what only the whole shows: that each agent's card is one that the protocol allows.
    ///
    /// # Errors
    /// The first card that is wrong.
    pub fn check(&self) -> Result<()> {
        for agent in &self.agents {
            let mut card: Card = agent.card.clone();
            if card.supported_interfaces.is_empty() {
                // Made by the server when it knows its own address.
                card = card.interface("http://localhost/", Binding::JsonRpc, Version::LATEST);
            }
            card.validate().map_err(|error| {
                Error::of_file(self.file.display().to_string(), format!("the card of the agent {:?} is not valid: {error}", agent.name))
            })?;
        }
        Ok(())
    }

    /// The files that the configuration was made from.
    #[must_use]
    pub fn sources(&self) -> Vec<PathBuf> {
        let cards = self.agents.iter().filter_map(|agent| agent.card_file.clone());
        let workflows = self.lattice.workflows.iter().map(|(file, _)| file.clone());
        let keys = self.signing.iter().flat_map(Signing::sources);
        std::iter::once(self.file.clone()).chain(cards).chain(workflows).chain(keys).collect()
    }
}

fn server(mut section: Section<'_, '_>, folder: &Path) -> Result<Server> {
    let listen = section.text("listen")?;
    if let Some(listen) = &listen
        && !listen.value.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
    {
        let what = format!("listen must be an address and a port, not {:?}", listen.value);
        return Err(section.error(listen, what).with_hint("write it like \"127.0.0.1:8080\" or \"[::]:8080\""));
    }
    let public_url = section.text("public_url")?;
    if let Some(url) = &public_url
        && !["http://", "https://"].iter().any(|scheme| url.value.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()))
    {
        let what = format!("public_url must begin with http:// or https://, not {:?}", url.value);
        return Err(section.error(url, what));
    }
    Ok(Server {
        listen: or(listen, || "127.0.0.1:8080".to_owned()),
        public_url: public_url.map(|url| url.value.trim_end_matches('/').to_owned()),
        hosts: hosts(&mut section)?,
        data: folder.join(or(section.text("data")?, || ".a2a".to_owned())),
        versions: section.choices("versions", &VERSIONS)?.unwrap_or_else(|| VERSIONS.map(|(_, version)| version).to_vec()),
        bindings: section.choices("bindings", &BINDINGS)?.unwrap_or_else(|| BINDINGS.map(|(_, binding)| binding).to_vec()),
        lenient_version: or(section.flag("lenient_version")?, || false),
        drain: or(section.duration("drain")?, || Duration::from_secs(30)),
        reload: or(section.flag("reload")?, || true),
    })
}

fn hosts(section: &mut Section<'_, '_>) -> Result<Vec<String>> {
    let hosts = or(section.texts("hosts")?, Vec::new);
    for host in &hosts {
        if !is_host(&host.value) {
            let what = format!("hosts must name hosts, not {:?}", host.value);
            let hint = "write a host like \"agents.internal\", \"10.0.0.7:8080\" or \"https://agents.example.com\"";
            return Err(section.error(host, what).with_hint(hint));
        }
    }
    Ok(hosts.into_iter().map(|host| host.value).collect())
}

fn store(mut section: Section<'_, '_>) -> Result<Store> {
    let durability = section.choice("durability", &[("power", Durability::Power), ("process", Durability::Process)])?;
    Ok(Store { ephemeral: or(section.flag("ephemeral")?, || false), durability: or(durability, || Durability::Power) })
}

fn push(mut section: Section<'_, '_>) -> Result<Push> {
    Ok(Push { allow: networks(&mut section)?, schedule: section.durations("schedule")? })
}

fn guard(mut section: Section<'_, '_>) -> Result<Guard> {
    Ok(Guard { allow: networks(&mut section)?, loopback: or(section.flag("loopback")?, || false) })
}

fn networks(section: &mut Section<'_, '_>) -> Result<Vec<String>> {
    let networks = or(section.texts("allow")?, Vec::new);
    for network in &networks {
        if !is_network(&network.value) {
            let what = format!("allow must name networks, not {:?}", network.value);
            return Err(section.error(network, what).with_hint("write a network like \"10.0.0.0/8\" or \"fd00::/8\""));
        }
    }
    Ok(networks.into_iter().map(|network| network.value).collect())
}

fn limits(mut section: Section<'_, '_>) -> Result<Limits> {
    Ok(Limits {
        body: section.size("body")?.map(|size| size.value),
        parts: section.count("parts")?.map(|parts| parts.value),
        json_depth: section.count("json_depth")?.map(|depth| depth.value),
        requests: section.count("requests")?.map(|requests| requests.value),
        streams: section.count("streams")?.map(|streams| streams.value),
    })
}

fn retention(mut section: Section<'_, '_>) -> Result<Retention> {
    let Some(text) = section.text("tasks")? else { return Ok(Retention { tasks: Some(Duration::from_secs(30 * 86_400)) }) };
    if text.value == "forever" {
        return Ok(Retention { tasks: None });
    }
    let tasks = duration(&text.value).ok_or_else(|| {
        let what = format!("tasks must be a duration or \"forever\", not {:?}", text.value);
        section.error(&text, what).with_hint("write it like 12h or 30d")
    })?;
    Ok(Retention { tasks: Some(tasks) })
}

fn log(mut section: Section<'_, '_>) -> Result<Log> {
    use LogLevel as L;
    let levels = [L::Error, L::Warn, L::Info, L::Debug, L::Trace].map(|level| (level.as_str(), level));
    Ok(Log {
        json: or(section.choice("format", &[("text", false), ("json", true)])?, || false),
        level: or(section.choice("level", &levels)?, LogLevel::default),
    })
}

/// Every `[[agent]]`, each name and path once.
fn agents(
    document: &Document<'_>,
    entry: Option<(Spanned<toml::de::DeString<'_>>, Spanned<DeValue<'_>>)>,
    file: &Path,
    auth: Option<&Auth>,
) -> Result<Vec<Agent>> {
    let Some((key, value)) = entry else { return Ok(Vec::new()) };
    let items = match value.into_inner() {
        DeValue::Array(items) => items,
        DeValue::Table(_) => {
            return Err(document.error_at(&key.span(), "an agent is written with two brackets").with_hint("write [[agent]]"));
        }
        other => return Err(document.error_at(&key.span(), format!("agent must be a list of tables, not {}", kind(&other)))),
    };
    let alone = items.len() == 1;
    let mut agents: Vec<Agent> = Vec::new();
    for item in items {
        let span = item.span();
        let DeValue::Table(table) = item.into_inner() else {
            return Err(document.error_at(&span, "an agent is a table").with_hint("write [[agent]]"));
        };
        agents.push(agent::read(document, table, span, &folder(file), alone, &agents, auth)?);
    }
    Ok(agents)
}

/// What is listed under a key of a section, taken out of it.
fn nested<'t>(root: &mut DeTable<'t>, section: &str, key: &str) -> Option<auth::Nested<'t>> {
    match root.get_mut(section)?.get_mut() {
        DeValue::Table(table) => table.remove_entry(key).map(|(key, value)| (key.span(), value.into_inner())),
        _ => None,
    }
}

fn known_sections(document: &Document<'_>, root: &DeTable<'_>) -> Result<()> {
    let strange = root.keys().filter(|key| !SECTIONS.known.contains(&key.get_ref().as_ref())).min_by_key(|key| key.span().start);
    let Some(key) = strange else { return Ok(()) };
    let name = key.get_ref().as_ref();
    if SECTIONS.later.contains(&name) {
        let error = document.error_at(&key.span(), format!("the section [{name}] is not supported in this release"));
        return Err(error.with_hint("remove it, or wait for a later release"));
    }
    let what = format!("there is no section [{name}]");
    Err(document.error_at(&key.span(), what).suggest(name, SECTIONS.known.iter().copied()))
}

/// A table that exists at most once; a missing one is empty, and may still be set by variables.
fn section<'d, 't>(document: &'d Document<'t>, root: &mut DeTable<'t>, title: &'static str, keys: &Keys) -> Result<Section<'d, 't>> {
    let name = title.trim_matches(['[', ']']);
    let (table, span) = match root.remove_entry(name) {
        None => (DeTable::new(), 0..0),
        Some((key, value)) => match value.into_inner() {
            DeValue::Table(table) => (table, key.span()),
            other => {
                let what = format!("{name} must be a table, not {}", kind(&other));
                return Err(document.error_at(&key.span(), what).with_hint(format!("write {title}")));
            }
        },
    };
    Section::open(document, title, table, span, keys, true)
}

fn unparsed(document: &Document<'_>, error: &toml::de::Error) -> Error {
    let what = error.message().trim().replace('\n', "; ");
    // Without a place it is the file as a whole.
    document.error_at(&error.span().unwrap_or(Range { start: 0, end: 0 }), what)
}

fn unreadable(file: &Path, error: &std::io::Error) -> Error {
    Error::of_file(file.display().to_string(), format!("the file cannot be read: {}", reason(error)))
}

/// The cause without the number of the system.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// The folder that relative paths of a file begin at.
fn folder(file: &Path) -> PathBuf {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A folder that does not exist has no other name.
    std::path::absolute(parent).unwrap_or_else(|_| parent.to_owned())
}

fn is_network(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    match (address.parse::<std::net::IpAddr>(), length.parse::<u8>()) {
        (Ok(std::net::IpAddr::V4(_)), Ok(length)) => length <= 32,
        (Ok(std::net::IpAddr::V6(_)), Ok(length)) => length <= 128,
        _ => false,
    }
}

/// Whether a text is a host, with or without a port, or a URL with one.
fn is_host(text: &str) -> bool {
    let is_url = |text: &str| {
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.username().is_empty());
        url.filter(|url| url.has_host() && url.query().is_none() && url.fragment().is_none())
    };
    match text.contains("://") {
        true => is_url(text).is_some(),
        false => is_url(&format!("http://{text}")).is_some_and(|url| url.path() == "/" && !text.ends_with(['/', ':'])),
    }
}

/// What was said, or else.
fn or<T>(said: Option<Value<T>>, otherwise: impl FnOnce() -> T) -> T {
    said.map_or_else(otherwise, |said| said.value)
}

#[cfg(test)]
mod folder;
#[cfg(test)]
mod tests;
