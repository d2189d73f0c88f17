// The public API of crates/check. Written by a test (tests/repository); do not edit.

// agent.rs
#[derive(Clone)]
pub struct Target {}
impl Target {
    pub async fn read(
        client: chancery_client::Builder,
        reference: &str,
    ) -> Result<Self> {}
    pub fn new(
        card: Card,
        body: Bytes,
        url: Option<String>,
        client: chancery_client::Builder,
    ) -> Self {}
    pub fn http(mut self, options: chancery_net::Options) -> Self {}
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {}
    pub fn has_credentials(mut self, yes: bool) -> Self {}
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {}
}
#[must_use]
pub fn listed(options: &Options) -> Vec<Finding> {}
#[must_use]
pub fn explained(id: &str) -> Option<(Finding, String)> {}

// card.rs
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CardReport {
    pub card: Option<Card>,
    pub findings: Vec<CardFinding>,
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CardFinding {
    pub pointer: String,
    pub message: String,
}
impl fmt::Display for CardFinding {}
#[must_use]
pub fn card(json: &[u8]) -> CardReport {}

// checks/mod.rs
checks! {
    "V10-CARD-001"["CARD-DISC-001"] Must Card reads "8.1" "an agent card is available"
    card::available; "V10-CARD-002"["CARD-DISC-001"] Must Card reads "14.3"
    "the well-known path returns an AgentCard object" card::well_known;
    "V10-CARD-003"["CARD-PROTO-001"] Must Card reads "8.3"
    "the card declares the supported protocols properly" card::protocols;
    "V10-CARD-005"["CARD-PROTO-002"] Must Any reads "8.3.1"
    "the interface is where and what the card says" card::interface;
    "V10-CARD-007"["CARD-STRUCT-001"] Must Card reads "4.4.1"
    "all required fields of the card are present" card::required; "V10-CARD-008"[] Should
    Card reads "14.3" "no URL of the card holds credentials" card::no_secrets;
    "V10-CARD-009"[] Should Card reads "14.3" "the card is served over HTTPS"
    card::https; "V10-CACHE-001"[] Should Card reads "8.6"
    "a card that did not change is answered with 304" card::revalidated;
    "V10-CACHE-002"["CARD-CACHE-001"] Should Card reads "8.6.1"
    "the card has Cache-Control with max-age" card::max_age;
    "V10-CACHE-003"["CARD-CACHE-002"] Should Card reads "8.6.1" "the card has an ETag"
    card::etag; "V10-CACHE-004"["CARD-CACHE-003"] May Card reads "8.6.1"
    "the card has Last-Modified" card::last_modified; "V10-VER-003"[] Must Card reads
    "14.2.1" "versions in the card are Major.Minor" card::versions;
    "V10-VER-004"["VER-CLIENT-002"] Should Card reads "3.6"
    "no patch numbers in the card" card::no_patch; "V10-JSON-001"["DM-SERIAL-001"] Must
    Card reads "5.5" "member names of the card are camelCase" card::camel_case;
    "V10-SEND-001"["CORE-SEND-001"] Must Any makes "3.1.1"
    "the result is either a Task or a Message" send::either;
    "V10-SEND-004"["CORE-SEND-002"] Must Any makes "3.1.1"
    "a message to a task that has ended is refused with UnsupportedOperationError"
    send::terminal; "V10-SEND-005"["CORE-MULTI-004"] Must Any reads "3.1.1"
    "a message to an unknown task is refused with TaskNotFoundError" send::unknown;
    "V10-SEND-006"["CORE-SEND-003"] Must Any makes "3.1.1"
    "an unsupported media type is refused with ContentTypeNotSupportedError"
    send::media_type; "V10-MODE-001"["CORE-EXECUTION-MODE-001"] Must Any makes "3.2.2"
    "a blocking send answers only when the task has ended or waits" send::blocking;
    "V10-MODE-002"[] Must Any makes "3.2.2"
    "a blocking answer shows the newest state and every artifact" send::newest;
    "V10-MODE-003"["CORE-EXECUTION-MODE-002"] Must Any makes "3.2.2"
    "returnImmediately answers while the work goes on" send::immediate;
    "V10-TID-001"["CORE-MULTI-003"] Must Any makes "3.4.2"
    "task ids are made by the server and unique" send::unique;
    "V10-TID-004"["CORE-MULTI-004"] Must Any reads "3.4.2"
    "no task is made under an id that a client made up" send::not_created;
    "V10-CTX-002"["CORE-MULTI-001a"] Must Any makes "3.4.1"
    "the answer holds the contextId" send::context; "V10-CTX-005"["CORE-MULTI-002a"] Must
    Any makes "3.4.1" "a contextId of the client is kept or refused, never replaced"
    send::own_context; "V10-TURN-002"["CORE-MULTI-005"] Must Any makes "3.4.3"
    "the context is derived from the task" send::derived;
    "V10-TURN-003"["CORE-MULTI-006"] Must Any makes "3.4.3"
    "a message whose contextId is not that of its task is rejected" send::mismatch;
    "V10-ERR-008"["CORE-ERR-002"] Must Json reads "3.3.2"
    "parameters are validated: a message without id, role or parts is invalid"
    send::validated; "V10-DM-007"["DM-SERIAL-005"] Should Json makes "5.7"
    "unknown members are ignored" send::unknown_members; "V10-DM-008"["DM-TASK-001"] Must
    Any makes "4.1.1" "a Task has id and status" send::task_shape;
    "V10-DM-009"["DM-STATUS-001", "DM-TASK-002"] Must Any makes "4.1.2"
    "a TaskStatus has one of the named states" send::state_shape;
    "V10-DM-010"["DM-MSG-001", "DM-MSG-002"] Must Any makes "4.1.4"
    "messages have messageId, role and parts" send::message_shape;
    "V10-DM-011"["DM-PART-001"] Must Any makes "4.1.6"
    "a Part holds exactly one of text, raw, url, data" send::part_shape;
    "V10-DM-012"["DM-ART-001"] Must Any makes "4.1.7"
    "an Artifact has an id of its own and at least one part" send::artifact_shape;
    "V10-JSON-002"["DM-SERIAL-002"] Must Json makes "5.5"
    "enum values are their proto names" send::enum_names; "V10-JSON-003"["DM-SERIAL-003"]
    Must Json makes "5.6.1" "timestamps are ISO 8601 in UTC" send::timestamps;
    "V10-JSON-008"[] Must Json makes "A.2.1" "there is no kind member" send::no_kind;
    "V10-GET-001"["CORE-GET-001"] Must Any makes "3.1.3"
    "GetTask returns state and artifacts, and the same again" read::current;
    "V10-GET-002"["CORE-GET-002"] Must Any reads "3.1.3"
    "an unknown task is TaskNotFoundError" read::unknown; "V10-HIST-001"["CORE-HIST-002"]
    Must Any makes "3.2.4" "never more messages than historyLength" read::history_limit;
    "V10-HIST-003"["CORE-HIST-001", "CORE-HIST-003"] Should Any makes "3.2.4"
    "historyLength 0 leaves history out" read::no_history;
    "V10-LIST-002"["CORE-LIST-002"] Must Any makes "3.1.4" "tasks are paged by cursor"
    read::pages; "V10-LIST-003"["CORE-LIST-003"] Must Any makes "3.1.4"
    "newest status first" read::order; "V10-LIST-004"["CORE-LIST-004"] Must Json reads
    "3.1.4" "nextPageToken is always present" read::token;
    "V10-LIST-005"["CORE-LIST-005"] Must Json makes "3.1.4"
    "no artifacts member unless asked for" read::no_artifacts; "V10-LIST-006"[] Should
    Json makes "3.1.4" "includeArtifacts shows artifacts" read::artifacts;
    "V10-LIST-007"[] Must Any reads "3.1.4"
    "the page size is 50 when unset, at least 1 and at most 100" read::page_size;
    "V10-LIST-008"[] Must Any makes "3.1.4"
    "statusTimestampAfter keeps tasks that are as new" read::since; "V10-LIST-009"[] Must
    Any makes "3.1.4" "pageSize and totalSize are reported" read::sizes; "V10-LIST-010"[]
    Should Any makes "3.1.4" "filters combine with AND" read::filters;
    "V10-CANCEL-001"["CORE-CANCEL-001"] Must Any makes "3.1.5"
    "a running task is canceled" read::cancel; "V10-CANCEL-002"["CORE-CANCEL-002"] Must
    Any makes "3.1.5" "a task that has ended is TaskNotCancelableError"
    read::not_cancelable; "V10-CANCEL-003"["CORE-CANCEL-003"] Must Any reads "3.1.5"
    "canceling an unknown task is TaskNotFoundError" read::cancel_unknown;
    "V10-CANCEL-004"[] Must Any makes "3.3.1" "canceling again has no further effect"
    read::cancel_again; "V10-STREAM-001"["CORE-STREAM-001"] Must Any makes "3.1.2"
    "SendStreamingMessage opens a stream" stream::opens;
    "V10-STREAM-002"["CORE-STREAM-002"] Must Any makes "3.1.2"
    "a Message answer is the only event" stream::message;
    "V10-STREAM-003"["CORE-STREAM-003"] Must Any makes "3.1.2"
    "the Task comes first, then only updates" stream::first;
    "V10-STREAM-004"["CORE-STREAM-003"] Must Any makes "3.1.2"
    "the stream ends with the end of the task" stream::ends; "V10-STREAM-005"[] Must Any
    makes "3.1.2" "events come as they happen" stream::progress;
    "V10-STREAM-006"["CORE-CAP-002"] Must Any makes "3.1.2"
    "without the capability a stream is UnsupportedOperationError" stream::undeclared;
    "V10-STREAM-007"["CORE-SEND-002"] Must Any makes "3.1.2"
    "a stream refuses what a send refuses" stream::refusals; "V10-DM-015"[] Must Any
    makes "3.2.3" "every event holds exactly one member" stream::one_member;
    "V10-DM-016"[] Must Any makes "4.2" "updates carry taskId and contextId"
    stream::update_shape; "V10-EVT-001"["STREAM-ORDER-001"] Must Any makes "3.5.2"
    "events come in the order they were produced" stream::order;
    "V10-EVT-005"["STREAM-ORDER-002", "STREAM-ORDER-003"] Must Any makes "3.5.2"
    "all streams of a task see the same events in the same order" stream::same;
    "V10-EVT-006"["STREAM-ORDER-004"] Must Any makes "3.5.2"
    "closing one stream does not touch the others" stream::closing; "V10-EVT-007"[] Must
    Any makes "3.5.2" "the task goes on without its stream" stream::independent;
    "V10-SUB-001"["STREAM-SUB-001"] Must Any makes "3.1.6"
    "the first event of a subscription is the Task" stream::snapshot;
    "V10-SUB-002"["STREAM-SUB-002"] Must Any makes "3.1.6"
    "a subscription ends with the task" stream::subscription_ends;
    "V10-SUB-003"["STREAM-SUB-003"] Must Any makes "3.1.6"
    "subscribing to a task that has ended is UnsupportedOperationError" stream::ended;
    "V10-SUB-004"["STREAM-SUB-004"] Must Any reads "3.1.6"
    "subscribing to an unknown task is TaskNotFoundError" stream::unknown;
    "V10-SUB-005"["CORE-CAP-002"] Must Any reads "3.1.6"
    "without the capability a subscription is UnsupportedOperationError"
    stream::subscription_undeclared; "V10-PUSH-001"["PUSH-CREATE-001"] Must Any makes
    "3.1.7" "a webhook is registered and returned with its id" push::create;
    "V10-PUSH-003"[] Must Any reads "3.1.7"
    "webhooks of an unknown task are TaskNotFoundError" push::unknown_task;
    "V10-PUSH-004"["PUSH-GET-001"] Must Any makes "3.1.8" "a webhook is returned whole"
    push::get; "V10-PUSH-005"["PUSH-GET-002"] Must Any makes "3.1.8"
    "a webhook that is not there is TaskNotFoundError" push::missing;
    "V10-PUSH-006"["PUSH-LIST-001"] Must Any makes "3.1.9"
    "all webhooks of a task are listed" push::list; "V10-PUSH-008"["PUSH-DEL-001"] Must
    Any makes "3.1.10" "a deleted webhook is gone" push::delete;
    "V10-PUSH-009"["PUSH-DEL-002"] Must Any makes "3.1.10" "deleting twice succeeds"
    push::delete_twice; "V10-PUSH-010"["CORE-CAP-001"] Must Any reads "3.3.4"
    "without the capability webhooks are PushNotificationNotSupportedError"
    push::undeclared; "V10-XCARD-002"["CARD-EXT-001"] Must Any reads "13.3"
    "the extended card needs authentication" push::extended_needs_auth;
    "V10-XCARD-006"["CORE-CAP-003"] Must Any reads "3.3.4"
    "without the capability the extended card is UnsupportedOperationError"
    push::extended_undeclared; "V10-VER-002"[] May Json reads "3.6.1"
    "the version may come as a parameter" form::version_parameter;
    "V10-VER-005"["VER-CLIENT-002"] Must Json reads "3.6" "patch numbers play no part"
    form::patch; "V10-VER-006"["VER-SERVER-001"] Must Any reads "3.6.2"
    "version 1.0 is served" form::version; "V10-VER-007"["VER-SERVER-002"] Must Json
    reads "3.6.2" "a version that is not served is VersionNotSupportedError"
    form::version_unknown; "V10-VER-008"["VER-SERVER-003"] Must Rpc reads "3.6.2"
    "no version means 0.3" form::version_absent; "V10-EXT-001"["CORE-CAP-004"] Must Any
    reads "3.3.4"
    "a request without a required extension is ExtensionSupportRequiredError"
    form::extension_required; "V10-EXT-002"[] Should Any reads "4.6.3"
    "unknown extensions are ignored" form::extension_unknown; "V10-EXT-005"[] Should Json
    reads "topics/extensions" "activated extensions are echoed" form::extension_echoed;
    "V10-ERR-001"["CORE-ERR-001"] Must Any reads "3.3.2" "an error is answered as one"
    form::error; "V10-ERR-014"[] Must Json reads "3.3.2"
    "an error has a code and a message" form::code_and_message;
    "V10-ERR-015"["JSONRPC-ERR-001"] Must Json reads "3.3.2"
    "details are objects with @type" form::details; "V10-ERR-017"["GRPC-ERR-002",
    "HTTP_JSON-STATUS-001", "JSONRPC-SSE-002"] Must Any reads "5.4"
    "errors have the code of the binding" form::mapped; "V10-RPC-001"["JSONRPC-FMT-001"]
    Must Rpc reads "9.3" "answers are JSON-RPC 2.0 with the id of the request"
    form::envelope; "V10-RPC-002"["JSONRPC-FMT-002"] Must Rpc reads "9.1"
    "answers are application/json" form::rpc_media; "V10-RPC-003"["JSONRPC-SVC-001"] Must
    Rpc reads "9.1" "methods have their names, others are not found" form::methods;
    "V10-RPC-006"["JSONRPC-SSE-001"] Must Rpc makes "9.4.2"
    "a stream is server-sent events with JSON-RPC answers" form::rpc_stream;
    "V10-RPC-007"["JSONRPC-ERR-001"] Must Rpc reads "9.5"
    "errors are JSON-RPC error objects" form::rpc_error; "V10-RPC-008"[] Must Rpc reads
    "9.5" "each element of data has @type" form::details;
    "V10-RPC-009"["JSONRPC-ERR-003"] Should Rpc reads "9.5" "errors carry ErrorInfo"
    form::error_info; "V10-RPC-010"[] Should Rpc reads "9.5"
    "validation errors carry BadRequest" form::bad_request;
    "V10-RPC-011"["JSONRPC-ERR-002"] Must Rpc reads "9.5"
    "A2A's codes lie in -32099 to -32001" form::code_range;
    "V10-REST-001"["HTTP_JSON-SVC-001"] Should Rest reads "11.1"
    "answers are application/a2a+json" form::rest_media;
    "V10-REST-002"["HTTP_JSON-URL-001", "HTTP_JSON-URL-002"] Must Rest reads "11.3"
    "operations are at their paths, others are not found" form::paths;
    "V10-REST-006"["HTTP_JSON-QP-001"] Must Rest reads "11.5"
    "query parameters are camelCase" form::query; "V10-REST-009"[] Must Rest makes "11.5"
    "query values are percent-encoded" form::percent; "V10-REST-010"["HTTP_JSON-ERR-001"]
    Must Rest reads "11.6" "errors are google.rpc.Status in JSON" form::rest_error;
    "V10-REST-011"[] Must Rest reads "11.6" "each element of details has @type"
    form::details; "V10-REST-012"["HTTP_JSON-ERR-002"] Must Rest reads "11.6"
    "errors carry ErrorInfo" form::error_info; "V10-REST-013"[] Should Rest reads "11.6"
    "validation errors carry BadRequest" form::bad_request;
    "V10-REST-014"["HTTP_JSON-SSE-001"] Must Rest makes "11.7"
    "a stream is server-sent events" form::rest_stream; "V10-GRPC-001"["GRPC-SVC-001"]
    Must Grpc reads "10.1" "the service lf.a2a.v1.A2AService is there"
    form::grpc_service; "V10-GRPC-008"["GRPC-ERR-001"] Must Grpc makes "10.6"
    "errors carry ErrorInfo" form::grpc_reason; "V10-GRPC-009"["GRPC-ERR-003"] Must Grpc
    makes "10.7" "streams are server-streaming calls" stream::opens;
    "V10-BIND-001"["BIND-EQUIV-001"] Must Agent reads "5.1"
    "all interfaces offer the same operations" form::same_operations;
    "V10-BIND-002"["BIND-EQUIV-002"] Must Agent makes "5.1"
    "a task is the same over every interface" form::same_result;
    "V10-BIND-003"["BIND-EQUIV-003"] Must Agent reads "5.1"
    "errors are the same over every interface" form::same_error;
}

// error.rs
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    CardNotJson(serde_json::Error),
    Unreachable(Cause),
    Http(Cause),
    Header,
    Port(io::Error),
    Client(chancery_core::Error),
}

// faults.rs
pub async fn self_test(
    port: u16,
    selection: &Selection,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Report> {}

// finding.rs
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Level {
    Must,
    Should,
    May,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Status {
    Passed,
    Failed,
    NotTested,
}
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    pub id: String,
    pub tck: Vec<String>,
    pub level: Level,
    pub clause: String,
    pub title: String,
    pub place: String,
    pub status: Status,
    pub note: String,
    pub evidence: Vec<String>,
}
impl Finding {
    pub fn heading(&self) -> String {}
    pub fn word(&self) -> &'static str {}
}
impl fmt::Display for Level {}
#[derive(Debug, Clone)]
pub struct Report {
    pub subject: String,
    pub interfaces: Vec<String>,
    pub suite: String,
    pub tool: String,
    pub findings: Vec<Finding>,
    pub took: Duration,
    pub late: usize,
    pub complete: bool,
    pub verdict: (String, bool),
}
impl Default for Report {}
impl Report {
    pub fn count(&self, word: &str) -> usize {}
    pub fn result(&self) -> String {}
    pub fn document(&self) -> Value {}
}

// lib.rs
pub use self::{
    agent::{Target, explained, listed},
    card::{CardFinding, CardReport, card},
    error::Error, faults::self_test, finding::{Finding, Level, Report, Status},
    run::{Run, run},
    selection::Selection,
};
pub type Result<T, E = Error> = std::result::Result<T, E>;
#[derive(Debug, Clone)]
pub struct Options {
    pub suite: Suite,
    pub level: Level,
    pub selection: Selection,
    pub read_only: bool,
    pub versions: Vec<String>,
    pub fail_on: FailOn,
    pub timeout: Duration,
    pub on_timeout: OnTimeout,
}
impl Default for Options {}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Suite {
    Core,
    Tck,
    All,
}
impl Suite {
    pub fn as_str(self) -> &'static str {}
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FailOn {
    Must,
    Should,
    Never,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnTimeout {
    Skip,
    Fail,
}
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Progress<'a> {
    Begun { id: &'a str, place: &'a str, title: &'a str, number: usize, total: usize },
    Done { id: &'a str, place: &'a str, status: Status, took: Duration },
}

// report.rs
impl Report {
    pub fn junit(&self) -> String {}
    pub fn html(&self) -> String {}
    pub fn markdown(&self) -> String {}
}

// run.rs
pub async fn run(
    target: &Target,
    options: &Options,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Report> {}
pub struct Run<'a> {}
impl<'a> Run<'a> {
    pub async fn begin(target: &Target, options: &'a Options) -> Result<Self> {}
    pub async fn next(&mut self, progress: &dyn Fn(Progress<'_>)) -> bool {}
    pub fn report(self) -> Report {}
}

// selection.rs
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub only: Vec<String>,
    pub skip: Vec<String>,
}
impl Selection {
    pub fn takes(&self, id: &str) -> bool {}
}
