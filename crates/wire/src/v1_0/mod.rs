//! v1.0: the canonical model's own JSON, and on requests the spellings of older versions too.

pub(crate) mod alias;
#[cfg(feature = "grpc")]
pub mod proto;

use chancery_core::{Error, Event, Operation, Reply, Request, Result, Task};
use serde::Deserialize;

use crate::{
    card,
    dialect::{Codec, StreamMemory},
    json, transfer,
};

/// Reads requests with aliases (`dialects.md` section 4 of the specification).
pub(crate) static LENIENT: V1_0 = V1_0 { aliases: true };
/// Reads requests by the letter of v1.0.
pub(crate) static STRICT: V1_0 = V1_0 { aliases: false };

pub(crate) struct V1_0 {
    aliases: bool,
}

impl Codec for V1_0 {
    fn decode_request(&self, operation: Operation, json: &[u8]) -> Result<Request> {
        if self.aliases { alias::decode_request(operation, json) } else { decode_request(operation, json) }
    }

    fn encode_request(&self, request: &Request) -> Result<Vec<u8>> {
        match request {
            Request::SendMessage(request) | Request::StreamMessage(request) => json::write(request),
            Request::GetTask(request) => json::write(request),
            Request::ListTasks(request) => json::write(request),
            Request::CancelTask(request) => json::write(request),
            Request::Subscribe(request) => json::write(request),
            Request::CreatePushConfig(config) => json::write(config),
            Request::GetPushConfig(request) => json::write(request),
            Request::ListPushConfigs(request) => json::write(request),
            Request::DeletePushConfig(request) => json::write(request),
            Request::GetExtendedCard(request) => json::write(request),
        }
    }

    fn decode_reply(&self, operation: Operation, json: &[u8]) -> Result<Reply> {
        // The native form of the transfer additions is looked for only in what is not v1.0.
        decode_reply(operation, json)
            .or_else(|error| if self.aliases { transfer::answer::decode_reply(operation, json).map_err(|_| error) } else { Err(error) })
    }

    fn encode_reply(&self, reply: &Reply) -> Result<Vec<u8>> {
        let mut out = json::room();
        self.write_reply(reply, &mut out)?;
        Ok(out)
    }

    fn write_reply(&self, reply: &Reply, out: &mut Vec<u8>) -> Result<()> {
        match reply {
            Reply::Sent(reply) => json::append(reply, out),
            Reply::Task(task) => task.append_json(false, out),
            Reply::Tasks(page) => page.append_json(out),
            Reply::PushConfig(config) => json::append(config, out),
            Reply::PushConfigs(page) => json::append(page, out),
            Reply::Deleted => json::append(&serde_json::Map::new(), out),
            Reply::Card(card) => json::append(card, out),
        }
    }

    fn decode_event(&self, json: &[u8], memory: &mut StreamMemory) -> Result<Vec<Event>> {
        let event = json::read(json)
            .or_else(|error| if self.aliases { transfer::answer::decode_event(json).map_err(|_| error) } else { Err(error) })?;
        memory.note(&event);
        Ok(vec![event])
    }

    fn encode_event(&self, event: &Event, _: &mut StreamMemory, out: &mut Vec<Vec<u8>>) -> Result<()> {
        out.push(json::write(event)?);
        Ok(())
    }

    fn encode_push(&self, event: &Event, _: &Task) -> Result<Vec<u8>> {
        json::write(event)
    }

    fn check(&self, request: &Request) -> Result<()> {
        match request {
            Request::GetPushConfig(get) if get.id.is_none() => Err(Error::invalid_param("id", "is required")),
            _ => Ok(()),
        }
    }
}

fn decode_request(operation: Operation, json: &[u8]) -> Result<Request> {
    fn boxed<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<Box<T>> {
        json::read(json).map(Box::new)
    }
    Ok(match operation {
        Operation::SendMessage => Request::SendMessage(boxed(json)?),
        Operation::StreamMessage => Request::StreamMessage(boxed(json)?),
        Operation::GetTask => Request::GetTask(json::read(json)?),
        Operation::ListTasks => Request::ListTasks(json::read(json)?),
        Operation::CancelTask => Request::CancelTask(json::read(json)?),
        Operation::Subscribe => Request::Subscribe(json::read(json)?),
        Operation::CreatePushConfig => Request::CreatePushConfig(boxed(json)?),
        Operation::GetPushConfig => Request::GetPushConfig(json::read(json)?),
        Operation::ListPushConfigs => Request::ListPushConfigs(json::read(json)?),
        Operation::DeletePushConfig => Request::DeletePushConfig(json::read(json)?),
        Operation::GetExtendedCard => Request::GetExtendedCard(json::read(json)?),
    })
}

fn decode_reply(operation: Operation, json: &[u8]) -> Result<Reply> {
    Ok(match operation {
        Operation::SendMessage => Reply::Sent(json::read(json)?),
        Operation::GetTask | Operation::CancelTask => Reply::Task(json::read(json)?),
        Operation::ListTasks => {
            let mut page: chancery_core::TaskPage = json::read(json)?;
            page.with_artifacts = page.tasks.iter().any(|task| !task.artifacts.is_empty());
            Reply::Tasks(page.into())
        }
        Operation::CreatePushConfig | Operation::GetPushConfig => Reply::PushConfig(json::read(json)?),
        Operation::ListPushConfigs => Reply::PushConfigs(json::read(json)?),
        Operation::DeletePushConfig => Reply::Deleted,
        // A card that is not v1.0 by the letter may still be one that somebody writes.
        Operation::GetExtendedCard => Reply::Card(Box::new(json::read(json).or_else(|error| card::read(json).map_err(|_| error))?)),
        Operation::StreamMessage | Operation::Subscribe => return Err(Error::internal(format!("{operation} answers with a stream"))),
    })
}
