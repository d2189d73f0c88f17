//! Identifiers as types, so that a task id is never taken for a context id.

use std::{
    borrow::Borrow,
    cell::Cell,
    fmt,
    hash::{BuildHasher, Hash, Hasher, RandomState},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::{NoContext, Uuid};

/// The text of an id. An id is copied into every event and message of its task, so copies share it.
/// `None` is the empty text, and the only way to write it.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Text(Option<Arc<str>>);

impl Text {
    fn new(text: impl AsRef<str> + Into<Arc<str>>) -> Self {
        Self((!text.as_ref().is_empty()).then(|| text.into()))
    }

    fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// A UUIDv7 that is greater than all that this thread made before.
    ///
    /// Its random bits are a keyed hash of the rest of it, with a key that the system drew for this thread: who does not have the
    /// key cannot foretell them, and nobody has to ask the system, or to wait for another thread, for each id.
    fn fresh() -> Self {
        thread_local! {
            static KEY: RandomState = RandomState::new();
            static NEWEST: Cell<u64> = const { Cell::new(0) };
        }
        let (seconds, nanos) = uuid::Timestamp::now(NoContext).to_unix();
        let now = (seconds * 1_000 + u64::from(nanos) / 1_000_000) << 12;
        // Milliseconds, and twelve bits that count within them; a full count borrows from the next millisecond.
        let stamp = now.max(NEWEST.get() + 1);
        NEWEST.set(stamp);
        let random = u128::from(KEY.with(|key| key.hash_one(stamp))) >> 2;
        let (millis, count) = (u128::from(stamp >> 12), u128::from(stamp & 0xfff));
        let number = (millis << 80) | (0x7 << 76) | (count << 64) | (0b10 << 62) | random;
        Self::new(&*Uuid::from_u128(number).hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl de::Visitor<'_> for Read {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text::new(text))
            }
        }
        deserializer.deserialize_str(Read)
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// An opaque string; the empty string stands for "missing" and is refused by validation.
        /// Copies share one text.
        #[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Text);

        impl $name {
            /// Makes a fresh id: a UUIDv7, so that ids sort by the time they were made.
            #[must_use]
            pub fn generate() -> Self {
                Self(Text::fresh())
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }

            /// Whether the id is missing.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.0.0.is_none()
            }

            /// The text itself.
            #[must_use]
            pub fn into_string(self) -> String {
                self.as_str().to_owned()
            }

            /// The id, or `None` when it is missing.
            #[must_use]
            pub fn present(self) -> Option<Self> {
                (!self.is_empty()).then_some(self)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Text::new(text))
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Text::new(text))
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.as_str()).finish()
            }
        }

        // As the text hashes: a map of ids is searched with texts.
        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_str().hash(state);
            }
        }
    };
}

id!(
    /// Names one task on its server.
    TaskId
);
id!(
    /// Names one conversation: a group of tasks and messages.
    ContextId
);
id!(
    /// Names one message; made by its sender.
    MessageId
);
id!(
    /// Names one artifact within its task.
    ArtifactId
);
id!(
    /// Names one push notification config within its task.
    PushConfigId
);

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn generated_ids_need_no_escaping_in_a_path_and_sort_by_time() {
        let ids: Vec<_> = (0..100).map(|_| TaskId::generate()).collect();
        assert!(ids.is_sorted());
        assert!(ids.iter().all(|id| uuid::Uuid::parse_str(id.as_str()).is_ok_and(|id| id.get_version_num() == 7)));
        assert!(ids.iter().all(|id| id.as_str().bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')));
    }

    #[test]
    fn ids_of_many_threads_differ_by_chance_and_those_of_one_by_their_time() {
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| (0..1_000).map(|_| TaskId::generate()).collect::<Vec<_>>())).collect();
        let threads: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let time = |id: &TaskId| id.as_str()[..18].to_owned();
        assert!(threads.iter().all(|ids| ids.is_sorted_by(|one, next| time(one) < time(next))));
        let chance: HashSet<_> = threads.iter().flatten().map(|id| id.as_str()[19..].to_owned()).collect();
        assert_eq!(chance.len(), 4_000);
    }

    #[test]
    fn an_id_is_found_by_its_text_and_an_empty_one_is_missing() {
        let known = HashSet::from([TaskId::from("t-1"), TaskId::from(String::new())]);
        assert!(known.contains("t-1") && known.contains("") && !known.contains("t-2"));
        assert_eq!(TaskId::from("").present(), None);
        assert_eq!(TaskId::from(""), TaskId::default());
        let read: TaskId = serde_json::from_str("\"\"").unwrap();
        assert!(read.is_empty() && serde_json::to_string(&read).unwrap() == "\"\"");
    }
}
