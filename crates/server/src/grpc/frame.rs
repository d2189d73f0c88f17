//! Messages in a body: a flag, four bytes of length, and the message.

use chancery_core::{Bytes, Error, ErrorKind, Origin, Reply, Result};
use chancery_wire::{Dialect, errors::GrpcCode};
use http::{HeaderMap, HeaderName};

use super::status::CallError;
use crate::call;

/// Bytes before each message.
pub(crate) const PREFIX: usize = 5;
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// The one message of a body.
pub(crate) fn message(headers: &HeaderMap, mut body: Bytes, limit: usize) -> Result<Bytes, CallError> {
    let invalid = |words: &str| Error::new(ErrorKind::InvalidRequest, words);
    if body.is_empty() {
        // gRPC gives this code to calls with too few or too many messages.
        return Err(CallError::coded(GrpcCode::Unimplemented, invalid("The call has no message; it must have one")));
    }
    if body.len() < PREFIX {
        return Err(invalid("The call ends in the middle of a message").into());
    }
    let prefix = body.split_to(PREFIX);
    let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
    if length > limit {
        let words = format!("The message is larger than {limit} bytes");
        return Err(CallError::coded(GrpcCode::ResourceExhausted, invalid(&words)));
    }
    match (prefix[0], call::text(headers, &ENCODING)) {
        (0, _) => {}
        (1, None | Some("identity")) => {
            return Err(CallError::coded(
                GrpcCode::Internal,
                invalid("The message calls itself compressed, but grpc-encoding names no way"),
            ));
        }
        (1, Some(_)) => return Err(CallError::coded(GrpcCode::Unimplemented, invalid("Messages must not be compressed"))),
        _ => return Err(invalid("The first byte of a message is 0 or 1").into()),
    }
    if body.len() < length {
        return Err(invalid("The call ends in the middle of a message").into());
    }
    if body.len() > length {
        return Err(CallError::coded(GrpcCode::Unimplemented, invalid("The call has more than one message; it must have one")));
    }
    Ok(body)
}

/// An answer as one message, with what goes before it.
pub(crate) fn reply(dialect: Dialect, origin: Origin, reply: &Reply) -> Result<Bytes> {
    let mut frame = vec![0; PREFIX];
    dialect.write_reply_to(origin, reply, &mut frame)?;
    let prefix = prefix(frame.len() - PREFIX)?;
    frame[..PREFIX].copy_from_slice(&prefix);
    Ok(frame.into())
}

/// What goes before a message of this length.
pub(crate) fn prefix(length: usize) -> Result<[u8; PREFIX]> {
    let [a, b, c, d] = u32::try_from(length).map_err(Error::internal)?.to_be_bytes();
    Ok([0, a, b, c, d])
}
