//! The layers: flag, variable, local file, global files, built-in. Every value knows where it is from.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{
    dotenv::{self, File},
    table::{Spec, TABLE, variable},
};
use crate::{files, reference, trouble::Trouble};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Flag,
    Environment(String),
    Local(PathBuf),
    Global(PathBuf),
    /// Something else was said, and the flag of this name goes before it.
    Overruled(&'static str),
    Default,
}

/// A value as it was written, several for an option that repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) values: Vec<String>,
    pub(crate) source: Source,
}

/// The surroundings of the process, as far as settings go.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) folder: PathBuf,
    pub(crate) home: Option<PathBuf>,
    /// Where our settings live.
    pub(crate) settings: Option<PathBuf>,
    /// Where our caches live.
    pub(crate) cache: Option<PathBuf>,
    /// Where we keep what is neither a setting nor a cache.
    pub(crate) state: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        let variables: BTreeMap<_, _> =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect();
        let path = |name: &str| variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = path("HOME").or_else(|| path("USERPROFILE"));
        let below = |folder: &str| home.as_ref().map(|home| home.join(folder));
        let settings = if cfg!(windows) { path("APPDATA") } else { path("XDG_CONFIG_HOME").or_else(|| below(".config")) };
        let cache = if cfg!(windows) { path("LOCALAPPDATA") } else { path("XDG_CACHE_HOME").or_else(|| below(".cache")) };
        let state = if cfg!(windows) { path("LOCALAPPDATA") } else { path("XDG_STATE_HOME").or_else(|| below(".local/state")) };
        let own = |folder: PathBuf| folder.join("a2a-cli");
        let (settings, cache, state) = (settings.map(own), cache.map(own), state.map(own));
        Self { folder: std::env::current_dir().unwrap_or_default(), settings, cache, state, home, variables }
    }

    /// A path as people write it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        if let Some(below) = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            return format!("~/{}", below.display());
        }
        match path.strip_prefix(&self.folder) {
            Ok(below) => format!("./{}", below.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// All layers on top of each other.
#[derive(Debug, Clone)]
pub(crate) struct Layers {
    flags: BTreeMap<&'static str, Vec<String>>,
    pub(crate) around: Surroundings,
    local: Option<File>,
    /// The nearest `.env` was found, not named.
    found: bool,
    /// Of the agent, and of all agents.
    global: Vec<File>,
}

impl Layers {
    /// Reads what there is besides the flags.
    pub(crate) fn new(flags: BTreeMap<&'static str, Vec<String>>, around: Surroundings) -> Result<Self, Trouble> {
        let mut layers = Self { flags, around, local: None, found: false, global: Vec::new() };
        layers.read_local()?;
        let Some(folder) = layers.around.settings.clone() else { return Ok(layers) };
        layers.global.push(read(folder.join(".env"))?);
        let reference = layers.raw("agent-card").or_else(|| layers.raw("endpoint"));
        if let Some(host) = reference.and_then(|raw| raw.values.last().and_then(|text| reference::host(text))) {
            let name = format!("{}.env", host.replace(':', "_"));
            layers.global.insert(0, read(folder.join("agents").join(name))?);
        }
        Ok(layers)
    }

    /// The layers with another flag, whose files may be others.
    pub(crate) fn with_flag(&self, name: &'static str, value: &str) -> Result<Self, Trouble> {
        let mut flags = self.flags.clone();
        flags.insert(name, vec![value.to_owned()]);
        Self::new(flags, self.around.clone())
    }

    fn read_local(&mut self) -> Result<(), Trouble> {
        let given = |layers: &Self, name: &str| {
            let flag = layers.flags.get(name).and_then(|values| values.last().cloned());
            flag.or_else(|| layers.around.variables.get(&variable(name)).filter(|value| !value.is_empty()).cloned())
        };
        let named = match (given(self, "config"), given(self, "profile")) {
            (Some(_), Some(_)) => return Err(Trouble::usage("--config and --profile name two files, and one is read")),
            (Some(file), None) => Some(reference::expanded(&file, self.around.home.as_deref())),
            (None, Some(name)) => Some(self.profile(&name)?),
            (None, None) => None,
        };
        let Some(path) = named else {
            let nearest = dotenv::nearest(&self.around.folder, self.around.home.as_deref());
            self.local = nearest.map(read).transpose()?;
            self.found = self.local.is_some();
            return Ok(());
        };
        let file = read(path)?;
        if !file.read {
            return Err(Trouble::usage(format!("there is no settings file {}", self.around.shown(&file.path))));
        }
        self.local = Some(file);
        Ok(())
    }

    fn profile(&self, name: &str) -> Result<PathBuf, Trouble> {
        if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
            return Err(Trouble::usage(format!("{name:?} is no name of a profile")));
        }
        let folder = self.around.settings.as_ref().ok_or_else(|| Trouble::usage("--profile needs HOME or XDG_CONFIG_HOME"))?;
        let folder = folder.join("profiles");
        let path = folder.join(format!("{name}.env"));
        if path.is_file() {
            return Ok(path);
        }
        let trouble = Trouble::usage(format!("there is no profile {name}"));
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let known: Vec<_> = entries.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".env")?.to_owned())).collect();
        Err(match chancery_config::nearest(name, known.iter().map(String::as_str)) {
            Some(near) => trouble.hint(format!("did you mean {near}?")),
            None => trouble.hint(format!("make {}", self.around.shown(&path))),
        })
    }

    /// The value of an option from its highest layer; `None` when only the built-in one is left.
    pub(crate) fn raw(&self, name: &'static str) -> Option<Raw> {
        if let Some(values) = self.flags.get(name) {
            return Some(Raw { values: values.clone(), source: Source::Flag });
        }
        let spec = super::table::spec(name)?;
        if spec.flag_only {
            return None;
        }
        self.below(spec)
    }

    fn below(&self, spec: &Spec) -> Option<Raw> {
        let variable = spec.variable();
        let split = |text: &str| split(spec, text);
        if let Some(text) = self.around.variables.get(&variable).filter(|text| !text.is_empty()) {
            return Some(Raw { values: split(text), source: Source::Environment(variable) });
        }
        let in_file = |file: &File| file.value(&variable).filter(|text| !text.is_empty()).map(split);
        // A project that one happens to stand in must not switch off what keeps one safe.
        let local = self.local.as_ref().filter(|_| !(self.found && spec.name == "insecure"));
        if let Some((file, values)) = local.and_then(|file| Some((file, in_file(file)?))) {
            return Some(Raw { values, source: Source::Local(file.path.clone()) });
        }
        let global = self.global.iter().find_map(|file| Some((file, in_file(file)?)));
        global.map(|(file, values)| Raw { values, source: Source::Global(file.path.clone()) })
    }

    /// A variable that belongs to a command, such as a secret that has no flag.
    pub(crate) fn variable(&self, variable: &str) -> Option<String> {
        let environment = self.around.variables.get(variable).map(String::as_str);
        let files = self.local.iter().chain(&self.global).filter_map(|file| file.value(variable));
        environment.into_iter().chain(files).find(|text| !text.is_empty()).map(str::to_owned)
    }

    /// The files that were looked for.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.local.iter().chain(&self.global)
    }

    /// What the user should know about where settings come from.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for file in self.files().filter(|file| file.is_readable_by_others()) {
            let secrets = TABLE.iter().filter(|spec| spec.secret && file.value(&spec.variable()).is_some());
            if let Some(spec) = secrets.into_iter().next() {
                let path = self.around.shown(&file.path);
                warnings.push(format!("{path} holds a credential ({}) and others can read it; chmod 600 {path}", spec.variable()));
            }
        }
        warnings
    }

    /// The reference of the agent, if a file that happened to be near named it.
    pub(crate) fn agent_of_local_file(&self) -> Option<(String, String)> {
        let raw = self.raw("agent-card").filter(|_| self.found)?;
        match raw.source {
            Source::Local(path) => Some((raw.values.last()?.clone(), self.around.shown(&path))),
            _ => None,
        }
    }
}

fn read(path: PathBuf) -> Result<File, Trouble> {
    let named = path.clone();
    File::read(path)
        .map_err(|error| Trouble::usage(format!("the settings: {}", files::unreadable(&named, &error))).hint(files::hint(&named, &error)))
}

/// The values in a text: of options that repeat, several.
fn split(spec: &Spec, text: &str) -> Vec<String> {
    let separator = match spec.name {
        "svc-param" => '\n',
        // JSON has commas of its own.
        "metadata" => return vec![text.to_owned()],
        _ => ',',
    };
    match spec.repeats {
        true => text.split(separator).map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned).collect(),
        false => vec![text.to_owned()],
    }
}
