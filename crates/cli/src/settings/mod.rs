//! What holds for a run: the layers, read into types.

mod dotenv;
mod layers;
pub(crate) mod table;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use chancery_config::{duration, nearest};
use chancery_core::{Binding, Secret, Version, json::Object};
use clap::ArgMatches;

pub(crate) use self::layers::{Layers, Raw, Source, Surroundings};
use self::table::{Spec, TABLE};
use crate::{reference, trouble::Trouble};

/// No time is longer than this: ten years are as good as for ever, and can be added to a clock.
pub(crate) const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// How results are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Form {
    #[default]
    Text,
    Json,
    Table,
}

/// When stderr has colors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// Which versions may be spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The highest common one, not below 1.0.
    #[default]
    Current,
    /// This one.
    Only(Version),
    /// Whatever the card says.
    Any,
}

/// The credentials that were given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    pub(crate) bearer: Option<Secret>,
    pub(crate) api_key: Option<Secret>,
    /// User and password.
    pub(crate) basic: Option<(String, Secret)>,
    pub(crate) client_cert: Option<PathBuf>,
    pub(crate) client_key: Option<PathBuf>,
    pub(crate) ca_cert: Option<PathBuf>,
}

/// Every setting of a run.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) agent: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) transports: Vec<Binding>,
    pub(crate) version: Wanted,
    pub(crate) tenant: Option<String>,
    pub(crate) registry: Option<String>,
    pub(crate) require_signature: bool,
    pub(crate) no_cache: bool,
    pub(crate) form: Form,
    pub(crate) stream: bool,
    pub(crate) compact: bool,
    pub(crate) jq: Option<String>,
    pub(crate) detached: bool,
    pub(crate) wait: bool,
    pub(crate) poll_interval: Duration,
    /// The whole wait; `None` for no limit.
    pub(crate) timeout: Option<Duration>,
    /// Whether the timeout was said, and so holds for single calls too.
    pub(crate) timeout_given: bool,
    pub(crate) connect_timeout: Duration,
    pub(crate) context_id: Option<String>,
    pub(crate) task_id: Option<String>,
    pub(crate) metadata: Object,
    pub(crate) svc_params: Vec<(String, Secret)>,
    pub(crate) extensions: Vec<String>,
    pub(crate) given: Given,
    pub(crate) insecure: bool,
    pub(crate) verbose: bool,
    pub(crate) debug: bool,
    pub(crate) dry_run: bool,
    pub(crate) quiet: bool,
    pub(crate) color: Color,
    pub(crate) layers: Layers,
    /// Options that do not hold as they are set, and the flag because of which.
    overruled: Vec<(&'static str, &'static str)>,
}

/// The flags of the command line that are settings.
pub(crate) fn flags(matches: &ArgMatches) -> BTreeMap<&'static str, Vec<String>> {
    let mut flags = BTreeMap::new();
    for spec in TABLE {
        if matches.value_source(spec.name) != Some(clap::parser::ValueSource::CommandLine) {
            continue;
        }
        let values = match spec.value {
            Some(_) => matches.get_many::<String>(spec.name).into_iter().flatten().cloned().collect(),
            None => vec!["true".to_owned()],
        };
        flags.insert(spec.name, values);
    }
    flags
}

impl Settings {
    /// Reads the layers into types.
    pub(crate) fn new(layers: Layers) -> Result<Self, Trouble> {
        let read = Read(&layers);
        let settings = Self {
            agent: read.text("agent-card"),
            endpoint: read.text("endpoint"),
            transports: read.each("transport", binding)?,
            version: read.one("a2a-version", wanted)?.unwrap_or_default(),
            tenant: read.text("tenant"),
            registry: read.text("registry"),
            require_signature: read.switch("require-signature")?,
            no_cache: read.switch("no-cache")?,
            form: read.one("output", form)?.unwrap_or_default(),
            stream: read.switch("stream")?,
            compact: read.switch("compact")?,
            jq: read.text("jq"),
            detached: read.switch("async")?,
            wait: read.switch("wait")?,
            poll_interval: read.one("poll-interval", time)?.unwrap_or(Duration::from_secs(2)),
            timeout: Some(read.one("timeout", time)?.unwrap_or(Duration::from_secs(600))).filter(|time| !time.is_zero()),
            timeout_given: layers.raw("timeout").is_some(),
            connect_timeout: read.one("connect-timeout", time)?.unwrap_or(Duration::from_secs(10)),
            context_id: read.text("context-id"),
            task_id: read.text("task-id"),
            metadata: read.each("metadata", object)?.into_iter().flatten().collect(),
            svc_params: read.each("svc-param", pair)?,
            extensions: read.each("extension", |text| Ok(text.to_owned()))?,
            given: read.given()?,
            insecure: read.switch("insecure")?,
            verbose: read.switch("verbose")?,
            debug: read.switch("debug")?,
            dry_run: read.switch("dry-run")?,
            quiet: read.switch("quiet")?,
            color: read.one("color", color)?.unwrap_or_default(),
            layers,
            overruled: Vec::new(),
        };
        settings.checked()
    }

    /// Refuses what cannot go together. What is said on the command line is meant, whatever else is said elsewhere.
    fn checked(mut self) -> Result<Self, Trouble> {
        let layers = self.layers.clone();
        let flagged = |name| layers.raw(name).is_some_and(|raw| raw.source == Source::Flag);
        let mut overruled = Vec::new();
        let mut weaker = |one: &'static str, other: &'static str| {
            let (weak, strong) = match (flagged(one), flagged(other)) {
                (true, false) => (other, one),
                (false, true) => (one, other),
                _ => return Err(Trouble::usage(format!("--{one} and --{other} cannot go together"))),
            };
            overruled.push((weak, strong));
            Ok(weak)
        };
        if self.endpoint.is_some() && self.agent.is_some() {
            match weaker("agent-card", "endpoint")? {
                "endpoint" => self.endpoint = None,
                _ => self.agent = None,
            }
        }
        if self.detached && self.stream {
            match weaker("async", "stream")? {
                "stream" => self.stream = false,
                _ => self.detached = false,
            }
        }
        if self.detached && self.wait {
            match weaker("async", "wait")? {
                "wait" => self.wait = false,
                _ => self.detached = false,
            }
        }
        if self.jq.is_some() && self.form == Form::Text {
            overruled.push(("output", "jq"));
        }
        self.overruled = overruled;
        if self.endpoint.is_some() && self.transports.len() != 1 {
            return Err(Trouble::usage("--endpoint needs exactly one --transport").hint("add --transport jsonrpc, rest or grpc"));
        }
        Ok(self)
    }

    /// What is in force as text, for `config show`: each option that has a value, with its source.
    pub(crate) fn shown(&self) -> Vec<(&'static Spec, Raw)> {
        let shown = |spec: &'static Spec| {
            if let Some((_, strong)) = self.overruled.iter().find(|(weak, _)| *weak == spec.name) {
                let value = match spec.name {
                    "output" => "json",
                    _ if spec.value.is_none() => "false",
                    _ => return None,
                };
                return Some((spec, Raw { values: vec![value.to_owned()], source: Source::Overruled(strong) }));
            }
            let default = || Raw { values: vec![spec.default.to_owned()], source: Source::Default };
            let raw = self.layers.raw(spec.name);
            let switch = spec.value.is_none().then(|| Raw { values: vec!["false".to_owned()], source: Source::Default });
            Some((spec, raw.or_else(|| (!spec.default.is_empty()).then(default)).or(switch)?))
        };
        let mut all: Vec<_> = TABLE.iter().filter_map(shown).collect();
        all.sort_by_key(|(spec, _)| spec.name);
        all
    }
}

/// Reads options out of the layers.
struct Read<'a>(&'a Layers);

impl Read<'_> {
    fn text(&self, name: &'static str) -> Option<String> {
        self.0.raw(name).and_then(|raw| raw.values.last().cloned())
    }

    fn secret(&self, name: &'static str) -> Option<Secret> {
        self.text(name).map(Secret::from)
    }

    fn switch(&self, name: &'static str) -> Result<bool, Trouble> {
        Ok(self.one(name, truth)?.unwrap_or(false))
    }

    fn one<T>(&self, name: &'static str, read: impl Fn(&str) -> Result<T, Trouble>) -> Result<Option<T>, Trouble> {
        Ok(self.each(name, read)?.pop())
    }

    fn each<T>(&self, name: &'static str, read: impl Fn(&str) -> Result<T, Trouble>) -> Result<Vec<T>, Trouble> {
        let Some(raw) = self.0.raw(name) else { return Ok(Vec::new()) };
        let place = self.place(name, &raw.source);
        let placed = |trouble: Trouble| Trouble { message: format!("{place}: {}", trouble.message), ..trouble };
        raw.values.iter().map(|text| read(text).map_err(placed)).collect()
    }

    fn given(&self) -> Result<Given, Trouble> {
        let path = |name| self.text(name).map(|text| reference::expanded(&text, self.0.around.home.as_deref()));
        Ok(Given {
            bearer: self.secret("bearer"),
            api_key: self.secret("api-key"),
            basic: self.one("basic", basic)?,
            client_cert: path("client-cert"),
            client_key: path("client-key"),
            ca_cert: path("ca-cert"),
        })
    }

    /// Where a value that is wrong stands.
    fn place(&self, name: &str, source: &Source) -> String {
        match source {
            Source::Flag | Source::Overruled(_) | Source::Default => format!("--{name}"),
            Source::Environment(variable) => variable.clone(),
            Source::Local(path) | Source::Global(path) => format!("{} in {}", table::variable(name), self.0.around.shown(path)),
        }
    }
}

/// Reads one of a few words; the others are suggested.
pub(crate) fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, Trouble> {
    if let Some((_, value)) = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)) {
        return Ok(*value);
    }
    let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
    let trouble = Trouble::usage(format!("{text:?} is none of {}", all.join(", ")));
    Err(match nearest(text, all.iter().copied()) {
        Some(near) => trouble.hint(format!("did you mean {near}?")),
        None => trouble,
    })
}

/// Reads a binding.
pub(crate) fn binding(text: &str) -> Result<Binding, Trouble> {
    let words = [("jsonrpc", Binding::JsonRpc), ("rest", Binding::HttpJson), ("grpc", Binding::Grpc), ("HTTP+JSON", Binding::HttpJson)];
    word(text, &words)
}

fn wanted(text: &str) -> Result<Wanted, Trouble> {
    let words: Vec<_> =
        Version::RELEASED.iter().map(|version| (version.as_str(), Wanted::Only(*version))).chain([("any", Wanted::Any)]).collect();
    word(text, &words)
}

fn form(text: &str) -> Result<Form, Trouble> {
    word(text, &[("text", Form::Text), ("json", Form::Json), ("table", Form::Table)])
}

fn color(text: &str) -> Result<Color, Trouble> {
    word(text, &[("auto", Color::Auto), ("always", Color::Always), ("never", Color::Never)])
}

fn truth(text: &str) -> Result<bool, Trouble> {
    word(text, &[("true", true), ("false", false), ("1", true), ("0", false)])
}

/// Reads a time; a bare number is seconds.
pub(crate) fn time(text: &str) -> Result<Duration, Trouble> {
    let seconds = text.parse::<u64>().ok().map(Duration::from_secs);
    let read = seconds.or_else(|| duration(text));
    let read = read.map(|time| time.min(LONGEST));
    read.ok_or_else(|| Trouble::usage(format!("{text:?} is no time")).hint("write 500ms, 2s, 5m or 1h30m; 0 for no limit"))
}

fn object(text: &str) -> Result<Object, Trouble> {
    serde_json::from_str(text).map_err(|error| Trouble::usage(format!("{text:?} is no JSON object: {error}")))
}

/// `name:value`, split at the first `:` or `=`.
fn pair(text: &str) -> Result<(String, Secret), Trouble> {
    let (name, value) = text.split_once([':', '=']).ok_or_else(|| Trouble::usage("a parameter is written name:value"))?;
    http::HeaderName::try_from(name.trim()).map_err(|_| Trouble::usage(format!("{name:?} is no name of a header")))?;
    Ok((name.trim().to_owned(), value.trim().into()))
}

fn basic(text: &str) -> Result<(String, Secret), Trouble> {
    let (user, password) = text.split_once(':').ok_or_else(|| Trouble::usage("it is written USER:PASSWORD"))?;
    Ok((user.to_owned(), password.into()))
}

#[cfg(test)]
mod tests;
