//! Scopes that a stranger believes: Biscuit tokens, signed by the one who issues them and narrowed by each who passes
//! them on (LA-30 to LA-38).
//!
//! ```text
//!  authority block   a2a("1"); skills({…}); scopes({…}); modes({…}); max_hops(3);       signed by a root
//!  block 1           hop(1, from, to); check if need_skills($s), {…}.contains($s); …    by whoever passes it on
//!  block 2           …
//! ```
//!
//! A token that is not of this form is refused, even when all its checks hold: no rules, no blocks of third parties,
//! no checks but those of the profile. So what a token allows can be read as a [`Scope`], exactly, and looking at one
//! takes a time that its length limits.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use biscuit_auth::{
    Authorizer, AuthorizerBuilder, AuthorizerLimits, Biscuit, BlockBuilder, KeyPair, PrivateKey, PublicKey, UnverifiedBiscuit,
    builder::{Binary, Check, CheckKind, Expression, Fact, Op, Predicate, Rule, Term},
    error,
};
use chancery_core::{BoxError, Card, Carried, Error, ErrorKind, ScopeTokens, Secret, Timestamp};

use crate::{
    caps::Capabilities,
    pattern::{Audience, Mode, Name, Origin, Pattern, Patterns},
    scope::Scope,
};

/// The version of the profile.
const PROFILE: &str = "1";
/// The longest token that is looked at, in characters.
const SIZE: usize = 8 * 1024;
/// The most blocks of a token, the first one included.
const BLOCKS: usize = 16;

/// Evaluation is cut off after 1 ms unless something else is said, which happens on a busy machine (LA-34).
fn limits() -> AuthorizerLimits {
    AuthorizerLimits { max_facts: 1_000, max_iterations: 100, max_time: Duration::from_millis(50) }
}

/// Why there is no token, or why one is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is longer than any may be.
    #[error("the token is longer than {SIZE} characters")]
    TooLong,
    /// It was passed on more often than any may be.
    #[error("the token has more than {BLOCKS} blocks")]
    TooManyBlocks,
    /// Nobody here knows who issued it.
    #[error("the token names no root that is known here")]
    UnknownRoot,
    /// It is no token, or what it says was not signed by those who should have.
    #[error("the token cannot be read or is not signed by its root: {0}")]
    Invalid(String),
    /// It is not in the form that is agreed on.
    #[error("the token is not of the profile: {0}")]
    Form(&'static str),
    /// It does not allow what is asked of it.
    #[error("the token does not allow this: {0}")]
    Refused(String),
    /// A scope that no token can say.
    #[error("a token cannot say {0}")]
    Unsayable(&'static str),
    /// It cannot be a key.
    #[error("this is no key: {0}")]
    Key(String),
}

impl From<error::Token> for TokenError {
    fn from(error: error::Token) -> Self {
        match error {
            error::Token::FailedLogic(_) | error::Token::RunLimit(_) | error::Token::Execution(_) => Self::Refused(error.to_string()),
            error::Token::Format(error::Format::UnknownPublicKey) => Self::UnknownRoot,
            error::Token::Format(format) => Self::Invalid(format.to_string()),
            _ => Self::Invalid(error.to_string()),
        }
    }
}

/// Makes tokens.
///
/// ```
/// use chancery_core::Timestamp;
/// use chancery_lattice::{Grant, Hop, Issuer, Needs, Roots, Scope};
///
/// let issuer = Issuer::generate(1);
/// let scope: Scope = serde_json::from_str(r#"{"skills": ["triage", "refund"], "scopes": [], "inputModes": [], "outputModes": [], "hops": 3}"#)?;
/// let token = issuer.mint(&Grant::new(scope))?;
///
/// // Triage passes it on, for refunds alone.
/// let hop = Hop::new("https://triage.example.com", "https://billing.example.com", Scope::of_skills(["refund"]));
/// let token = hop.narrow(&token)?;
///
/// // Billing trusts the issuer, and nobody in between.
/// let roots = Roots::new().root(1, &issuer.public_key())?;
/// let seen = roots.verify(&token, "https://billing.example.com", Timestamp::EPOCH, &Needs::skills(["refund"]))?;
/// assert_eq!((seen.hops, seen.scope.hops), (1, Some(2)));
/// assert!(roots.verify(&token, "https://billing.example.com", Timestamp::EPOCH, &Needs::skills(["triage"])).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Issuer {
    kid: u32,
    key: KeyPair,
}

/// What a token is made for.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Grant {
    /// How far it reaches.
    pub scope: Scope,
    /// Whom it is for.
    pub subject: Option<String>,
    /// What it is for.
    pub workflow: Option<String>,
    /// The names that patterns of the scope stand for.
    pub vocabulary: Vocabulary,
}

/// Names that are in use. A token has no patterns; they are written out with these (LA-31).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vocabulary {
    /// Skills.
    pub skills: BTreeSet<String>,
    /// Scopes as in OAuth.
    pub scopes: BTreeSet<String>,
    /// Media types.
    pub modes: BTreeSet<String>,
    /// Origins of agents.
    pub audiences: BTreeSet<String>,
}

/// One step of a token, from the agent that passes it on to the next.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Hop<'a> {
    /// The agent that passes it on.
    pub from: &'a str,
    /// The agent that gets it.
    pub to: &'a str,
    /// How far that one may reach.
    pub scope: Scope,
    /// The origins that may see the token from now on: of the one that gets it and of all that it can come to from
    /// there. A check stays in force for all later hops, so one that names too few blocks the next (LA-32).
    pub audiences: Option<BTreeSet<String>>,
}

/// The keys of those whose tokens are believed.
#[derive(Debug, Clone, Default)]
pub struct Roots(BTreeMap<u32, PublicKey>);

/// What is asked of a token: one set of each kind, and all of it must be granted (LA-30).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// Skills.
    pub skills: BTreeSet<String>,
    /// Scopes as in OAuth.
    pub scopes: BTreeSet<String>,
    /// Media types.
    pub modes: BTreeSet<String>,
}

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// Whom it is for.
    pub subject: Option<String>,
    /// What it is for.
    pub workflow: Option<String>,
    /// How far it reaches from here.
    pub scope: Scope,
    /// How often it was passed on: the number of its blocks after the first, which nobody can make less (LA-33).
    pub hops: u32,
}

impl Issuer {
    /// An issuer with a key of Biscuit's own form, such as `ed25519-private/…`, that others know by this number.
    ///
    /// # Errors
    /// The key is none.
    pub fn new(kid: u32, private_key: &Secret) -> Result<Self, TokenError> {
        let key: PrivateKey = private_key.expose().parse().map_err(|error: error::Format| TokenError::Key(error.to_string()))?;
        Ok(Self { kid, key: KeyPair::from(&key) })
    }

    /// An issuer with a new key.
    #[must_use]
    pub fn generate(kid: u32) -> Self {
        Self { kid, key: KeyPair::new() }
    }

    /// The key, for a file that nobody else reads.
    #[must_use]
    pub fn private_key(&self) -> Secret {
        Secret::new(self.key.private().to_prefixed_string())
    }

    /// The key that others need to believe the tokens: `ed25519/…`.
    #[must_use]
    pub fn public_key(&self) -> String {
        self.key.public().to_string()
    }

    /// Makes a token.
    ///
    /// # Errors
    /// The scope has something that a token cannot say.
    pub fn mint(&self, grant: &Grant) -> Result<Secret, TokenError> {
        let Grant { scope, subject, workflow, vocabulary } = grant;
        if scope.budget.is_some() {
            return Err(TokenError::Unsayable("what may be spent"));
        }
        if scope.input_modes != scope.output_modes {
            return Err(TokenError::Unsayable("one thing of what is sent and another of what comes back"));
        }
        let most = scope.hops.unwrap_or(u32::MAX).min(BLOCKS as u32 - 1);
        let facts = [
            Some(fact("a2a", text(PROFILE))),
            subject.as_deref().map(|subject| fact("subject", text(subject))),
            workflow.as_deref().map(|workflow| fact("workflow", text(workflow))),
            Some(fact("skills", set(&exact_names(scope.skills.as_ref(), &vocabulary.skills)))),
            Some(fact("scopes", set(&exact_names(scope.scopes.as_ref(), &vocabulary.scopes)))),
            Some(fact("modes", set(&exact_modes(scope.input_modes.as_ref(), &vocabulary.modes)))),
            Some(fact("max_hops", Term::Integer(most.into()))),
        ];
        let mut block = BlockBuilder::new();
        block.facts.extend(facts.into_iter().flatten());
        if let Some(audiences) = &scope.audiences {
            block.checks.push(among("audience", &exact_audiences(audiences, &vocabulary.audiences)));
        }
        block.checks.extend(scope.not_after.map(ends));
        let token = Biscuit::builder().merge(block).root_key_id(self.kid).build(&self.key)?;
        within_limits(token.to_base64()?)
    }
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer").field("kid", &self.kid).field("public_key", &self.public_key()).finish()
    }
}

impl Grant {
    /// A token for anybody who holds it, that reaches this far.
    #[must_use]
    pub fn new(scope: Scope) -> Self {
        Self { scope, ..Self::default() }
    }
}

impl Vocabulary {
    /// The names in the cards of agents.
    #[must_use]
    pub fn of<'a>(cards: impl IntoIterator<Item = &'a Card>) -> Self {
        let mut names = Self::default();
        for card in cards {
            for capability in Capabilities::of(card).iter() {
                names.skills.insert(capability.id.clone());
                names.scopes.extend(capability.needs.iter().flatten().cloned());
                let modes = capability.input.iter().chain(capability.output.iter());
                names.modes.extend(modes.filter(|mode| matches!(mode, Mode::Exact(..))).map(ToString::to_string));
            }
            let origins = card.supported_interfaces.iter().filter_map(|interface| interface.url.parse::<Origin>().ok());
            names.audiences.extend(origins.map(|origin| origin.to_string()));
        }
        names
    }
}

impl<'a> Hop<'a> {
    /// A step between two agents, by their base addresses.
    #[must_use]
    pub fn new(from: &'a str, to: &'a str, scope: Scope) -> Self {
        Self { from, to, scope, audiences: None }
    }

    /// Names the origins that may see the token from now on.
    #[must_use]
    pub fn audiences(mut self, audiences: Option<BTreeSet<String>>) -> Self {
        self.audiences = audiences;
        self
    }

    /// Narrows a token. It needs no key, and there is no way back. A token has no patterns: of the scope, names that are
    /// written out count, so meet it with what the token says first. What may be spent is not said in tokens, and what
    /// is sent and what comes back are one thing there; both are in the scope that goes along in the message.
    ///
    /// # Errors
    /// The token is full, was closed by somebody, or is none.
    pub fn narrow(&self, token: &Secret) -> Result<Secret, TokenError> {
        let token = UnverifiedBiscuit::from_base64(token.expose())?;
        let hop = token.block_count();
        if hop >= BLOCKS {
            return Err(TokenError::TooManyBlocks);
        }
        let (scope, none) = (&self.scope, BTreeSet::new());
        let mut block = BlockBuilder::new();
        let number = i64::try_from(hop).unwrap_or(i64::MAX);
        block.facts.push(Fact::new("hop".to_owned(), vec![Term::Integer(number), text(self.from), text(self.to)]));
        for (need, limit) in [("need_skills", &scope.skills), ("need_scopes", &scope.scopes)] {
            block.checks.extend(limit.as_ref().map(|limit| among(need, &exact_names(Some(limit), &none))));
        }
        if let (Some(input), Some(output)) = (&scope.input_modes, &scope.output_modes) {
            block.checks.push(among("need_modes", &exact_modes(Some(&input.join(output)), &none)));
        }
        block.checks.extend(self.audiences.as_ref().map(|audiences| among("audience", audiences)));
        block.checks.extend(scope.hops.map(|left| at_most("hops", number.saturating_add(left.into()))));
        block.checks.extend(scope.not_after.map(ends));
        within_limits(token.append(block)?.to_base64()?)
    }
}

impl Needs {
    /// These skills.
    pub fn skills<S: Into<String>>(skills: impl IntoIterator<Item = S>) -> Self {
        Self { skills: skills.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

impl Roots {
    /// Nobody is believed yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Believes the tokens that are signed with this key, such as `ed25519/…`, and name it by this number.
    ///
    /// # Errors
    /// The key is none.
    pub fn root(mut self, kid: u32, public_key: &str) -> Result<Self, TokenError> {
        let key: PublicKey = public_key.parse().map_err(|error: error::Format| TokenError::Key(error.to_string()))?;
        self.0.insert(kid, key);
        Ok(self)
    }

    /// Whether nobody is believed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a token says, if one of the roots has signed it, all that was added since allows the agent at this address to
    /// have it now, and everything that is needed is granted.
    ///
    /// # Errors
    /// It is not to be believed, or does not allow it.
    pub fn verify(&self, token: &Secret, audience: &str, now: Timestamp, needs: &Needs) -> Result<Seen, TokenError> {
        if token.expose().len() > SIZE {
            return Err(TokenError::TooLong);
        }
        let root = |kid: Option<u32>| kid.and_then(|kid| self.0.get(&kid).copied()).ok_or(error::Format::UnknownPublicKey);
        let token = Biscuit::from_base64(token.expose(), root)?;
        let blocks = token.block_count();
        if blocks > BLOCKS {
            return Err(TokenError::TooManyBlocks);
        }
        if token.external_public_keys().iter().any(Option::is_some) {
            return Err(TokenError::Form("it has a block of a third party"));
        }
        let hops = u32::try_from(blocks - 1).unwrap_or(u32::MAX);
        let seen = read(&token, hops)?;
        let audience = audience.parse::<Origin>().map_err(|_| TokenError::Refused("this agent has no address".to_owned()))?;
        authorize(&token, &audience.to_string(), hops, now, needs)?;
        Ok(seen)
    }
}

impl ScopeTokens for Roots {
    fn verify(&self, token: &Secret, audience: &str, now: Timestamp) -> chancery_core::Result<Carried> {
        let refused = |source: BoxError| Error::new(ErrorKind::PermissionDenied, "The scope token is not valid here").caused_by(source);
        let seen = self.verify(token, audience, now, &Needs::default()).map_err(|error| refused(error.into()))?;
        let scope = match serde_json::to_value(&seen.scope) {
            Ok(serde_json::Value::Object(scope)) => scope.into(),
            Ok(_) => return Err(refused("a scope is an object".into())),
            Err(error) => return Err(refused(error.into())),
        };
        let mut carried = Carried::new(token.clone(), scope, seen.hops);
        (carried.subject, carried.workflow) = (seen.subject, seen.workflow);
        Ok(carried)
    }
}

/// Runs the checks of a token, and ours.
fn authorize(token: &Biscuit, audience: &str, hops: u32, now: Timestamp, needs: &Needs) -> Result<(), TokenError> {
    let mut request = BlockBuilder::new();
    request.facts = vec![
        fact("time", Term::Date(u64::try_from(now.unix().0).unwrap_or(0))),
        fact("audience", text(audience)),
        fact("hops", Term::Integer(hops.into())),
        fact("need_skills", set(&needs.skills)),
        fact("need_scopes", set(&needs.scopes)),
        fact("need_modes", set(&needs.modes)),
    ];
    let authorizer = AuthorizerBuilder::new()
        .set_limits(limits())
        .merge_block(request)
        .check("check if a2a(\"1\")")?
        .check("check if need_skills($n), skills($g), $g.contains($n)")?
        .check("check if need_scopes($n), scopes($g), $g.contains($n)")?
        .check("check if need_modes($n), modes($g), $g.contains($n)")?
        .check("check if hops($n), max_hops($m), $n <= $m")?
        .policy("allow if true")?;
    authorizer.build(token)?.authorize()?;
    Ok(())
}

/// What the authority block grants.
struct Granted {
    skills: BTreeSet<String>,
    scopes: BTreeSet<String>,
    modes: BTreeSet<String>,
    most: i64,
    subject: Option<String>,
    workflow: Option<String>,
}

/// What a token allows, from what its authority grants and every check since takes away.
fn read(token: &Biscuit, hops: u32) -> Result<Seen, TokenError> {
    let mut authorizer = AuthorizerBuilder::new().set_limits(limits()).build(token)?;
    let (_, rules, checks, _) = authorizer.dump();
    if !rules.is_empty() {
        return Err(TokenError::Form("it has rules"));
    }
    let granted = Granted::of(&mut authorizer)?;
    let mut scope = Scope { skills: Some(names(&granted.skills)), scopes: Some(names(&granted.scopes)), ..Scope::top() };
    let mut modes = modes(&granted.modes);
    let mut most = granted.most;
    for check in &checks {
        match Limit::of(check).ok_or(TokenError::Form("it has a check that cannot be read"))? {
            Limit::Skills(limit) => scope.skills = scope.skills.map(|held| held.meet(&names(&limit))),
            Limit::Scopes(limit) => scope.scopes = scope.scopes.map(|held| held.meet(&names(&limit))),
            Limit::Modes(limit) => modes = modes.meet(&self::modes(&limit)),
            Limit::Audiences(limit) => {
                let limit: Patterns<Audience> = limit.iter().filter_map(|url| url.parse().ok().map(Audience::Exact)).collect();
                scope.audiences = Some(scope.audiences.map_or_else(|| limit.clone(), |held| held.meet(&limit)));
            }
            Limit::Hops(limit) => most = most.min(limit),
            Limit::Ends(limit) => {
                let limit = i64::try_from(limit).ok().and_then(|seconds| Timestamp::from_unix(seconds, 0));
                let limit = limit.ok_or(TokenError::Form("it ends at a time that does not exist"))?;
                scope.not_after = Some(scope.not_after.map_or(limit, |held| held.min(limit)));
            }
        }
    }
    scope.input_modes = Some(modes.clone());
    scope.output_modes = Some(modes);
    scope.hops = Some(u32::try_from(most.saturating_sub(hops.into()).max(0)).unwrap_or(u32::MAX));
    Ok(Seen { subject: granted.subject, workflow: granted.workflow, scope, hops })
}

impl Granted {
    /// Facts of later blocks are not seen here, so they grant nothing (LA-38).
    fn of(authorizer: &mut Authorizer) -> Result<Self, TokenError> {
        let mut names = |query: &str| -> Result<BTreeSet<String>, TokenError> {
            let found: Vec<(BTreeSet<String>,)> = authorizer.query(query)?;
            only(found).ok_or(TokenError::Form("it does not grant skills, scopes and modes, once each"))
        };
        let skills = names("data($set) <- skills($set)")?;
        let scopes = names("data($set) <- scopes($set)")?;
        let modes = names("data($set) <- modes($set)")?;
        let most: Vec<(i64,)> = authorizer.query("data($most) <- max_hops($most)")?;
        let most = only(most).ok_or(TokenError::Form("it does not say once how often it may be passed on"))?;
        let mut word = |query: &str| -> Result<Option<String>, TokenError> {
            let found: Vec<(String,)> = authorizer.query(query)?;
            Ok(only(found))
        };
        let subject = word("data($text) <- subject($text)")?;
        let workflow = word("data($text) <- workflow($text)")?;
        Ok(Self { skills, scopes, modes, most, subject, workflow })
    }
}

/// One check of the profile.
enum Limit {
    Skills(BTreeSet<String>),
    Scopes(BTreeSet<String>),
    Modes(BTreeSet<String>),
    Audiences(BTreeSet<String>),
    /// At most so many hops, from the first.
    Hops(i64),
    /// Seconds since 1970.
    Ends(u64),
}

impl Limit {
    /// `check if PREDICATE($x), EXPRESSION`, with one of the expressions that [`among`], [`at_most`] and [`ends`] write.
    fn of(check: &Check) -> Option<Self> {
        let ([Rule { body, expressions, scopes, .. }], CheckKind::One) = (check.queries.as_slice(), &check.kind) else { return None };
        let ([Predicate { name, terms }], [Expression { ops }], true) = (body.as_slice(), expressions.as_slice(), scopes.is_empty()) else {
            return None;
        };
        let [Term::Variable(variable)] = terms.as_slice() else { return None };
        let is_it = |term: &Term| matches!(term, Term::Variable(other) if other == variable);
        match (name.as_str(), ops.as_slice()) {
            (need, [Op::Value(Term::Set(set)), Op::Value(term), Op::Binary(Binary::Contains)]) if is_it(term) => {
                let texts = set.iter().map(|term| if let Term::Str(text) = term { Some(text.clone()) } else { None });
                let texts = texts.collect::<Option<_>>()?;
                match need {
                    "need_skills" => Some(Self::Skills(texts)),
                    "need_scopes" => Some(Self::Scopes(texts)),
                    "need_modes" => Some(Self::Modes(texts)),
                    "audience" => Some(Self::Audiences(texts)),
                    _ => None,
                }
            }
            ("hops", [Op::Value(term), Op::Value(Term::Integer(most)), Op::Binary(Binary::LessOrEqual)]) if is_it(term) => {
                Some(Self::Hops(*most))
            }
            ("time", [Op::Value(term), Op::Value(Term::Date(end)), Op::Binary(Binary::LessThan)]) if is_it(term) => Some(Self::Ends(*end)),
            _ => None,
        }
    }
}

/// `check if PREDICATE($x), {…}.contains($x)`
fn among(predicate: &str, texts: &BTreeSet<String>) -> Check {
    check(predicate, vec![Op::Value(set(texts)), Op::Value(variable()), Op::Binary(Binary::Contains)])
}

/// `check if PREDICATE($x), $x <= MOST`
fn at_most(predicate: &str, most: i64) -> Check {
    check(predicate, vec![Op::Value(variable()), Op::Value(Term::Integer(most)), Op::Binary(Binary::LessOrEqual)])
}

/// `check if time($x), $x < END`
fn ends(end: Timestamp) -> Check {
    let end = Term::Date(u64::try_from(end.unix().0).unwrap_or(0));
    check("time", vec![Op::Value(variable()), Op::Value(end), Op::Binary(Binary::LessThan)])
}

fn check(predicate: &str, ops: Vec<Op>) -> Check {
    let head = Predicate::new("query".to_owned(), Vec::new());
    let body = vec![Predicate::new(predicate.to_owned(), vec![variable()])];
    Check { queries: vec![Rule::new(head, body, vec![Expression { ops }], Vec::new())], kind: CheckKind::One }
}

fn variable() -> Term {
    Term::Variable("x".to_owned())
}

fn fact(name: &str, term: Term) -> Fact {
    Fact::new(name.to_owned(), vec![term])
}

fn text(text: &str) -> Term {
    Term::Str(text.to_owned())
}

fn set(texts: &BTreeSet<String>) -> Term {
    Term::Set(texts.iter().cloned().map(Term::Str).collect())
}

fn only<T>(found: Vec<(T,)>) -> Option<T> {
    let mut found = found.into_iter();
    let first = found.next();
    first.filter(|_| found.next().is_none()).map(|(only,)| only)
}

fn within_limits(token: String) -> Result<Secret, TokenError> {
    if token.len() > SIZE { Err(TokenError::TooLong) } else { Ok(Secret::new(token)) }
}

/// Names as they are. In a token a star is a character like others.
fn names(names: &BTreeSet<String>) -> Patterns<Name> {
    names.iter().cloned().map(Name::Exact).collect()
}

fn modes(modes: &BTreeSet<String>) -> Patterns<Mode> {
    modes.iter().filter_map(|mode| mode.parse().ok()).filter(|mode| matches!(mode, Mode::Exact(..))).collect()
}

fn exact_names(limit: Option<&Patterns<Name>>, known: &BTreeSet<String>) -> BTreeSet<String> {
    exact(limit, known, |name| matches!(name, Name::Exact(_)))
}

fn exact_modes(limit: Option<&Patterns<Mode>>, known: &BTreeSet<String>) -> BTreeSet<String> {
    exact(limit, known, |mode| matches!(mode, Mode::Exact(..)))
}

fn exact_audiences(limit: &Patterns<Audience>, known: &BTreeSet<String>) -> BTreeSet<String> {
    exact(Some(limit), known, |audience| matches!(audience, Audience::Exact(_)))
}

/// What a dimension stands for, written out: what is exact already, and of the known names those that it allows.
fn exact<P: Pattern>(limit: Option<&Patterns<P>>, known: &BTreeSet<String>, is_exact: impl Fn(&P) -> bool) -> BTreeSet<String> {
    let said = limit.into_iter().flat_map(Patterns::iter).filter(|pattern| is_exact(pattern)).map(ToString::to_string);
    let meant = known.iter().filter(|name| limit.is_none_or(|limit| limit.allows(name))).cloned();
    said.chain(meant).collect()
}
