//! Everything a peer can make a dialect read. Shared by the hostile-input tests and the fuzz targets.

use chancery_core::{Error, Limits, Operation};
use chancery_wire::{
    Dialect, StreamMemory, card, decode_push,
    jsonrpc::{Call, Response},
    rest,
};

/// Reads a body as what its first byte says.
#[allow(dead_code, reason = "the fuzz targets' way in")]
pub fn bytes(dialect: Dialect, data: &[u8]) {
    if let Some((selector, body)) = data.split_first() {
        feed(dialect, u64::from(*selector), body);
    }
}

/// Reads a body as what `selector` says: it decodes to a value or to a typed error.
pub fn feed(dialect: Dialect, selector: u64, body: &[u8]) {
    let operation = Operation::ALL[usize::try_from(selector % 11).unwrap_or(0)];
    match selector % 7 {
        0 => typed(dialect.decode_reply(operation, body).map(drop)),
        1 => {
            let mut memory = StreamMemory::default();
            for _ in 0..2 {
                typed(dialect.decode_event(body, &mut memory).map(drop));
            }
        }
        2 => drop(dialect.decode_rpc_error(body)),
        3 => drop(dialect.decode_http_error(u16::try_from(selector % 600).unwrap_or(500), body)),
        4 => {
            typed(Response::parse(body).map(drop));
            if let Ok(call) = Call::parse(body) {
                typed(dialect.request(operation, call.params(), &Limits::default()).map(drop));
            }
        }
        5 => {
            // Any answer is right; it only must come.
            let _ = rest::v0_3_shape(body);
            typed(card::read(body).map(drop));
            typed(decode_push(body).map(drop));
        }
        _ => {
            if let Ok(request) = dialect.request(operation, body, &Limits::default()) {
                // What was read can be written; some versions have no such request.
                typed(dialect.encode_request(&request).map(drop));
            }
        }
    }
}

/// Reads protobuf as what its first byte says.
#[allow(dead_code, reason = "the fuzz targets' way in")]
pub fn grpc_bytes(dialect: Dialect, data: &[u8]) {
    if let Some((selector, body)) = data.split_first() {
        feed_grpc(dialect, u64::from(*selector), body);
    }
}

/// Reads protobuf as what `selector` says: it decodes to a value or to a typed error.
#[allow(dead_code, reason = "not every fuzz target uses it")]
pub fn feed_grpc(dialect: Dialect, selector: u64, body: &[u8]) {
    let operation = Operation::ALL[usize::try_from(selector / 4 % 11).unwrap_or(0)];
    match selector % 4 {
        0 => typed(dialect.decode_reply(operation, body).map(drop)),
        1 => typed(dialect.decode_event(body, &mut StreamMemory::default()).map(drop)),
        2 => drop(dialect.decode_grpc_error(i32::try_from(selector % 20).unwrap_or(2), "words", body)),
        _ => {
            if let Ok(request) = dialect.request(operation, body, &Limits::default()) {
                typed(dialect.encode_request(&request).map(drop));
            }
        }
    }
}

/// An error must be of the protocol and have words.
fn typed(result: Result<(), Error>) {
    if let Err(error) = result {
        assert!(!error.message().is_empty());
    }
}
