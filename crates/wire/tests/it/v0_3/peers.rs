//! Generated values: through our own reader, and through the released SDKs.

use chancery_core::{Binding, Event, Operation, Origin, Request};
use chancery_wire::{Dialect, StreamMemory, hybrid_task};

use super::{KINDS, written};
use crate::{
    generate::Generator,
    sdk::Peer,
    vector::{bytes, parse},
};

/// What a dialect with kinds cannot carry, taken out of a generated request.
fn carried(mut request: Request, dialect: Dialect) -> Request {
    let binding = if dialect == Dialect::V0_3RestKind { Binding::HttpJson } else { Binding::JsonRpc };
    let origin = Origin::new(dialect.version(), binding);
    match &mut request {
        Request::SendMessage(send) | Request::StreamMessage(send) => {
            send.origin = origin;
            send.configuration.history_length = send.configuration.history_length.filter(|length| *length != 0);
            if let Some(config) = &mut send.configuration.push_config {
                config.record.origin = origin;
                config.tenant = String::new();
            }
        }
        Request::GetTask(get) => get.history_length = get.history_length.filter(|length| *length != 0),
        Request::ListTasks(list) => list.history_length = Some(list.history_length.unwrap_or(0)),
        Request::CreatePushConfig(config) => config.record.origin = origin,
        // The answer always holds all configs.
        Request::ListPushConfigs(list) => (list.page_size, list.page_token) = (0, String::new()),
        _ => {}
    }
    request
}

/// CONV-MSG-001, CONV-TASK-001, CONV-ART-001, CONV-EVENT-001, CONV-SEND-001, CONV-PUSH-001.
#[test]
fn what_is_written_is_read_again_as_it_was() {
    for case in 0..2_000 {
        let mut make = Generator::new(case);
        for dialect in KINDS {
            for operation in Operation::ALL.into_iter().filter(|operation| *operation != Operation::GetExtendedCard) {
                let request = make.request(operation);
                let json = dialect.encode_request(&request).unwrap();
                assert_eq!(dialect.decode_request(operation, &json).unwrap(), carried(request, dialect), "case {case}, {dialect:?}");
                if !operation.is_streaming() {
                    let reply = make.reply(operation);
                    let json = dialect.encode_reply(&reply).unwrap();
                    assert_eq!(dialect.decode_reply(operation, &json).unwrap(), reply, "case {case}, {dialect:?}");
                }
            }
            let (mut writing, mut reading) = (StreamMemory::default(), StreamMemory::default());
            for event in make.stream() {
                let elements = dialect.encode_event(&event, &mut writing).unwrap();
                assert_eq!(dialect.decode_event(&elements[0], &mut reading).unwrap(), [event], "case {case}, {dialect:?}");
            }
        }
    }
}

/// What an SDK makes of a value that we have written.
#[track_caller]
fn pass(peer: &mut Peer, kind: &str, json: &[u8]) -> Vec<u8> {
    bytes(&peer.pass(kind, parse(json)).unwrap_or_else(|error| panic!("{kind}: {error}: {}", String::from_utf8_lossy(json))))
}

/// The released SDKs understand what we write, and we understand what they make of it.
fn understood_by(sdk: &str, dialect: Dialect) {
    let Some(mut peer) = Peer::start(sdk) else { return };
    for case in 0..100 {
        let mut make = Generator::new(case);
        for (operation, kind) in [
            (Operation::SendMessage, "SendMessageResponse"),
            (Operation::GetTask, "Task"),
            (Operation::GetPushConfig, "PushConfig"),
            (Operation::ListPushConfigs, "ListPushConfigsResponse"),
        ] {
            let reply = make.reply(operation);
            let back = pass(&mut peer, kind, &dialect.encode_reply(&reply).unwrap());
            assert_eq!(dialect.decode_reply(operation, &back).unwrap(), reply, "case {case}, {kind}");
        }
        for (operation, kind) in [
            (Operation::SendMessage, "SendMessageRequest"),
            (Operation::GetTask, "GetTaskRequest"),
            (Operation::CancelTask, "CancelTaskRequest"),
            (Operation::Subscribe, "SubscribeToTaskRequest"),
            (Operation::CreatePushConfig, "CreatePushConfigRequest"),
            (Operation::GetPushConfig, "GetPushConfigRequest"),
            (Operation::ListPushConfigs, "ListPushConfigsRequest"),
            (Operation::DeletePushConfig, "DeletePushConfigRequest"),
        ] {
            let mut request = make.request(operation);
            // Only the hosted variant knows tenants.
            request.set_tenant("");
            let back = pass(&mut peer, kind, &dialect.encode_request(&request).unwrap());
            assert_eq!(dialect.decode_request(operation, &back).unwrap(), carried(request, dialect), "case {case}, {kind}");
        }
        for event in make.stream() {
            let json = bytes(&written(dialect, &event));
            let back = pass(&mut peer, "StreamResponse", &json);
            assert_eq!(dialect.decode_event(&back, &mut StreamMemory::default()).unwrap(), [event], "case {case}");
        }
        let task = make.task();
        let webhook = dialect.encode_push(&Event::from(task.clone()), &task).unwrap();
        assert_eq!(
            dialect.decode_event(&pass(&mut peer, "PushBody", &webhook), &mut StreamMemory::default()).unwrap(),
            [task.clone().into()]
        );
        pass(&mut peer, "Task", &hybrid_task(&task).unwrap());
    }
}

/// V03-SHAPE-001, V03-PART-002, V03-PART-005, V03-OBJ-003, V03-OBJ-004, V03-PUSH-001.
#[test]
fn python_0_3_26_understands_us() {
    understood_by("py-0.3.26", Dialect::V0_3);
}

/// V03-SHAPE-001, V03-OBJ-001, V03-PUSH-001.
#[test]
fn javascript_0_3_14_understands_us() {
    understood_by("js-0.3.14", Dialect::V0_3);
}

/// V02-VER-002, V02-OBJ-002, V02-OBJ-003, V02-PUSH-001.
#[test]
fn python_0_2_16_understands_us() {
    understood_by("py-0.2.16", Dialect::V0_2);
}
