// The public API of crates/core. Written by a test (tests/repository); do not edit.

// artifact.rs
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Artifact {
    pub artifact_id: ArtifactId,
    pub name: String,
    pub description: String,
    pub parts: Vec<Part>,
    pub metadata: Object,
    pub extensions: Vec<String>,
}
impl Artifact {
    pub fn new(part: impl Into<Part>) -> Self {}
    pub fn of<P: Into<Part>>(parts: impl IntoIterator<Item = P>) -> Self {}
    pub fn id(mut self, id: impl Into<ArtifactId>) -> Self {}
    pub fn named(mut self, name: impl Into<String>) -> Self {}
    pub fn described(mut self, description: impl Into<String>) -> Self {}
    pub fn part(mut self, part: impl Into<Part>) -> Self {}
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {}
}

// caller.rs
#[derive(Clone, Default)]
pub struct Caller {}
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    pub tenant: String,
    pub subject: Option<String>,
    pub actors: Vec<String>,
    pub scopes: BTreeSet<String>,
    pub scheme: Option<String>,
    pub presented: Option<Box<Presented>>,
}
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallContext {
    pub extensions: BTreeSet<String>,
    pub trace: Option<TraceContext>,
    pub deadline: Option<Instant>,
    pub idempotency_key: Option<String>,
    pub resume_after: Option<Seq>,
    pub names_tasks: bool,
    pub grant: Option<Secret>,
    pub carried: Option<Box<Carried>>,
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Presented {
    pub token: Secret,
    pub scopes: Option<Vec<String>>,
}
impl Presented {
    pub fn new(token: impl Into<Secret>) -> Self {}
    pub fn within(&self, scope: Option<&Object>) -> Self {}
    pub fn allows(&self, scope: &str) -> bool {}
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Carried {
    pub token: Secret,
    pub subject: Option<String>,
    pub workflow: Option<String>,
    pub scope: Object,
    pub hops: u32,
}
impl Carried {
    pub fn new(token: impl Into<Secret>, scope: Object, hops: u32) -> Self {}
}
pub trait ScopeTokens: Send + Sync {
    fn verify(&self, token: &Secret, audience: &str, now: Timestamp) -> Result<Carried>;
}
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TraceContext {
    pub parent: String,
    pub state: String,
}
impl fmt::Debug for Caller {}
impl PartialEq for Caller {}
impl Eq for Caller {}
impl Caller {
    pub fn anonymous() -> Self {}
    pub fn new(subject: impl Into<String>) -> Self {}
    pub fn identity(&self) -> &Identity {}
    pub fn identity_mut(&mut self) -> &mut Identity {}
    pub fn call(&self) -> &CallContext {}
    pub fn call_mut(&mut self) -> &mut CallContext {}
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {}
    pub fn actor(mut self, actor: impl Into<String>) -> Self {}
    pub fn scope(mut self, scope: impl Into<String>) -> Self {}
    pub fn scheme(mut self, scheme: impl Into<String>) -> Self {}
    pub fn extension(mut self, uri: impl Into<String>) -> Self {}
    pub fn trace(mut self, trace: TraceContext) -> Self {}
    pub fn deadline(mut self, deadline: Instant) -> Self {}
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {}
    pub fn resume_after(mut self, seq: Seq) -> Self {}
    pub fn naming_tasks(mut self) -> Self {}
    pub fn grant(mut self, token: impl Into<Secret>) -> Self {}
    pub fn carried(mut self, carried: Carried) -> Self {}
    pub fn presented(mut self, token: impl Into<Secret>) -> Self {}
    pub fn may_use(&self, skill: &Skill) -> bool {}
    pub fn meets(&self, requirement: &SecurityRequirement) -> bool {}
    pub fn has_extension(&self, uri: &str) -> bool {}
}
impl TraceContext {
    pub fn new(parent: impl Into<String>, state: impl Into<String>) -> Self {}
    pub fn continued(&self, span: u64) -> Option<Self> {}
}

// card.rs
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Card {
    pub name: String,
    pub description: String,
    pub supported_interfaces: Vec<Interface>,
    pub provider: Option<Provider>,
    pub version: String,
    pub documentation_url: Option<String>,
    pub capabilities: Capabilities,
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    pub security_requirements: Vec<SecurityRequirement>,
    pub default_input_modes: Vec<String>,
    pub default_output_modes: Vec<String>,
    pub skills: Vec<Skill>,
    pub signatures: Vec<Signature>,
    pub icon_url: Option<String>,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Interface {
    pub url: String,
    pub protocol_binding: String,
    pub tenant: String,
    pub protocol_version: String,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Provider {
    pub url: String,
    pub organization: String,
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Capabilities {
    pub streaming: Option<bool>,
    pub push_notifications: Option<bool>,
    pub extensions: Vec<Extension>,
    pub extended_agent_card: Option<bool>,
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Extension {
    pub uri: String,
    pub description: String,
    pub required: bool,
    pub params: Option<Object>,
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skill {
    pub id: String,
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
    pub examples: Vec<String>,
    pub input_modes: Vec<String>,
    pub output_modes: Vec<String>,
    pub security_requirements: Vec<SecurityRequirement>,
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Signature {
    pub protected: String,
    pub signature: String,
    pub header: Option<Object>,
}
impl Card {
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {}
    pub fn version(mut self, version: impl Into<String>) -> Self {}
    pub fn skill(self, id: impl Into<String>, description: impl Into<String>) -> Self {}
    pub fn with_skill(mut self, skill: Skill) -> Self {}
    pub fn interface(
        mut self,
        url: impl Into<String>,
        binding: Binding,
        version: Version,
    ) -> Self {}
    pub fn provider(
        mut self,
        organization: impl Into<String>,
        url: impl Into<String>,
    ) -> Self {}
    pub fn streaming(mut self, yes: bool) -> Self {}
    pub fn push_notifications(mut self, yes: bool) -> Self {}
    pub fn extension(mut self, extension: Extension) -> Self {}
    pub fn security_scheme(
        mut self,
        name: impl Into<String>,
        scheme: SecurityScheme,
    ) -> Self {}
    pub fn require(mut self, requirement: SecurityRequirement) -> Self {}
    pub fn takes<S: Into<String>>(mut self, modes: impl IntoIterator<Item = S>) -> Self {}
    pub fn gives<S: Into<String>>(mut self, modes: impl IntoIterator<Item = S>) -> Self {}
}
impl Interface {
    pub fn new(
        url: impl Into<String>,
        binding: impl Into<String>,
        version: impl Into<String>,
    ) -> Self {}
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {}
}
impl Skill {
    pub fn new(id: impl Into<String>, description: impl Into<String>) -> Self {}
    pub fn named(mut self, name: impl Into<String>) -> Self {}
    pub fn tags<S: Into<String>>(mut self, tags: impl IntoIterator<Item = S>) -> Self {}
    pub fn example(mut self, text: impl Into<String>) -> Self {}
}
impl Extension {
    pub fn new(uri: impl Into<String>) -> Self {}
    pub fn described(mut self, description: impl Into<String>) -> Self {}
    pub fn required(mut self) -> Self {}
    pub fn param(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {}
}
impl Provider {
    pub fn new(organization: impl Into<String>, url: impl Into<String>) -> Self {}
}
impl Signature {
    pub fn new(protected: impl Into<String>, signature: impl Into<String>) -> Self {}
}

// clock.rs
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;
    fn timer(&self, _after: Duration) -> Option<Timer> {}
}
pub type Timer = Pin<Box<dyn Future<Output = ()> + Send>>;
impl<C: Clock + ?Sized> Clock for Arc<C> {}
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;
impl Clock for SystemClock {}
#[derive(Debug, Clone)]
pub struct ManualClock(_);
impl ManualClock {
    pub fn new(millis: i64) -> Self {}
    pub fn advance(&self, by: Duration) {}
}
impl Clock for ManualClock {}

// error.rs
pub type Result<T, E = Error> = std::result::Result<T, E>;
pub type BoxError = Box<dyn StdError + Send + Sync>;
kinds! {
    #[doc = " The task or push config is unknown, purged, or not visible to the caller."]
    TaskNotFound = "TASK_NOT_FOUND", "Task not found"; #[doc =
    " The task is finished already."] TaskNotCancelable = "TASK_NOT_CANCELABLE",
    "Task cannot be canceled"; #[doc = " The agent offers no webhooks."]
    PushNotificationNotSupported = "PUSH_NOTIFICATION_NOT_SUPPORTED",
    "Push Notification is not supported"; #[doc =
    " The agent does not offer this, or not in this state of the task."]
    UnsupportedOperation = "UNSUPPORTED_OPERATION", "This operation is not supported";
    #[doc = " The agent does not take or give this media type."] ContentTypeNotSupported
    = "CONTENT_TYPE_NOT_SUPPORTED", "Incompatible content types"; #[doc =
    " The agent produced something that breaks the protocol."] InvalidAgentResponse =
    "INVALID_AGENT_RESPONSE", "Invalid agent response"; #[doc =
    " An extended card is declared, but none is configured."]
    ExtendedAgentCardNotConfigured = "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    "Extended agent card is not configured"; #[doc =
    " The agent demands an extension that the client did not activate."]
    ExtensionSupportRequired = "EXTENSION_SUPPORT_REQUIRED",
    "A required extension was not activated"; #[doc =
    " The requested protocol version is not spoken here."] VersionNotSupported =
    "VERSION_NOT_SUPPORTED", "This protocol version is not supported"; #[doc =
    " The body is not JSON."] Parse = "PARSE_ERROR", "Invalid JSON payload"; #[doc =
    " The body is JSON, but not a request."] InvalidRequest = "INVALID_REQUEST",
    "Request payload validation error"; #[doc = " There is no such method or path."]
    MethodNotFound = "METHOD_NOT_FOUND", "Method not found"; #[doc =
    " A parameter is missing or wrong."] InvalidParams = "INVALID_PARAMS",
    "Invalid parameters"; #[doc = " Our fault."] Internal = "INTERNAL_ERROR",
    "Internal error"; #[doc = " Credentials are missing or bad."] Unauthenticated =
    "UNAUTHENTICATED", "Authentication required"; #[doc = " The caller may not do this."]
    PermissionDenied = "UNAUTHORIZED", "Permission denied"; #[doc =
    " The caller, or everyone, asked for too much."] RateLimited = "RATE_LIMITED",
    "Too many requests"; #[doc = " Try again later."] Unavailable = "UNAVAILABLE",
    "Temporarily unavailable"; #[doc = " It took too long."] Timeout = "TIMEOUT",
    "Deadline exceeded";
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldViolation {
    pub field: String,
    pub description: String,
}
impl FieldViolation {
    pub fn new(field: impl Into<String>, description: impl Into<String>) -> Self {}
}
pub struct Error(_);
impl Error {
    pub const DOMAIN: &'static str = ..;
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {}
    pub fn task_not_found(id: impl AsRef<str>) -> Self {}
    pub fn push_config_not_found(task: impl AsRef<str>, id: impl AsRef<str>) -> Self {}
    pub fn invalid_param(
        field: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {}
    pub fn internal(source: impl Into<BoxError>) -> Self {}
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {}
    pub fn violation(
        mut self,
        field: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {}
    pub fn violations_from(
        mut self,
        violations: impl IntoIterator<Item = FieldViolation>,
    ) -> Self {}
    pub fn caused_by(mut self, source: impl Into<BoxError>) -> Self {}
    pub fn kind(&self) -> ErrorKind {}
    pub fn message(&self) -> &str {}
    pub fn metadata(&self) -> &BTreeMap<String, String> {}
    pub fn violations(&self) -> &[FieldViolation] {}
}
impl From<ErrorKind> for Error {}
impl fmt::Display for Error {}
impl fmt::Debug for Error {}
impl StdError for Error {}

// event.rs
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize
)]
pub struct Seq(_);
impl Seq {
    pub const START: Self = ..;
    pub const fn new(number: u64) -> Self {}
    pub const fn get(self) -> u64 {}
    pub const fn next(self) -> Self {}
}
impl fmt::Display for Seq {}
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    Task(Box<Task>),
    Message(Box<Message>),
    Status(Box<StatusUpdate>),
    Artifact(Box<ArtifactUpdate>),
}
oneof! {
    Event, "a stream event" { Task(Box < Task >) = "task"; Message(Box < Message >) =
    "message"; Status(Box < StatusUpdate >) = "statusUpdate" | "status_update";
    Artifact(Box < ArtifactUpdate >) = "artifactUpdate" | "artifact_update"; }
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StatusUpdate {
    pub task_id: TaskId,
    pub context_id: ContextId,
    pub status: TaskStatus,
    pub metadata: Object,
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ArtifactUpdate {
    pub task_id: TaskId,
    pub context_id: ContextId,
    pub artifact: Artifact,
    pub append: bool,
    pub last_chunk: bool,
    pub metadata: Object,
}
impl Event {
    pub fn task_id(&self) -> Option<&TaskId> {}
    pub fn state(&self) -> Option<TaskState> {}
    pub fn ends_stream(&self) -> bool {}
}
impl StatusUpdate {
    pub fn new(
        task: impl Into<TaskId>,
        context: impl Into<ContextId>,
        status: impl Into<TaskStatus>,
    ) -> Self {}
}
impl ArtifactUpdate {
    pub fn new(
        task: impl Into<TaskId>,
        context: impl Into<ContextId>,
        artifact: Artifact,
    ) -> Self {}
    pub fn appended(mut self) -> Self {}
    pub fn last(mut self) -> Self {}
}
impl From<Task> for Event {}
impl From<Message> for Event {}
impl From<StatusUpdate> for Event {}
impl From<ArtifactUpdate> for Event {}
#[derive(Clone)]
pub struct SharedEvent(_);
impl SharedEvent {
    pub const V1_0: u8 = ..;
    pub fn with_json(event: Event, json: Bytes) -> Self {}
    pub fn encoded<E>(
        &self,
        form: u8,
        make: impl FnOnce(&Event) -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {}
    pub fn into_event(self) -> Event {}
}
impl<E: Into<Event>> From<E> for SharedEvent {}
impl Deref for SharedEvent {
    type Target = Event;
}
impl PartialEq for SharedEvent {}
impl fmt::Debug for SharedEvent {}

// extension.rs
pub const HANDOFF: &str = ..;
pub const DELEGATION: &str = ..;
pub const SCOPE: &str = ..;
pub const SKILL_SCHEMA: &str = ..;
pub const SEQUENCE: &str = ..;

// grant.rs
pub trait GrantLookup: Send + Sync {
    async fn granted(&self, grant: &Secret) -> Result<Option<GrantedTask>>;
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantedTask {
    pub tenant: String,
    pub task: TaskId,
}
impl GrantedTask {
    pub fn new(tenant: impl Into<String>, task: impl Into<TaskId>) -> Self {}
    pub fn covers(&self, request: &Request) -> bool {}
}

// handoff/address.rs
#[must_use]
pub fn same_agent(one: &str, other: &str) -> bool {}

// handoff/context.rs
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TransferContext {
    pub originating_task_id: TaskId,
    pub originating_agent: String,
    pub state: Object,
    pub output_keys: Object,
    pub handoff_id: String,
    pub originating_context_id: Option<ContextId>,
    pub trail: Trail,
    pub workflow: String,
    pub requires: Vec<String>,
    pub scope: Option<Object>,
    pub on_behalf_of: Option<OnBehalfOf>,
    pub traceparent: String,
    pub tracestate: String,
    pub deadline: Option<Timestamp>,
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trail {
    pub hop: u32,
    pub max_hops: Option<u32>,
    pub chain: Vec<ChainEntry>,
}
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChainEntry {
    pub agent: String,
    pub task_id: TaskId,
    pub at: Option<Timestamp>,
    pub kind: Passage,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Passage {
    Handoff,
    Delegation,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OnBehalfOf {
    pub iss: String,
    pub sub: String,
}
impl TransferContext {
    pub fn new(task: impl Into<TaskId>, agent: impl Into<String>) -> Self {}
    pub fn of(message: &Message) -> Result<Option<Self>> {}
    pub fn put(&self, message: &mut Message) -> Result<()> {}
}
impl Trail {
    pub fn of(message: &Message) -> Result<Self> {}
    pub fn extended(&self, entry: ChainEntry, limit: u32) -> Self {}
    pub fn is_exhausted(&self, limit: u32) -> bool {}
    pub fn visits<'a>(
        &self,
        agent: impl IntoIterator<Item = &'a str> + Clone,
        kind: Passage,
    ) -> usize {}
}
impl ChainEntry {
    pub fn new(
        agent: impl Into<String>,
        task: impl Into<TaskId>,
        at: Timestamp,
        kind: Passage,
    ) -> Self {}
}
impl OnBehalfOf {
    pub fn new(iss: impl Into<String>, sub: impl Into<String>) -> Self {}
}

// handoff/mod.rs
pub use address::same_agent;
pub use context::{ChainEntry, OnBehalfOf, Passage, Trail, TransferContext};
pub use transfer::{Grant, Transfer};
pub const MAX_BYTES: usize = ..;
pub const MAX_DEPTH: usize = ..;
#[must_use]
pub fn transferred(metadata: &Object) -> Option<&Map<String, Value>> {}
pub fn mark(
    status: &mut TaskStatus,
    metadata: &mut Object,
    transfer: Object,
    task: &TaskId,
    context: &ContextId,
) {}
pub fn unaware(task: &mut Task) {}
pub fn unaware_update(update: &mut StatusUpdate) {}
#[must_use]
pub fn for_unaware(task: &Task) -> Cow<'_, Task> {}
#[must_use]
pub fn event_for_unaware(event: &Event) -> Cow<'_, Event> {}
#[must_use]
pub fn words(transfer: &Map<String, Value>) -> String {}
pub fn announce(message: &mut Message) {}
pub fn set(metadata: &mut Object, member: &str, value: Value) {}

// handoff/transfer.rs
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Transfer {
    pub agent_endpoint: String,
    pub task_id: TaskId,
    pub reason: String,
    pub handoff_id: String,
    pub hop: Option<u32>,
    pub context_id: Option<ContextId>,
    pub card_url: String,
    pub interface: Option<Box<Interface>>,
    pub grant: Option<Grant>,
    pub other: Object,
}
impl Transfer {
    pub fn new(agent_endpoint: impl Into<String>, task: impl Into<TaskId>) -> Self {}
    pub fn reason(mut self, reason: impl Into<String>) -> Self {}
    pub fn handoff(mut self, id: impl Into<String>, hop: u32) -> Self {}
    pub fn grant(mut self, grant: Grant) -> Self {}
    pub fn of(metadata: &Object) -> Result<Option<Self>> {}
    pub fn apply(&self, task: &mut Task) {}
    pub fn to_object(&self) -> Object {}
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Grant {
    pub kind: String,
    pub token: Secret,
    pub expires_at: Option<Timestamp>,
}
impl Grant {
    pub const HEADER: &'static str = ..;
    pub fn bearer(token: impl Into<Secret>, expires_at: Timestamp) -> Self {}
    pub fn of(metadata: &Object) -> Option<Self> {}
    pub fn put(&self, metadata: &mut Object) {}
}
impl fmt::Debug for Transfer {}

// id.rs
id!(#[doc = " Names one task on its server."] TaskId);
id!(#[doc = " Names one conversation: a group of tasks and messages."] ContextId);
id!(#[doc = " Names one message; made by its sender."] MessageId);
id!(#[doc = " Names one artifact within its task."] ArtifactId);
id!(#[doc = " Names one push notification config within its task."] PushConfigId);

// json.rs
#[derive(Clone, Default)]
pub struct Object(_);
impl Object {
    pub const fn new() -> Self {}
    pub fn is_empty(&self) -> bool {}
    pub fn remove(&mut self, name: &str) -> Option<Value> {}
}
impl Deref for Object {
    type Target = Map<String, Value>;
}
impl DerefMut for Object {}
impl fmt::Debug for Object {}
impl PartialEq for Object {}
impl Eq for Object {}
impl Serialize for Object {}
impl<'de> Deserialize<'de> for Object {}
impl From<Map<String, Value>> for Object {}
impl From<Object> for Map<String, Value> {}
impl From<Object> for Value {}
impl FromIterator<(String, Value)> for Object {}
impl<const N: usize> From<[(String, Value); N]> for Object {}
impl Extend<(String, Value)> for Object {}
impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = serde_json::map::IntoIter;
}
impl<'a> IntoIterator for &'a Object {
    type Item = (&'a String, &'a Value);
    type IntoIter = serde_json::map::Iter<'a>;
}
pub fn append<T: Serialize + ?Sized>(
    value: &T,
    out: &mut Vec<u8>,
) -> serde_json::Result<()> {}
#[must_use]
pub fn to_base64(bytes: &[u8]) -> String {}
#[must_use]
pub fn from_base64(text: &str) -> Option<Bytes> {}
#[must_use]
pub fn depth(value: &Value) -> usize {}
pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{}
pub fn non_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + AsRef<str>,
{}
pub fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {}
pub fn int32<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<i32>, D::Error> {}
pub fn int32_or_zero<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<i32, D::Error> {}

// lazy.rs
pub trait EncodedTask: Send + Sync {
    fn decode(&self) -> Result<Task>;
    fn append_json(&self, empty_artifacts: bool, out: &mut Vec<u8>) -> Result<()>;
}
#[derive(Clone)]
pub struct LazyTask(_);
impl LazyTask {
    pub fn encoded(task: impl EncodedTask + 'static) -> Self {}
    pub fn task(&self) -> Result<Cow<'_, Task>> {}
    pub fn decoded(&self) -> Option<&Task> {}
    pub fn to_mut(&mut self) -> Result<&mut Task> {}
    pub fn into_task(self) -> Result<Task> {}
    pub fn append_json(&self, empty_artifacts: bool, out: &mut Vec<u8>) -> Result<()> {}
}
impl From<Task> for LazyTask {}
impl PartialEq for LazyTask {}
impl fmt::Debug for LazyTask {}
impl Serialize for LazyTask {}
impl<'de> Deserialize<'de> for LazyTask {}

// lib.rs
pub mod clock;
pub mod extension;
pub mod handoff;
pub mod json;
pub mod security;
pub mod sync;
pub use artifact::Artifact;
pub use bytes::Bytes;
pub use caller::{
    CallContext, Caller, Carried, Identity, Presented, ScopeTokens, TraceContext,
};
pub use card::{Capabilities, Card, Extension, Interface, Provider, Signature, Skill};
pub use error::{BoxError, Error, ErrorKind, FieldViolation, Result};
pub use event::{ArtifactUpdate, Event, Seq, SharedEvent, StatusUpdate};
pub use grant::{GrantLookup, GrantedTask};
pub use handoff::{
    ChainEntry, Grant, OnBehalfOf, Passage, Trail, Transfer, TransferContext,
};
pub use id::{ArtifactId, ContextId, MessageId, PushConfigId, TaskId};
pub use json::Object;
pub use lazy::{EncodedTask, LazyTask};
pub use message::{Message, Role};
pub use note::{Notes, Remarks};
pub use operations::{Answer, Operations, call};
pub use origin::{Binding, FileBytes, Origin, Version};
pub use part::{Content, Part};
pub use peer::{Peer, Peers};
pub use push::{Authentication, PushConfig, PushRecord};
pub use reply::{PushConfigPage, Reply, SendReply, TaskPage};
pub use request::{
    CancelTask, DeletePushConfig, GetExtendedCard, GetPushConfig, GetTask,
    ListPushConfigs, ListTasks, Operation, Request, SendConfiguration, SendMessage,
    Subscribe,
};
pub use secret::Secret;
pub use security::{SecurityRequirement, SecurityScheme};
pub use stream::EventStream;
pub use task::{Record, Task, TaskState, TaskStatus};
pub use time::{Timestamp, TimestampError};
pub use validate::{Check, Limits, Validate};

// message.rs
proto_enum! {
    #[doc = " Who wrote a message."] Role, "role" { #[doc =
    " Not said; never sent, refused by validation."] #[default] Unspecified = 0,
    "ROLE_UNSPECIFIED"; #[doc = " The client."] User = 1, "ROLE_USER"; #[doc =
    " The agent."] Agent = 2, "ROLE_AGENT"; }
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Message {
    pub message_id: MessageId,
    pub context_id: Option<ContextId>,
    pub task_id: Option<TaskId>,
    pub role: Role,
    pub parts: Vec<Part>,
    pub metadata: Object,
    pub extensions: Vec<String>,
    pub reference_task_ids: Vec<TaskId>,
}
impl Message {
    pub fn new(role: Role, parts: Vec<Part>) -> Self {}
    pub fn user(part: impl Into<Part>) -> Self {}
    pub fn agent(part: impl Into<Part>) -> Self {}
    pub fn id(mut self, id: impl Into<MessageId>) -> Self {}
    pub fn part(mut self, part: impl Into<Part>) -> Self {}
    pub fn in_context(mut self, context: impl Into<ContextId>) -> Self {}
    pub fn to_task(mut self, task: impl Into<TaskId>) -> Self {}
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {}
    pub fn extension(mut self, uri: impl Into<String>) -> Self {}
    pub fn referring_to(mut self, task: impl Into<TaskId>) -> Self {}
    pub fn text(&self) -> String {}
}
impl From<&str> for Message {}
impl From<String> for Message {}

// note.rs
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Notes(_);
impl Notes {
    pub fn is_empty(&self) -> bool {}
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {}
    pub fn under<'a, T: DeserializeOwned>(
        &'a self,
        begin: &'a str,
    ) -> impl Iterator<Item = (&'a str, T)> {}
    pub fn apply(&mut self, remarks: &Remarks) {}
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Remarks(_);
impl Remarks {
    pub fn put(mut self, name: impl Into<String>, note: &impl Serialize) -> Self {}
    pub fn remove(mut self, name: impl Into<String>) -> Self {}
    pub fn and(mut self, other: Self) -> Self {}
}

// operations.rs
pub trait Operations: Send + Sync {
    async fn send_message(
        &self,
        caller: &Caller,
        request: SendMessage,
    ) -> Result<SendReply>;
    async fn stream_message(
        &self,
        caller: &Caller,
        request: SendMessage,
    ) -> Result<EventStream>;
    async fn get_task(&self, caller: &Caller, request: GetTask) -> Result<LazyTask>;
    async fn list_tasks(
        &self,
        caller: &Caller,
        request: ListTasks,
    ) -> Result<TaskPage<LazyTask>>;
    async fn cancel_task(&self, caller: &Caller, request: CancelTask) -> Result<Task>;
    async fn subscribe(
        &self,
        caller: &Caller,
        request: Subscribe,
    ) -> Result<EventStream>;
    async fn create_push_config(
        &self,
        caller: &Caller,
        config: PushConfig,
    ) -> Result<PushConfig>;
    async fn get_push_config(
        &self,
        caller: &Caller,
        request: GetPushConfig,
    ) -> Result<PushConfig>;
    async fn list_push_configs(
        &self,
        caller: &Caller,
        request: ListPushConfigs,
    ) -> Result<PushConfigPage>;
    async fn delete_push_config(
        &self,
        caller: &Caller,
        request: DeletePushConfig,
    ) -> Result<()>;
    async fn get_extended_card(
        &self,
        caller: &Caller,
        request: GetExtendedCard,
    ) -> Result<Card>;
}
pub enum Answer {
    Reply(Reply),
    Stream(EventStream),
}
pub async fn call(
    operations: &dyn Operations,
    caller: &Caller,
    request: Request,
) -> Result<Answer> {}

// origin.rs
#[derive(
    Debug,
    Clone,
    Copy,
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
pub enum Version {
    V0_1,
    V0_2,
    V0_3,
    V1_0,
    Compact,
}
#[derive(
    Debug,
    Clone,
    Copy,
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
pub enum Binding {
    JsonRpc,
    HttpJson,
    Grpc,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileBytes {
    Double,
    Single,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    pub version: Version,
    pub binding: Binding,
    pub file_bytes: FileBytes,
}
impl Origin {
    pub fn new(version: Version, binding: Binding) -> Self {}
    pub fn file_bytes(mut self, form: FileBytes) -> Self {}
}
impl Version {
    pub const LATEST: Self = ..;
    pub const RELEASED: [Self; 4] = ..;
    pub const ALL: [Self; 5] = ..;
    pub const fn as_str(self) -> &'static str {}
}
impl Binding {
    pub const fn as_str(self) -> &'static str {}
    pub fn from_name(name: &str) -> Option<Self> {}
}
impl fmt::Display for Version {}
impl fmt::Display for Binding {}

// part.rs
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Part {
    pub content: Content,
    pub metadata: Object,
    pub filename: String,
    pub media_type: String,
}
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(String),
    Raw(Bytes),
    Url(String),
    Data(Value),
}
impl Part {
    pub fn new(content: Content) -> Self {}
    pub fn text(text: impl Into<String>) -> Self {}
    pub fn raw(bytes: impl Into<Bytes>) -> Self {}
    pub fn url(url: impl Into<String>) -> Self {}
    pub fn data(value: impl Into<Value>) -> Self {}
    pub fn filename(mut self, name: impl Into<String>) -> Self {}
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {}
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {}
    pub fn as_text(&self) -> Option<&str> {}
}
impl From<&str> for Part {}
impl From<String> for Part {}
impl Serialize for Part {}
impl<'de> Deserialize<'de> for Part {}

// peer.rs
pub trait Peers: Send + Sync {
    async fn peer(&self, agent: &str) -> Result<Peer>;
}
#[derive(Clone)]
#[non_exhaustive]
pub struct Peer {
    pub card: Arc<Card>,
    pub operations: Arc<dyn Operations>,
}
impl Peer {
    pub fn new(card: impl Into<Arc<Card>>, operations: Arc<dyn Operations>) -> Self {}
}

// push.rs
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PushConfig {
    pub tenant: String,
    pub id: PushConfigId,
    pub task_id: TaskId,
    pub url: String,
    pub token: Secret,
    pub authentication: Option<Authentication>,
    pub record: PushRecord,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Authentication {
    pub scheme: String,
    pub credentials: Secret,
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PushRecord {
    pub origin: Origin,
    pub schemes: Vec<String>,
    pub header_name: String,
    pub extra: Object,
    pub task_name: Option<TaskId>,
    pub trace: Option<TraceContext>,
    pub aware: bool,
}
impl PushConfig {
    pub fn new(url: impl Into<String>) -> Self {}
    pub fn id(mut self, id: impl Into<PushConfigId>) -> Self {}
    pub fn for_task(mut self, task: impl Into<TaskId>) -> Self {}
    pub fn token(mut self, token: impl Into<Secret>) -> Self {}
    pub fn authentication(
        mut self,
        scheme: impl Into<String>,
        credentials: impl Into<Secret>,
    ) -> Self {}
}
impl Authentication {
    pub fn new(scheme: impl Into<String>, credentials: impl Into<Secret>) -> Self {}
}

// reply.rs
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Sent(SendReply),
    Task(LazyTask),
    Tasks(TaskPage<LazyTask>),
    PushConfig(Box<PushConfig>),
    PushConfigs(PushConfigPage),
    Deleted,
    Card(Box<Card>),
}
#[derive(Debug, Clone, PartialEq)]
pub enum SendReply {
    Task(Box<Task>),
    Message(Box<Message>),
}
oneof! {
    SendReply, "a send response" { Task(Box < Task >) = "task"; Message(Box < Message >)
    = "message"; }
}
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct TaskPage<T = Task> {
    pub tasks: Vec<T>,
    pub next_page_token: String,
    pub page_size: i32,
    pub total_size: i32,
    pub with_artifacts: bool,
}
impl<T> Default for TaskPage<T> {}
impl Serialize for TaskPage {}
impl Task {
    pub fn append_json(&self, empty_artifacts: bool, out: &mut Vec<u8>) -> Result<()> {}
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PushConfigPage {
    pub configs: Vec<PushConfig>,
    pub next_page_token: String,
}
impl<T> TaskPage<T> {
    pub fn new(tasks: Vec<T>, page_size: i32, total_size: i32) -> Self {}
    pub fn next(mut self, token: impl Into<String>) -> Self {}
    pub fn showing_artifacts(mut self) -> Self {}
}
impl TaskPage<LazyTask> {
    pub fn decode(self) -> Result<TaskPage> {}
    pub fn append_json(&self, out: &mut Vec<u8>) -> Result<()> {}
}
impl From<TaskPage> for TaskPage<LazyTask> {}
impl PushConfigPage {
    pub fn new(configs: Vec<PushConfig>) -> Self {}
}
impl Reply {
    pub fn task(&self) -> Result<Option<Cow<'_, Task>>> {}
    pub fn decoded_task(&self) -> Option<&Task> {}
}
impl SendReply {
    pub fn task(&self) -> Option<&Task> {}
}
impl From<Task> for SendReply {}
impl From<Message> for SendReply {}

// request.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    SendMessage,
    StreamMessage,
    GetTask,
    ListTasks,
    CancelTask,
    Subscribe,
    CreatePushConfig,
    GetPushConfig,
    ListPushConfigs,
    DeletePushConfig,
    GetExtendedCard,
}
impl Operation {
    pub const ALL: [Self; 11] = ..;
    pub const fn name(self) -> &'static str {}
    pub const fn is_streaming(self) -> bool {}
}
impl fmt::Display for Operation {}
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    SendMessage(Box<SendMessage>),
    StreamMessage(Box<SendMessage>),
    GetTask(GetTask),
    ListTasks(ListTasks),
    CancelTask(CancelTask),
    Subscribe(Subscribe),
    CreatePushConfig(Box<PushConfig>),
    GetPushConfig(GetPushConfig),
    ListPushConfigs(ListPushConfigs),
    DeletePushConfig(DeletePushConfig),
    GetExtendedCard(GetExtendedCard),
}
impl Request {
    pub const fn operation(&self) -> Operation {}
    pub fn tenant(&self) -> &str {}
    pub fn set_origin(&mut self, origin: Origin) {}
    pub fn origin(&self) -> Option<Origin> {}
    pub fn set_tenant(&mut self, tenant: impl Into<String>) {}
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SendMessage {
    pub tenant: String,
    pub message: Message,
    pub configuration: SendConfiguration,
    pub metadata: Object,
    pub origin: Origin,
    pub create_missing: bool,
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SendConfiguration {
    pub accepted_output_modes: Vec<String>,
    pub push_config: Option<Box<PushConfig>>,
    pub history_length: Option<i32>,
    pub return_immediately: bool,
}
impl SendConfiguration {
    pub fn is_default(&self) -> bool {}
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GetTask {
    pub tenant: String,
    pub id: TaskId,
    pub history_length: Option<i32>,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListTasks {
    pub tenant: String,
    pub context_id: Option<ContextId>,
    pub status: TaskState,
    pub page_size: Option<i32>,
    pub page_token: String,
    pub history_length: Option<i32>,
    pub status_timestamp_after: Option<Timestamp>,
    pub include_artifacts: Option<bool>,
    pub handed_over: Option<bool>,
}
impl ListTasks {
    pub const DEFAULT_PAGE_SIZE: i32 = ..;
    pub const MAX_PAGE_SIZE: i32 = ..;
    pub fn applied_page_size(&self) -> i32 {}
    pub fn with_artifacts(&self) -> bool {}
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CancelTask {
    pub tenant: String,
    pub id: TaskId,
    pub metadata: Object,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Subscribe {
    pub tenant: String,
    pub id: TaskId,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GetPushConfig {
    pub tenant: String,
    pub task_id: TaskId,
    pub id: Option<PushConfigId>,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListPushConfigs {
    pub tenant: String,
    pub task_id: TaskId,
    pub page_size: i32,
    pub page_token: String,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeletePushConfig {
    pub tenant: String,
    pub task_id: TaskId,
    pub id: PushConfigId,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GetExtendedCard {
    pub tenant: String,
}
impl SendMessage {
    pub fn new(message: impl Into<Message>) -> Self {}
}
impl GetTask {
    pub fn new(id: impl Into<TaskId>) -> Self {}
}
impl CancelTask {
    pub fn new(id: impl Into<TaskId>) -> Self {}
}
impl Subscribe {
    pub fn new(id: impl Into<TaskId>) -> Self {}
}
impl GetPushConfig {
    pub fn new(task: impl Into<TaskId>, id: impl Into<PushConfigId>) -> Self {}
}
impl ListPushConfigs {
    pub fn new(task: impl Into<TaskId>) -> Self {}
}
impl DeletePushConfig {
    pub fn new(task: impl Into<TaskId>, id: impl Into<PushConfigId>) -> Self {}
}

// secret.rs
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret(_);
impl Secret {
    pub fn new(text: impl Into<String>) -> Self {}
    pub fn expose(&self) -> &str {}
    pub fn is_empty(&self) -> bool {}
}
impl From<String> for Secret {}
impl From<&str> for Secret {}
impl fmt::Debug for Secret {}

// security.rs
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecurityScheme {
    ApiKey(ApiKeyScheme),
    HttpAuth(HttpAuthScheme),
    OAuth2(OAuth2Scheme),
    OpenIdConnect(OpenIdConnectScheme),
    MutualTls(MutualTlsScheme),
}
oneof! {
    SecurityScheme, "a security scheme" { ApiKey(ApiKeyScheme) = "apiKeySecurityScheme" |
    "api_key_security_scheme"; HttpAuth(HttpAuthScheme) = "httpAuthSecurityScheme" |
    "http_auth_security_scheme"; OAuth2(OAuth2Scheme) = "oauth2SecurityScheme" |
    "oauth2_security_scheme"; OpenIdConnect(OpenIdConnectScheme) =
    "openIdConnectSecurityScheme" | "open_id_connect_security_scheme";
    MutualTls(MutualTlsScheme) = "mtlsSecurityScheme" | "mtls_security_scheme"; }
}
proto_enum::word_enum! {
    #[doc = " Where an API key travels."] ApiKeyLocation { #[doc = " In a header."]
    #[default] Header = "header"; #[doc = " In a query parameter."] Query = "query";
    #[doc = " In a cookie."] Cookie = "cookie"; }
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApiKeyScheme {
    pub description: String,
    pub location: ApiKeyLocation,
    pub name: String,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HttpAuthScheme {
    pub description: String,
    pub scheme: String,
    pub bearer_format: String,
}
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OAuth2Scheme {
    pub description: String,
    pub flows: OAuthFlow,
    pub metadata_url: String,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OpenIdConnectScheme {
    pub description: String,
    pub open_id_connect_url: String,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MutualTlsScheme {
    pub description: String,
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OAuthFlow {
    AuthorizationCode(AuthorizationCodeFlow),
    ClientCredentials(ClientCredentialsFlow),
    Implicit(ImplicitFlow),
    Password(PasswordFlow),
    DeviceCode(DeviceCodeFlow),
}
oneof! {
    OAuthFlow, "an OAuth flow" { AuthorizationCode(AuthorizationCodeFlow) =
    "authorizationCode" | "authorization_code"; ClientCredentials(ClientCredentialsFlow)
    = "clientCredentials" | "client_credentials"; Implicit(ImplicitFlow) = "implicit";
    Password(PasswordFlow) = "password"; DeviceCode(DeviceCodeFlow) = "deviceCode" |
    "device_code"; }
}
pub type Scopes = BTreeMap<String, String>;
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuthorizationCodeFlow {
    pub authorization_url: String,
    pub token_url: String,
    pub refresh_url: String,
    pub scopes: Scopes,
    pub pkce_required: bool,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientCredentialsFlow {
    pub token_url: String,
    pub refresh_url: String,
    pub scopes: Scopes,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceCodeFlow {
    pub device_authorization_url: String,
    pub token_url: String,
    pub refresh_url: String,
    pub scopes: Scopes,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImplicitFlow {
    pub authorization_url: String,
    pub refresh_url: String,
    pub scopes: Scopes,
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PasswordFlow {
    pub token_url: String,
    pub refresh_url: String,
    pub scopes: Scopes,
}
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecurityRequirement {
    pub schemes: BTreeMap<String, Vec<String>>,
}
impl Serialize for SecurityRequirement {}
impl<'de> Deserialize<'de> for SecurityRequirement {}
impl SecurityRequirement {
    pub fn new() -> Self {}
    pub fn and<S: Into<String>>(
        mut self,
        scheme: impl Into<String>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {}
}
impl HttpAuthScheme {
    pub fn new(scheme: impl Into<String>, bearer_format: impl Into<String>) -> Self {}
}
impl ApiKeyScheme {
    pub fn new(location: ApiKeyLocation, name: impl Into<String>) -> Self {}
}
impl OAuth2Scheme {
    pub fn new(flow: OAuthFlow) -> Self {}
}
impl OpenIdConnectScheme {
    pub fn new(url: impl Into<String>) -> Self {}
}
impl OAuthFlow {
    pub fn scopes(&self) -> &Scopes {}
}

// stream.rs
#[must_use = "a stream does nothing until it is read"]
pub struct EventStream(_);
impl EventStream {
    pub fn new(
        events: impl Stream<Item = Result<(Seq, SharedEvent)>> + Send + 'static,
    ) -> Self {}
    pub async fn try_next(&mut self) -> Result<Option<(Seq, SharedEvent)>> {}
    pub fn as_mut(
        &mut self,
    ) -> Pin<&mut (dyn Stream<Item = Result<(Seq, SharedEvent)>> + Send + 'static)> {}
}
impl Stream for EventStream {
    type Item = Result<(Seq, SharedEvent)>;
}
impl fmt::Debug for EventStream {}

// sync.rs
pub fn unpoisoned<G>(locked: LockResult<G>) -> G {}
#[derive(Debug, Default)]
pub struct Mutex<T>(_);
impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {}
    pub fn lock(&self) -> MutexGuard<'_, T> {}
    pub fn get_mut(&mut self) -> &mut T {}
    pub fn into_inner(self) -> T {}
}
#[derive(Debug, Default)]
pub struct RwLock<T>(_);
impl<T> RwLock<T> {
    pub const fn new(value: T) -> Self {}
    pub fn read(&self) -> RwLockReadGuard<'_, T> {}
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {}
}

// task.rs
proto_enum! {
    #[doc = " Where a task stands."] TaskState, "task state" { #[doc =
    " Unknown; never sent in v1.0, refused by validation."] #[default] Unspecified = 0,
    "TASK_STATE_UNSPECIFIED"; #[doc = " Accepted, not started."] Submitted = 1,
    "TASK_STATE_SUBMITTED"; #[doc = " Being worked on."] Working = 2,
    "TASK_STATE_WORKING"; #[doc = " Finished successfully."] Completed = 3,
    "TASK_STATE_COMPLETED"; #[doc = " Finished with an error."] Failed = 4,
    "TASK_STATE_FAILED"; #[doc = " Canceled before completion."] Canceled = 5,
    "TASK_STATE_CANCELED"; #[doc = " The agent waits for a message of the user."]
    InputRequired = 6, "TASK_STATE_INPUT_REQUIRED"; #[doc = " The agent declined."]
    Rejected = 7, "TASK_STATE_REJECTED"; #[doc = " The agent waits for authorization."]
    AuthRequired = 8, "TASK_STATE_AUTH_REQUIRED"; }
}
impl TaskState {
    pub const fn is_terminal(self) -> bool {}
    pub const fn is_interrupted(self) -> bool {}
    pub const fn ends_stream(self) -> bool {}
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Task {
    pub id: TaskId,
    pub context_id: ContextId,
    pub status: TaskStatus,
    pub artifacts: Vec<Artifact>,
    pub history: Vec<Message>,
    pub metadata: Object,
    pub record: Record,
    pub notes: Notes,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    pub origin: Origin,
    pub created: Option<Timestamp>,
    pub updated: Option<Timestamp>,
    pub aware: bool,
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskStatus {
    pub state: TaskState,
    pub message: Option<Message>,
    pub timestamp: Option<Timestamp>,
}
impl Task {
    pub fn new(
        id: impl Into<TaskId>,
        context: impl Into<ContextId>,
        status: impl Into<TaskStatus>,
    ) -> Self {}
    pub fn state(&self) -> TaskState {}
    pub fn trim_history(&mut self, length: usize) {}
}
impl TaskStatus {
    pub fn new(state: TaskState) -> Self {}
    pub fn message(mut self, message: Message) -> Self {}
    pub fn at(mut self, timestamp: Timestamp) -> Self {}
}
impl From<TaskState> for TaskStatus {}
impl Record {
    pub fn new(origin: Origin) -> Self {}
    pub fn times(mut self, created: Timestamp, updated: Timestamp) -> Self {}
}

// time.rs
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampError {
    Form,
    Range,
}
impl Timestamp {
    pub const EPOCH: Self = ..;
    pub const MIN: Self = ..;
    pub fn from_unix(seconds: i64, nanos: i32) -> Option<Self> {}
    pub fn from_number(number: i128) -> Option<Self> {}
    pub fn number(self) -> i128 {}
    pub fn from_unix_millis(millis: i64) -> Option<Self> {}
    pub fn unix(self) -> (i64, i32) {}
    pub fn unix_millis(self) -> i64 {}
    pub fn to_millis(self) -> Self {}
    pub fn parse(text: &str) -> Result<Self, TimestampError> {}
    pub fn parse_lenient(text: &str) -> Result<Self, TimestampError> {}
}
impl fmt::Display for Timestamp {}
impl fmt::Debug for Timestamp {}
impl fmt::Display for TimestampError {}
impl std::error::Error for TimestampError {}
impl Serialize for Timestamp {}
impl<'de> Deserialize<'de> for Timestamp {}

// validate.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    pub parts: usize,
    pub json_depth: usize,
    pub id_bytes: usize,
}
impl Default for Limits {}
pub trait Validate {
    fn check(&self, check: &mut Check);
    fn validate(&self) -> Result<()> {}
    fn validate_within(&self, limits: &Limits) -> Result<()> {}
}
#[derive(Debug)]
pub struct Check {}
impl Check {
    pub fn wrong(&mut self, field: &str, description: impl Into<String>) {}
    pub fn within(&mut self, field: &str, inner: impl FnOnce(&mut Self)) {}
}
impl Validate for Part {}
impl Validate for Message {}
impl Validate for Artifact {}
impl Validate for TaskStatus {}
impl Validate for Task {}
impl Validate for StatusUpdate {}
impl Validate for ArtifactUpdate {}
impl Validate for Event {}
impl Validate for PushConfig {}
impl Validate for SendMessage {}
impl Validate for ListTasks {}
impl Validate for Request {}
impl Validate for SecurityScheme {}
impl Validate for OAuthFlow {}
impl Validate for Card {}
