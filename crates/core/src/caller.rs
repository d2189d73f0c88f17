//! Who is calling, and in which circumstances.

use std::{collections::BTreeSet, fmt, sync::Arc, time::Instant};

use serde::{Deserialize, Serialize};

use crate::{card::Skill, error::Result, event::Seq, json::Object, secret::Secret, security::SecurityRequirement, time::Timestamp};

/// Who calls ([`Identity`]), and what goes with this one call ([`CallContext`]).
///
/// Made by a binding after authentication, and handed to every operation. It is handed on all the time, so a copy shares both
/// parts with what it was copied from until one of the two changes its own ([`identity_mut`](Self::identity_mut),
/// [`call_mut`](Self::call_mut): copy on write), and a caller of whom nothing is known takes no memory.
///
/// ```
/// use chancery_core::Caller;
/// let ada = Caller::new("ada").tenant("north");
/// let mut again = ada.clone();
/// again.identity_mut().tenant = "south".to_owned();
/// assert_eq!(ada.identity().tenant, "north");
/// assert_eq!(again.identity().subject.as_deref(), Some("ada"));
/// ```
#[derive(Clone, Default)]
pub struct Caller {
    identity: Option<Arc<Identity>>,
    call: Option<Arc<CallContext>>,
}

/// Who calls: the principal that authentication found, and the tenant that it asks of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The tenant; empty when the server has none.
    pub tenant: String,
    /// Who the caller is; `None` when nobody was asked.
    pub subject: Option<String>,
    /// Who acts for the subject, if the credential says so: the one who calls first, then those on whose behalf it was called, back
    /// to the first who acted. Only the one who calls counts for what is allowed (RFC 8693, section 4.1); the others are for the
    /// record.
    pub actors: Vec<String>,
    /// What the caller may do.
    pub scopes: BTreeSet<String>,
    /// How the caller proved who it is: the name of a security scheme in the card, or several joined by `+`. `None` for
    /// a caller that was not asked.
    pub scheme: Option<String>,
    /// The token by which the caller proved who it is, where the server keeps it so that it can be exchanged.
    pub presented: Option<Box<Presented>>,
}

/// The context of one call: what was activated, how long it may take, what it repeats or resumes, what it opens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallContext {
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
    /// Whether the caller gives its tasks their names itself, as clients of v0.1 do: a task is then found under the name
    /// that this caller gave it, whatever its id, and is shown under that name.
    pub names_tasks: bool,
    /// Opens one task that is somebody else's.
    pub grant: Option<Secret>,
    /// How far the task may reach by the token that came with the call.
    pub carried: Option<Box<Carried>>,
}

/// The token that a caller presented, for whoever exchanges it for one with which another agent is called (RFC 8693). It is shown to
/// the issuer alone: neither stored nor sent to another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Presented {
    /// The token.
    pub token: Secret,
    /// The scopes that may be asked for with it, as patterns of a scope (`*` at the end matches the rest); no limit when `None`.
    pub scopes: Option<Vec<String>>,
}

impl Presented {
    /// A token without a limit to what may be asked for with it.
    pub fn new(token: impl Into<Secret>) -> Self {
        Self { token: token.into(), scopes: None }
    }

    /// The same token, with which no more may be asked for than a scope allows: the member `scopes` of its JSON.
    #[must_use]
    pub fn within(&self, scope: Option<&Object>) -> Self {
        let limit = scope.and_then(|scope| scope.get("scopes"));
        // A limit that cannot be read allows nothing.
        let names = |limit: &serde_json::Value| -> Vec<String> {
            limit.as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        };
        Self { token: self.token.clone(), scopes: limit.map(names).or_else(|| self.scopes.clone()) }
    }

    /// Whether a scope may be asked for.
    #[must_use]
    pub fn allows(&self, scope: &str) -> bool {
        let matches = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => scope.starts_with(start),
            None => pattern == scope,
        };
        self.scopes.as_ref().is_none_or(|limit| limit.iter().any(matches))
    }
}

/// A scope token that came with a call, and what it says. It has been verified.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Carried {
    /// The token, to be narrowed and passed on. It is never written into a message.
    pub token: Secret,
    /// Whom it was made for, if it says so.
    pub subject: Option<String>,
    /// The workflow that it was made for, if it says so.
    pub workflow: Option<String>,
    /// How far the task may reach: a scope, as JSON.
    pub scope: Object,
    /// How often the token was passed on. Nobody who holds it can make that less.
    pub hops: u32,
}

impl Carried {
    /// A token and what it says.
    pub fn new(token: impl Into<Secret>, scope: Object, hops: u32) -> Self {
        Self { token: token.into(), subject: None, workflow: None, scope, hops }
    }
}

/// Verifies scope tokens.
pub trait ScopeTokens: Send + Sync {
    /// What a token says, if it was issued by somebody who may, is meant for the agent with this address, and has not
    /// ended.
    ///
    /// # Errors
    /// It does not verify; the source says why, for our log.
    fn verify(&self, token: &Secret, audience: &str, now: Timestamp) -> Result<Carried>;
}

/// A W3C trace context, as it came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TraceContext {
    /// The `traceparent` header.
    pub parent: String,
    /// The `tracestate` header; empty when there was none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
}

/// The identity of whoever was not asked.
static ANONYMOUS: Identity =
    Identity { tenant: String::new(), subject: None, actors: Vec::new(), scopes: BTreeSet::new(), scheme: None, presented: None };

/// The context of a call that says nothing about itself.
static PLAIN: CallContext = CallContext {
    extensions: BTreeSet::new(),
    trace: None,
    deadline: None,
    idempotency_key: None,
    resume_after: None,
    names_tasks: false,
    grant: None,
    carried: None,
};

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("identity", self.identity()).field("call", self.call()).finish()
    }
}

impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity() && self.call() == other.call()
    }
}

impl Eq for Caller {}

impl Caller {
    /// A caller that nobody asked for a name.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// A caller with a name.
    pub fn new(subject: impl Into<String>) -> Self {
        let identity = Identity { subject: Some(subject.into()), ..Identity::default() };
        Self { identity: Some(Arc::new(identity)), call: None }
    }

    /// Who calls.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        self.identity.as_deref().unwrap_or(&ANONYMOUS)
    }

    /// Who calls, to be changed. It is copied first if another caller shares it.
    pub fn identity_mut(&mut self) -> &mut Identity {
        Arc::make_mut(self.identity.get_or_insert_default())
    }

    /// What goes with this call.
    #[must_use]
    pub fn call(&self) -> &CallContext {
        self.call.as_deref().unwrap_or(&PLAIN)
    }

    /// What goes with this call, to be changed. It is copied first if another caller shares it.
    pub fn call_mut(&mut self) -> &mut CallContext {
        Arc::make_mut(self.call.get_or_insert_default())
    }

    /// Sets the tenant.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.identity_mut().tenant = tenant.into();
        self
    }

    /// Adds somebody who acts for the subject, behind those who were added before.
    #[must_use]
    pub fn actor(mut self, actor: impl Into<String>) -> Self {
        self.identity_mut().actors.push(actor.into());
        self
    }

    /// Grants a scope.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.identity_mut().scopes.insert(scope.into());
        self
    }

    /// Says how the caller proved who it is.
    #[must_use]
    pub fn scheme(mut self, scheme: impl Into<String>) -> Self {
        self.identity_mut().scheme = Some(scheme.into());
        self
    }

    /// Activates an extension.
    #[must_use]
    pub fn extension(mut self, uri: impl Into<String>) -> Self {
        self.call_mut().extensions.insert(uri.into());
        self
    }

    /// Carries on a trace.
    #[must_use]
    pub fn trace(mut self, trace: TraceContext) -> Self {
        self.call_mut().trace = Some(trace);
        self
    }

    /// Sets when the caller stops waiting.
    #[must_use]
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.call_mut().deadline = Some(deadline);
        self
    }

    /// Names the request.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.call_mut().idempotency_key = Some(key.into());
        self
    }

    /// Says which event of the stream was seen last.
    #[must_use]
    pub fn resume_after(mut self, seq: Seq) -> Self {
        self.call_mut().resume_after = Some(seq);
        self
    }

    /// Says that the caller gives its tasks their names itself.
    #[must_use]
    pub fn naming_tasks(mut self) -> Self {
        self.call_mut().names_tasks = true;
        self
    }

    /// Shows a grant for one task.
    #[must_use]
    pub fn grant(mut self, token: impl Into<Secret>) -> Self {
        self.call_mut().grant = Some(token.into());
        self
    }

    /// Adds the token that came with the call.
    #[must_use]
    pub fn carried(mut self, carried: Carried) -> Self {
        self.call_mut().carried = Some(Box::new(carried));
        self
    }

    /// Adds the token by which the caller proved who it is.
    #[must_use]
    pub fn presented(mut self, token: impl Into<Secret>) -> Self {
        self.identity_mut().presented = Some(Box::new(Presented::new(token)));
        self
    }

    /// Whether the caller may use a skill of a card: it meets one of the skill's requirements, or there is none.
    ///
    /// ```
    /// use chancery_core::{Caller, SecurityRequirement, Skill};
    /// let mut refund = Skill::new("refund", "Pays money back");
    /// refund.security_requirements.push(SecurityRequirement::new().and("oidc", ["refund.write"]));
    /// let ada = Caller::new("ada").scheme("oidc");
    /// assert!(!ada.may_use(&refund));
    /// assert!(ada.scope("refund.write").may_use(&refund));
    /// ```
    #[must_use]
    pub fn may_use(&self, skill: &Skill) -> bool {
        skill.security_requirements.is_empty() || skill.security_requirements.iter().any(|requirement| self.meets(requirement))
    }

    /// Whether the caller proved who it is by every scheme of a requirement, and has the scopes that it names.
    #[must_use]
    pub fn meets(&self, requirement: &SecurityRequirement) -> bool {
        let proved = |scheme: &str| self.identity().scheme.as_deref().is_some_and(|shown| shown.split('+').any(|name| name == scheme));
        let has = |scopes: &[String]| scopes.iter().all(|scope| self.identity().scopes.contains(scope));
        requirement.schemes.iter().all(|(scheme, scopes)| proved(scheme) && has(scopes))
    }

    /// Whether an extension is active for this call.
    #[must_use]
    pub fn has_extension(&self, uri: &str) -> bool {
        self.call().extensions.contains(uri)
    }
}

impl TraceContext {
    /// A trace context from its two headers.
    pub fn new(parent: impl Into<String>, state: impl Into<String>) -> Self {
        Self { parent: parent.into(), state: state.into() }
    }

    /// The context of what follows from this one, as a span of this number. `None` when it is no trace context of W3C.
    ///
    /// ```
    /// use chancery_core::TraceContext;
    /// let came = TraceContext::new("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "");
    /// let goes = came.continued(0xb7ad_6b71_6920_3331);
    /// assert_eq!(goes.unwrap().parent, "00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01");
    /// ```
    #[must_use]
    pub fn continued(&self, span: u64) -> Option<Self> {
        let mut fields = self.parent.split('-');
        let mut field = |length: usize| fields.next().filter(|field| field.len() == length && field.bytes().all(is_lower_hex));
        let (version, trace, parent, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
        let known = version != "ff" && (version != "00" || fields.next().is_none());
        let meant = |id: &str| id.bytes().any(|digit| digit != b'0');
        (known && meant(trace) && meant(parent) && span != 0)
            .then(|| Self { parent: format!("00-{trace}-{span:016x}-{flags}"), state: self.state.clone() })
    }
}

fn is_lower_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trace_context_is_continued() {
        const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
        let goes = |parent: String| TraceContext::new(parent, "a=1").continued(0x33);
        let next = TraceContext::new(format!("00-{TRACE}-0000000000000033-01"), "a=1");
        assert_eq!(goes(format!("00-{TRACE}-00f067aa0ba902b7-01")), Some(next.clone()));
        assert_eq!(goes(format!("01-{TRACE}-00f067aa0ba902b7-01-what-comes-later")), Some(next));
        for wrong in [
            String::new(),
            TRACE.to_owned(),
            format!("00-{TRACE}-00f067aa0ba902b7"),
            format!("00-{TRACE}-00f067aa0ba902b7-01-more"),
            format!("ff-{TRACE}-00f067aa0ba902b7-01"),
            format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{TRACE}-00f067aa0ba902b7-01\r\nx: y"),
        ] {
            assert_eq!(goes(wrong.clone()), None, "{wrong}");
        }
    }
}
