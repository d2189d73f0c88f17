//! Everything a peer can make a dialect read. Shared by the hostile-input tests and the fuzz targets.

use chancery_core::{Error, Limits, Operation};
use chancery_wire::{
    Dialect, StreamMemory, card, decode_push, grpc,
    jsonrpc::{Call, Response},
    proto::{a2a_v1, google_rpc, lf_a2a_v1},
    rest,
};
use prost::Message;

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
            let request = |call: &Call<'_>| dialect.request(operation, call.params(), &Limits::default());
            let (seen, call) = (Call::glimpse(body), Call::parse(body));
            // What was seen at a glimpse and can be read is what is there.
            if let Some(seen) = seen
                && request(&seen).is_ok()
            {
                let call = call.as_ref().unwrap();
                assert_eq!((&seen.id, &seen.method, seen.params()), (&call.id, &call.method, call.params()));
            }
            if let Ok(call) = call {
                typed(request(&call).map(drop));
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

/// A version of gRPC.
#[derive(Debug, Clone, Copy)]
#[allow(dead_code, reason = "each fuzz target uses one")]
pub enum Grpc {
    V1_0,
    V0_3,
}

/// Reads protobuf as what its first byte says.
#[allow(dead_code, reason = "the fuzz targets' way in")]
pub fn grpc_bytes(version: Grpc, data: &[u8]) {
    if let Some((selector, body)) = data.split_first() {
        feed_grpc(version, u64::from(*selector), body);
    }
}

/// Reads protobuf as what `selector` says: it decodes to a value or to a typed error.
#[allow(dead_code, reason = "not every fuzz target uses it")]
pub fn feed_grpc(version: Grpc, selector: u64, body: &[u8]) {
    macro_rules! read {
        ($message:ty, $convert:path) => {
            if let Ok(message) = <$message>::decode(body) {
                typed($convert(message).map(drop));
            }
        };
    }
    match (version, selector % 8) {
        (Grpc::V1_0, 0) => read!(lf_a2a_v1::SendMessageRequest, grpc::v1_0::send_message_from_proto),
        (Grpc::V1_0, 1) => read!(lf_a2a_v1::StreamResponse, grpc::v1_0::event_from_proto),
        (Grpc::V1_0, 2) => read!(lf_a2a_v1::SendMessageResponse, grpc::v1_0::send_reply_from_proto),
        (Grpc::V1_0, 3) => read!(lf_a2a_v1::ListTasksRequest, grpc::v1_0::list_tasks_from_proto),
        (Grpc::V1_0, 4) => read!(lf_a2a_v1::TaskPushNotificationConfig, grpc::v1_0::push_config_from_proto),
        (Grpc::V1_0, 5) => read!(lf_a2a_v1::AgentCard, grpc::v1_0::card_from_proto),
        (Grpc::V1_0, 6) => read!(lf_a2a_v1::ListTasksResponse, grpc::v1_0::task_page_from_proto),
        (Grpc::V0_3, 0) => read!(a2a_v1::SendMessageRequest, grpc::v0_3::send_message_from_proto),
        (Grpc::V0_3, 1) => read!(a2a_v1::StreamResponse, grpc::v0_3::event_from_proto),
        (Grpc::V0_3, 2) => read!(a2a_v1::SendMessageResponse, grpc::v0_3::send_reply_from_proto),
        (Grpc::V0_3, 3) => read!(a2a_v1::GetTaskRequest, grpc::v0_3::get_task_from_proto),
        (Grpc::V0_3, 4) => read!(a2a_v1::CreateTaskPushNotificationConfigRequest, grpc::v0_3::create_push_config_from_proto),
        (Grpc::V0_3, 5) => read!(a2a_v1::AgentCard, grpc::v0_3::card_from_proto),
        (Grpc::V0_3, 6) => read!(a2a_v1::TaskPushNotificationConfig, grpc::v0_3::push_config_from_proto),
        (version, _) => {
            if let Ok(status) = google_rpc::Status::decode(body) {
                drop(match version {
                    Grpc::V1_0 => grpc::v1_0::error_from_status(&status),
                    Grpc::V0_3 => grpc::v0_3::error_from_status(&status),
                });
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
