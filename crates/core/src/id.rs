//! Identifiers as types, so that a task id is never taken for a context id.

use std::{borrow::Borrow, fmt};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// An opaque string; the empty string stands for "missing" and is refused by validation.
        #[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Makes a fresh id: a UUIDv7, so that ids sort by the time they were made.
            #[must_use]
            pub fn generate() -> Self {
                Self(Uuid::now_v7().to_string())
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether the id is missing.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }

            /// The text itself.
            #[must_use]
            pub fn into_string(self) -> String {
                self.0
            }

            /// The id, or `None` when it is missing.
            #[must_use]
            pub fn present(self) -> Option<Self> {
                (!self.is_empty()).then_some(self)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
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
    use super::*;

    #[test]
    fn generated_ids_need_no_escaping_in_a_path_and_sort_by_time() {
        let ids: Vec<_> = (0..100).map(|_| TaskId::generate()).collect();
        assert!(ids.is_sorted());
        assert!(ids.iter().all(|id| id.as_str().bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')));
    }
}
