//! v0.3 over HTTP+JSON: the JSON of its protobuf messages, which real peers send although the prose
//! shows objects with `kind` (V03-SHAPE-002).
//!
//! It is read and written without protobuf in between, so that integers stay integers
//! (CONV-PART-006) and an error names its member.

mod decode;
mod encode;
mod read;
mod types;
mod write;

use chancery_core::{Event, Operation, Reply, Request, Result, Task};

use crate::dialect::{Codec, StreamMemory};

pub(crate) struct Rest;

impl Codec for Rest {
    fn decode_request(&self, operation: Operation, json: &[u8]) -> Result<Request> {
        decode::request(operation, json)
    }

    fn encode_request(&self, request: &Request) -> Result<Vec<u8>> {
        encode::request(request)
    }

    fn decode_reply(&self, operation: Operation, json: &[u8]) -> Result<Reply> {
        decode::reply(operation, json)
    }

    fn encode_reply(&self, reply: &Reply) -> Result<Vec<u8>> {
        encode::reply(reply)
    }

    fn decode_event(&self, json: &[u8], memory: &mut StreamMemory) -> Result<Vec<Event>> {
        decode::event(json, memory).map(|event| vec![event])
    }

    fn encode_event(&self, event: &Event, memory: &mut StreamMemory, out: &mut Vec<Vec<u8>>) -> Result<()> {
        out.push(encode::event(event, memory.origin.file_bytes)?);
        Ok(())
    }

    /// Webhooks of v0.3 get the task with `kind`, whatever the config was registered through
    /// (CONV-PUSH-003).
    fn encode_push(&self, event: &Event, task: &Task) -> Result<Vec<u8>> {
        crate::v0_3::JSON_RPC.encode_push(event, task)
    }
}
