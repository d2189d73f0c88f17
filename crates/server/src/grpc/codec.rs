//! The protobuf of both services, to and from the canonical model.

use std::collections::BTreeMap;

use chancery_core::{
    Bytes, Error, ErrorKind, Event, FileBytes, Limits, Operation, Reply, Request, Result, SendReply, Seq, SharedEvent, Version, extension,
};
use chancery_wire::{
    Dialect,
    grpc::{v0_3, v1_0},
    proto::{a2a_v1, lf_a2a_v1},
};
use prost::Message;
use prost_types::{Struct, Value, value::Kind};

use super::frame::framed;

/// Numbers of what an event looks like: those of the JSON forms are below.
const V1_0_FORM: u8 = 32;
const V0_3_DOUBLE_FORM: u8 = 33;
const V0_3_SINGLE_FORM: u8 = 34;

/// Reads the message of a call.
pub(crate) fn request(version: Version, operation: Operation, message: Bytes) -> Result<Request> {
    match version {
        Version::V1_0 => v1_0_request(operation, message),
        _ => v0_3_request(operation, message),
    }
}

/// Checks that a request is complete and within limits.
pub(crate) fn check(version: Version, request: &Request, limits: &Limits) -> Result<()> {
    let dialect = if version == Version::V1_0 { Dialect::V1_0 } else { Dialect::V0_3Rest };
    dialect.check(request, limits)
}

fn v1_0_request(operation: Operation, message: Bytes) -> Result<Request> {
    Ok(match operation {
        Operation::SendMessage => Request::SendMessage(Box::new(v1_0::send_message_from_proto(decode(message)?)?)),
        Operation::StreamMessage => Request::StreamMessage(Box::new(v1_0::send_message_from_proto(decode(message)?)?)),
        Operation::GetTask => Request::GetTask(v1_0::get_task_from_proto(decode(message)?)?),
        Operation::ListTasks => Request::ListTasks(v1_0::list_tasks_from_proto(decode(message)?)?),
        Operation::CancelTask => Request::CancelTask(v1_0::cancel_task_from_proto(decode(message)?)?),
        Operation::Subscribe => Request::Subscribe(v1_0::subscribe_from_proto(decode(message)?)?),
        Operation::CreatePushConfig => Request::CreatePushConfig(Box::new(v1_0::push_config_from_proto(decode(message)?)?)),
        Operation::GetPushConfig => Request::GetPushConfig(v1_0::get_push_config_from_proto(decode(message)?)?),
        Operation::ListPushConfigs => Request::ListPushConfigs(v1_0::list_push_configs_from_proto(decode(message)?)?),
        Operation::DeletePushConfig => Request::DeletePushConfig(v1_0::delete_push_config_from_proto(decode(message)?)?),
        Operation::GetExtendedCard => Request::GetExtendedCard(v1_0::get_extended_card_from_proto(decode(message)?)?),
    })
}

fn v0_3_request(operation: Operation, message: Bytes) -> Result<Request> {
    Ok(match operation {
        Operation::SendMessage => Request::SendMessage(Box::new(v0_3::send_message_from_proto(decode(message)?)?)),
        Operation::StreamMessage => Request::StreamMessage(Box::new(v0_3::send_message_from_proto(decode(message)?)?)),
        Operation::GetTask => Request::GetTask(v0_3::get_task_from_proto(decode(message)?)?),
        Operation::ListTasks => Request::ListTasks(v0_3::list_tasks_from_proto(decode(message)?)?),
        Operation::CancelTask => Request::CancelTask(v0_3::cancel_task_from_proto(decode(message)?)?),
        Operation::Subscribe => Request::Subscribe(v0_3::subscribe_from_proto(decode(message)?)?),
        Operation::CreatePushConfig => Request::CreatePushConfig(Box::new(v0_3::create_push_config_from_proto(decode(message)?)?)),
        Operation::GetPushConfig => Request::GetPushConfig(v0_3::get_push_config_from_proto(decode(message)?)?),
        Operation::ListPushConfigs => Request::ListPushConfigs(v0_3::list_push_configs_from_proto(decode(message)?)?),
        Operation::DeletePushConfig => Request::DeletePushConfig(v0_3::delete_push_config_from_proto(decode(message)?)?),
        Operation::GetExtendedCard => Request::GetExtendedCard(v0_3::get_extended_card_from_proto(decode(message)?)?),
    })
}

fn decode<M: Message + Default>(message: Bytes) -> Result<M> {
    M::decode(message).map_err(|error| {
        let words = format!("The message is not what this method takes: {error}");
        Error::new(ErrorKind::InvalidRequest, words).caused_by(error)
    })
}

/// Writes an answer, as one framed message. Inline bytes of a direct answer are written as the request
/// had them, those of a task as the client writes them that made it.
pub(crate) fn reply(version: Version, reply: Reply, file_bytes: FileBytes) -> Result<Bytes> {
    match version {
        Version::V1_0 => match reply {
            Reply::Sent(sent) => framed(&v1_0::send_reply_to_proto(&sent)),
            Reply::Task(task) => framed(&v1_0::task_to_proto(&task)),
            Reply::Tasks(page) => framed(&v1_0::task_page_to_proto(&page)),
            Reply::PushConfig(config) => framed(&v1_0::push_config_to_proto(&config)),
            Reply::PushConfigs(page) => framed(&v1_0::push_config_page_to_proto(&page)),
            Reply::Deleted => framed(&()),
            Reply::Card(card) => framed(&v1_0::card_to_proto(&card)),
        },
        _ => match reply {
            Reply::Sent(sent) => {
                let form = match &sent {
                    SendReply::Task(task) => task.record.origin.file_bytes,
                    SendReply::Message(_) => file_bytes,
                };
                framed(&v0_3::send_reply_to_proto(&sent, form))
            }
            Reply::Task(task) => framed(&v0_3::task_to_proto(&task, task.record.origin.file_bytes)),
            Reply::Tasks(page) => framed(&v0_3::task_page_to_proto(&page)),
            Reply::PushConfig(config) => framed(&v0_3::push_config_to_proto(&config)),
            Reply::PushConfigs(page) => framed(&v0_3::push_config_page_to_proto(&page)),
            Reply::Deleted => framed(&()),
            Reply::Card(card) => framed(&v0_3::card_to_proto(&card)),
        },
    }
}

/// Writes the events of one stream.
pub(crate) struct EventEncoder {
    version: Version,
    file_bytes: FileBytes,
    /// Whether each event tells its place in the log.
    numbered: bool,
}

impl EventEncoder {
    pub(crate) fn new(version: Version, file_bytes: FileBytes, numbered: bool) -> Self {
        Self { version, file_bytes, numbered }
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// The message of an event, made once for all streams unless it tells its place.
    pub(crate) fn encode(&mut self, seq: Seq, event: &SharedEvent) -> Result<Bytes> {
        if let Event::Task(task) = &**event {
            self.file_bytes = task.record.origin.file_bytes;
        }
        // A direct message has no place in a log.
        if self.numbered && seq != Seq::START {
            return Ok(self.numbered_event(seq, event));
        }
        event.encoded(self.form(), |event| {
            Ok(match self.version {
                Version::V1_0 => v1_0::event_to_proto(event).encode_to_vec(),
                _ => v0_3::event_to_proto(event, self.file_bytes).encode_to_vec(),
            }
            .into())
        })
    }

    fn form(&self) -> u8 {
        match (self.version, self.file_bytes) {
            (Version::V1_0, _) => V1_0_FORM,
            (_, FileBytes::Double) => V0_3_DOUBLE_FORM,
            (_, FileBytes::Single) => V0_3_SINGLE_FORM,
        }
    }

    fn numbered_event(&self, seq: Seq, event: &Event) -> Bytes {
        match self.version {
            Version::V1_0 => {
                use lf_a2a_v1::stream_response::Payload;
                let mut element = v1_0::event_to_proto(event);
                let metadata = element.payload.as_mut().map(|payload| match payload {
                    Payload::Task(task) => &mut task.metadata,
                    Payload::Message(message) => &mut message.metadata,
                    Payload::StatusUpdate(update) => &mut update.metadata,
                    Payload::ArtifactUpdate(update) => &mut update.metadata,
                });
                note(metadata, seq);
                element.encode_to_vec().into()
            }
            _ => {
                use a2a_v1::stream_response::Payload;
                let mut element = v0_3::event_to_proto(event, self.file_bytes);
                let metadata = element.payload.as_mut().map(|payload| match payload {
                    Payload::Task(task) => &mut task.metadata,
                    Payload::Msg(message) => &mut message.metadata,
                    Payload::StatusUpdate(update) => &mut update.metadata,
                    Payload::ArtifactUpdate(update) => &mut update.metadata,
                });
                note(metadata, seq);
                element.encode_to_vec().into()
            }
        }
    }
}

fn note(metadata: Option<&mut Option<Struct>>, seq: Seq) {
    if let Some(metadata) = metadata {
        let fields: &mut BTreeMap<_, _> = &mut metadata.get_or_insert_default().fields;
        // Exact up to 2^53, which no log reaches.
        fields.insert(extension::SEQUENCE.to_owned(), Value { kind: Some(Kind::NumberValue(seq.get() as f64)) });
    }
}
