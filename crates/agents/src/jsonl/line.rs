//! The line format `a2a-jsonl/1` (JSON Lines), parsed and written.

use chancery_core::{Message, Object, Part, Role};
use serde::Deserialize;
use serde_json::Value;

use super::passing::{Delegate, HandOver};

/// The name of the protocol.
pub(crate) const PROTOCOL: &str = "a2a-jsonl/1";
/// The longest line.
pub(crate) const LONGEST: usize = 1 << 20;

/// A line from a process.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line {
    /// The task it speaks of; may be left out by a process that has only one.
    pub(crate) task_id: Option<String>,
    #[serde(flatten)]
    pub(crate) said: Said,
}

/// What a process says.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Said {
    Ready {
        #[serde(default)]
        skills: Vec<Value>,
    },
    Status {
        state: State,
        #[serde(flatten)]
        words: Words,
        #[serde(default)]
        metadata: Object,
    },
    Artifact {
        #[serde(rename = "artifactId", default)]
        id: Option<String>,
        #[serde(default)]
        name: Option<String>,
        #[serde(flatten)]
        words: Words,
        #[serde(default)]
        append: bool,
        #[serde(default)]
        last: bool,
    },
    Reply {
        #[serde(flatten)]
        words: Words,
    },
    Delegate(Delegate),
    Handoff(Box<HandOver>),
    Log {
        #[serde(default)]
        level: String,
        #[serde(default)]
        text: String,
    },
    /// A type of a later version of the protocol.
    #[serde(other)]
    Unknown,
}

/// A state as processes write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    Working,
    InputRequired,
    AuthRequired,
    Completed,
    Failed,
    Rejected,
    Canceled,
}

/// Content: a text, or parts.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Words {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    parts: Option<Vec<Part>>,
}

impl Words {
    /// The parts; the text comes first when both are given.
    pub(crate) fn parts(self) -> Vec<Part> {
        self.text.map(Part::text).into_iter().chain(self.parts.unwrap_or_default()).collect()
    }

    /// A message of the agent, or these words if there are none.
    pub(crate) fn message(self, otherwise: &str, metadata: Object) -> Message {
        let mut message = Message::new(Role::Agent, self.parts());
        if message.parts.is_empty() {
            message.parts.push(Part::text(otherwise));
        }
        message.metadata = metadata;
        message
    }

    /// Whether nothing is said.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_none() && self.parts.as_ref().is_none_or(Vec::is_empty)
    }
}

impl State {
    /// Whether the task is over.
    pub(crate) fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Rejected | Self::Canceled)
    }
}

/// Reads one line.
pub(crate) fn read(line: &[u8]) -> Result<Line, serde_json::Error> {
    serde_json::from_slice(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_protocol_is_read() {
        for line in [
            r#"{"type":"ready"}"#,
            r#"{"type":"ready","skills":[{"id":"x"}]}"#,
            r#"{"type":"status","state":"working","text":"thinking"}"#,
            r#"{"type":"status","taskId":"t","state":"input-required","parts":[{"text":"a"},{"data":{"b":1}}],"metadata":{"k":1}}"#,
            r#"{"type":"status","state":"auth-required"}"#,
            r#"{"type":"artifact","artifactId":"a","text":"Hel","append":false}"#,
            r#"{"type":"artifact","parts":[{"raw":"AAEC","filename":"x.bin"}],"last":true}"#,
            r#"{"type":"reply","text":"hi"}"#,
            r#"{"type":"delegate","call":"c1","agent":"other","text":"x"}"#,
            r#"{"type":"delegate","taskId":"t","call":2,"agent":"https://b.example","parts":[{"data":{}}],"skill":"count"}"#,
            r#"{"type":"handoff","agent":"other","reason":"y"}"#,
            r#"{"type":"handoff","agent":"o","requires":["x"],"state":{"k":1},"outputKeys":{"n":[]},"text":"t"}"#,
            r#"{"type":"log","level":"warn","text":"z"}"#,
        ] {
            let read = read(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert!(!matches!(read.said, Said::Unknown), "{line}");
        }
        assert!(matches!(read(br#"{"type":"sing","tune":"la"}"#).unwrap().said, Said::Unknown));
        for line in ["hello", r#"{"text":"no type"}"#, r#"{"type":"status","state":"sleeping"}"#, "[]", ""] {
            assert!(read(line.as_bytes()).is_err(), "{line}");
        }
    }
}
