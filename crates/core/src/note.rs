//! What whoever runs a task notes about it for itself, beside what everybody sees.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Notes about a task, by name: written together with an event, kept as long as the task, and never part of any
/// of its forms on the wire. Most tasks have none, which costs nothing.
///
/// ```
/// use chancery_core::{Notes, Remarks};
///
/// let mut notes = Notes::default();
/// notes.apply(&Remarks::default().put("calls/1", &"open"));
/// assert_eq!(notes.read::<String>("calls/1").as_deref(), Some("open"));
/// notes.apply(&Remarks::default().remove("calls/1"));
/// assert!(notes.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Notes(Option<Box<BTreeMap<String, Value>>>);

impl Notes {
    /// Whether nothing is noted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The note of this name; `None` when there is none that reads as such a value.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        T::deserialize(self.0.as_ref()?.get(name)?).ok()
    }

    /// The notes whose names begin so, with the rest of their names.
    pub fn under<'a, T: DeserializeOwned>(&'a self, begin: &'a str) -> impl Iterator<Item = (&'a str, T)> {
        let all = self.0.iter().flat_map(|notes| notes.iter());
        all.filter_map(move |(name, note)| Some((name.strip_prefix(begin)?, T::deserialize(note).ok()?)))
    }

    /// Takes up what was newly noted.
    pub fn apply(&mut self, remarks: &Remarks) {
        for (name, note) in &remarks.0 {
            match note {
                Value::Null => {
                    self.0.as_mut().map(|notes| notes.remove(name));
                }
                note => {
                    self.0.get_or_insert_default().insert(name.clone(), note.clone());
                }
            }
        }
        if self.0.as_ref().is_some_and(|notes| notes.is_empty()) {
            self.0 = None;
        }
    }
}

/// Changes of [`Notes`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Remarks(BTreeMap<String, Value>);

impl Remarks {
    /// Writes a note, in the place of one with the same name.
    #[must_use]
    pub fn put(mut self, name: impl Into<String>, note: &impl Serialize) -> Self {
        // What is noted is made of strings, numbers and lists, which can always be written.
        self.0.insert(name.into(), serde_json::to_value(note).unwrap_or_default());
        self
    }

    /// Removes a note.
    #[must_use]
    pub fn remove(mut self, name: impl Into<String>) -> Self {
        self.0.insert(name.into(), Value::Null);
        self
    }

    /// Adds other changes, which come later.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}
