//! Which version does a request speak: by path, method name and header; the body only where the
//! path leaves it open.

use chancery_core::{Error, ErrorKind, Operation, Result, Version};

use crate::methods::{self, Named};

/// What a request's `A2A-Version` says, patch number ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedVersion<'a> {
    /// Nothing, or the empty string: by the rules of v1.0 that means 0.3.
    Nothing,
    /// A version that Chancery speaks.
    For(Version),
    /// A version it does not speak, or no version at all.
    Other(&'a str),
}

impl<'a> RequestedVersion<'a> {
    /// Reads the header, or the query parameter of the same name; the header wins.
    #[must_use]
    pub fn parse(header: Option<&'a str>) -> Self {
        let Some(text) = header.map(str::trim).filter(|text| !text.is_empty()) else { return Self::Nothing };
        if text == "1.0" {
            return Self::For(Version::V1_0);
        }
        let mut numbers = text.split('.');
        let parts = (numbers.next(), numbers.next(), numbers.next(), numbers.next());
        let (Some(major), Some(minor), patch, None) = parts else { return Self::Other(text) };
        if patch.is_some_and(|patch| patch.is_empty() || !patch.bytes().all(|byte| byte.is_ascii_digit())) {
            return Self::Other(text);
        }
        match (major, minor) {
            ("1", "0") => Self::For(Version::V1_0),
            ("0", "3") => Self::For(Version::V0_3),
            ("0", "2") => Self::For(Version::V0_2),
            ("0", "1") => Self::For(Version::V0_1),
            _ => Self::Other(text),
        }
    }

    /// How the request would have to be changed to be understood.
    pub(crate) fn refusal(self, supported: &str) -> Error {
        let requested = match self {
            Self::Nothing => "0.3",
            Self::For(version) => version.as_str(),
            Self::Other(text) => text,
        };
        Error::new(ErrorKind::VersionNotSupported, format!("A2A version {requested} is not supported here; supported: {supported}"))
            .with("requestedVersion", requested)
            .with("supportedVersions", supported)
    }
}

/// The version of a JSON-RPC call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoken {
    /// This one.
    Version(Version),
    /// The one that created the task: v0.1 if it came through `tasks/send`, else v0.3.
    OfTask,
}

impl Spoken {
    /// Decides by the version that created the task; an unknown task is not found in any version.
    #[must_use]
    pub fn resolve(self, created_by: Option<Version>) -> Version {
        match self {
            Self::Version(version) => version,
            Self::OfTask if created_by == Some(Version::V0_1) => Version::V0_1,
            Self::OfTask => Version::V0_3,
        }
    }
}

/// Which version and operation a JSON-RPC method name and the version header mean.
///
/// # Errors
/// [`ErrorKind::MethodNotFound`], or [`ErrorKind::VersionNotSupported`] or
/// [`ErrorKind::InvalidRequest`] when the header contradicts the name.
pub fn of_rpc(method: &str, header: Option<&str>) -> Result<(Spoken, Operation)> {
    let (named, operation) = methods::rpc_method(method).ok_or_else(|| Error::from(ErrorKind::MethodNotFound))?;
    let asked = RequestedVersion::parse(header);
    let spoken = match (named, asked) {
        (Named::In(Version::V1_0), RequestedVersion::For(Version::V1_0)) => Spoken::Version(Version::V1_0),
        (Named::In(Version::V1_0), _) => return Err(asked.refusal("1.0")),
        (Named::In(Version::Compact), RequestedVersion::Nothing | RequestedVersion::For(Version::V1_0)) => {
            Spoken::Version(Version::Compact)
        }
        (Named::In(Version::Compact), _) => return Err(asked.refusal("1.0")),
        (_, RequestedVersion::For(Version::V1_0)) => {
            return Err(Error::new(ErrorKind::InvalidRequest, format!("{method} is not a method of A2A 1.0; see A2A-Version")));
        }
        (_, RequestedVersion::Other(_)) => return Err(asked.refusal("0.1, 0.2, 0.3")),
        (Named::In(Version::V0_3), RequestedVersion::For(Version::V0_2)) => Spoken::Version(Version::V0_2),
        (Named::In(version), _) => Spoken::Version(version),
        (Named::InOlder, RequestedVersion::Nothing) => Spoken::OfTask,
        (Named::InOlder, RequestedVersion::For(version)) => Spoken::Version(version),
    };
    Ok((spoken, operation))
}

/// The version in whose terms a JSON-RPC error is told: that of the method name, whatever the
/// header says, and v1.0 or v0.3 by the header for a name that nobody knows.
#[must_use]
pub fn of_rpc_error(method: Option<&str>, header: Option<&str>) -> Version {
    match method.and_then(methods::rpc_method) {
        Some((Named::In(version), _)) => version,
        Some((Named::InOlder, _)) => Version::V0_3,
        None => match RequestedVersion::parse(header) {
            RequestedVersion::For(version) => version,
            _ => Version::V0_3,
        },
    }
}

/// The form of a card that a path asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CardForm {
    /// One document for readers of v1.0, v0.3, v0.2 and v0.1.
    Merged,
    /// v0.2, with what v0.1 needs beside it.
    AgentJson,
    /// The compact dialect's own card.
    Compact,
}

/// Which card is served at a path below the agent's base; `None` when the path is no card's. The
/// version header plays no part.
#[must_use]
pub fn card_form(path: &str) -> Option<CardForm> {
    match path {
        "/.well-known/agent-card.json" => Some(CardForm::Merged),
        "/.well-known/agent.json" => Some(CardForm::AgentJson),
        "/compact/.well-known/agent-card.json" => Some(CardForm::Compact),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V10-VER-003, V10-VER-004, V10-VER-005, V10-VER-008.
    #[test]
    fn a_version_is_major_and_minor_and_the_patch_is_ignored() {
        for (header, asked) in [
            (None, RequestedVersion::Nothing),
            (Some(""), RequestedVersion::Nothing),
            (Some("1.0"), RequestedVersion::For(Version::V1_0)),
            (Some("1.0.1"), RequestedVersion::For(Version::V1_0)),
            (Some(" 0.3.0 "), RequestedVersion::For(Version::V0_3)),
            (Some("1.1"), RequestedVersion::Other("1.1")),
            (Some("1"), RequestedVersion::Other("1")),
            (Some("1.0."), RequestedVersion::Other("1.0.")),
            (Some("1.0.0.0"), RequestedVersion::Other("1.0.0.0")),
            (Some("latest"), RequestedVersion::Other("latest")),
        ] {
            assert_eq!(RequestedVersion::parse(header), asked, "{header:?}");
        }
    }

    /// V10-VER-007: the refusal says what would be understood.
    #[test]
    fn a_refusal_names_what_is_supported() {
        let error = of_rpc("SendMessage", None).unwrap_err();
        assert_eq!(error.message(), "A2A version 0.3 is not supported here; supported: 1.0");
        assert_eq!(error.metadata()["supportedVersions"], "1.0");
    }
}
