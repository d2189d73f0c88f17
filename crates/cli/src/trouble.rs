//! What went wrong, as the command line tells it: a code, a sentence, the next command, an exit code.

use std::{borrow::Cow, fmt};

use chancery_core::{ErrorKind, Version};
use serde_json::{Value, json};

/// The exit code of a usage error.
pub(crate) const USAGE: u8 = 2;
/// The exit code when the agent or its card cannot be reached.
pub(crate) const UNREACHABLE: u8 = 3;
/// The exit code when credentials are missing or refused.
pub(crate) const UNAUTHORIZED: u8 = 4;
/// The exit code when `--timeout` is over.
pub(crate) const TOO_LATE: u8 = 5;

/// The one error of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// `A2ACLI_ERR_…`, `A2AX_ERR_…`, or the protocol's name of the error.
    pub(crate) code: Cow<'static, str>,
    /// One sentence that names the cause.
    pub(crate) message: String,
    /// What to type next.
    pub(crate) hint: Option<String>,
    /// The JSON-RPC number of the error, or the HTTP status of a local failure.
    pub(crate) a2a_code: Option<i64>,
    /// What the process ends with.
    pub(crate) exit: u8,
    /// Whether there is anything to say about it.
    pub(crate) told: Told,
    /// Everything that is wrong, where that is more than a message holds: a line each on stderr.
    pub(crate) findings: Box<[String]>,
}

/// How much is said about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// The four fields, or the object that takes the place of the result.
    Fully,
    /// One line on stderr: the report on stdout says the rest.
    OneLine,
    /// Nothing: nobody listens any more, or everything was said.
    Nothing,
}

impl Trouble {
    fn new(code: impl Into<Cow<'static, str>>, exit: u8, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), hint: None, a2a_code: None, exit, told: Told::Fully, findings: Box::default() }
    }

    /// Wrong arguments, flags or settings.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_USAGE", USAGE, message)
    }

    /// The reference leads to no card.
    pub(crate) fn card_not_found(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_CARD_NOT_FOUND", UNREACHABLE, message)
    }

    /// The card is malformed.
    pub(crate) fn card_invalid(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_CARD_INVALID", 1, message)
    }

    /// The card breaks its rules, in so many places.
    pub(crate) fn card_findings(origin: &str, findings: &[chancery_check::CardFinding]) -> Self {
        let first = findings.first().map(ToString::to_string).unwrap_or_default();
        let count = findings.len();
        let made =
            Self::card_invalid(format!("{origin}: {first} ({count} in all)")).hint("each Finding on stderr is to be corrected in the card");
        Self { findings: findings.iter().map(ToString::to_string).collect(), ..made }
    }

    /// Names, connections or TLS.
    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_UNREACHABLE", UNREACHABLE, message)
    }

    /// A credential is needed, and none was given.
    pub(crate) fn credentials_missing(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_CREDENTIALS_MISSING", UNAUTHORIZED, message)
    }

    /// A credential was given, and refused.
    pub(crate) fn auth_failed(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_AUTH_FAILED", UNAUTHORIZED, message)
    }

    /// `--timeout` is over.
    pub(crate) fn timeout(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_TIMEOUT", TOO_LATE, message)
    }

    /// Anything else.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new("A2ACLI_ERR_INTERNAL", 1, message)
    }

    /// An error of the protocol that is known before any call is made.
    pub(crate) fn protocol(kind: ErrorKind, message: impl Into<String>) -> Self {
        let a2a_code = Some(i64::from(chancery_wire::errors::rpc_code(kind, Version::LATEST)));
        Self { a2a_code, ..Self::new(name(kind).unwrap_or("InternalError"), 1, message) }
    }

    /// One of our own errors: `CONFIG`, `CHECKS_FAILED`, `PORT`, ….
    pub(crate) fn own(code: &str, message: impl Into<String>) -> Self {
        Self::new(format!("A2AX_ERR_{code}"), 1, message)
    }

    /// One of our own errors, from a chain whose last line may be a hint.
    pub(crate) fn chain(code: &str, error: &anyhow::Error) -> Self {
        let text = format!("{error:#}");
        match text.split_once("\nhint: ") {
            Some((message, hint)) => Self::own(code, message).hint(hint),
            None => Self::own(code, text),
        }
    }

    /// Something that is wrong in a file that the user named, with the line that it is in.
    pub(crate) fn of_file(error: &chancery_config::Error) -> Self {
        let text = error.to_string();
        let message = text.split_once("\nhint: ").map_or(text.as_str(), |(message, _)| message);
        match error.hint() {
            Some(hint) => Self::usage(message).hint(hint),
            None => Self::usage(message),
        }
    }

    /// What comes with a capability that this build does not have.
    pub(crate) fn not_built(what: &str) -> Self {
        Self::internal(format!("{what} is not built yet")).hint("a2a help shows what is")
    }

    /// Nobody reads stdout any more: the end, without a word.
    pub(crate) fn closed() -> Self {
        Self { told: Told::Nothing, ..Self::new("", 0, "") }
    }

    /// The user ended it; what there was to say is said.
    pub(crate) fn stopped(exit: u8) -> Self {
        Self { told: Told::Nothing, ..Self::new("", exit, "") }
    }

    /// Says what to type next.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says what to type next if nothing better is known.
    #[must_use]
    pub(crate) fn or_hint(mut self, hint: impl FnOnce() -> String) -> Self {
        if self.hint.is_none() && self.told == Told::Fully {
            self.hint = Some(hint());
        }
        self
    }

    /// What helps with errors of its code. What goes over the wire is shown only where something did.
    pub(crate) fn general_hint(&self) -> &'static str {
        match &*self.code {
            "A2ACLI_ERR_USAGE" => "a2a help",
            "A2ACLI_ERR_CARD_NOT_FOUND" | "A2ACLI_ERR_CARD_INVALID" => "a2a help references",
            "A2ACLI_ERR_TIMEOUT" => "take a longer --timeout; 0 is no limit",
            "A2AX_ERR_CONFIG" => "a2a serve --print-config shows a whole file",
            "A2AX_ERR_KEY" => "a2a keys list",
            "A2AX_ERR_SIGNATURE" => "a2a card verify --help",
            _ => "add --debug to see what happens",
        }
    }

    /// The HTTP status that came with it.
    #[must_use]
    pub(crate) fn status(mut self, status: u16) -> Self {
        self.a2a_code = Some(i64::from(status));
        self
    }

    /// The report is on stdout already.
    #[must_use]
    pub(crate) fn reported(mut self) -> Self {
        self.told = Told::OneLine;
        self
    }

    /// The object that takes the place of the result.
    pub(crate) fn document(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message, "hint": self.hint, "a2aCode": self.a2a_code}})
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Trouble {}

/// An error of the agent, or of the way to it.
impl From<chancery_core::Error> for Trouble {
    fn from(error: chancery_core::Error) -> Self {
        match chancery_client::Trouble::of(&error) {
            Some(trouble) => Self::on_the_way(&error, trouble),
            None => Self::said(&error),
        }
    }
}

impl Trouble {
    /// What stood between us and an answer.
    fn on_the_way(error: &chancery_core::Error, trouble: &chancery_client::Trouble) -> Self {
        use chancery_client::TroubleKind as K;
        let message = match trouble.reason() {
            reason if reason == trouble.to_string() || error.to_string().contains(&reason) => error.to_string(),
            reason => format!("{error}: {reason}"),
        };
        let made = match trouble.kind() {
            K::Unreachable | K::Cut => Self::unreachable(message).certificate_hint(&trouble.reason()),
            K::Timeout => Self::timeout(message),
            K::CardNotFound => Self::card_not_found(message).hint("name the card itself: -a URL/of/card.json"),
            K::CardInvalid => Self::card_invalid(message),
            K::CardRefused => Self::credentials_missing(message).hint("save the card, and pass the file: -a ./card.json"),
            K::CardUntrusted => Self::own("SIGNATURE", message).hint("a2a card verify says more"),
            K::NoInterface => Self::protocol(error.kind(), message).hint("a2a card get shows what the agent offers"),
            K::NotOffered => Self::protocol(error.kind(), message),
            K::CredentialsWithheld => {
                Self::credentials_missing(message).hint("if they are for that address, name it yourself: --endpoint URL --transport NAME")
            }
            K::CredentialsMissing | K::AuthRequired => Self::credentials_missing(message),
            K::HandoffLoop | K::HandoffLimit => Self::protocol(ErrorKind::InvalidAgentResponse, error.to_string()),
            K::Refused => Self::auth_failed(message),
            K::DryRun => return Self::stopped(0),
            _ => Self::internal(message),
        };
        match trouble.status() {
            Some(status) if made.a2a_code.is_none() => made.status(status),
            _ => made,
        }
    }

    /// Says how a certificate is shown, if TLS failed for want of one.
    fn certificate_hint(self, reason: &str) -> Self {
        match missing_certificate(reason) {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// What the agent said.
    fn said(error: &chancery_core::Error) -> Self {
        match error.kind() {
            ErrorKind::Unauthenticated => Self::auth_failed(error.to_string()).status(401),
            ErrorKind::PermissionDenied => Self::auth_failed(error.to_string()).status(403),
            ErrorKind::Unavailable => Self::unreachable(with_cause(error)).status(503),
            ErrorKind::Timeout => Self::internal(error.to_string()).status(504),
            ErrorKind::RateLimited => Self::internal(error.to_string()).status(429),
            kind => match name(kind) {
                Some(_) => Self::protocol(kind, error.to_string()),
                None => Self::internal(with_cause(error)),
            },
        }
    }
}

/// What to do when a server ends TLS because of the client's certificate; `None` when that is not why.
pub(crate) fn missing_certificate(reason: &str) -> Option<&'static str> {
    let alert = reason.rsplit_once("fatal alert: ")?.1.to_ascii_lowercase().replace(' ', "");
    if alert.contains("certificaterequired") {
        return Some("show a certificate: --client-cert FILE --client-key FILE (or A2ACLI_CLIENT_CERT and A2ACLI_CLIENT_KEY)");
    }
    let refused = [
        "unknownca",
        "badcertificate",
        "certificateunknown",
        "certificateexpired",
        "certificaterevoked",
        "unsupportedcertificate",
        "accessdenied",
    ];
    let hint = "the agent does not take the certificate of --client-cert: ask whoever runs it for one of an authority that it trusts";
    refused.iter().any(|name| alert.contains(name)).then_some(hint)
}

/// A sentence with the causes that it does not repeat.
pub(crate) fn with_cause(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        next = cause.source();
    }
    text
}

/// The name of an error of the protocol; others are ours to name.
fn name(kind: ErrorKind) -> Option<&'static str> {
    use ErrorKind as K;
    Some(match kind {
        K::TaskNotFound => "TaskNotFoundError",
        K::TaskNotCancelable => "TaskNotCancelableError",
        K::PushNotificationNotSupported => "PushNotificationNotSupportedError",
        K::UnsupportedOperation => "UnsupportedOperationError",
        K::ContentTypeNotSupported => "ContentTypeNotSupportedError",
        K::InvalidAgentResponse => "InvalidAgentResponseError",
        K::ExtendedAgentCardNotConfigured => "ExtendedAgentCardNotConfiguredError",
        K::ExtensionSupportRequired => "ExtensionSupportRequiredError",
        K::VersionNotSupported => "VersionNotSupportedError",
        K::Parse => "JSONParseError",
        K::InvalidRequest => "InvalidRequestError",
        K::MethodNotFound => "MethodNotFoundError",
        K::InvalidParams => "InvalidParamsError",
        K::Internal => "InternalError",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use chancery_core::Error;

    use super::*;

    #[test]
    fn protocol_errors_keep_their_name_and_number() {
        let trouble = Trouble::from(Error::task_not_found("t"));
        assert_eq!((&*trouble.code, trouble.a2a_code, trouble.exit), ("TaskNotFoundError", Some(-32001), 1));
        let trouble = Trouble::from(Error::from(ErrorKind::Unauthenticated));
        assert_eq!((&*trouble.code, trouble.a2a_code, trouble.exit), ("A2ACLI_ERR_AUTH_FAILED", Some(401), 4));
    }

    #[test]
    fn the_last_line_of_a_chain_may_be_its_hint() {
        let trouble = Trouble::chain("PORT", &anyhow::anyhow!("the port is taken\nhint: --port 0 takes a free port"));
        assert_eq!(trouble.message, "the port is taken");
        assert_eq!(trouble.hint.as_deref(), Some("--port 0 takes a free port"));
    }
}
