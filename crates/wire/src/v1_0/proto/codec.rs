//! v1.0 over gRPC as a [`Codec`]: protobuf messages of `lf.a2a.v1` to and from the canonical model.

use std::collections::BTreeMap;

use chancery_core::{Error, Event, Operation, Reply, Request, Result, Task};
use prost::Message;

use super::{
    cancel_task_from_proto, cancel_task_to_proto, card_from_proto, card_to_proto, delete_push_config_from_proto,
    delete_push_config_to_proto, event_from_proto, event_to_proto, get_extended_card_from_proto, get_extended_card_to_proto,
    get_push_config_from_proto, get_push_config_to_proto, get_task_from_proto, get_task_to_proto, list_push_configs_from_proto,
    list_push_configs_to_proto, list_tasks_from_proto, list_tasks_to_proto, push_config_from_proto, push_config_page_from_proto,
    push_config_page_to_proto, push_config_to_proto, send_message_from_proto, send_message_to_proto, send_reply_from_proto,
    send_reply_to_proto, subscribe_from_proto, subscribe_to_proto, task_from_proto, task_page_from_proto, task_page_to_proto,
    task_to_proto,
};
use crate::{
    dialect::{Codec, StreamMemory},
    grpc::{append, read, read_sequence, sequence_value},
    proto::lf_a2a_v1::{StreamResponse, stream_response::Payload},
    v1_0::STRICT,
};

/// The service `lf.a2a.v1.A2AService`.
pub(crate) struct Grpc;

impl Codec for Grpc {
    fn decode_request(&self, operation: Operation, message: &[u8]) -> Result<Request> {
        Ok(match operation {
            Operation::SendMessage => Request::SendMessage(Box::new(send_message_from_proto(read(message)?)?)),
            Operation::StreamMessage => Request::StreamMessage(Box::new(send_message_from_proto(read(message)?)?)),
            Operation::GetTask => Request::GetTask(get_task_from_proto(read(message)?)?),
            Operation::ListTasks => Request::ListTasks(list_tasks_from_proto(read(message)?)?),
            Operation::CancelTask => Request::CancelTask(cancel_task_from_proto(read(message)?)?),
            Operation::Subscribe => Request::Subscribe(subscribe_from_proto(read(message)?)?),
            Operation::CreatePushConfig => Request::CreatePushConfig(Box::new(push_config_from_proto(read(message)?)?)),
            Operation::GetPushConfig => Request::GetPushConfig(get_push_config_from_proto(read(message)?)?),
            Operation::ListPushConfigs => Request::ListPushConfigs(list_push_configs_from_proto(read(message)?)?),
            Operation::DeletePushConfig => Request::DeletePushConfig(delete_push_config_from_proto(read(message)?)?),
            Operation::GetExtendedCard => Request::GetExtendedCard(get_extended_card_from_proto(read(message)?)?),
        })
    }

    fn encode_request(&self, request: &Request) -> Result<Vec<u8>> {
        Ok(match request {
            Request::SendMessage(send) | Request::StreamMessage(send) => send_message_to_proto(send).encode_to_vec(),
            Request::GetTask(get) => get_task_to_proto(get).encode_to_vec(),
            Request::ListTasks(list) => list_tasks_to_proto(list).encode_to_vec(),
            Request::CancelTask(cancel) => cancel_task_to_proto(cancel).encode_to_vec(),
            Request::Subscribe(subscribe) => subscribe_to_proto(subscribe).encode_to_vec(),
            Request::CreatePushConfig(config) => push_config_to_proto(config).encode_to_vec(),
            Request::GetPushConfig(get) => get_push_config_to_proto(get).encode_to_vec(),
            Request::ListPushConfigs(list) => list_push_configs_to_proto(list).encode_to_vec(),
            Request::DeletePushConfig(delete) => delete_push_config_to_proto(delete).encode_to_vec(),
            Request::GetExtendedCard(get) => get_extended_card_to_proto(get).encode_to_vec(),
        })
    }

    fn decode_reply(&self, operation: Operation, message: &[u8]) -> Result<Reply> {
        Ok(match operation {
            Operation::SendMessage => Reply::Sent(send_reply_from_proto(read(message)?)?),
            Operation::GetTask | Operation::CancelTask => Reply::Task(task_from_proto(read(message)?)?.into()),
            Operation::ListTasks => Reply::Tasks(task_page_from_proto(read(message)?)?.into()),
            Operation::CreatePushConfig | Operation::GetPushConfig => Reply::PushConfig(Box::new(push_config_from_proto(read(message)?)?)),
            Operation::ListPushConfigs => Reply::PushConfigs(push_config_page_from_proto(read(message)?)?),
            Operation::DeletePushConfig => read(message).map(|()| Reply::Deleted)?,
            Operation::GetExtendedCard => Reply::Card(Box::new(card_from_proto(read(message)?)?)),
            Operation::StreamMessage | Operation::Subscribe => return Err(Error::internal(format!("{operation} answers with a stream"))),
        })
    }

    fn encode_reply(&self, reply: &Reply) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.write_reply(reply, &mut out)?;
        Ok(out)
    }

    fn write_reply(&self, reply: &Reply, out: &mut Vec<u8>) -> Result<()> {
        match reply {
            Reply::Sent(sent) => append(&send_reply_to_proto(sent), out),
            Reply::Task(task) => append(&task_to_proto(&*task.task()?), out),
            Reply::Tasks(page) => append(&task_page_to_proto(&page.clone().decode()?), out),
            Reply::PushConfig(config) => append(&push_config_to_proto(config), out),
            Reply::PushConfigs(page) => append(&push_config_page_to_proto(page), out),
            Reply::Deleted => Ok(()),
            Reply::Card(card) => append(&card_to_proto(card), out),
        }
    }

    fn decode_event(&self, message: &[u8], memory: &mut StreamMemory) -> Result<Vec<Event>> {
        let mut event = event_from_proto(read(message)?)?;
        memory.seq = read_sequence(&mut event);
        memory.note(&event);
        Ok(vec![event])
    }

    fn encode_event(&self, event: &Event, memory: &mut StreamMemory, out: &mut Vec<Vec<u8>>) -> Result<()> {
        let mut element = event_to_proto(event);
        if let (Some(seq), Some(metadata)) = (memory.seq, metadata(&mut element)) {
            let fields: &mut BTreeMap<_, _> = &mut metadata.get_or_insert_default().fields;
            fields.extend([sequence_value(seq)]);
        }
        out.push(element.encode_to_vec());
        Ok(())
    }

    /// Webhooks get JSON, whatever their config was registered through.
    fn encode_push(&self, event: &Event, task: &Task) -> Result<Vec<u8>> {
        STRICT.encode_push(event, task)
    }

    fn check(&self, request: &Request) -> Result<()> {
        STRICT.check(request)
    }
}

fn metadata(element: &mut StreamResponse) -> Option<&mut Option<prost_types::Struct>> {
    element.payload.as_mut().map(|payload| match payload {
        Payload::Task(task) => &mut task.metadata,
        Payload::Message(message) => &mut message.metadata,
        Payload::StatusUpdate(update) => &mut update.metadata,
        Payload::ArtifactUpdate(update) => &mut update.metadata,
    })
}
