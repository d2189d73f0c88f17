// The public API of crates/lattice. Written by a test (tests/repository); do not edit.

// caps.rs
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Capability {
    pub id: String,
    pub input: Patterns<Mode>,
    pub output: Patterns<Mode>,
    pub needs: Vec<BTreeSet<String>>,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Capabilities(_);
impl Capabilities {
    pub fn of(card: &Card) -> Self {}
    pub fn iter(&self) -> impl Iterator<Item = &Capability> {}
    pub fn get(&self, skill: &str) -> Option<&Capability> {}
    pub fn is_empty(&self) -> bool {}
    pub fn within(&self, scope: &Scope, url: &str, now: Timestamp) -> Self {}
}
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Required {
    pub skills: BTreeSet<String>,
    pub input: Patterns<Mode>,
    pub output: Patterns<Mode>,
    pub amount: Option<(String, u64)>,
}
impl Required {
    pub fn skills<S: Into<String>>(skills: impl IntoIterator<Item = S>) -> Self {}
    pub fn within(
        &self,
        capabilities: &Capabilities,
        scope: &Scope,
        url: &str,
        now: Timestamp,
    ) -> Result<Capabilities, Refused> {}
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    pub allowed: Capabilities,
    pub missing: Vec<Missing>,
}
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Missing {
    pub skill: Option<String>,
    pub why: Why,
    pub scopes: BTreeSet<String>,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Why {
    UnknownSkill,
    SkillOutOfScope,
    AudienceOutOfScope,
    ScopeMissing,
    InputMode,
    OutputMode,
    BudgetExceeded,
    HopsExhausted,
    Expired,
    Empty,
}
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Violation {
    pub from: String,
    pub to: String,
    pub kind: Kind,
    pub workflow: Option<String>,
    pub edge: Option<String>,
    pub required: BTreeSet<String>,
    pub allowed: BTreeSet<String>,
    pub missing: Vec<Missing>,
}
impl Violation {
    pub fn new(
        from: impl Into<String>,
        to: impl Into<String>,
        kind: Kind,
        required: &Required,
        refused: Refused,
    ) -> Self {}
    pub fn within(
        mut self,
        workflow: impl Into<String>,
        edge: impl Into<String>,
    ) -> Self {}
}
impl fmt::Display for Violation {}
impl fmt::Display for Missing {}
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize
)]
pub enum Kind {
    Delegate,
    Handoff,
}

// check.rs
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Known {
    pub card: Card,
    pub url: String,
    pub trust: Trust,
    pub callable: bool,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    Verified,
    Reduced,
    Unsigned,
}
impl Known {
    pub fn new(card: Card, url: impl Into<String>) -> Self {}
    pub fn callable(mut self, callable: bool) -> Self {}
    pub fn trust(mut self, trust: Trust) -> Self {}
}
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    pub workflow: String,
    pub agents: Vec<AgentReport>,
    pub edges: Vec<EdgeReport>,
    pub findings: Vec<Finding>,
}
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AgentReport {
    pub id: String,
    pub caps: Capabilities,
    pub reaches: Vec<Scope>,
}
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EdgeReport {
    pub from: String,
    pub to: String,
    pub kind: Kind,
    pub required: BTreeSet<String>,
    pub effective: BTreeSet<String>,
    pub ok: bool,
    pub violation: Option<Violation>,
    pub unchecked: Option<String>,
}
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    pub code: Code,
    pub level: Level,
    pub message: String,
    pub place: String,
    pub path: Vec<String>,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub enum Level {
    Error,
    Warning,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub enum Code {
    E01,
    E02,
    E03,
    E04,
    E05,
    E06,
    W01,
    W02,
    W03,
    W04,
    W05,
    W06,
    W07,
    W08,
    W09,
}
impl Code {
    pub fn level(self) -> Level {}
}
impl Report {
    pub fn is_good(&self) -> bool {}
}
impl Workflow {
    pub fn check(
        &self,
        cards: &BTreeMap<String, Result<Known, String>>,
        now: Timestamp,
    ) -> Report {}
}

// gate.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strictness {
    Off,
    Warn,
    Enforce,
}
#[derive(Debug, Clone)]
pub struct Gate {}
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Passage<'a> {
    pub from: Option<&'a str>,
    pub to: &'a str,
    pub kind: Kind,
    pub card: &'a Card,
    pub now: Timestamp,
    pub required: Required,
    pub workflow: Option<&'a str>,
    pub carried: Option<Scope>,
    pub scopes: BTreeSet<String>,
    pub transferred: Option<Scope>,
    pub hops: u32,
    pub approved_by: Option<&'a str>,
}
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Passed {
    pub scope: Scope,
    pub effective: Capabilities,
    pub workflow: Option<String>,
    pub audiences: Option<BTreeSet<String>>,
    pub warning: Option<Box<Violation>>,
}
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct Denied {
    pub violation: Box<Violation>,
    pub escalate: bool,
}
impl<'a> Passage<'a> {
    pub fn new(to: &'a str, kind: Kind, card: &'a Card, now: Timestamp) -> Self {}
    pub fn requires(mut self, required: Required) -> Self {}
}
impl Gate {
    pub fn new(agent: impl Into<String>) -> Self {}
    pub fn workflow(mut self, workflow: Workflow) -> Self {}
    pub fn known(mut self, id: &str, url: &str) -> Self {}
    pub fn scope(mut self, scope: Scope) -> Self {}
    pub fn strictness(mut self, strictness: Strictness) -> Self {}
    pub fn least_privilege(mut self, least: bool) -> Self {}
    pub fn on_violation(mut self, on_violation: OnViolation) -> Self {}
    pub fn approvers<S: Into<String>>(
        mut self,
        approvers: impl IntoIterator<Item = S>,
    ) -> Self {}
    pub fn is_approver(&self, who: &str) -> bool {}
    pub fn escalates(&self, violation: &Violation) -> bool {}
    pub fn strict(&self) -> Strictness {}
    pub fn check(&self, passage: &Passage<'_>) -> Result<Passed, Denied> {}
}
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Arrival<'a> {
    pub at: &'a str,
    pub card: &'a Card,
    pub from: &'a str,
    pub kind: Kind,
    pub carried: &'a Scope,
    pub hops: u32,
    pub claimed: u32,
    pub required: Required,
    pub now: Timestamp,
}
impl<'a> Arrival<'a> {
    pub fn new(at: &'a str, card: &'a Card, carried: &'a Scope, now: Timestamp) -> Self {}
    pub fn check(&self) -> Result<Capabilities, Box<Violation>> {}
}

// lib.rs
pub use caps::{
    Capabilities, Capability, Kind, Missing, Refused, Required, Violation, Why,
};
pub use check::{AgentReport, Code, EdgeReport, Finding, Known, Level, Report, Trust};
pub use gate::{Arrival, Denied, Gate, Passage, Passed, Strictness};
pub use pattern::{Audience, Mode, Name, Origin, Pattern, PatternError, Patterns};
pub use read::WorkflowError;
pub use scope::Scope;
#[cfg(feature = "biscuit")]
pub use token::{Grant, Hop, Issuer, Needs, Roots, Seen, TokenError, Vocabulary};
pub use workflow::{Agent, Edge, OnViolation, Workflow};

// pattern.rs
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PatternError {}
pub trait Pattern: Clone + Ord + fmt::Debug + fmt::Display + FromStr<
        Err = PatternError,
    > {
    fn meet(&self, other: &Self) -> Option<Self>;
    fn covers(&self, other: &Self) -> bool {}
}
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    Exact(String),
    Prefix(String),
}
impl FromStr for Name {
    type Err = PatternError;
}
impl fmt::Display for Name {}
impl Pattern for Name {}
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Audience {
    Any,
    Exact(Origin),
    Below(Origin),
}
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {}
impl FromStr for Origin {
    type Err = PatternError;
}
impl fmt::Display for Origin {}
impl FromStr for Audience {
    type Err = PatternError;
}
impl fmt::Display for Audience {}
impl Pattern for Audience {}
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    Any,
    Family(String),
    Exact(String, String),
}
impl FromStr for Mode {
    type Err = PatternError;
}
impl fmt::Display for Mode {}
impl Pattern for Mode {}
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Patterns<P>(_);
impl<P: Pattern> Patterns<P> {
    pub const fn none() -> Self {}
    pub fn meet(&self, other: &Self) -> Self {}
    pub fn join(&self, other: &Self) -> Self {}
    pub fn covers(&self, pattern: &P) -> bool {}
    pub fn allows(&self, text: &str) -> bool {}
    pub fn is_empty(&self) -> bool {}
    pub fn iter(&self) -> impl Iterator<Item = &P> {}
}
impl<P: Pattern> Default for Patterns<P> {}
impl<P: Pattern> FromIterator<P> for Patterns<P> {}
impl<P: Pattern> Serialize for Patterns<P> {}
impl<'de, P: Pattern> Deserialize<'de> for Patterns<P> {}

// picture.rs
impl Report {
    pub fn to_dot(&self) -> String {}
    pub fn to_mermaid(&self) -> String {}
    pub fn to_svg(&self) -> String {}
}

// read.rs
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowError {}
impl WorkflowError {
    pub fn message(&self) -> &str {}
    pub fn wrong(&self) -> Option<&str> {}
    pub fn allowed(&self) -> &[String] {}
    pub fn span(&self) -> Option<Range<usize>> {}
    pub fn line(&self) -> Option<usize> {}
}
impl fmt::Display for WorkflowError {}
impl std::error::Error for WorkflowError {}
impl Workflow {
    pub fn parse(text: &str) -> Result<Self, WorkflowError> {}
}
impl Scope {
    pub fn parse(json: &[u8]) -> Result<Self, WorkflowError> {}
}

// scope.rs
#[derive(
    Debug,
    Clone,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize
)]
#[non_exhaustive]
pub struct Scope {
    pub skills: Option<Patterns<Name>>,
    pub audiences: Option<Patterns<Audience>>,
    pub scopes: Option<Patterns<Name>>,
    pub input_modes: Option<Patterns<Mode>>,
    pub output_modes: Option<Patterns<Mode>>,
    pub budget: Option<BTreeMap<String, u64>>,
    pub hops: Option<u32>,
    pub not_after: Option<Timestamp>,
}
impl Scope {
    pub fn top() -> Self {}
    pub fn bottom() -> Self {}
    pub fn of_skills<S: AsRef<str>>(skills: impl IntoIterator<Item = S>) -> Self {}
    pub fn meet(&self, other: &Self) -> Self {}
    pub fn join(&self, other: &Self) -> Self {}
    pub fn is_within(&self, other: &Self) -> bool {}
    pub fn passed_on(&self, grant: &Self) -> Self {}
    pub fn affords(&self, currency: &str, amount: u64) -> bool {}
}

// token.rs
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    TooLong,
    TooManyBlocks,
    UnknownRoot,
    Invalid(String),
    Form(&'static str),
    Refused(String),
    Unsayable(&'static str),
    Key(String),
}
impl From<error::Token> for TokenError {}
pub struct Issuer {}
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Grant {
    pub scope: Scope,
    pub subject: Option<String>,
    pub workflow: Option<String>,
    pub vocabulary: Vocabulary,
}
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vocabulary {
    pub skills: BTreeSet<String>,
    pub scopes: BTreeSet<String>,
    pub modes: BTreeSet<String>,
    pub audiences: BTreeSet<String>,
}
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Hop<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub scope: Scope,
    pub audiences: Option<BTreeSet<String>>,
}
#[derive(Debug, Clone, Default)]
pub struct Roots(_);
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    pub skills: BTreeSet<String>,
    pub scopes: BTreeSet<String>,
    pub modes: BTreeSet<String>,
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    pub subject: Option<String>,
    pub workflow: Option<String>,
    pub scope: Scope,
    pub hops: u32,
}
impl Issuer {
    pub fn new(kid: u32, private_key: &Secret) -> Result<Self, TokenError> {}
    pub fn generate(kid: u32) -> Self {}
    pub fn private_key(&self) -> Secret {}
    pub fn public_key(&self) -> String {}
    pub fn mint(&self, grant: &Grant) -> Result<Secret, TokenError> {}
}
impl std::fmt::Debug for Issuer {}
impl Grant {
    pub fn new(scope: Scope) -> Self {}
}
impl Vocabulary {
    pub fn of<'a>(cards: impl IntoIterator<Item = &'a Card>) -> Self {}
}
impl<'a> Hop<'a> {
    pub fn new(from: &'a str, to: &'a str, scope: Scope) -> Self {}
    pub fn audiences(mut self, audiences: Option<BTreeSet<String>>) -> Self {}
    pub fn narrow(&self, token: &Secret) -> Result<Secret, TokenError> {}
}
impl Needs {
    pub fn skills<S: Into<String>>(skills: impl IntoIterator<Item = S>) -> Self {}
}
impl Roots {
    pub fn new() -> Self {}
    pub fn root(mut self, kid: u32, public_key: &str) -> Result<Self, TokenError> {}
    pub fn is_empty(&self) -> bool {}
    pub fn verify(
        &self,
        token: &Secret,
        audience: &str,
        now: Timestamp,
        needs: &Needs,
    ) -> Result<Seen, TokenError> {}
}
impl ScopeTokens for Roots {}

// workflow.rs
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workflow {
    pub name: String,
    pub start: Vec<String>,
    pub scope: Scope,
    pub agents: Vec<Agent>,
    pub edges: Vec<Edge>,
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agent {
    pub id: String,
    pub card: Option<String>,
    pub url: Option<String>,
    pub allow: Option<Scope>,
    pub scope: Option<Scope>,
}
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub kind: Kind,
    pub requires: BTreeSet<String>,
    pub grant: Option<Scope>,
    pub on_violation: Option<OnViolation>,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnViolation {
    Fail,
    Escalate,
}
impl Workflow {
    pub fn agent(&self, id: &str) -> Option<&Agent> {}
    pub fn reachable<'a>(&'a self, from: &'a str) -> BTreeSet<&'a str> {}
    pub fn edge(&self, from: &str, to: &str, kind: Kind) -> Option<&Edge> {}
}
impl Edge {
    pub fn label(&self) -> String {}
    pub fn required(&self) -> Required {}
    pub fn passes_on(&self, held: &Scope, least_privilege: bool) -> Scope {}
}
