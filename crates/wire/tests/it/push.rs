//! Webhook bodies of every version, and the task for readers of all older ones.

use chancery_core::{Event, Message, Operation, Reply, StatusUpdate, Task, TaskState, Version};
use chancery_wire::{Dialect, StreamMemory, decode_push, hybrid_task};
use serde_json::json;

use crate::{
    v0_3::KINDS,
    vector::{assert_exact, assert_same, bytes, canonical_reply, one, parse},
};

/// V03-PUSH-001, V02-PUSH-001, CONV-PUSH-003, CONV-PUSH-005.
#[test]
fn a_webhook_is_told_the_whole_task() {
    for (name, dialect) in [("v0.3/push-body", Dialect::V0_3), ("v0.3/push-body", Dialect::V0_3RestKind), ("v0.2/push-body", Dialect::V0_2)]
    {
        let golden = one(name).at("/request/body").unwrap().clone();
        let (version, read) = decode_push(&bytes(&golden)).unwrap();
        assert_eq!(version, Version::V0_3);
        let Event::Task(task) = &read else { panic!() };
        let happened = StatusUpdate::new(task.id.clone(), task.context_id.clone(), task.status.clone()).into();
        assert_exact(name, &parse(&dialect.encode_push(&happened, task).unwrap()), &golden);
    }
    let vector = one("v0.3/push-body");
    let (_, read) = decode_push(&bytes(vector.at("/request/body").unwrap())).unwrap();
    assert_same("v1", &serde_json::to_value(read).unwrap(), vector.at("/v1/body").unwrap());
}

/// CONV-PUSH-005, V02-SEED-002.
#[test]
fn a_webhook_body_is_known_by_its_shape() {
    let status = json!({"state": "completed"});
    let task = json!({"id": "t", "status": status});
    for (body, dialect) in [
        (json!({"kind": "task", "id": "t", "contextId": "c", "status": status}), Dialect::V0_3),
        (json!({"id": "t", "contextId": "c", "status": status}), Dialect::V0_3),
        (json!({"id": "t", "status": status, "artifacts": [{"artifactId": "a", "parts": [{"type": "text", "text": "x"}]}]}), Dialect::V0_3),
        (json!({"kind": "status-update", "taskId": "t", "contextId": "c", "status": status, "final": true}), Dialect::V0_3),
        (json!({"task": {"kind": "task", "id": "t", "contextId": "c", "status": status}}), Dialect::V0_3RestKind),
        (json!({"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}}}), Dialect::V1_0),
        (json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}}), Dialect::V1_0),
        (json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}), Dialect::V1_0),
        (json!({"status_update": {"task_id": "t", "context_id": "c", "status": {"state": 2}}}), Dialect::V1_0),
        (
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"text": "x"}]}}}),
            Dialect::V1_0,
        ),
        (json!({"task": {"taskId": "t", "contextId": "c", "status": {"state": "COMPLETED"}}}), Dialect::Compact),
        (json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "WORKING"}}}), Dialect::Compact),
        (json!({"message": {"messageId": "m", "role": "agent", "parts": [{"text": "x"}]}}), Dialect::Compact),
        (
            json!({"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a", "mimeType": "text/plain", "parts": [{"text": "x"}]}}}),
            Dialect::Compact,
        ),
        (one("dialect-003/push-delivery").at("/request/body").unwrap().clone(), Dialect::Compact),
        (one("v0.1/push-body").at("/request/body").unwrap().clone(), Dialect::V0_1),
        (task, Dialect::V0_1),
    ] {
        let body = bytes(&body);
        let expected = match dialect {
            Dialect::V0_1 => dialect.decode_reply(Operation::GetTask, &body).map(|reply| canonical_reply(&reply)),
            _ => dialect.decode_event(&body, &mut StreamMemory::default()).map(|events| serde_json::to_value(&events[0]).unwrap()),
        };
        let read = decode_push(&body).map(|(version, event)| {
            assert_eq!(version, dialect.version());
            match event {
                Event::Task(task) if dialect == Dialect::V0_1 => canonical_reply(&Reply::Task((*task).into())),
                event => serde_json::to_value(event).unwrap(),
            }
        });
        assert_eq!(read.map_err(|error| error.kind()), expected.map_err(|error| error.kind()), "{}", String::from_utf8_lossy(&body));
    }
    for body in ["", "[]", "{}", "7", r#"{"id":"t"}"#, r#"{"task":null}"#, r#"{"kind":"paint"}"#] {
        assert!(decode_push(body.as_bytes()).is_err(), "{body}");
    }
}

/// CONV-DET-006, CONV-STATE-003.
#[test]
fn one_task_can_be_read_by_every_older_version() {
    let vector = one("conversion/task-hybrid-01-03");
    let golden = vector.at("/body").unwrap();
    let task: Task = serde_json::from_value(vector.at("/v1.0").unwrap().clone()).unwrap();
    assert_exact("hybrid", &parse(&hybrid_task(&task).unwrap()), golden);
    for dialect in KINDS {
        assert_eq!(dialect.decode_reply(Operation::GetTask, &bytes(golden)).unwrap(), Reply::Task(task.clone().into()));
    }
    for (state, word, text) in
        [(TaskState::Rejected, "failed", "Rejected by the agent."), (TaskState::AuthRequired, "input-required", "Authentication required.")]
    {
        let mut task = Task::new("t", "c", state);
        let hybrid = parse(&hybrid_task(&task).unwrap());
        let part = json!({"kind": "text", "type": "text", "text": text});
        let message =
            json!({"kind": "message", "messageId": "t-status", "role": "agent", "parts": [part], "contextId": "c", "taskId": "t"});
        assert_exact(word, &hybrid["status"], &json!({"state": word, "message": message}));
        task.status.message = Some(Message::agent("No.").id("m"));
        assert_eq!(parse(&hybrid_task(&task).unwrap())["status"]["message"]["parts"][0]["text"], "No.");
    }
}
