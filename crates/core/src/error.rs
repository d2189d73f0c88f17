//! What can go wrong, in the protocol's own words.

use std::{collections::BTreeMap, error::Error as StdError, fmt};

/// The result of anything that can fail with a protocol error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error, as a cause.
pub type BoxError = Box<dyn StdError + Send + Sync>;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $reason:literal, $message:literal;)+) => {
        /// What kind of thing went wrong: the protocol's errors and the standard ones.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* $kind,)+
        }

        impl ErrorKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)+];

            /// The machine-readable reason of `google.rpc.ErrorInfo`.
            #[must_use]
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$kind => $reason,)+ }
            }

            /// The kind with this reason.
            #[must_use]
            pub fn from_reason(reason: &str) -> Option<Self> {
                match reason { $($reason => Some(Self::$kind),)+ _ => None }
            }

            /// What to say when there is nothing better to say.
            #[must_use]
            pub const fn default_message(self) -> &'static str {
                match self { $(Self::$kind => $message,)+ }
            }
        }
    };
}

kinds! {
    /// The task or push config is unknown, purged, or not visible to the caller.
    TaskNotFound = "TASK_NOT_FOUND", "Task not found";
    /// The task is finished already.
    TaskNotCancelable = "TASK_NOT_CANCELABLE", "Task cannot be canceled";
    /// The agent offers no webhooks.
    PushNotificationNotSupported = "PUSH_NOTIFICATION_NOT_SUPPORTED", "Push Notification is not supported";
    /// The agent does not offer this, or not in this state of the task.
    UnsupportedOperation = "UNSUPPORTED_OPERATION", "This operation is not supported";
    /// The agent does not take or give this media type.
    ContentTypeNotSupported = "CONTENT_TYPE_NOT_SUPPORTED", "Incompatible content types";
    /// The agent produced something that breaks the protocol.
    InvalidAgentResponse = "INVALID_AGENT_RESPONSE", "Invalid agent response";
    /// An extended card is declared, but none is configured.
    ExtendedAgentCardNotConfigured = "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "Extended agent card is not configured";
    /// The agent demands an extension that the client did not activate.
    ExtensionSupportRequired = "EXTENSION_SUPPORT_REQUIRED", "A required extension was not activated";
    /// The requested protocol version is not spoken here.
    VersionNotSupported = "VERSION_NOT_SUPPORTED", "This protocol version is not supported";
    /// The body is not JSON.
    Parse = "PARSE_ERROR", "Invalid JSON payload";
    /// The body is JSON, but not a request.
    InvalidRequest = "INVALID_REQUEST", "Request payload validation error";
    /// There is no such method or path.
    MethodNotFound = "METHOD_NOT_FOUND", "Method not found";
    /// A parameter is missing or wrong.
    InvalidParams = "INVALID_PARAMS", "Invalid parameters";
    /// Our fault.
    Internal = "INTERNAL_ERROR", "Internal error";
    /// Credentials are missing or bad.
    Unauthenticated = "UNAUTHENTICATED", "Authentication required";
    /// The caller may not do this.
    PermissionDenied = "UNAUTHORIZED", "Permission denied";
    /// The caller, or everyone, asked for too much.
    RateLimited = "RATE_LIMITED", "Too many requests";
    /// Try again later.
    Unavailable = "UNAVAILABLE", "Temporarily unavailable";
    /// It took too long.
    Timeout = "TIMEOUT", "Deadline exceeded";
}

/// One parameter that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldViolation {
    /// The parameter, as a dotted path: `message.parts`.
    pub field: String,
    /// What is wrong with it, and what would be right.
    pub description: String,
}

impl FieldViolation {
    /// A violation of one parameter.
    pub fn new(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self { field: field.into(), description: description.into() }
    }
}

/// An error of the protocol: a kind, words for the peer, and a cause for us.
///
/// The message, the metadata and the violations are written to the peer. The source never is.
///
/// ```
/// use chancery_core::{Error, ErrorKind};
/// let error = Error::task_not_found("t-1");
/// assert_eq!(error.kind(), ErrorKind::TaskNotFound);
/// assert_eq!(error.metadata().get("taskId").map(String::as_str), Some("t-1"));
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    metadata: BTreeMap<String, String>,
    violations: Vec<FieldViolation>,
    source: Option<BoxError>,
}

impl Error {
    /// The domain of every `ErrorInfo`.
    pub const DOMAIN: &'static str = "a2a-protocol.org";

    /// An error with its own words for the peer.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), metadata: BTreeMap::new(), violations: Vec::new(), source: None }))
    }

    /// Task not found: also the answer for a task of somebody else.
    #[cold]
    pub fn task_not_found(id: impl AsRef<str>) -> Self {
        Self::from(ErrorKind::TaskNotFound).with("taskId", id.as_ref())
    }

    /// A task has no push config of this id. The protocol has no kind of its own for it (V10-PUSH-005).
    #[cold]
    pub fn push_config_not_found(task: impl AsRef<str>, id: impl AsRef<str>) -> Self {
        let error = Self::new(ErrorKind::TaskNotFound, "Push notification config not found: the task has none of this id");
        error.with("taskId", task.as_ref()).with("pushNotificationConfigId", id.as_ref())
    }

    /// One parameter is wrong.
    #[cold]
    pub fn invalid_param(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self::from(ErrorKind::InvalidParams).violation(field, description)
    }

    /// Our fault: the peer is told nothing but that.
    #[cold]
    pub fn internal(source: impl Into<BoxError>) -> Self {
        Self::from(ErrorKind::Internal).caused_by(source)
    }

    /// Adds a fact for machines.
    #[must_use]
    #[cold]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.metadata.insert(key.into(), value.into());
        self
    }

    /// Adds a parameter that is wrong.
    #[must_use]
    #[cold]
    pub fn violation(mut self, field: impl Into<String>, description: impl Into<String>) -> Self {
        self.0.violations.push(FieldViolation::new(field, description));
        self
    }

    /// Adds parameters that are wrong.
    #[must_use]
    #[cold]
    pub fn violations_from(mut self, violations: impl IntoIterator<Item = FieldViolation>) -> Self {
        self.0.violations.extend(violations);
        self
    }

    /// Adds the cause, for our logs only.
    #[must_use]
    #[cold]
    pub fn caused_by(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What kind of error this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The words for the peer.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Facts for machines.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.0.metadata
    }

    /// The parameters that are wrong.
    #[must_use]
    pub fn violations(&self) -> &[FieldViolation] {
        &self.0.violations
    }
}

impl Error {
    /// The words, what machines are told, and the causes on lines of their own.
    fn write_chain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        // Our own faults have no name that says more than the words.
        if self.0.kind != ErrorKind::Internal {
            write!(f, " ({}", self.0.kind.reason())?;
            for (key, value) in &self.0.metadata {
                write!(f, ", {key}: {value}")?;
            }
            f.write_str(")")?;
        }
        let mut lead = "\n\nCaused by:";
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, "{lead}\n    {error}")?;
            (lead, cause) = ("", error.source());
        }
        Ok(())
    }
}

impl From<ErrorKind> for Error {
    #[cold]
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind, kind.default_message())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        for (at, violation) in self.0.violations.iter().enumerate() {
            let lead = if at == 0 { ": " } else { "; " };
            write!(f, "{lead}{} {}", violation.field, violation.description)?;
        }
        Ok(())
    }
}

// `fn main() -> chancery::Result<()>` ends with `Error: {error:?}` on stderr, and `unwrap` panics with the same: both are read by people, who
// want the words and the causes. `{error:#?}` shows the members.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return self.write_chain(f);
        }
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("metadata", &self.0.metadata)
            .field("violations", &self.0.violations)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_names_one_kind() {
        for kind in ErrorKind::ALL {
            assert_eq!(ErrorKind::from_reason(kind.reason()), Some(*kind));
        }
    }

    #[test]
    fn a_program_that_ends_with_an_error_says_what_and_why() {
        let cause = Error::internal("Address already in use");
        let error = Error::new(ErrorKind::Internal, "cannot listen on 127.0.0.1:1: the port is taken").caused_by(cause);
        let said = "cannot listen on 127.0.0.1:1: the port is taken\n\nCaused by:\n    Internal error\n    Address already in use";
        assert_eq!(format!("{error:?}"), said);
        assert_eq!(format!("{:?}", Error::task_not_found("t-1")), "Task not found (TASK_NOT_FOUND, taskId: t-1)");
        assert!(format!("{:#?}", Error::task_not_found("t-1")).contains("kind: TaskNotFound"));
    }

    #[test]
    fn the_cause_of_an_internal_error_stays_with_us() {
        let error = Error::internal("table tasks is locked");
        assert_eq!(error.to_string(), "Internal error");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("table tasks is locked"));
    }
}
