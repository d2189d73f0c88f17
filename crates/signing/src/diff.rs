//! What changed between two cards, by meaning.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    Document, Form, canonical,
    schema::{CARD, Field, Kind},
};

/// One difference between two cards.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// Where, as people write it: `skills[summarize].outputModes`.
    pub path: String,
    /// What was there; `None` when it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What is there now; `None` when it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// A caller that worked with the old card may not work with the new one.
    pub breaking: bool,
}

/// What changed between two cards, by meaning: the order of lists does not count, nor do defaults that are written out. Cards of older
/// versions are to be converted first; only members of v1.0 are compared.
///
/// A change is breaking when a caller that followed the old card may fail: an interface, a skill, a mode, a scheme, an extension or a
/// capability is gone; a scheme is another one; an extension became required; or what satisfied the requirements no longer does.
///
/// `None` when a card has one member under both of its names, so that nobody can say what it means.
///
/// ```
/// use chancery_signing::{Document, diff};
/// let old = Document::parse(br#"{"name": "Echo", "capabilities": {"streaming": true}}"#)?;
/// let new = Document::parse(br#"{"name": "Echo", "capabilities": {"streaming": false, "pushNotifications": false}}"#)?;
/// let changes = diff(&old, &new).unwrap();
/// assert_eq!(changes.len(), 1);
/// assert_eq!(changes[0].to_string(), "Removed: capabilities.streaming true (breaking)");
/// # Ok::<(), chancery_signing::DocumentError>(())
/// ```
pub fn diff(before: &Document, after: &Document) -> Option<Vec<Change>> {
    let (before, after) = (Form::Spec.of(before)?.covered, Form::Spec.of(after)?.covered);
    let mut comparison = Comparison { before: &before, after: &after, changes: Vec::new() };
    comparison.message("", &before, &after, CARD);
    Some(comparison.changes)
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => write!(formatter, "Changed: {} {} -> {}", self.path, brief(before), brief(after))?,
            (Some(before), None) => write!(formatter, "Removed: {} {}", self.path, brief(before))?,
            (None, Some(after)) => write!(formatter, "Added: {} {}", self.path, brief(after))?,
            (None, None) => write!(formatter, "Changed: {}", self.path)?,
        }
        formatter.write_str(if self.breaking { " (breaking)" } else { "" })
    }
}

/// A value in a line for people.
fn brief(value: &Value) -> String {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(brief).collect::<Vec<_>>().join(", "),
        Value::Object(_) => match (text("protocolBinding"), text("protocolVersion"), text("url"), text("name")) {
            (Some(binding), Some(version), Some(url), _) => format!("{binding} {version} {url}"),
            (_, _, _, Some(name)) => name.to_owned(),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}

struct Comparison<'a> {
    before: &'a Map<String, Value>,
    after: &'a Map<String, Value>,
    changes: Vec<Change>,
}

impl Comparison<'_> {
    fn message(&mut self, path: &str, before: &Map<String, Value>, after: &Map<String, Value>, fields: &'static [Field]) {
        for field in fields {
            let path = if path.is_empty() { field.json.to_owned() } else { format!("{path}.{}", field.json) };
            let old = before.get(field.json).filter(|value| !is_default(value));
            let new = after.get(field.json).filter(|value| !is_default(value));
            match (field.json, field.kind) {
                ("inputModes" | "outputModes", _) => self.modes(&path, field.json, old, new),
                ("securityRequirements", _) => self.requirements(&path, old, new),
                (_, kind) => self.value(&path, old, new, kind),
            }
        }
    }

    fn value(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>, kind: Kind) {
        let nothing = Map::new();
        let object = |value: Option<&Value>| value.and_then(Value::as_object).cloned();
        match kind {
            // One of these is set; another one means another scheme.
            Kind::Message(fields) if !is_choice(path) || (before.is_some() && after.is_some()) => {
                let (before, after) = (object(before).unwrap_or_default(), object(after).unwrap_or_default());
                self.message(path, &before, &after, fields);
            }
            Kind::List(Kind::Message(fields)) => self.entries(path, before, after, fields),
            Kind::Map(kind) => {
                let (before, after) = (object(before).unwrap_or_default(), object(after).unwrap_or(nothing));
                for name in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
                    let (path, old, new) = (format!("{path}[{name}]"), before.get(name), after.get(name));
                    if old.is_some() && new.is_some() {
                        self.value(&path, old, new, *kind);
                    } else {
                        self.change(&path, old, new);
                    }
                }
            }
            Kind::List(_) => {
                if set(before) != set(after) {
                    self.change(path, before, after);
                }
            }
            Kind::Scalar | Kind::Free | Kind::Message(_) => {
                if spelling(before) != spelling(after) {
                    self.change(path, before, after);
                }
            }
        }
    }

    /// Entries of a list that are known by a name, wherever they stand.
    fn entries(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>, fields: &'static [Field]) {
        let (before, after) = (Entries::of(path, before), Entries::of(path, after));
        for (key, (index, old)) in &before.0 {
            match (after.0.get(key), old.as_object()) {
                (Some((_, new)), Some(old)) => {
                    if let Some(new) = new.as_object() {
                        self.message(&format!("{path}[{}]", label(path, key, *index)), old, new, fields);
                    }
                }
                _ => self.change(&format!("{path}[{}]", label(path, key, *index)), Some(old), None),
            }
        }
        for (key, (index, new)) in after.0.iter().filter(|(key, _)| !before.0.contains_key(*key)) {
            self.change(&format!("{path}[{}]", label(path, key, *index)), None, Some(new));
        }
    }

    /// A skill without modes has those of its card.
    fn modes(&mut self, path: &str, name: &str, before: Option<&Value>, after: Option<&Value>) {
        if set(before) == set(after) {
            return;
        }
        let default = if name == "inputModes" { "defaultInputModes" } else { "defaultOutputModes" };
        let effective = |own: Option<&Value>, card: &Map<String, Value>| set(own.or_else(|| card.get(default)));
        let breaking = !effective(before, self.before).is_subset(&effective(after, self.after));
        self.push(path, before, after, breaking);
    }

    /// Requirements are alternatives: whoever met one of the old must meet one of the new.
    fn requirements(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        let (old, new) = (alternatives(before), alternatives(after));
        if old.iter().collect::<BTreeSet<_>>() == new.iter().collect::<BTreeSet<_>>() {
            return;
        }
        let met = |given: &Requirement| {
            new.iter().any(|wanted| wanted.iter().all(|(scheme, scopes)| given.get(scheme).is_some_and(|have| scopes.is_subset(have))))
        };
        let nothing = Requirement::new();
        let breaking = !new.is_empty() && !if old.is_empty() { met(&nothing) } else { old.iter().all(met) };
        self.push(path, before, after, breaking);
    }

    fn change(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        self.push(path, before, after, is_breaking(path, before, after));
    }

    fn push(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>, breaking: bool) {
        self.changes.push(Change { path: path.to_owned(), before: before.cloned(), after: after.cloned(), breaking });
    }
}

/// What a caller must have for one alternative: schemes, and scopes of each.
type Requirement = BTreeMap<String, BTreeSet<String>>;

fn alternatives(value: Option<&Value>) -> Vec<Requirement> {
    let scopes = |value: &Value| -> BTreeSet<String> {
        let list = value.get("list").and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let schemes = |value: &Value| -> Requirement {
        let schemes = value.get("schemes").and_then(Value::as_object).into_iter().flatten();
        schemes.map(|(name, value)| (name.clone(), scopes(value))).collect()
    };
    value.and_then(Value::as_array).into_iter().flatten().map(schemes).collect()
}

/// The entries of a list by what they are known by, each with its place.
struct Entries<'a>(BTreeMap<String, (usize, &'a Value)>);

impl<'a> Entries<'a> {
    fn of(path: &str, value: Option<&'a Value>) -> Self {
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let key = |value: &Value| match path {
            "skills" => text(value, "id"),
            "supportedInterfaces" => spelling(Some(value)).unwrap_or_default(),
            _ => text(value, "uri"),
        };
        let mut entries = BTreeMap::new();
        for (index, value) in value.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let mut key = key(value);
            // Two of one name are told apart by their place.
            while entries.contains_key(&key) {
                key.push('+');
            }
            entries.insert(key, (index, value));
        }
        Self(entries)
    }
}

fn label(path: &str, key: &str, index: usize) -> String {
    if path == "supportedInterfaces" || key.is_empty() { index.to_string() } else { key.to_owned() }
}

fn is_breaking(path: &str, before: Option<&Value>, after: Option<&Value>) -> bool {
    let top = path.split(['.', '[']).next().unwrap_or_default();
    let removed = before.is_some() && after.is_none();
    match top {
        "supportedInterfaces" => removed,
        "defaultInputModes" | "defaultOutputModes" => !set(before).is_subset(&set(after)),
        "skills" => removed && path.ends_with(']'),
        "securitySchemes" => before.is_some() && !path.ends_with(".description") && !path.ends_with(".bearerFormat"),
        "capabilities" if path.ends_with(".required") => after.is_some(),
        "capabilities" if path.ends_with(".description") || path.contains("].params") => false,
        "capabilities" if path.ends_with(']') => removed || after.is_some_and(|extension| extension["required"] == true),
        "capabilities" => removed,
        _ => false,
    }
}

/// Whether a path ends in one of several members of which one is set.
fn is_choice(path: &str) -> bool {
    path.ends_with("SecurityScheme") || path.rsplit_once('.').is_some_and(|(parent, _)| parent.ends_with(".flows"))
}

/// Whether a value says the same as its absence. Inside of messages that is for the schema to say; this is about members.
fn is_default(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn set(value: Option<&Value>) -> BTreeSet<String> {
    value.and_then(Value::as_array).into_iter().flatten().map(|item| spelling(Some(item)).unwrap_or_default()).collect()
}

/// One spelling for values that are equal.
fn spelling(value: Option<&Value>) -> Option<String> {
    let members: Map<String, Value> = [("value".to_owned(), value?.clone())].into_iter().collect();
    String::from_utf8(canonical::rfc8785(&members)).ok()
}
