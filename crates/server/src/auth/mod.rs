//! Who may come in: the schemes by which callers prove who they are, which of them are needed together, and what scopes
//! they must have.
//!
//! ```text
//!  head of a request (the body is not read yet)
//!     |
//!   each alternative: a scheme, or several together
//!     |   all of them prove something, with the scopes it demands -----> Caller
//!     |   proved, but a scope is missing, or may not act for others ---> 403
//!     |   nothing shown at all, and anonymous callers are let in ------> Caller without a name
//!     `-- otherwise ----------------------------------------------------> 401, with a challenge per scheme
//! ```
//!
//! What the card says of security is made from this, so that it is true. What a card demands for one of its skills is
//! demanded here too (skill.rs).

mod certificate;
mod jwt;
mod keys;
mod scheme;
mod skill;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use chancery_core::{Caller, Card, Error, ErrorKind, Operation, Presented, Result, SecurityRequirement};
use http::{HeaderName, HeaderValue, request::Parts};
use tokio::time::Instant;

use self::scheme::{Identity, Kind, Proven};
pub(crate) use self::skill::shown_to;
pub use self::{
    certificate::{CertificateName, PeerCertificate},
    jwt::{Algorithm, Jwt},
    scheme::{Digest, Holder, Scheme},
};

/// Who may come in.
///
/// ```
/// use chancery_core::{SecurityRequirement, security::ApiKeyLocation};
/// use chancery_server::auth::{Auth, Holder, Jwt, Scheme, Digest};
///
/// let keys = Scheme::api_key(ApiKeyLocation::Header, "X-API-Key").holder(Holder::new("ada", Digest::of("a long random text")));
/// let auth = Auth::new().scheme("key", keys).scheme("oidc", Scheme::jwt(Jwt::issuer("https://id.example", ["agents"])));
/// // Either of them, and tokens with a scope; without a word about it, either of them as it is.
/// let auth = auth.require(SecurityRequirement::new().and("oidc", ["agents.call"])).require(SecurityRequirement::new().and("key", [""; 0]));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Auth {
    /// In the order in which they were added; of several together, the first one says who the caller is.
    schemes: Vec<(String, Arc<Scheme>)>,
    /// What is enough; any scheme alone when there is none.
    required: Vec<SecurityRequirement>,
    anonymous: bool,
    /// Scopes that all operations need which only look.
    read: BTreeSet<String>,
    /// Scopes that all operations need which change something.
    write: BTreeSet<String>,
    /// Scopes that skills need, by their ids.
    skills: BTreeMap<String, BTreeSet<String>>,
    /// Whether agents get the tokens of issuers that callers showed.
    keeps_tokens: bool,
    /// Whether streams end with the tokens that they were begun with.
    ends_streams: bool,
}

/// A caller that is not let in.
#[derive(Debug)]
pub(crate) struct Denial {
    pub(crate) error: Error,
    /// What would let it in, a value of `WWW-Authenticate` each.
    pub(crate) challenges: Vec<HeaderValue>,
    /// EndReason, for our log.
    pub(crate) why: &'static str,
}

impl Denial {
    /// The headers of the refusal.
    pub(crate) fn headers(&self, answer: &mut http::HeaderMap) {
        for challenge in &self.challenges {
            answer.append(http::header::WWW_AUTHENTICATE, challenge.clone());
        }
    }

    /// The same denial once more.
    pub(crate) fn again(&self) -> Self {
        let mut error = Error::new(self.error.kind(), self.error.message());
        for (name, value) in self.error.metadata() {
            error = error.with(name.clone(), value.clone());
        }
        Self { error, challenges: self.challenges.clone(), why: self.why }
    }
}

impl From<Error> for Denial {
    fn from(error: Error) -> Self {
        Self { error, challenges: Vec::new(), why: "" }
    }
}

impl Auth {
    /// Nobody may come in yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a way to prove who one is, under the name that the card calls it by.
    #[must_use]
    pub fn scheme(mut self, name: impl Into<String>, scheme: Scheme) -> Self {
        self.schemes.push((name.into(), Arc::new(scheme)));
        self
    }

    /// Adds an alternative: schemes that are needed together, each with the scopes that it must grant. Any one alternative
    /// is enough; without any, each scheme is one.
    #[must_use]
    pub fn require(mut self, requirement: SecurityRequirement) -> Self {
        self.required.push(requirement);
        self
    }

    /// The same schemes, with these alternatives instead of those before.
    #[must_use]
    pub fn requiring(mut self, requirements: impl IntoIterator<Item = SecurityRequirement>) -> Self {
        self.required = requirements.into_iter().collect();
        self
    }

    /// Whether callers who show nothing are let in too. They are all one: each sees what the others do. Who shows something
    /// wrong is sent away all the same.
    #[must_use]
    pub fn anonymous(mut self, let_in: bool) -> Self {
        self.anonymous = let_in;
        self
    }

    /// Scopes that are needed to read, list and subscribe to tasks, to read push configurations and the extended card.
    #[must_use]
    pub fn scopes_to_read<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.read = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Scopes that are needed to send messages, to cancel tasks, and to make and delete push configurations.
    #[must_use]
    pub fn scopes_to_write<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.write = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Scopes that are needed to use the skill of this id. The card says so, the extended card leaves out what its caller may not
    /// use, and who may use no skill at all is refused. A request cannot name a skill, but for work that another agent passes on: an
    /// agent with several skills asks `turn.may`.
    #[must_use]
    pub fn scopes_for_skill<S: Into<String>>(mut self, skill: impl Into<String>, scopes: impl IntoIterator<Item = S>) -> Self {
        self.skills.insert(skill.into(), scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Whether agents find the token of an issuer that their caller showed, in `Identity::presented`. It is for those who exchange it for
    /// a token with which they call another agent, and for nothing else: never pass it on. Tokens are not kept unless it is said.
    #[must_use]
    pub fn keep_tokens(mut self, keep: bool) -> Self {
        self.keeps_tokens = keep;
        self
    }

    /// Whether a stream ends when the token of an issuer ends that it was begun with. Clients that take their streams up again do so
    /// with a new token; to others the stream is cut, so that streams go on unless it is said.
    #[must_use]
    pub fn end_streams(mut self, end: bool) -> Self {
        self.ends_streams = end;
        self
    }

    /// Checks that what was said has a meaning, and says who fetches keys.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub(crate) fn prepare(&self, client: &chancery_net::Client, certificates: bool) -> Result<()> {
        let wrong = |what: String| Err(Error::internal(what));
        if self.schemes.is_empty() {
            return wrong("auth has no scheme; leave it out to let everybody in".to_owned());
        }
        for (at, (name, scheme)) in self.schemes.iter().enumerate() {
            if name.is_empty() || self.schemes[..at].iter().any(|(other, _)| other == name) {
                return wrong(format!("auth: the name {name:?} is empty or there twice"));
            }
            if name.contains('+') {
                return wrong(format!("auth: the name {name:?} looks like several schemes together"));
            }
            match &scheme.kind {
                Kind::Jwt(jwt) => jwt.prepare(client)?,
                Kind::MutualTls(_) if !certificates => {
                    return wrong(format!("auth: {name} asks for client certificates, and there is no authority to check them with"));
                }
                Kind::ApiKey(_, place) if HeaderName::from_bytes(place.as_bytes()).is_err() => {
                    return wrong(format!("auth: {place:?} cannot be the name of a header, a parameter or a cookie"));
                }
                _ => {}
            }
        }
        for name in self.required.iter().flat_map(|requirement| requirement.schemes.keys()) {
            if !self.schemes.iter().any(|(known, _)| known == name) {
                return wrong(format!("auth: there is no scheme {name:?}"));
            }
        }
        if self.required.iter().any(|requirement| requirement.schemes.is_empty()) {
            return wrong("auth: an alternative without schemes lets everybody in; say that anonymous callers may".to_owned());
        }
        Ok(())
    }

    /// What is enough.
    fn alternatives(&self) -> Vec<SecurityRequirement> {
        if !self.required.is_empty() {
            return self.required.clone();
        }
        self.schemes.iter().map(|(name, _)| SecurityRequirement::new().and(name, [""; 0])).collect()
    }

    /// The schemes of an alternative, in their order.
    fn schemes_of(&self, requirement: &SecurityRequirement) -> impl Iterator<Item = (usize, &str, &Scheme)> {
        let named = move |name: &str| requirement.schemes.contains_key(name);
        let schemes = self.schemes.iter().enumerate();
        schemes.filter(move |(_, (name, _))| named(name)).map(|(at, (name, scheme))| (at, name.as_str(), &**scheme))
    }

    /// Writes into a card what callers need.
    pub(crate) fn describe(&self, card: &mut Card) {
        let alternatives = self.alternatives();
        let used = |name: &String| alternatives.iter().any(|requirement| requirement.schemes.contains_key(name));
        let schemes = self.schemes.iter().filter(|(name, _)| used(name));
        card.security_schemes = schemes.map(|(name, scheme)| (name.clone(), scheme.description())).collect();
        self.describe_skills(&alternatives, card);
        card.security_requirements = alternatives;
        if self.anonymous {
            // What is met by nothing, as OpenAPI says it.
            card.security_requirements.push(SecurityRequirement::new());
        }
    }

    /// Lets a caller in to the agent at an address, or says why not; and says when its streams are to end. Only the head of the request is
    /// looked at.
    pub(crate) async fn admit(&self, realm: &str, url: &str, head: &Parts) -> Result<(Caller, Option<Instant>), Denial> {
        let alternatives = self.alternatives();
        // Of each scheme, once.
        let mut seen: Vec<Option<Proven>> = vec![None; self.schemes.len()];
        let (mut lacking, mut unavailable) = (None, None);
        for requirement in &alternatives {
            let mut caller: Option<Caller> = None;
            let (mut complete, mut missing, mut until) = (true, BTreeSet::new(), None);
            for (at, name, scheme) in self.schemes_of(requirement) {
                if seen[at].is_none() {
                    seen[at] = Some(scheme.prove(url, head).await.unwrap_or_else(|error| {
                        // Another alternative may do.
                        unavailable = Some(error);
                        Proven::Wrong("the keys cannot be fetched")
                    }));
                }
                let Some(Proven::Known(identity)) = &seen[at] else {
                    complete = false;
                    break;
                };
                missing.extend(requirement.schemes[name].iter().filter(|scope| !identity.scopes.contains(*scope)).cloned());
                caller = Some(self.joined(caller, name, identity));
                until = [until, identity.until.filter(|_| self.ends_streams)].into_iter().flatten().min();
            }
            match caller.filter(|_| complete) {
                Some(caller) if missing.is_empty() => return Ok((caller, until)),
                Some(_) => lacking = Some(missing),
                None => {}
            }
        }
        if let Some(missing) = lacking {
            return Err(self.lacking(realm, &missing));
        }
        let barred = seen.iter().flatten().find_map(|proven| if let Proven::Barred(why) = proven { Some(*why) } else { None });
        if let Some(why) = barred {
            return Err(Denial { why, ..Error::new(ErrorKind::PermissionDenied, "The credentials do not allow this").into() });
        }
        let wrong = seen.iter().flatten().find_map(|proven| if let Proven::Wrong(why) = proven { Some(*why) } else { None });
        let proved = seen.iter().flatten().any(|proven| matches!(proven, Proven::Known(_)));
        if self.anonymous && wrong.is_none() && !proved {
            return Ok((Caller::anonymous(), None));
        }
        if let Some(error) = unavailable {
            return Err(Denial { why: "the keys cannot be fetched", ..error.into() });
        }
        Err(self.unknown(realm, &alternatives, wrong))
    }

    /// The caller with what one more scheme has proved. The first one says who it is.
    fn joined(&self, caller: Option<Caller>, name: &str, identity: &Identity) -> Caller {
        let mut caller = match caller {
            None => identity.actors.iter().fold(Caller::new(&identity.subject).scheme(name), Caller::actor),
            Some(caller) => {
                let schemes = format!("{}+{name}", caller.identity().scheme.as_deref().unwrap_or_default());
                caller.scheme(schemes)
            }
        };
        caller.identity_mut().scopes.extend(identity.scopes.iter().cloned());
        if caller.call().carried.is_none() {
            caller.call_mut().carried.clone_from(&identity.carried);
        }
        let token = identity.token.as_ref().filter(|_| self.keeps_tokens);
        if caller.identity().presented.is_none() {
            caller.identity_mut().presented = token.cloned().map(|token| Box::new(Presented::new(token)));
        }
        caller
    }

    /// Whether a caller may do this at all, whatever task it is about.
    pub(crate) fn allow(&self, realm: &str, caller: &Caller, operation: Operation) -> Result<(), Denial> {
        if operation == Operation::GetExtendedCard && caller.identity().subject.is_none() {
            return Err(self.unknown(realm, &self.alternatives(), None));
        }
        let needed = if changes(operation) { &self.write } else { &self.read };
        let missing: BTreeSet<_> = needed.difference(&caller.identity().scopes).cloned().collect();
        if missing.is_empty() { Ok(()) } else { Err(self.lacking(realm, &missing)) }
    }

    fn lacking(&self, realm: &str, missing: &BTreeSet<String>) -> Denial {
        let scopes = missing.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let tokens = self.schemes.iter().find(|(_, scheme)| matches!(scheme.kind, Kind::Bearer | Kind::Jwt(_) | Kind::ScopeToken(_)));
        let challenge = tokens.and_then(|(_, scheme)| value(&scheme.challenge(realm, Some("insufficient_scope"), &scopes)));
        let error = Error::new(ErrorKind::PermissionDenied, "The credentials do not allow this").with("scope", scopes);
        Denial { challenges: challenge.into_iter().collect(), error, why: "a scope is missing" }
    }

    fn unknown(&self, realm: &str, alternatives: &[SecurityRequirement], wrong: Option<&'static str>) -> Denial {
        let mut challenges: Vec<HeaderValue> = Vec::new();
        for requirement in alternatives {
            for (_, name, scheme) in self.schemes_of(requirement) {
                let scopes = requirement.schemes[name].join(" ");
                let challenge = value(&scheme.challenge(realm, wrong.map(|_| "invalid_token"), &scopes));
                challenges.extend(challenge.filter(|challenge| !challenges.contains(challenge)));
            }
        }
        let words = if wrong.is_some() { "The credentials are not valid" } else { ErrorKind::Unauthenticated.default_message() };
        Denial { challenges, error: Error::new(ErrorKind::Unauthenticated, words), why: wrong.unwrap_or("no credentials") }
    }
}

fn changes(operation: Operation) -> bool {
    match operation {
        Operation::GetTask
        | Operation::ListTasks
        | Operation::Subscribe
        | Operation::GetPushConfig
        | Operation::ListPushConfigs
        | Operation::GetExtendedCard => false,
        // What is not known only to look is taken to change something.
        _ => true,
    }
}

/// A header value, if the names in it allow one.
fn value(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(text).ok()
}
