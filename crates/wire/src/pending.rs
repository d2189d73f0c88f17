//! Stands in for dialects whose code is not merged yet.
use crate::dialect::{Codec, StreamMemory};
use chancery_core::{Error, ErrorKind, Event, Operation, Reply, Request, Result, Task};
pub(crate) struct Pending;
fn no<T>() -> Result<T> {
    Err(Error::from(ErrorKind::UnsupportedOperation))
}
impl Codec for Pending {
    fn decode_request(&self, _: Operation, _: &[u8]) -> Result<Request> {
        no()
    }
    fn encode_request(&self, _: &Request) -> Result<Vec<u8>> {
        no()
    }
    fn decode_reply(&self, _: Operation, _: &[u8]) -> Result<Reply> {
        no()
    }
    fn encode_reply(&self, _: &Reply) -> Result<Vec<u8>> {
        no()
    }
    fn decode_event(&self, _: &[u8], _: &mut StreamMemory) -> Result<Vec<Event>> {
        no()
    }
    fn encode_event(&self, _: &Event, _: &mut StreamMemory, _: &mut Vec<Vec<u8>>) -> Result<()> {
        no()
    }
    fn encode_push(&self, _: &Event, _: &Task) -> Result<Vec<u8>> {
        no()
    }
}
