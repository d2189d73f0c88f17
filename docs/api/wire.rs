// The public API of crates/wire. Written by a test (tests/repository); do not edit.

// card/mod.rs
pub use places::FoundAt;
pub fn read(json: &[u8]) -> Result<Card> {}
pub fn read_from(json: &[u8], found_at: FoundAt<'_>) -> Result<Card> {}
#[derive(Debug, Serialize)]
pub struct Document<'a>(_);
#[must_use]
pub fn v0_3(card: &Card) -> Document<'_> {}
#[must_use]
pub fn v0_3_rest(card: &Card) -> Document<'_> {}
#[must_use]
pub fn v0_2(card: &Card) -> Document<'_> {}
#[must_use]
pub fn agent_json(card: &Card) -> Document<'_> {}
#[must_use]
pub fn merged(card: &Card) -> Document<'_> {}
#[must_use]
pub fn compact<'a>(card: &'a Card, id: &'a str) -> Document<'a> {}
#[must_use]
pub fn snake(card: &Card) -> Document<'_> {}

// card/places.rs
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FoundAt<'a> {
    AgentCardJson(&'a str),
    AgentJson(&'a str),
    Elsewhere,
}

// card/scheme.rs
impl From<ReadScopes> for Scopes {}

// dialect.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    V1_0,
    V1_0Strict,
    V0_3,
    V0_3Rest,
    V0_3RestKind,
    V0_2,
    V0_1,
    Compact,
    V1_0Grpc,
    V0_3Grpc,
}
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StreamMemory {
    pub origin: Origin,
    pub task: Option<TaskId>,
    pub context: Option<ContextId>,
    pub artifacts: Vec<ArtifactId>,
    pub state: Option<TaskState>,
    pub closed: bool,
    pub seq: Option<Seq>,
}
impl StreamMemory {
    pub fn new(origin: Origin) -> Self {}
}
impl Dialect {
    pub const JSON: [Self; 8] = ..;
    pub const PROTOBUF: [Self; 2] = ..;
    pub fn of(version: Version, binding: Binding) -> Option<Self> {}
    pub const fn version(self) -> Version {}
    pub fn request(
        self,
        operation: Operation,
        body: &[u8],
        limits: &Limits,
    ) -> Result<Request> {}
    pub fn decode_request(self, operation: Operation, body: &[u8]) -> Result<Request> {}
    pub fn check(self, request: &Request, limits: &Limits) -> Result<()> {}
    pub fn encode_request(self, request: &Request) -> Result<Vec<u8>> {}
    pub fn decode_reply(self, operation: Operation, body: &[u8]) -> Result<Reply> {}
    pub fn encode_reply(self, reply: &Reply) -> Result<Vec<u8>> {}
    pub fn write_reply(self, reply: &Reply, out: &mut Vec<u8>) -> Result<()> {}
    pub fn write_reply_to(
        self,
        origin: Origin,
        reply: &Reply,
        out: &mut Vec<u8>,
    ) -> Result<()> {}
    pub fn decode_event(
        self,
        body: &[u8],
        memory: &mut StreamMemory,
    ) -> Result<Vec<Event>> {}
    pub fn encode_event(
        self,
        event: &Event,
        memory: &mut StreamMemory,
    ) -> Result<Vec<Vec<u8>>> {}
    pub fn show_event(
        self,
        event: &SharedEvent,
        memory: &mut StreamMemory,
        mut show: impl FnMut(&Bytes),
    ) -> Result<()> {}
    pub fn encode_end(self, memory: &StreamMemory) -> Result<Option<Vec<u8>>> {}
    pub fn notifies(self, event: &Event) -> bool {}
    pub fn encode_push(self, event: &Event, task: &Task) -> Result<Vec<u8>> {}
}

// error_body.rs
impl Dialect {
    pub fn encode_rpc_error(self, error: &Error) -> Result<Vec<u8>> {}
    pub fn decode_rpc_error(self, json: &[u8]) -> Error {}
    pub fn encode_http_error(self, error: &Error) -> Result<(u16, Vec<u8>)> {}
    pub fn encode_http_error_as(self, error: &Error, status: u16) -> Result<Vec<u8>> {}
    pub fn decode_http_error(self, status: u16, json: &[u8]) -> Error {}
}

// errors.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GrpcCode {
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    Unauthenticated = 16,
}
impl GrpcCode {
    pub const fn number(self) -> i32 {}
    pub fn from_number(number: i32) -> Self {}
    pub const fn name(self) -> &'static str {}
}
#[must_use]
pub fn rpc_code(kind: ErrorKind, version: Version) -> i32 {}
#[must_use]
pub fn http_status(kind: ErrorKind, version: Version) -> u16 {}
#[must_use]
pub fn rpc_http_status(kind: ErrorKind) -> u16 {}
#[must_use]
pub fn grpc_code(kind: ErrorKind, version: Version) -> GrpcCode {}
#[must_use]
pub fn class_name(kind: ErrorKind) -> &'static str {}
#[must_use]
pub fn kind_of_class(name: &str) -> Option<ErrorKind> {}
#[must_use]
pub fn kind_of_rpc_code(code: i32, version: Version) -> ErrorKind {}
#[must_use]
pub fn kind_of_http_status(status: u16) -> ErrorKind {}
#[must_use]
pub fn kind_of_grpc_code(code: GrpcCode) -> ErrorKind {}

// facts.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    pub version: Version,
    pub served_with: Version,
    pub interfaces: &'static [Binding],
    pub listed_unless: Option<Version>,
    pub gets_extended_card: bool,
    pub is_canonical: bool,
    pub signs_extended_cards: bool,
    pub media_type: &'static str,
    pub path_prefix: &'static str,
    pub names_tenants: bool,
    pub grpc_versions: &'static [Version],
    pub grpc_card_for_all: bool,
    pub needs_rpc_id: bool,
    pub callers_name_tasks: bool,
    pub messages_have_ids: bool,
    pub lists_push_configs: bool,
    pub has_empty_history: bool,
    pub has_handoffs: bool,
    pub streams_in_pieces: bool,
    pub resumes_streams: bool,
    pub errors_of_streams_are_events: bool,
    pub has_two_extension_headers: bool,
}
#[must_use]
pub const fn facts(version: Version) -> &'static Facts {}

// grpc.rs
pub use crate::v0_3::proto as v0_3;
pub use crate::v1_0::proto as v1_0;
pub const SERVICES: [&str; 2] = ..;
pub const DESCRIPTORS: [&[u8]; 2] = ..;
#[must_use]
pub fn method(path: &str) -> Option<(Dialect, Operation)> {}
#[must_use]
pub fn dialect_of_errors(path: &str) -> Dialect {}
#[must_use]
pub fn path(version: Version, operation: Operation) -> Option<String> {}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    pub code: i32,
    pub message: String,
    pub details: Bytes,
}
impl Dialect {
    pub fn encode_grpc_error(self, error: &Error) -> Status {}
    pub fn encode_grpc_error_as(self, error: &Error, code: GrpcCode) -> Status {}
    pub fn decode_grpc_error(self, code: i32, message: &str, details: &[u8]) -> Error {}
}
pub fn request_json(version: Version, request: &Request) -> Result<Vec<u8>> {}
pub fn reply_json(reply: &Reply) -> Result<Vec<u8>> {}

// headers.rs
pub const VERSION: &str = ..;
pub const EXTENSIONS: &str = ..;
pub const OLD_EXTENSIONS: &str = ..;
pub fn requested_extensions<'a>(
    version: Version,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> BTreeSet<String> {}
pub fn activated_extensions<'a>(
    request: impl IntoIterator<Item = &'a str>,
    active: impl IntoIterator<Item = &'a str>,
) -> Vec<(&'static str, String)> {}
#[must_use]
pub fn client_headers(
    version: Version,
    extensions: &[String],
) -> Vec<(&'static str, String)> {}

// jsonrpc.rs
#[must_use]
pub fn dialect(version: Version) -> Dialect {}
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id(_);
impl Id {
    pub fn null() -> Self {}
    pub fn text(text: &str) -> Self {}
    pub fn number(number: i64) -> Self {}
    pub fn as_json(&self) -> &str {}
    pub fn is_null(&self) -> bool {}
}
#[derive(Debug, Clone)]
pub struct Call<'a> {
    pub id: Option<Id>,
    pub method: Cow<'a, str>,
}
#[derive(Debug)]
pub struct InvalidCall {
    pub id: Id,
    pub error: Error,
}
#[derive(Debug)]
pub struct Response<'a> {
    pub id: Option<Id>,
    pub outcome: std::result::Result<&'a [u8], &'a [u8]>,
}
impl<'a> Response<'a> {
    pub fn parse(body: &'a [u8]) -> Result<Self> {}
}
#[must_use]
pub fn call(id: &Id, method: &str, params: &[u8]) -> Vec<u8> {}
pub fn result_with<E>(
    id: &Id,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<Vec<u8>, E> {}
#[must_use]
pub fn error(id: &Id, error: &[u8]) -> Vec<u8> {}

// lib.rs
pub mod card;
pub mod errors;
#[cfg(feature = "grpc")]
pub mod grpc;
pub mod headers;
pub mod jsonrpc;
pub mod methods;
pub mod pick;
#[cfg(feature = "grpc")]
pub mod proto;
pub mod rest;
pub mod transfer;
pub mod version;
pub use dialect::{Dialect, StreamMemory};
pub use facts::{Facts, facts};
pub use push::decode_push;
pub use push_headers::push_headers;
pub use sse::SSE_KEEP_ALIVE;
pub use v0_3::hybrid_task;

// methods.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Named {
    In(Version),
    InOlder,
}
#[must_use]
pub fn rpc_method(name: &str) -> Option<(Named, Operation)> {}
#[must_use]
pub fn rpc_name(version: Version, operation: Operation) -> Option<&'static str> {}
pub const GRPC_V1_0: &str = ..;
pub const GRPC_V0_3: &str = ..;
#[must_use]
pub const fn grpc_service(version: Version) -> Option<&'static str> {}
#[must_use]
pub fn grpc_method(path: &str) -> Option<(Version, Operation)> {}
#[must_use]
pub fn grpc_name(version: Version, operation: Operation) -> Option<&'static str> {}

// pick.rs
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speaks {}
impl Speaks {
    pub fn new(bindings: impl IntoIterator<Item = Binding>) -> Self {}
    pub fn only(mut self, version: Version) -> Self {}
    pub fn in_own_order(mut self) -> Self {}
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    pub version: Version,
    pub binding: Binding,
    pub url: String,
    pub tenant: String,
    pub guessed: bool,
}
impl Choice {
    pub fn after(&self, refusal: ErrorKind) -> Option<Self> {}
}
pub fn choose(
    card: &[u8],
    found_at: FoundAt<'_>,
    speaks: &Speaks,
) -> Result<Option<Choice>> {}
pub fn candidates(
    card: &[u8],
    found_at: FoundAt<'_>,
    speaks: &Speaks,
) -> Result<Vec<Choice>> {}
#[must_use]
pub fn candidates_of(card: &Card, speaks: &Speaks) -> Vec<Choice> {}

// proto/a2a_v1.rs
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct SendMessageConfiguration {
    pub accepted_output_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub push_notification: ::core::option::Option<PushNotificationConfig>,
    pub history_length: i32,
    pub blocking: bool,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Task {
    pub id: ::prost::alloc::string::String,
    pub context_id: ::prost::alloc::string::String,
    pub status: ::core::option::Option<TaskStatus>,
    pub artifacts: ::prost::alloc::vec::Vec<Artifact>,
    pub history: ::prost::alloc::vec::Vec<Message>,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TaskStatus {
    pub state: i32,
    pub update: ::core::option::Option<Message>,
    pub timestamp: ::core::option::Option<::prost_types::Timestamp>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Part {
    pub metadata: ::core::option::Option<::prost_types::Struct>,
    pub part: ::core::option::Option<part::Part>,
}
pub mod part {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Part {
        Text(::prost::alloc::string::String),
        File(super::FilePart),
        Data(super::DataPart),
    }
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct FilePart {
    pub mime_type: ::prost::alloc::string::String,
    pub name: ::prost::alloc::string::String,
    pub file: ::core::option::Option<file_part::File>,
}
pub mod file_part {
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
    pub enum File {
        FileWithUri(::prost::alloc::string::String),
        FileWithBytes(::prost::bytes::Bytes),
    }
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct DataPart {
    pub data: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Message {
    pub message_id: ::prost::alloc::string::String,
    pub context_id: ::prost::alloc::string::String,
    pub task_id: ::prost::alloc::string::String,
    pub role: i32,
    pub content: ::prost::alloc::vec::Vec<Part>,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
    pub extensions: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub reference_task_ids: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Artifact {
    pub artifact_id: ::prost::alloc::string::String,
    pub name: ::prost::alloc::string::String,
    pub description: ::prost::alloc::string::String,
    pub parts: ::prost::alloc::vec::Vec<Part>,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
    pub extensions: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TaskStatusUpdateEvent {
    pub task_id: ::prost::alloc::string::String,
    pub context_id: ::prost::alloc::string::String,
    pub status: ::core::option::Option<TaskStatus>,
    pub r#final: bool,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TaskArtifactUpdateEvent {
    pub task_id: ::prost::alloc::string::String,
    pub context_id: ::prost::alloc::string::String,
    pub artifact: ::core::option::Option<Artifact>,
    pub append: bool,
    pub last_chunk: bool,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct PushNotificationConfig {
    pub id: ::prost::alloc::string::String,
    pub url: ::prost::alloc::string::String,
    pub token: ::prost::alloc::string::String,
    pub authentication: ::core::option::Option<AuthenticationInfo>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct AuthenticationInfo {
    pub schemes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub credentials: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct AgentInterface {
    pub url: ::prost::alloc::string::String,
    pub transport: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentCard {
    pub name: ::prost::alloc::string::String,
    pub description: ::prost::alloc::string::String,
    pub url: ::prost::alloc::string::String,
    pub provider: ::core::option::Option<AgentProvider>,
    pub version: ::prost::alloc::string::String,
    pub documentation_url: ::prost::alloc::string::String,
    pub capabilities: ::core::option::Option<AgentCapabilities>,
    pub security_schemes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        SecurityScheme,
    >,
    pub security: ::prost::alloc::vec::Vec<crate::proto::SecurityRequirement>,
    pub default_input_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub default_output_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub skills: ::prost::alloc::vec::Vec<AgentSkill>,
    pub supports_authenticated_extended_card: bool,
    pub preferred_transport: ::prost::alloc::string::String,
    pub additional_interfaces: ::prost::alloc::vec::Vec<AgentInterface>,
    pub protocol_version: ::prost::alloc::string::String,
    pub signatures: ::prost::alloc::vec::Vec<AgentCardSignature>,
    pub icon_url: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct AgentProvider {
    pub url: ::prost::alloc::string::String,
    pub organization: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentCapabilities {
    pub streaming: bool,
    pub push_notifications: bool,
    pub extensions: ::prost::alloc::vec::Vec<AgentExtension>,
    pub state_transition_history: bool,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentExtension {
    pub uri: ::prost::alloc::string::String,
    pub description: ::prost::alloc::string::String,
    pub required: bool,
    pub params: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentSkill {
    pub id: ::prost::alloc::string::String,
    pub name: ::prost::alloc::string::String,
    pub description: ::prost::alloc::string::String,
    pub tags: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub examples: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub input_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub output_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub security: ::prost::alloc::vec::Vec<crate::proto::SecurityRequirement>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentCardSignature {
    pub protected: ::prost::alloc::string::String,
    pub signature: ::prost::alloc::string::String,
    pub header: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct TaskPushNotificationConfig {
    pub name: ::prost::alloc::string::String,
    pub push_notification_config: ::core::option::Option<PushNotificationConfig>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct StringList {
    pub list: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SecurityScheme {
    pub scheme: ::core::option::Option<security_scheme::Scheme>,
}
pub mod security_scheme {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Scheme {
        ApiKeySecurityScheme(super::ApiKeySecurityScheme),
        HttpAuthSecurityScheme(super::HttpAuthSecurityScheme),
        Oauth2SecurityScheme(super::OAuth2SecurityScheme),
        OpenIdConnectSecurityScheme(super::OpenIdConnectSecurityScheme),
        MtlsSecurityScheme(super::MutualTlsSecurityScheme),
    }
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ApiKeySecurityScheme {
    pub description: ::prost::alloc::string::String,
    pub location: ::prost::alloc::string::String,
    pub name: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct HttpAuthSecurityScheme {
    pub description: ::prost::alloc::string::String,
    pub scheme: ::prost::alloc::string::String,
    pub bearer_format: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct OAuth2SecurityScheme {
    pub description: ::prost::alloc::string::String,
    pub flows: ::core::option::Option<OAuthFlows>,
    pub oauth2_metadata_url: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct OpenIdConnectSecurityScheme {
    pub description: ::prost::alloc::string::String,
    pub open_id_connect_url: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct MutualTlsSecurityScheme {
    pub description: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct OAuthFlows {
    pub flow: ::core::option::Option<o_auth_flows::Flow>,
}
pub mod o_auth_flows {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Flow {
        AuthorizationCode(super::AuthorizationCodeOAuthFlow),
        ClientCredentials(super::ClientCredentialsOAuthFlow),
        Implicit(super::ImplicitOAuthFlow),
        Password(super::PasswordOAuthFlow),
    }
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AuthorizationCodeOAuthFlow {
    pub authorization_url: ::prost::alloc::string::String,
    pub token_url: ::prost::alloc::string::String,
    pub refresh_url: ::prost::alloc::string::String,
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ClientCredentialsOAuthFlow {
    pub token_url: ::prost::alloc::string::String,
    pub refresh_url: ::prost::alloc::string::String,
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ImplicitOAuthFlow {
    pub authorization_url: ::prost::alloc::string::String,
    pub refresh_url: ::prost::alloc::string::String,
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PasswordOAuthFlow {
    pub token_url: ::prost::alloc::string::String,
    pub refresh_url: ::prost::alloc::string::String,
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SendMessageRequest {
    pub request: ::core::option::Option<Message>,
    pub configuration: ::core::option::Option<SendMessageConfiguration>,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GetTaskRequest {
    pub name: ::prost::alloc::string::String,
    pub history_length: i32,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct CancelTaskRequest {
    pub name: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GetTaskPushNotificationConfigRequest {
    pub name: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct DeleteTaskPushNotificationConfigRequest {
    pub name: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct CreateTaskPushNotificationConfigRequest {
    pub parent: ::prost::alloc::string::String,
    pub config_id: ::prost::alloc::string::String,
    pub config: ::core::option::Option<TaskPushNotificationConfig>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct TaskSubscriptionRequest {
    pub name: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ListTaskPushNotificationConfigRequest {
    pub parent: ::prost::alloc::string::String,
    pub page_size: i32,
    pub page_token: ::prost::alloc::string::String,
}
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GetAgentCardRequest {}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SendMessageResponse {
    pub payload: ::core::option::Option<send_message_response::Payload>,
}
pub mod send_message_response {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Payload {
        Task(super::Task),
        Msg(super::Message),
    }
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct StreamResponse {
    pub payload: ::core::option::Option<stream_response::Payload>,
}
pub mod stream_response {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Payload {
        Task(super::Task),
        Msg(super::Message),
        StatusUpdate(super::TaskStatusUpdateEvent),
        ArtifactUpdate(super::TaskArtifactUpdateEvent),
    }
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListTaskPushNotificationConfigResponse {
    pub configs: ::prost::alloc::vec::Vec<TaskPushNotificationConfig>,
    pub next_page_token: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ListTasksRequest {
    pub context_id: ::prost::alloc::string::String,
    pub status: i32,
    pub page_size: i32,
    pub page_token: ::prost::alloc::string::String,
    pub history_length: i32,
    pub last_updated_time: ::core::option::Option<::prost_types::Timestamp>,
    pub include_artifacts: bool,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListTasksResponse {
    pub tasks: ::prost::alloc::vec::Vec<Task>,
    pub next_page_token: ::prost::alloc::string::String,
    pub total_size: i32,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
pub enum TaskState {
    Unspecified = 0,
    Submitted = 1,
    Working = 2,
    Completed = 3,
    Failed = 4,
    Cancelled = 5,
    InputRequired = 6,
    Rejected = 7,
    AuthRequired = 8,
}
impl TaskState {
    pub fn as_str_name(&self) -> &'static str {}
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {}
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
pub enum Role {
    Unspecified = 0,
    User = 1,
    Agent = 2,
}
impl Role {
    pub fn as_str_name(&self) -> &'static str {}
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {}
}

// proto/google_rpc.rs
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Status {
    pub code: i32,
    pub message: ::prost::alloc::string::String,
    pub details: ::prost::alloc::vec::Vec<::prost_types::Any>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ErrorInfo {
    pub reason: ::prost::alloc::string::String,
    pub domain: ::prost::alloc::string::String,
    pub metadata: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct BadRequest {
    pub field_violations: ::prost::alloc::vec::Vec<bad_request::FieldViolation>,
}
pub mod bad_request {
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct FieldViolation {
        pub field: ::prost::alloc::string::String,
        pub description: ::prost::alloc::string::String,
        pub reason: ::prost::alloc::string::String,
        pub localized_message: ::core::option::Option<super::LocalizedMessage>,
    }
    impl ::prost::Name for FieldViolation {}
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct LocalizedMessage {
    pub locale: ::prost::alloc::string::String,
    pub message: ::prost::alloc::string::String,
}

// proto/lf_a2a_v1.rs
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Task {
    pub id: ::prost::alloc::string::String,
    pub context_id: ::prost::alloc::string::String,
    pub status: ::core::option::Option<TaskStatus>,
    pub artifacts: ::prost::alloc::vec::Vec<Artifact>,
    pub history: ::prost::alloc::vec::Vec<Message>,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TaskStatus {
    pub state: i32,
    pub message: ::core::option::Option<Message>,
    pub timestamp: ::core::option::Option<::prost_types::Timestamp>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Message {
    pub message_id: ::prost::alloc::string::String,
    pub context_id: ::prost::alloc::string::String,
    pub task_id: ::prost::alloc::string::String,
    pub role: i32,
    pub parts: ::prost::alloc::vec::Vec<Part>,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
    pub extensions: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub reference_task_ids: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Part {
    pub metadata: ::core::option::Option<::prost_types::Struct>,
    pub filename: ::prost::alloc::string::String,
    pub media_type: ::prost::alloc::string::String,
    pub content: ::core::option::Option<part::Content>,
}
pub mod part {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Content {
        Text(::prost::alloc::string::String),
        Raw(::prost::bytes::Bytes),
        Url(::prost::alloc::string::String),
        Data(::prost_types::Value),
    }
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Artifact {
    pub artifact_id: ::prost::alloc::string::String,
    pub name: ::prost::alloc::string::String,
    pub description: ::prost::alloc::string::String,
    pub parts: ::prost::alloc::vec::Vec<Part>,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
    pub extensions: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TaskStatusUpdateEvent {
    pub task_id: ::prost::alloc::string::String,
    pub context_id: ::prost::alloc::string::String,
    pub status: ::core::option::Option<TaskStatus>,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TaskArtifactUpdateEvent {
    pub task_id: ::prost::alloc::string::String,
    pub context_id: ::prost::alloc::string::String,
    pub artifact: ::core::option::Option<Artifact>,
    pub append: bool,
    pub last_chunk: bool,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct StreamResponse {
    pub payload: ::core::option::Option<stream_response::Payload>,
}
pub mod stream_response {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Payload {
        Task(super::Task),
        Message(super::Message),
        StatusUpdate(super::TaskStatusUpdateEvent),
        ArtifactUpdate(super::TaskArtifactUpdateEvent),
    }
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct TaskPushNotificationConfig {
    pub tenant: ::prost::alloc::string::String,
    pub id: ::prost::alloc::string::String,
    pub task_id: ::prost::alloc::string::String,
    pub url: ::prost::alloc::string::String,
    pub token: ::prost::alloc::string::String,
    pub authentication: ::core::option::Option<AuthenticationInfo>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct AuthenticationInfo {
    pub scheme: ::prost::alloc::string::String,
    pub credentials: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SendMessageRequest {
    pub tenant: ::prost::alloc::string::String,
    pub message: ::core::option::Option<Message>,
    pub configuration: ::core::option::Option<SendMessageConfiguration>,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct SendMessageConfiguration {
    pub accepted_output_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub task_push_notification_config: ::core::option::Option<
        TaskPushNotificationConfig,
    >,
    pub history_length: ::core::option::Option<i32>,
    pub return_immediately: bool,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SendMessageResponse {
    pub payload: ::core::option::Option<send_message_response::Payload>,
}
pub mod send_message_response {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Payload {
        Task(super::Task),
        Message(super::Message),
    }
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GetTaskRequest {
    pub tenant: ::prost::alloc::string::String,
    pub id: ::prost::alloc::string::String,
    pub history_length: ::core::option::Option<i32>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ListTasksRequest {
    pub tenant: ::prost::alloc::string::String,
    pub context_id: ::prost::alloc::string::String,
    pub status: i32,
    pub page_size: ::core::option::Option<i32>,
    pub page_token: ::prost::alloc::string::String,
    pub history_length: ::core::option::Option<i32>,
    pub status_timestamp_after: ::core::option::Option<::prost_types::Timestamp>,
    pub include_artifacts: ::core::option::Option<bool>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListTasksResponse {
    pub tasks: ::prost::alloc::vec::Vec<Task>,
    pub next_page_token: ::prost::alloc::string::String,
    pub page_size: i32,
    pub total_size: i32,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CancelTaskRequest {
    pub tenant: ::prost::alloc::string::String,
    pub id: ::prost::alloc::string::String,
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct SubscribeToTaskRequest {
    pub tenant: ::prost::alloc::string::String,
    pub id: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GetTaskPushNotificationConfigRequest {
    pub tenant: ::prost::alloc::string::String,
    pub task_id: ::prost::alloc::string::String,
    pub id: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ListTaskPushNotificationConfigsRequest {
    pub tenant: ::prost::alloc::string::String,
    pub task_id: ::prost::alloc::string::String,
    pub page_size: i32,
    pub page_token: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListTaskPushNotificationConfigsResponse {
    pub configs: ::prost::alloc::vec::Vec<TaskPushNotificationConfig>,
    pub next_page_token: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct DeleteTaskPushNotificationConfigRequest {
    pub tenant: ::prost::alloc::string::String,
    pub task_id: ::prost::alloc::string::String,
    pub id: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GetExtendedAgentCardRequest {
    pub tenant: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentCard {
    pub name: ::prost::alloc::string::String,
    pub description: ::prost::alloc::string::String,
    pub supported_interfaces: ::prost::alloc::vec::Vec<AgentInterface>,
    pub provider: ::core::option::Option<AgentProvider>,
    pub version: ::prost::alloc::string::String,
    pub documentation_url: ::core::option::Option<::prost::alloc::string::String>,
    pub capabilities: ::core::option::Option<AgentCapabilities>,
    pub security_schemes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        SecurityScheme,
    >,
    pub security_requirements: ::prost::alloc::vec::Vec<
        crate::proto::SecurityRequirement,
    >,
    pub default_input_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub default_output_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub skills: ::prost::alloc::vec::Vec<AgentSkill>,
    pub signatures: ::prost::alloc::vec::Vec<AgentCardSignature>,
    pub icon_url: ::core::option::Option<::prost::alloc::string::String>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct AgentProvider {
    pub url: ::prost::alloc::string::String,
    pub organization: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentCapabilities {
    pub streaming: ::core::option::Option<bool>,
    pub push_notifications: ::core::option::Option<bool>,
    pub extensions: ::prost::alloc::vec::Vec<AgentExtension>,
    pub extended_agent_card: ::core::option::Option<bool>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentExtension {
    pub uri: ::prost::alloc::string::String,
    pub description: ::prost::alloc::string::String,
    pub required: bool,
    pub params: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentSkill {
    pub id: ::prost::alloc::string::String,
    pub name: ::prost::alloc::string::String,
    pub description: ::prost::alloc::string::String,
    pub tags: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub examples: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub input_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub output_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    pub security_requirements: ::prost::alloc::vec::Vec<
        crate::proto::SecurityRequirement,
    >,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct AgentInterface {
    pub url: ::prost::alloc::string::String,
    pub protocol_binding: ::prost::alloc::string::String,
    pub tenant: ::prost::alloc::string::String,
    pub protocol_version: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentCardSignature {
    pub protected: ::prost::alloc::string::String,
    pub signature: ::prost::alloc::string::String,
    pub header: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SecurityScheme {
    pub scheme: ::core::option::Option<security_scheme::Scheme>,
}
pub mod security_scheme {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Scheme {
        ApiKeySecurityScheme(super::ApiKeySecurityScheme),
        HttpAuthSecurityScheme(super::HttpAuthSecurityScheme),
        Oauth2SecurityScheme(super::OAuth2SecurityScheme),
        OpenIdConnectSecurityScheme(super::OpenIdConnectSecurityScheme),
        MtlsSecurityScheme(super::MutualTlsSecurityScheme),
    }
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ApiKeySecurityScheme {
    pub description: ::prost::alloc::string::String,
    pub location: ::prost::alloc::string::String,
    pub name: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct HttpAuthSecurityScheme {
    pub description: ::prost::alloc::string::String,
    pub scheme: ::prost::alloc::string::String,
    pub bearer_format: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct OAuth2SecurityScheme {
    pub description: ::prost::alloc::string::String,
    pub flows: ::core::option::Option<OAuthFlows>,
    pub oauth2_metadata_url: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct OpenIdConnectSecurityScheme {
    pub description: ::prost::alloc::string::String,
    pub open_id_connect_url: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct MutualTlsSecurityScheme {
    pub description: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct OAuthFlows {
    pub flow: ::core::option::Option<o_auth_flows::Flow>,
}
pub mod o_auth_flows {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Flow {
        AuthorizationCode(super::AuthorizationCodeOAuthFlow),
        ClientCredentials(super::ClientCredentialsOAuthFlow),
        Implicit(super::ImplicitOAuthFlow),
        Password(super::PasswordOAuthFlow),
        DeviceCode(super::DeviceCodeOAuthFlow),
    }
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AuthorizationCodeOAuthFlow {
    pub authorization_url: ::prost::alloc::string::String,
    pub token_url: ::prost::alloc::string::String,
    pub refresh_url: ::prost::alloc::string::String,
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    pub pkce_required: bool,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ClientCredentialsOAuthFlow {
    pub token_url: ::prost::alloc::string::String,
    pub refresh_url: ::prost::alloc::string::String,
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct DeviceCodeOAuthFlow {
    pub device_authorization_url: ::prost::alloc::string::String,
    pub token_url: ::prost::alloc::string::String,
    pub refresh_url: ::prost::alloc::string::String,
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ImplicitOAuthFlow {
    pub authorization_url: ::prost::alloc::string::String,
    pub refresh_url: ::prost::alloc::string::String,
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PasswordOAuthFlow {
    pub token_url: ::prost::alloc::string::String,
    pub refresh_url: ::prost::alloc::string::String,
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct StringList {
    pub list: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
pub enum TaskState {
    Unspecified = 0,
    Submitted = 1,
    Working = 2,
    Completed = 3,
    Failed = 4,
    Canceled = 5,
    InputRequired = 6,
    Rejected = 7,
    AuthRequired = 8,
}
impl TaskState {
    pub fn as_str_name(&self) -> &'static str {}
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {}
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
pub enum Role {
    Unspecified = 0,
    User = 1,
    Agent = 2,
}
impl Role {
    pub fn as_str_name(&self) -> &'static str {}
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {}
}

// proto/mod.rs
pub mod lf_a2a_v1 {
    pub const FILE_DESCRIPTOR_SET: &[u8] = ..;
    include!("lf_a2a_v1.rs");
}
pub mod a2a_v1 {
    pub const FILE_DESCRIPTOR_SET: &[u8] = ..;
    include!("a2a_v1.rs");
}
pub mod google_rpc {
    include!("google_rpc.rs");
}
pub use requirement::{SchemeScopes, Scopes, SecurityRequirement};

// proto/requirement.rs
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct SecurityRequirement {
    pub schemes: Vec<SchemeScopes>,
}
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct SchemeScopes {
    pub scheme: String,
    pub scopes: Option<Scopes>,
}
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Scopes {
    pub list: Vec<String>,
}
impl From<&chancery_core::SecurityRequirement> for SecurityRequirement {}
impl From<SecurityRequirement> for chancery_core::SecurityRequirement {}

// push.rs
pub fn decode_push(json: &[u8]) -> Result<(Version, Event)> {}

// push_headers.rs
#[must_use]
pub fn push_headers(config: &PushConfig) -> Vec<(String, String)> {}

// rest.rs
pub const COMPACT_BASE: &str = ..;
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    pub version: Version,
    pub operation: Operation,
    pub tenant: Option<String>,
    pub task: Option<TaskId>,
    pub config: Option<PushConfigId>,
}
impl Route {
    pub fn find(
        method: &str,
        path: &str,
        header: Option<&str>,
        v1_base: bool,
    ) -> Result<Option<Self>> {}
    pub fn request(
        &self,
        dialect: Dialect,
        query: &str,
        body: &[u8],
        limits: &Limits,
    ) -> Result<Request> {}
}
#[must_use]
pub fn dialect(version: Version) -> Dialect {}
#[must_use]
pub fn dialect_of_body(version: Version, body: &[u8]) -> Dialect {}
#[must_use]
pub fn dialect_of_path(path: &str) -> Dialect {}
#[must_use]
pub fn v0_3_shape(body: &[u8]) -> Dialect {}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest {
    pub method: &'static str,
    pub target: String,
    pub body: Option<Vec<u8>>,
}
impl HttpRequest {
    pub fn new(dialect: Dialect, request: &Request) -> Result<Self> {}
}

// sse.rs
impl Dialect {
    pub fn sse_frame(self, seq: Option<Seq>, data: &[u8]) -> Vec<u8> {}
    pub fn write_sse_frame(self, out: &mut Vec<u8>, seq: Option<Seq>, data: [&[u8]; 3]) {}
    pub fn sse_error_frame(self, data: &[u8]) -> Vec<u8> {}
}
pub const SSE_KEEP_ALIVE: &[u8] = ..;

// transfer.rs
pub use chancery_core::handoff::{Transfer, unaware, unaware_update};
pub use native::{
    decode_native, decode_native_message, encode_native, encode_native_message,
};

// transfer/native.rs
pub fn encode_native(task: &Task) -> Result<Vec<u8>> {}
pub fn decode_native(json: &[u8]) -> Result<Task> {}
pub fn encode_native_message(message: &Message) -> Result<Vec<u8>> {}
pub fn decode_native_message(json: &[u8]) -> Result<Message> {}

// v0_3/event.rs
impl From<ReadStatusUpdate> for (Event, bool) {}

// v0_3/hybrid.rs
pub fn hybrid_task(task: &Task) -> Result<Vec<u8>> {}

// v0_3/mod.rs
#[cfg(feature = "grpc")]
pub mod proto;
pub use hybrid::hybrid_task;

// v0_3/proto/card.rs
#[must_use]
pub fn card_to_proto(card: &Card) -> pb::AgentCard {}
pub fn card_from_proto(wire: pb::AgentCard) -> Result<Card> {}

// v0_3/proto/decode.rs
pub fn send_message_from_proto(request: pb::SendMessageRequest) -> Result<SendMessage> {}
pub fn get_task_from_proto(request: pb::GetTaskRequest) -> Result<GetTask> {}
pub fn list_tasks_from_proto(request: pb::ListTasksRequest) -> Result<ListTasks> {}
pub fn cancel_task_from_proto(request: pb::CancelTaskRequest) -> Result<CancelTask> {}
pub fn subscribe_from_proto(request: pb::TaskSubscriptionRequest) -> Result<Subscribe> {}
pub fn create_push_config_from_proto(
    request: pb::CreateTaskPushNotificationConfigRequest,
) -> Result<PushConfig> {}
pub fn push_config_from_proto(
    wire: pb::TaskPushNotificationConfig,
) -> Result<PushConfig> {}
pub fn get_push_config_from_proto(
    request: pb::GetTaskPushNotificationConfigRequest,
) -> Result<GetPushConfig> {}
pub fn list_push_configs_from_proto(
    request: pb::ListTaskPushNotificationConfigRequest,
) -> Result<ListPushConfigs> {}
pub fn delete_push_config_from_proto(
    request: pb::DeleteTaskPushNotificationConfigRequest,
) -> Result<DeletePushConfig> {}
pub fn get_extended_card_from_proto(
    _: pb::GetAgentCardRequest,
) -> Result<GetExtendedCard> {}
pub fn send_reply_from_proto(reply: pb::SendMessageResponse) -> Result<SendReply> {}
pub fn task_page_from_proto(wire: pb::ListTasksResponse) -> Result<TaskPage> {}
pub fn push_config_page_from_proto(
    wire: pb::ListTaskPushNotificationConfigResponse,
) -> Result<PushConfigPage> {}
pub fn event_from_proto(element: pb::StreamResponse) -> Result<Event> {}
pub fn task_from_proto(wire: pb::Task) -> Result<Task> {}
pub fn message_from_proto(wire: pb::Message) -> Result<Message> {}
pub fn artifact_from_proto(wire: pb::Artifact) -> Result<Artifact> {}
pub fn part_from_proto(wire: pb::Part) -> Result<(Part, Option<FileBytes>)> {}

// v0_3/proto/encode.rs
#[must_use]
pub fn send_message_to_proto(request: &SendMessage) -> pb::SendMessageRequest {}
#[must_use]
pub fn get_task_to_proto(request: &GetTask) -> pb::GetTaskRequest {}
#[must_use]
pub fn list_tasks_to_proto(request: &ListTasks) -> pb::ListTasksRequest {}
#[must_use]
pub fn cancel_task_to_proto(request: &CancelTask) -> pb::CancelTaskRequest {}
#[must_use]
pub fn subscribe_to_proto(request: &Subscribe) -> pb::TaskSubscriptionRequest {}
#[must_use]
pub fn create_push_config_to_proto(
    config: &PushConfig,
) -> pb::CreateTaskPushNotificationConfigRequest {}
#[must_use]
pub fn push_config_to_proto(config: &PushConfig) -> pb::TaskPushNotificationConfig {}
#[must_use]
pub fn get_push_config_to_proto(
    request: &GetPushConfig,
) -> pb::GetTaskPushNotificationConfigRequest {}
#[must_use]
pub fn list_push_configs_to_proto(
    request: &ListPushConfigs,
) -> pb::ListTaskPushNotificationConfigRequest {}
#[must_use]
pub fn delete_push_config_to_proto(
    request: &DeletePushConfig,
) -> pb::DeleteTaskPushNotificationConfigRequest {}
#[must_use]
pub fn get_extended_card_to_proto(_: &GetExtendedCard) -> pb::GetAgentCardRequest {}
#[must_use]
pub fn send_reply_to_proto(
    reply: &SendReply,
    form: FileBytes,
) -> pb::SendMessageResponse {}
#[must_use]
pub fn task_page_to_proto(page: &TaskPage) -> pb::ListTasksResponse {}
#[must_use]
pub fn push_config_page_to_proto(
    page: &PushConfigPage,
) -> pb::ListTaskPushNotificationConfigResponse {}
#[must_use]
pub fn event_to_proto(event: &Event, form: FileBytes) -> pb::StreamResponse {}
#[must_use]
pub fn task_to_proto(task: &Task, form: FileBytes) -> pb::Task {}
#[must_use]
pub fn message_to_proto(message: &Message, form: FileBytes) -> pb::Message {}
#[must_use]
pub fn artifact_to_proto(artifact: &Artifact, form: FileBytes) -> pb::Artifact {}
#[must_use]
pub fn part_to_proto(part: &Part, form: FileBytes) -> pb::Part {}

// v0_3/proto/mod.rs
pub use card::{card_from_proto, card_to_proto};
pub use decode::{
    artifact_from_proto, cancel_task_from_proto, create_push_config_from_proto,
    delete_push_config_from_proto, event_from_proto, get_extended_card_from_proto,
    get_push_config_from_proto, get_task_from_proto, list_push_configs_from_proto,
    list_tasks_from_proto, message_from_proto, part_from_proto, push_config_from_proto,
    push_config_page_from_proto, send_message_from_proto, send_reply_from_proto,
    subscribe_from_proto, task_from_proto, task_page_from_proto,
};
pub use encode::{
    artifact_to_proto, cancel_task_to_proto, create_push_config_to_proto,
    delete_push_config_to_proto, event_to_proto, get_extended_card_to_proto,
    get_push_config_to_proto, get_task_to_proto, list_push_configs_to_proto,
    list_tasks_to_proto, message_to_proto, part_to_proto, push_config_page_to_proto,
    push_config_to_proto, send_message_to_proto, send_reply_to_proto, subscribe_to_proto,
    task_page_to_proto, task_to_proto,
};
pub use status::{error_from_status, status_from_error};

// v0_3/proto/status.rs
#[must_use]
pub fn status_from_error(error: &Error) -> Status {}
#[must_use]
pub fn error_from_status(status: &Status) -> Error {}

// v0_3/rest/types.rs
members! {
    #[doc =
    " SendMessageRequest; the tenant is that of the hosted variant (V03-CARD-012)."]
    SendMembers { tenant : String = "tenant"; message : ReadMessage = "message" |
    "request"; configuration : ReadConfiguration = "configuration"; metadata : Object =
    "metadata"; }
}
members! {
    #[doc = " SendMessageConfiguration."] ConfigurationMembers { accepted_output_modes :
    Vec < String > = "acceptedOutputModes" | "accepted_output_modes"; push_notification :
    PushMembers = "pushNotification" | "push_notification"; history_length : Int =
    "historyLength" | "history_length"; blocking : bool = "blocking"; }
}
members! {
    #[doc = " SendMessageResponse and StreamResponse: exactly one member."]
    PayloadMembers { task : Box < ReadTask > = "task"; message : Box < ReadMessage > =
    "message" | "msg"; status_update : Box < ReadStatusUpdate > = "statusUpdate" |
    "status_update"; artifact_update : Box < ReadArtifactUpdate > = "artifactUpdate" |
    "artifact_update"; }
}
members! {
    TaskMembers { id : TaskId = "id"; context_id : ContextId = "contextId" |
    "context_id"; status : ReadStatus = "status"; artifacts : Vec < ReadArtifact > =
    "artifacts"; history : Vec < ReadMessage > = "history"; metadata : Object =
    "metadata"; }
}
members! {
    StatusMembers { state : State = "state"; message : ReadMessage = "message" |
    "update"; timestamp : LenientTime = "timestamp"; }
}
members! {
    MessageMembers { message_id : MessageId = "messageId" | "message_id"; context_id :
    ContextId = "contextId" | "context_id"; task_id : TaskId = "taskId" | "task_id"; role
    : Role = "role"; content : Vec < ReadPart > = "content"; metadata : Object =
    "metadata"; extensions : Vec < String > = "extensions"; reference_task_ids : Vec <
    TaskId > = "referenceTaskIds" | "reference_task_ids"; }
}
members! {
    PartMembers { text : String = "text"; file : FileMembers = "file"; data : DataMembers
    = "data"; metadata : Object = "metadata"; }
}
members! {
    #[doc = " FilePart."] FileMembers { uri : String = "fileWithUri" | "file_with_uri";
    bytes : Base64 = "fileWithBytes" | "file_with_bytes"; mime_type : String = "mimeType"
    | "mime_type"; name : String = "name"; }
}
members! {
    #[doc = " DataPart."] DataMembers { data : Object = "data"; }
}
members! {
    ArtifactMembers { artifact_id : ArtifactId = "artifactId" | "artifact_id"; name :
    String = "name"; description : String = "description"; parts : Vec < ReadPart > =
    "parts"; metadata : Object = "metadata"; extensions : Vec < String > = "extensions";
    }
}
members! {
    #[doc = " TaskStatusUpdateEvent."] StatusUpdateMembers { task_id : TaskId = "taskId"
    | "task_id"; context_id : ContextId = "contextId" | "context_id"; status : ReadStatus
    = "status"; last : bool = "final"; metadata : Object = "metadata"; }
}
members! {
    #[doc = " TaskArtifactUpdateEvent."] ArtifactUpdateMembers { task_id : TaskId =
    "taskId" | "task_id"; context_id : ContextId = "contextId" | "context_id"; artifact :
    ReadArtifact = "artifact"; append : bool = "append"; last_chunk : bool = "lastChunk"
    | "last_chunk"; metadata : Object = "metadata"; }
}
members! {
    #[doc = " CreateTaskPushNotificationConfigRequest, TaskPushNotificationConfig and"]
    #[doc =
    " PushNotificationConfig: peers send any of them, one inside the other (V03-REST-014)."]
    PushMembers { tenant : String = "tenant"; parent : String = "parent"; config_id :
    PushConfigId = "configId" | "config_id"; config : Box < PushMembers > = "config";
    name : String = "name"; task_id : TaskId = "taskId" | "task_id";
    push_notification_config : Box < PushMembers > = "pushNotificationConfig" |
    "push_notification_config"; id : PushConfigId = "id"; url : String = "url"; token :
    Secret = "token"; authentication : AuthenticationMembers = "authentication"; }
}
members! {
    #[doc = " AuthenticationInfo."] AuthenticationMembers { schemes : Vec < String > =
    "schemes"; credentials : Secret = "credentials"; }
}
members! {
    #[doc = " Every request that names a task or a push config and says little else."]
    CallMembers { tenant : String = "tenant"; name : String = "name"; parent : String =
    "parent"; id : TaskId = "id"; history_length : Int = "historyLength" |
    "history_length"; page_size : Int = "pageSize" | "page_size"; page_token : String =
    "pageToken" | "page_token"; metadata : Object = "metadata"; }
}
members! {
    #[doc =
    " ListTasksRequest. The time has one name in the prose and another in Go's protobuf."]
    ListTasksMembers { tenant : String = "tenant"; context_id : ContextId = "contextId" |
    "context_id"; status : KnownState = "status"; page_size : Int = "pageSize" |
    "page_size"; page_token : String = "pageToken" | "page_token"; history_length : Int =
    "historyLength" | "history_length"; last_updated_after : Instant = "lastUpdatedAfter"
    | "last_updated_after" | "lastUpdatedTime" | "last_updated_time"; include_artifacts :
    bool = "includeArtifacts" | "include_artifacts"; }
}
members! {
    #[doc = " ListTasksResponse."] TaskPageMembers { tasks : Vec < ReadTask > = "tasks";
    next_page_token : String = "nextPageToken" | "next_page_token"; total_size : Int =
    "totalSize" | "total_size"; page_size : Int = "pageSize" | "page_size"; }
}
members! {
    #[doc = " ListTaskPushNotificationConfigResponse."] ConfigPageMembers { configs : Vec
    < PushMembers > = "configs"; next_page_token : String = "nextPageToken" |
    "next_page_token"; }
}

// v1_0/mod.rs
#[cfg(feature = "grpc")]
pub mod proto;

// v1_0/proto/card.rs
#[must_use]
pub fn card_to_proto(card: &Card) -> pb::AgentCard {}
pub fn card_from_proto(wire: pb::AgentCard) -> Result<Card> {}

// v1_0/proto/decode.rs
pub fn send_message_from_proto(request: pb::SendMessageRequest) -> Result<SendMessage> {}
pub fn get_task_from_proto(request: pb::GetTaskRequest) -> Result<GetTask> {}
pub fn list_tasks_from_proto(request: pb::ListTasksRequest) -> Result<ListTasks> {}
pub fn cancel_task_from_proto(request: pb::CancelTaskRequest) -> Result<CancelTask> {}
pub fn subscribe_from_proto(request: pb::SubscribeToTaskRequest) -> Result<Subscribe> {}
pub fn push_config_from_proto(
    wire: pb::TaskPushNotificationConfig,
) -> Result<PushConfig> {}
pub fn get_push_config_from_proto(
    request: pb::GetTaskPushNotificationConfigRequest,
) -> Result<GetPushConfig> {}
pub fn list_push_configs_from_proto(
    request: pb::ListTaskPushNotificationConfigsRequest,
) -> Result<ListPushConfigs> {}
pub fn delete_push_config_from_proto(
    request: pb::DeleteTaskPushNotificationConfigRequest,
) -> Result<DeletePushConfig> {}
pub fn get_extended_card_from_proto(
    request: pb::GetExtendedAgentCardRequest,
) -> Result<GetExtendedCard> {}
pub fn send_reply_from_proto(reply: pb::SendMessageResponse) -> Result<SendReply> {}
pub fn task_page_from_proto(wire: pb::ListTasksResponse) -> Result<TaskPage> {}
pub fn push_config_page_from_proto(
    wire: pb::ListTaskPushNotificationConfigsResponse,
) -> Result<PushConfigPage> {}
pub fn event_from_proto(element: pb::StreamResponse) -> Result<Event> {}
pub fn task_from_proto(wire: pb::Task) -> Result<Task> {}
pub fn message_from_proto(wire: pb::Message) -> Result<Message> {}
pub fn artifact_from_proto(wire: pb::Artifact) -> Result<Artifact> {}
pub fn part_from_proto(wire: pb::Part) -> Result<Part> {}

// v1_0/proto/encode.rs
#[must_use]
pub fn send_message_to_proto(request: &SendMessage) -> pb::SendMessageRequest {}
#[must_use]
pub fn get_task_to_proto(request: &GetTask) -> pb::GetTaskRequest {}
#[must_use]
pub fn list_tasks_to_proto(request: &ListTasks) -> pb::ListTasksRequest {}
#[must_use]
pub fn cancel_task_to_proto(request: &CancelTask) -> pb::CancelTaskRequest {}
#[must_use]
pub fn subscribe_to_proto(request: &Subscribe) -> pb::SubscribeToTaskRequest {}
#[must_use]
pub fn push_config_to_proto(config: &PushConfig) -> pb::TaskPushNotificationConfig {}
#[must_use]
pub fn get_push_config_to_proto(
    request: &GetPushConfig,
) -> pb::GetTaskPushNotificationConfigRequest {}
#[must_use]
pub fn list_push_configs_to_proto(
    request: &ListPushConfigs,
) -> pb::ListTaskPushNotificationConfigsRequest {}
#[must_use]
pub fn delete_push_config_to_proto(
    request: &DeletePushConfig,
) -> pb::DeleteTaskPushNotificationConfigRequest {}
#[must_use]
pub fn get_extended_card_to_proto(
    request: &GetExtendedCard,
) -> pb::GetExtendedAgentCardRequest {}
#[must_use]
pub fn send_reply_to_proto(reply: &SendReply) -> pb::SendMessageResponse {}
#[must_use]
pub fn task_page_to_proto(page: &TaskPage) -> pb::ListTasksResponse {}
#[must_use]
pub fn push_config_page_to_proto(
    page: &PushConfigPage,
) -> pb::ListTaskPushNotificationConfigsResponse {}
#[must_use]
pub fn event_to_proto(event: &Event) -> pb::StreamResponse {}
#[must_use]
pub fn task_to_proto(task: &Task) -> pb::Task {}
#[must_use]
pub fn message_to_proto(message: &Message) -> pb::Message {}
#[must_use]
pub fn artifact_to_proto(artifact: &Artifact) -> pb::Artifact {}
#[must_use]
pub fn part_to_proto(part: &Part) -> pb::Part {}

// v1_0/proto/mod.rs
pub use card::{card_from_proto, card_to_proto};
pub use decode::{
    artifact_from_proto, cancel_task_from_proto, delete_push_config_from_proto,
    event_from_proto, get_extended_card_from_proto, get_push_config_from_proto,
    get_task_from_proto, list_push_configs_from_proto, list_tasks_from_proto,
    message_from_proto, part_from_proto, push_config_from_proto,
    push_config_page_from_proto, send_message_from_proto, send_reply_from_proto,
    subscribe_from_proto, task_from_proto, task_page_from_proto,
};
pub use encode::{
    artifact_to_proto, cancel_task_to_proto, delete_push_config_to_proto, event_to_proto,
    get_extended_card_to_proto, get_push_config_to_proto, get_task_to_proto,
    list_push_configs_to_proto, list_tasks_to_proto, message_to_proto, part_to_proto,
    push_config_page_to_proto, push_config_to_proto, send_message_to_proto,
    send_reply_to_proto, subscribe_to_proto, task_page_to_proto, task_to_proto,
};
pub use status::{error_from_status, status_from_error};

// v1_0/proto/status.rs
#[must_use]
pub fn status_from_error(error: &Error) -> Status {}
#[must_use]
pub fn error_from_status(status: &Status) -> Error {}

// version.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedVersion<'a> {
    Nothing,
    For(Version),
    Other(&'a str),
}
impl<'a> RequestedVersion<'a> {
    pub fn parse(header: Option<&'a str>) -> Self {}
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoken {
    Version(Version),
    OfTask,
}
impl Spoken {
    pub fn resolve(self, created_by: Option<Version>) -> Version {}
}
pub fn of_rpc(method: &str, header: Option<&str>) -> Result<(Spoken, Operation)> {}
#[must_use]
pub fn of_rpc_error(method: Option<&str>, header: Option<&str>) -> Version {}
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CardForm {
    Merged,
    AgentJson,
    Compact,
}
#[must_use]
pub fn card_form(path: &str) -> Option<CardForm> {}
