//! Who is calling, and in which circumstances.

use std::{collections::BTreeSet, time::Instant};

use crate::{event::Seq, secret::Secret};

/// The circumstances of one call: who it is for, what was activated, how long it may take.
///
/// Made by a door after authentication, and handed to every operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caller {
    /// The tenant; empty when the server has none.
    pub tenant: String,
    /// Who the caller is; `None` when nobody was asked.
    pub subject: Option<String>,
    /// What the caller may do.
    pub scopes: BTreeSet<String>,
    /// How the caller proved who it is: the name of a security scheme in the card, or several joined by `+`. `None` for
    /// a caller that was not asked.
    pub scheme: Option<String>,
    /// URIs of the extensions that are active for this call.
    pub extensions: BTreeSet<String>,
    /// The caller's trace, to be carried on.
    pub trace: Option<TraceContext>,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
    /// Names this request: a repetition within a day gets the same answer and makes no second task.
    pub idempotency_key: Option<String>,
    /// The last event of the stream that the caller has seen; the stream goes on after it.
    pub resume_after: Option<Seq>,
    /// Opens one task that is somebody else's.
    pub grant: Option<Secret>,
}

/// A W3C trace context, as it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceContext {
    /// The `traceparent` header.
    pub parent: String,
    /// The `tracestate` header; empty when there was none.
    pub state: String,
}

impl Caller {
    /// A caller that nobody asked for a name.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// A caller with a name.
    pub fn new(subject: impl Into<String>) -> Self {
        Self { subject: Some(subject.into()), ..Self::default() }
    }

    /// Sets the tenant.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = tenant.into();
        self
    }

    /// Grants a scope.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scopes.insert(scope.into());
        self
    }

    /// Says how the caller proved who it is.
    #[must_use]
    pub fn scheme(mut self, scheme: impl Into<String>) -> Self {
        self.scheme = Some(scheme.into());
        self
    }

    /// Activates an extension.
    #[must_use]
    pub fn extension(mut self, uri: impl Into<String>) -> Self {
        self.extensions.insert(uri.into());
        self
    }

    /// Carries on a trace.
    #[must_use]
    pub fn trace(mut self, trace: TraceContext) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Sets when the caller stops waiting.
    #[must_use]
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Names the request.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Says which event of the stream was seen last.
    #[must_use]
    pub fn resume_after(mut self, seq: Seq) -> Self {
        self.resume_after = Some(seq);
        self
    }

    /// Shows a grant for one task.
    #[must_use]
    pub fn grant(mut self, token: impl Into<Secret>) -> Self {
        self.grant = Some(token.into());
        self
    }

    /// Whether an extension is active for this call.
    #[must_use]
    pub fn has_extension(&self, uri: &str) -> bool {
        self.extensions.contains(uri)
    }
}

impl TraceContext {
    /// A trace context from its two headers.
    pub fn new(parent: impl Into<String>, state: impl Into<String>) -> Self {
        Self { parent: parent.into(), state: state.into() }
    }
}
