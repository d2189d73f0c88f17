//! v0.1, the first public protocol: JSON-RPC only, task ids chosen by the client, every answer a
//! task, parts told apart by `type`.
//!
//! What v0.1 has no place for:
//!
//! | of v1.0 | in v0.1 |
//! |---|---|
//! | `mediaType`, `filename` of a text or data part; data that is no object | part metadata, see [`legacy`](crate::legacy) |
//! | states rejected, auth-required | `failed`, `input-required`, with a status message that says it |
//! | a task that was handed over | `failed`, with a status message that names who has it now |
//! | a message as the answer | a completed task whose status message it is |
//! | ids, extensions and references of messages; extensions of artifacts; `returnImmediately`; tenant | nothing |
//! | listing tasks, the extended card | an error; there is no such call |
//! | several webhooks for a task | one, named like the task; setting none removes it |

mod push;
mod read;
mod stream;
mod write;

use chancery_core::{Error, ErrorKind, Event, Operation, Reply, Request, Result, SendReply, Task, TaskId};

use crate::{
    dialect::{Codec, StreamMemory},
    json, transfer,
};

pub(crate) static JSON_RPC: V0_1 = V0_1;

pub(crate) struct V0_1;

impl Codec for V0_1 {
    fn decode_request(&self, operation: Operation, json: &[u8]) -> Result<Request> {
        Ok(match operation {
            Operation::SendMessage => Request::SendMessage(Box::new(json::read::<read::ReadSend>(json)?.0)),
            Operation::StreamMessage => Request::StreamMessage(Box::new(json::read::<read::ReadSend>(json)?.0)),
            Operation::GetTask => Request::GetTask(json::read::<read::TaskCall>(json)?.get()),
            Operation::CancelTask => Request::CancelTask(json::read::<read::TaskCall>(json)?.cancel()),
            Operation::Subscribe => Request::Subscribe(json::read::<read::TaskCall>(json)?.subscribe()),
            Operation::CreatePushConfig => json::read::<push::TaskConfig>(json)?.set(),
            Operation::GetPushConfig => Request::GetPushConfig(json::read::<read::TaskCall>(json)?.get_config()),
            Operation::ListTasks | Operation::ListPushConfigs | Operation::DeletePushConfig | Operation::GetExtendedCard => {
                return Err(absent(operation));
            }
        })
    }

    fn encode_request(&self, request: &Request) -> Result<Vec<u8>> {
        match request {
            Request::SendMessage(send) | Request::StreamMessage(send) => json::write(&write::WriteSend(send)),
            Request::GetTask(get) => json::write(&write::TaskQuery::get(get)),
            Request::CancelTask(cancel) => json::write(&write::TaskQuery::cancel(cancel)),
            Request::Subscribe(subscribe) => json::write(&write::TaskQuery::new(&subscribe.id)),
            Request::CreatePushConfig(config) => json::write(&push::WriteTaskConfig::new(config)),
            Request::GetPushConfig(get) => json::write(&write::TaskQuery::new(&get.task_id)),
            // There is one config at most, so listing is reading it and removing it is setting none.
            Request::ListPushConfigs(list) => json::write(&write::TaskQuery::new(&list.task_id)),
            Request::DeletePushConfig(delete) => json::write(&push::WriteTaskConfig::none(&delete.task_id)),
            Request::ListTasks(_) | Request::GetExtendedCard(_) => Err(absent(request.operation())),
        }
    }

    fn decode_reply(&self, operation: Operation, json: &[u8]) -> Result<Reply> {
        let task = |json| json::read::<read::ReadTask>(json).map(|task| Box::new(task.0));
        Ok(match operation {
            Operation::SendMessage => Reply::Sent(SendReply::Task(task(json)?)),
            Operation::GetTask | Operation::CancelTask => Reply::Task((*task(json)?).into()),
            Operation::CreatePushConfig | Operation::GetPushConfig => {
                Reply::PushConfig(Box::new(json::read::<push::TaskConfig>(json)?.required()?))
            }
            Operation::ListPushConfigs => Reply::PushConfigs(push::TaskConfig::page(json::read(json)?)),
            Operation::DeletePushConfig => Reply::Deleted,
            Operation::ListTasks | Operation::GetExtendedCard => return Err(absent(operation)),
            Operation::StreamMessage | Operation::Subscribe => return Err(Error::internal(format!("{operation} answers with a stream"))),
        })
    }

    fn encode_reply(&self, reply: &Reply) -> Result<Vec<u8>> {
        match reply {
            Reply::Sent(SendReply::Task(task)) => write_task(task),
            Reply::Task(task) => write_task(&*task.task()?),
            Reply::Sent(SendReply::Message(message)) => json::write(&write::Answer(message)),
            Reply::PushConfig(config) => json::write(&push::WriteTaskConfig::new(config)),
            // The answer to setting none, which the first client reads as "no config".
            Reply::Deleted => Ok(b"null".to_vec()),
            Reply::Tasks(_) => Err(absent(Operation::ListTasks)),
            Reply::PushConfigs(_) => Err(absent(Operation::ListPushConfigs)),
            Reply::Card(_) => Err(absent(Operation::GetExtendedCard)),
        }
    }

    fn decode_event(&self, json: &[u8], memory: &mut StreamMemory) -> Result<Vec<Event>> {
        stream::decode(json, memory)
    }

    fn encode_event(&self, event: &Event, memory: &mut StreamMemory, out: &mut Vec<Vec<u8>>) -> Result<()> {
        stream::encode(event, memory, out)
    }

    fn encode_end(&self, memory: &StreamMemory) -> Result<Option<Vec<u8>>> {
        stream::encode_end(memory)
    }

    fn encode_push(&self, _: &Event, task: &Task) -> Result<Vec<u8>> {
        // Nobody asked for history here, so there is none (V01-HIST-001).
        json::write(&write::WriteTask::without_history(&transfer::for_unaware(task)))
    }

    fn check(&self, request: &Request) -> Result<()> {
        match request {
            Request::SendMessage(send) | Request::StreamMessage(send) => check_id(send.message.task_id.as_ref()),
            _ => Ok(()),
        }
    }
}

fn write_task(task: &Task) -> Result<Vec<u8>> {
    // No client of v0.1 can activate an extension, so none is told of a handover (DIA-002-XFER-009).
    json::write(&write::WriteTask::new(&transfer::for_unaware(task)))
}

/// Clients choose the ids of their tasks, so the ids are held to what any later door can take
/// (CONV-TASK-005).
fn check_id(id: Option<&TaskId>) -> Result<()> {
    let wrong = |what| Err(Error::invalid_param("id", what));
    match id.map(TaskId::as_str) {
        None => wrong("is required"),
        Some(id) if id.chars().count() > 256 => wrong("must not be longer than 256 characters"),
        Some(id) if id.contains(|letter: char| letter.is_control() || letter == '/') => {
            wrong("must hold neither control characters nor slashes")
        }
        Some(_) => Ok(()),
    }
}

fn absent(operation: Operation) -> Error {
    Error::new(ErrorKind::UnsupportedOperation, format!("A2A 0.1 has no call for {operation}"))
}
