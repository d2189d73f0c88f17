//! v0.3 in the shape with `kind`: JSON-RPC, webhooks, and HTTP+JSON as the prose shows it. v0.2
//! shares it.

mod artifact;
mod each;
mod event;
mod file_bytes;
mod hybrid;
mod kind;
mod list;
mod message;
mod name;
mod params;
mod part;
#[cfg(feature = "grpc")]
pub mod proto;
mod push_config;
mod rest;
mod spelling;
mod task;

use chancery_core::{
    Binding, Error, ErrorKind, Event, Message, Operation, PushConfigPage, Reply, Request, Result, SendReply, Task, TaskId, Version,
};

use crate::{
    card,
    dialect::{Codec, StreamMemory},
    json,
};

use event::WriteEvent;

pub use hybrid::hybrid_task;

/// v0.3 over JSON-RPC.
pub(crate) static JSON_RPC: KindShape = KindShape::new(Version::V0_3, Binding::JsonRpc);
/// v0.3 over HTTP+JSON.
pub(crate) static REST: rest::Rest = rest::Rest;
/// v0.3 over HTTP+JSON with the objects of JSON-RPC.
pub(crate) static REST_KIND: KindShape = KindShape::new(Version::V0_3, Binding::HttpJson);

/// Whether a status message only stands for none: Python peers write one that says nothing.
fn is_nothing(message: &Message) -> bool {
    message.message_id.is_empty() && message.parts.is_empty()
}

/// Objects that name their own kind. JSON-RPC sends them bare; HTTP+JSON wraps answers and events
/// in a member that names the kind again.
pub(crate) struct KindShape {
    version: Version,
    binding: Binding,
}

impl KindShape {
    pub(crate) const fn new(version: Version, binding: Binding) -> Self {
        Self { version, binding }
    }

    fn wraps(&self) -> bool {
        self.binding == Binding::HttpJson
    }

    /// An event, and whether it says that it is the last.
    fn read_event(&self, json: &[u8]) -> Result<(Event, bool)> {
        if self.wraps() { event::decode_wrapped(json) } else { event::decode_bare(json) }
    }

    fn write_event(&self, event: &WriteEvent<'_>) -> Result<Vec<u8>> {
        if self.wraps() { event.wrapped() } else { event.bare() }
    }
}

impl Codec for KindShape {
    fn decode_request(&self, operation: Operation, json: &[u8]) -> Result<Request> {
        params::decode(operation, json)
    }

    fn encode_request(&self, request: &Request) -> Result<Vec<u8>> {
        params::encode(request, self.version)
    }

    fn decode_reply(&self, operation: Operation, json: &[u8]) -> Result<Reply> {
        Ok(match operation {
            Operation::SendMessage => Reply::Sent(match self.read_event(json)?.0 {
                Event::Task(task) => SendReply::Task(task),
                Event::Message(message) => SendReply::Message(message),
                _ => return Err(Error::new(ErrorKind::InvalidAgentResponse, "the answer to a message is neither a task nor a message")),
            }),
            Operation::GetTask | Operation::CancelTask => Reply::Task(task::decode(json)?.into()),
            Operation::ListTasks => Reply::Tasks(list::decode_page(json)?.into()),
            Operation::CreatePushConfig | Operation::GetPushConfig => Reply::PushConfig(Box::new(push_config::decode(json)?)),
            Operation::ListPushConfigs => Reply::PushConfigs(PushConfigPage::new(push_config::decode_all(json)?)),
            // Python leaves the result out, JavaScript writes null: whatever comes, it is done.
            Operation::DeletePushConfig => Reply::Deleted,
            Operation::GetExtendedCard => Reply::Card(Box::new(card::read(json)?)),
            Operation::StreamMessage | Operation::Subscribe => return Err(Error::internal(format!("{operation} answers with a stream"))),
        })
    }

    fn encode_reply(&self, reply: &Reply) -> Result<Vec<u8>> {
        match reply {
            Reply::Sent(reply) => self.write_event(&WriteEvent::of_reply(reply)),
            Reply::Task(task) => task::encode(&*task.task()?),
            Reply::Tasks(page) => list::encode_page(&page.clone().decode()?),
            Reply::PushConfig(config) => push_config::encode(config),
            Reply::PushConfigs(page) if self.wraps() => push_config::encode_page(page),
            Reply::PushConfigs(page) => push_config::encode_all(&page.configs),
            Reply::Deleted if self.wraps() => Ok(Vec::new()),
            Reply::Deleted => Ok(b"null".to_vec()),
            Reply::Card(card) => match (self.version, self.binding) {
                (Version::V0_2, _) => json::write(&card::v0_2(card)),
                (_, Binding::HttpJson) => json::write(&card::v0_3_rest(card)),
                _ => json::write(&card::v0_3(card)),
            },
        }
    }

    fn decode_event(&self, json: &[u8], memory: &mut StreamMemory) -> Result<Vec<Event>> {
        let (event, last) = self.read_event(json)?;
        memory.note(&event);
        memory.closed |= last;
        Ok(vec![event])
    }

    fn encode_event(&self, event: &Event, memory: &mut StreamMemory, out: &mut Vec<Vec<u8>>) -> Result<()> {
        out.push(self.write_event(&WriteEvent::of(event)?)?);
        memory.closed |= event.ends_stream();
        Ok(())
    }

    fn encode_push(&self, _: &Event, task: &Task) -> Result<Vec<u8>> {
        task::encode(task)
    }
}

/// The id of the conversation, which the shape demands: a task without one is its own.
fn context_or_task<'a>(context: &'a str, task: &'a TaskId) -> &'a str {
    if context.is_empty() { task.as_str() } else { context }
}
