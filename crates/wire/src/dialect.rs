//! Codecs: one name for each form of the protocol, JSON or protobuf, and what each of them can do.

use chancery_core::{
    ArtifactId, Binding, Bytes, ContextId, Error, Event, FileBytes, Limits, Operation, Origin, Reply, Request, Result, Seq, SharedEvent,
    Task, TaskId, TaskState, Validate, Version,
};

use crate::{compact, json, v0_1, v0_2, v0_3, v1_0};

/// A form of the protocol: the JSON or the protobuf of a version.
///
/// ```
/// use chancery_core::{Limits, Operation, Reply, Request, Task, TaskState};
/// use chancery_wire::Dialect;
///
/// let params = br#"{"id":"t-1","historyLength":2}"#;
/// let request = Dialect::V0_3.request(Operation::GetTask, params, &Limits::default())?;
/// assert!(matches!(&request, Request::GetTask(get) if get.id == "t-1"));
///
/// let task = Reply::Task(Task::new("t-1", "c-1", TaskState::Working).into());
/// assert_eq!(
///     Dialect::V0_3.encode_reply(&task)?,
///     br#"{"kind":"task","id":"t-1","contextId":"c-1","status":{"state":"working"}}"#
/// );
/// # Ok::<(), chancery_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// v1.0, reading the spellings of older versions too where they cannot be confused.
    V1_0,
    /// v1.0 by the letter: spellings of other versions are unknown members.
    V1_0Strict,
    /// v0.3 over JSON-RPC, in webhooks and card files: objects with `kind`.
    V0_3,
    /// v0.3 over HTTP+JSON: the JSON of its protobuf messages.
    V0_3Rest,
    /// v0.3 over HTTP+JSON as its prose shows it: objects with `kind`.
    V0_3RestKind,
    /// v0.2 over JSON-RPC.
    V0_2,
    /// v0.1 over JSON-RPC.
    V0_1,
    /// The compact dialect.
    Compact,
    #[cfg(feature = "grpc")]
    /// v1.0 over gRPC: protobuf messages of `lf.a2a.v1`.
    V1_0Grpc,
    #[cfg(feature = "grpc")]
    /// v0.3 over gRPC, and v0.2: protobuf messages of `a2a.v1`.
    V0_3Grpc,
}

/// What a dialect does: pure functions between JSON text or protobuf and the canonical model.
pub(crate) trait Codec: Sync {
    /// Reads a request: the `params` of JSON-RPC, the body of HTTP+JSON, the message of gRPC. What is missing is left
    /// empty, because a path may still say it; [`Dialect::check`] comes afterwards.
    fn decode_request(&self, operation: Operation, body: &[u8]) -> Result<Request>;

    /// Writes a request as the `params` of JSON-RPC, the body of HTTP+JSON, the message of gRPC.
    fn encode_request(&self, request: &Request) -> Result<Vec<u8>>;

    /// Reads the answer to an operation that is not a stream.
    fn decode_reply(&self, operation: Operation, body: &[u8]) -> Result<Reply>;

    /// Writes an answer.
    fn encode_reply(&self, reply: &Reply) -> Result<Vec<u8>>;

    /// Writes an answer behind what is in a buffer already.
    fn write_reply(&self, reply: &Reply, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&self.encode_reply(reply)?);
        Ok(())
    }

    /// Writes an answer to a peer that writes inline bytes in this form.
    fn write_reply_for(&self, form: FileBytes, reply: &Reply, out: &mut Vec<u8>) -> Result<()> {
        let _ = form; // Only the protobuf of v0.3 has two.
        self.write_reply(reply, out)
    }

    /// Reads one stream element. Most hold one event; some hold several.
    fn decode_event(&self, body: &[u8], memory: &mut StreamMemory) -> Result<Vec<Event>>;

    /// Writes one event as one or more stream elements.
    fn encode_event(&self, event: &Event, memory: &mut StreamMemory, out: &mut Vec<Vec<u8>>) -> Result<()>;

    /// The element that must close a stream which ended without a closing event.
    fn encode_end(&self, memory: &StreamMemory) -> Result<Option<Vec<u8>>> {
        let _ = memory; // Only v0.1 needs one.
        Ok(None)
    }

    /// Writes a webhook body: what happened, and the task as it stood then.
    fn encode_push(&self, event: &Event, task: &Task) -> Result<Vec<u8>>;

    /// Checks that go beyond what all versions demand.
    fn check(&self, request: &Request) -> Result<()> {
        let _ = request; // Most versions demand nothing more.
        Ok(())
    }
}

/// What a stream has shown so far. v0.1 numbers artifacts by appearance and repeats ids that later
/// events leave out; the protobuf shape of v0.3 keeps to one form of inline bytes.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StreamMemory {
    /// The way the stream was asked for.
    pub origin: Origin,
    /// The task of the stream, once an event has named it.
    pub task: Option<TaskId>,
    /// The conversation of the stream, once an event or the request has named it.
    pub context: Option<ContextId>,
    /// Artifacts in the order of first appearance.
    pub artifacts: Vec<ArtifactId>,
    /// The newest state.
    pub state: Option<TaskState>,
    /// Whether an element said that it is the last.
    pub closed: bool,
    /// The place of the newest element in the log, where the element itself tells it: in gRPC, which has no ids of
    /// events as SSE has. A writer sets it before an event that shall be numbered.
    pub seq: Option<Seq>,
}

impl StreamMemory {
    /// The memory of a stream that was asked for in this way.
    #[must_use]
    pub fn new(origin: Origin) -> Self {
        Self { origin, ..Self::default() }
    }

    /// Takes note of an event, whatever dialect it goes to or came from.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Task(task) => {
                self.task = Some(task.id.clone());
                self.context = Some(task.context_id.clone());
                for artifact in &task.artifacts {
                    self.index(&artifact.artifact_id);
                }
            }
            Event::Status(update) => {
                self.task.get_or_insert_with(|| update.task_id.clone());
                self.context.get_or_insert_with(|| update.context_id.clone());
            }
            Event::Artifact(update) => {
                self.index(&update.artifact.artifact_id);
            }
            _ => {}
        }
        self.state = event.state().or(self.state);
    }

    /// The place of an artifact in the order of first appearance.
    pub(crate) fn index(&mut self, artifact: &ArtifactId) -> usize {
        self.artifacts.iter().position(|seen| seen == artifact).unwrap_or_else(|| {
            self.artifacts.push(artifact.clone());
            self.artifacts.len() - 1
        })
    }
}

impl Dialect {
    /// Every dialect that is JSON.
    pub const JSON: [Self; 8] =
        [Self::V1_0, Self::V1_0Strict, Self::V0_3, Self::V0_3Rest, Self::V0_3RestKind, Self::V0_2, Self::V0_1, Self::Compact];

    /// Every dialect that is protobuf.
    #[cfg(feature = "grpc")]
    pub const PROTOBUF: [Self; 2] = [Self::V1_0Grpc, Self::V0_3Grpc];

    /// The form of a version over a binding; `None` where there is none.
    #[must_use]
    pub fn of(version: Version, binding: Binding) -> Option<Self> {
        match (version, binding) {
            #[cfg(feature = "grpc")]
            (Version::V1_0, Binding::Grpc) => Some(Self::V1_0Grpc),
            #[cfg(feature = "grpc")]
            (Version::V0_3, Binding::Grpc) => Some(Self::V0_3Grpc),
            (_, Binding::Grpc) => None,
            (Version::V1_0, _) => Some(Self::V1_0),
            (Version::V0_3, Binding::HttpJson) => Some(Self::V0_3Rest),
            (Version::V0_3, _) => Some(Self::V0_3),
            (Version::V0_2, Binding::JsonRpc) => Some(Self::V0_2),
            (Version::V0_1, Binding::JsonRpc) => Some(Self::V0_1),
            (Version::Compact, _) => Some(Self::Compact),
            _ => None,
        }
    }

    /// The version this is a form of.
    #[must_use]
    pub const fn version(self) -> Version {
        match self {
            Self::V1_0 | Self::V1_0Strict => Version::V1_0,
            Self::V0_3 | Self::V0_3Rest | Self::V0_3RestKind => Version::V0_3,
            #[cfg(feature = "grpc")]
            Self::V1_0Grpc => Version::V1_0,
            #[cfg(feature = "grpc")]
            Self::V0_3Grpc => Version::V0_3,
            Self::V0_2 => Version::V0_2,
            Self::V0_1 => Version::V0_1,
            Self::Compact => Version::Compact,
        }
    }

    fn codec(self) -> &'static dyn Codec {
        match self {
            Self::V1_0 => &v1_0::LENIENT,
            Self::V1_0Strict => &v1_0::STRICT,
            Self::V0_3 => &v0_3::JSON_RPC,
            Self::V0_3Rest => &v0_3::REST,
            Self::V0_3RestKind => &v0_3::REST_KIND,
            Self::V0_2 => &v0_2::JSON_RPC,
            Self::V0_1 => &v0_1::JSON_RPC,
            Self::Compact => &compact::CODEC,
            #[cfg(feature = "grpc")]
            Self::V1_0Grpc => &v1_0::proto::Grpc,
            #[cfg(feature = "grpc")]
            Self::V0_3Grpc => &v0_3::proto::Grpc,
        }
    }

    const fn is_json(self) -> bool {
        match self {
            #[cfg(feature = "grpc")]
            Self::V1_0Grpc | Self::V0_3Grpc => false,
            _ => true,
        }
    }

    /// Reads a request and checks it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidParams`](chancery_core::ErrorKind::InvalidParams) naming what is wrong.
    pub fn request(self, operation: Operation, body: &[u8], limits: &Limits) -> Result<Request> {
        let request = self.decode_request(operation, body)?;
        self.check(&request, limits)?;
        Ok(request)
    }

    /// Reads a request without checking that it is complete: a path may still add to it.
    ///
    /// # Errors
    /// When a member has the wrong type or form.
    pub fn decode_request(self, operation: Operation, body: &[u8]) -> Result<Request> {
        let mut request = self.codec().decode_request(operation, body)?;
        if let Some(seen) = request.origin() {
            let binding = match self {
                Self::V0_3Rest | Self::V0_3RestKind => Binding::HttpJson,
                #[cfg(feature = "grpc")]
                Self::V1_0Grpc | Self::V0_3Grpc => Binding::Grpc,
                _ => Binding::JsonRpc,
            };
            request.set_origin(Origin::new(self.version(), binding).file_bytes(seen.file_bytes));
        }
        Ok(request)
    }

    /// Checks that a request is complete and within limits.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidParams`](chancery_core::ErrorKind::InvalidParams) with a violation for
    /// each field.
    pub fn check(self, request: &Request, limits: &Limits) -> Result<()> {
        request.validate_within(limits)?;
        self.codec().check(request)
    }

    /// Writes a request: the `params` of JSON-RPC, the body of HTTP+JSON, the message of gRPC.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedOperation`](chancery_core::ErrorKind::UnsupportedOperation) when the
    /// version has no such request.
    pub fn encode_request(self, request: &Request) -> Result<Vec<u8>> {
        self.codec().encode_request(request)
    }

    /// Reads the answer to an operation that is not a stream.
    ///
    /// # Errors
    /// When the answer is not of the shape that the version prescribes.
    pub fn decode_reply(self, operation: Operation, body: &[u8]) -> Result<Reply> {
        self.codec().decode_reply(operation, body)
    }

    /// Writes an answer: the `result` of JSON-RPC, the body of HTTP+JSON, the message of gRPC.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedOperation`](chancery_core::ErrorKind::UnsupportedOperation) when the
    /// version has no such answer.
    pub fn encode_reply(self, reply: &Reply) -> Result<Vec<u8>> {
        self.codec().encode_reply(reply)
    }

    /// Writes an answer behind what is in a buffer already: see [`encode_reply`](Self::encode_reply). What
    /// was written before an error is of no use.
    ///
    /// # Errors
    /// As [`encode_reply`](Self::encode_reply).
    pub fn write_reply(self, reply: &Reply, out: &mut Vec<u8>) -> Result<()> {
        self.codec().write_reply(reply, out)
    }

    /// Writes an answer behind what is in a buffer already, to a request that came in this way: a direct answer has its
    /// inline bytes in the form that the request had.
    ///
    /// # Errors
    /// As [`encode_reply`](Self::encode_reply).
    pub fn write_reply_to(self, origin: Origin, reply: &Reply, out: &mut Vec<u8>) -> Result<()> {
        self.codec().write_reply_for(origin.file_bytes, reply, out)
    }

    /// Reads one stream element: the `result` of JSON-RPC, the data of HTTP+JSON, the message of gRPC.
    ///
    /// # Errors
    /// When the element is not of the shape that the version prescribes.
    pub fn decode_event(self, body: &[u8], memory: &mut StreamMemory) -> Result<Vec<Event>> {
        self.codec().decode_event(body, memory)
    }

    /// Writes one event; a version may need several elements for it. Each element of JSON is
    /// one line, whatever its reader takes for a line break.
    ///
    /// # Errors
    /// Does not happen for events that the protocol allows.
    pub fn encode_event(self, event: &Event, memory: &mut StreamMemory) -> Result<Vec<Vec<u8>>> {
        let mut out = Vec::with_capacity(1);
        self.codec().encode_event(event, memory, &mut out)?;
        if self.is_json() {
            out.iter_mut().for_each(json::one_line);
        }
        Ok(out)
    }

    /// Writes one event that many streams show: as [`encode_event`](Self::encode_event), but what does not
    /// depend on the stream is written once for all of them. Hands each element to `show`.
    ///
    /// # Errors
    /// Does not happen for events that the protocol allows.
    pub fn show_event(self, event: &SharedEvent, memory: &mut StreamMemory, mut show: impl FnMut(&Bytes)) -> Result<()> {
        #[cfg(feature = "grpc")]
        if let (Self::V0_3Grpc, Event::Task(task)) = (self, &**event) {
            // Inline bytes of a task are as the client writes them that made it, whoever watches.
            memory.origin.file_bytes = task.record.origin.file_bytes;
        }
        let numbered = memory.seq.is_some() && !self.is_json();
        let Some(form) = self.form(memory.origin.file_bytes).filter(|_| !numbered) else {
            self.encode_event(event, memory)?.into_iter().for_each(|element| show(&element.into()));
            return Ok(());
        };
        let bytes = event.encoded(form, |event| {
            let mut elements = self.encode_event(event, &mut StreamMemory::new(memory.origin))?;
            match (elements.pop(), elements.is_empty()) {
                (Some(element), true) => Ok(Bytes::from(element)),
                _ => Err(Error::internal("an event of this dialect is one element")),
            }
        })?;
        memory.closed |= event.ends_stream();
        show(&bytes);
        Ok(())
    }

    /// A number for what an event looks like in this dialect, if it looks alike in every stream.
    fn form(self, bytes: FileBytes) -> Option<u8> {
        let double = bytes == FileBytes::Double;
        Some(match self {
            Self::V1_0 | Self::V1_0Strict => SharedEvent::V1_0,
            Self::V0_3 => 1,
            Self::V0_3Rest if double => 2,
            Self::V0_3Rest => 3,
            Self::V0_3RestKind => 4,
            Self::V0_2 => 5,
            Self::Compact => 6,
            #[cfg(feature = "grpc")]
            Self::V1_0Grpc => 7,
            #[cfg(feature = "grpc")]
            Self::V0_3Grpc if double => 8,
            #[cfg(feature = "grpc")]
            Self::V0_3Grpc => 9,
            // Artifacts are numbered in the order in which the stream shows them.
            Self::V0_1 => return None,
        })
    }

    /// The element that must close a stream which ended without a closing event, if the version
    /// wants one.
    ///
    /// # Errors
    /// Does not happen for events that the protocol allows.
    pub fn encode_end(self, memory: &StreamMemory) -> Result<Option<Vec<u8>>> {
        self.codec().encode_end(memory)
    }

    /// Whether a webhook that was registered in this version hears of an event: of every one, or before
    /// v1.0 of every change of the status.
    #[must_use]
    pub fn notifies(self, event: &Event) -> bool {
        match self.version() {
            Version::V1_0 | Version::Compact => true,
            _ => !matches!(event, Event::Artifact(_)),
        }
    }

    /// Writes a webhook body: what happened, or in older versions the task as it stood then.
    ///
    /// # Errors
    /// Does not happen for events that the protocol allows.
    pub fn encode_push(self, event: &Event, task: &Task) -> Result<Vec<u8>> {
        self.codec().encode_push(event, task)
    }
}
