//! The compact dialect of v1.0: `A2A.` methods, `/messages` paths, flat results, short state names.
//!
//! What it has no place for:
//!
//! | of v1.0 | in the compact dialect |
//! |---|---|
//! | states submitted and unspecified | `WORKING` |
//! | a task that was handed over | `TRANSFERRED` with `transfer`, see [`transfer`](crate::transfer) |
//! | the message of a status | its text; the whole message is in the history |
//! | `name`, `description` of an artifact | `metadata.name`, `metadata.description`; what the metadata itself has there gives way |
//! | task and context ids of messages within a task | left out, and read as those of the task |
//! | metadata, extensions and references of messages; extensions of artifacts | members of their v1.0 names, beside those of the dialect |
//! | data that is no object | `{"value": …}`, and read as such: nothing marks it |
//! | metadata of parts, `filename` of text and data parts | nothing |
//!
//! Times of tasks and messages come from the task's record, which reading fills. Where there is
//! none, as in events, they are left out.

mod push;
mod read;
mod request;
mod write;

use chancery_core::{Error, Event, Operation, PushConfig, Reply, Request, Result, SendReply, Task};

use crate::{
    card,
    dialect::{Codec, StreamMemory},
    json,
};

pub(crate) static CODEC: Compact = Compact;

pub(crate) struct Compact;

impl Codec for Compact {
    fn decode_request(&self, operation: Operation, json: &[u8]) -> Result<Request> {
        request::decode(operation, json)
    }

    fn encode_request(&self, request: &Request) -> Result<Vec<u8>> {
        request::encode(request)
    }

    fn decode_reply(&self, operation: Operation, json: &[u8]) -> Result<Reply> {
        Ok(match operation {
            Operation::SendMessage => Reply::Sent(read::sent(json)?),
            Operation::GetTask | Operation::CancelTask => Reply::Task(json::read::<read::ReadTask>(json)?.0.into()),
            Operation::ListTasks => Reply::Tasks(json::read::<read::ReadPage>(json)?.0.into()),
            Operation::CreatePushConfig | Operation::GetPushConfig => Reply::PushConfig(Box::new(json::read::<push::ReadConfig>(json)?.0)),
            Operation::ListPushConfigs => Reply::PushConfigs(json::read::<push::ReadConfigs>(json)?.into_page()),
            Operation::DeletePushConfig => Reply::Deleted,
            Operation::GetExtendedCard => Reply::Card(Box::new(card::read(json)?)),
            Operation::StreamMessage | Operation::Subscribe => return Err(Error::internal(format!("{operation} answers with a stream"))),
        })
    }

    fn encode_reply(&self, reply: &Reply) -> Result<Vec<u8>> {
        match reply {
            Reply::Sent(SendReply::Task(task)) => json::write(&write::WriteTask(task)),
            Reply::Task(task) => json::write(&write::WriteTask(&*task.task()?)),
            Reply::Sent(SendReply::Message(message)) => json::write(&write::WriteMessage::alone(message)),
            Reply::Tasks(page) => json::write(&write::WritePage(&page.clone().decode()?)),
            Reply::PushConfig(config) => json::write(&push::WriteConfig::new(config)),
            Reply::PushConfigs(page) => json::write(&push::WriteConfigs(page)),
            Reply::Deleted => Ok(b"{}".to_vec()),
            Reply::Card(found) => json::write(&card::compact(found, &agent_id(&found.name))),
        }
    }

    fn decode_event(&self, json: &[u8], memory: &mut StreamMemory) -> Result<Vec<Event>> {
        let event = json::read::<read::ReadEvent>(json)?.0;
        memory.note(&event);
        Ok(vec![event])
    }

    fn encode_event(&self, event: &Event, _: &mut StreamMemory, out: &mut Vec<Vec<u8>>) -> Result<()> {
        out.push(json::write(&write::WriteEvent(event))?);
        Ok(())
    }

    fn encode_push(&self, event: &Event, _: &Task) -> Result<Vec<u8>> {
        json::write(&write::WriteEvent(event))
    }

    fn check(&self, request: &Request) -> Result<()> {
        match request {
            Request::GetPushConfig(get) if get.id.is_none() => Err(Error::invalid_param("configId", "is required")),
            Request::CreatePushConfig(config) => push::check(config),
            Request::SendMessage(send) | Request::StreamMessage(send) => {
                send.configuration.push_config.as_deref().map_or(Ok(()), push::check)
            }
            _ => Ok(()),
        }
    }
}

/// The body of HTTP+JSON that registers a config; its task is in the path.
pub(crate) fn config_body(config: &PushConfig) -> Result<Vec<u8>> {
    json::write(&push::WriteConfig::new(config))
}

/// A key for an agent whose server gives it none: its name in lower case, words joined by dashes.
fn agent_id(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("-").to_lowercase()
}
