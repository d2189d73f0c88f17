//! The transfer additions, in every form that carries them.

use std::collections::BTreeSet;

use chancery_core::{
    ErrorKind, Event, Limits, Message, Operation, Part, Reply, Request, SendMessage, SendReply, StatusUpdate, Task, TaskState, TaskStatus,
    extension,
};
use chancery_wire::{
    Dialect, StreamMemory,
    transfer::{self, Transfer},
};
use serde_json::{Value, json};

use crate::{
    generate::Generator,
    spoiled::spoiled,
    vector::{assert_exact, assert_same, bytes, folder, one, parse},
};

const HANDOFF: &str = extension::HANDOFF;

fn body(name: &str) -> Value {
    one(&format!("dialect-002/{name}")).at("/body").unwrap().clone()
}

/// The task of the vectors, in canonical form.
fn canonical() -> Task {
    serde_json::from_value(body("transferred-v1")).unwrap()
}

fn value<T: serde::Serialize>(of: &T) -> Value {
    serde_json::to_value(of).unwrap()
}

/// The value with every message id taken out: those that the reader made are not known.
fn unnamed(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => {
            members.remove("messageId");
            members.values_mut().for_each(|member| *member = unnamed(member.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = unnamed(item.take())),
        _ => {}
    }
    value
}

fn reply(task: Task) -> Reply {
    Reply::Task(task.into())
}

fn the_transfer() -> Transfer {
    Transfer::new("https://pilots.example", "pilot-task-31")
        .reason("Pilot booking is handled by the pilot desk")
        .handoff("0199f2c4-7a10-7c3e-9d52-3f6a1b2c4d5e", 1)
}

/// Each file of the folder has a test below, or is a card and tested with the cards.
#[test]
fn every_vector_is_known() {
    let known = [
        "card-snake",
        "lattice-cases",
        "transfer-context-native",
        "transferred-003",
        "transferred-native",
        "transferred-seed-minimal",
        "transferred-v01",
        "transferred-v03",
        "transferred-v03-unaware",
        "transferred-v1",
        "transferred-v1-event",
        "transferred-v1-unaware",
    ];
    let found: BTreeSet<_> = folder("dialect-002").into_iter().map(|vector| vector.name.replace("dialect-002/", "")).collect();
    assert_eq!(found, known.map(str::to_owned).into());
}

/// DIA-002-XFER-001, DIA-002-XFER-002, DIA-002-TASK-001, DIA-002-XFER-008, HO-T8.
#[test]
fn the_native_form_is_a_state_and_a_member_of_its_own() {
    let native = body("transferred-native");
    let read = transfer::decode_native(&bytes(&native)).unwrap();
    let golden = one("dialect-002/transferred-native").at("/v1/task").unwrap().clone();
    assert_exact("read", &unnamed(value(&read)), &unnamed(golden.clone()));
    assert!(read.state().is_terminal() && !read.status.message.unwrap().message_id.is_empty());

    let task: Task = serde_json::from_value(golden).unwrap();
    assert_exact("written", &parse(&transfer::encode_native(&task).unwrap()), &native);
}

/// DIA-002-XFER-010: only whom to turn to is needed, in either spelling.
#[test]
fn a_handover_needs_only_an_agent_and_a_task() {
    let minimal = body("transferred-seed-minimal");
    let read = transfer::decode_native(&bytes(&minimal)).unwrap();
    let found = Transfer::of(&read.metadata).unwrap().unwrap();
    assert_eq!(found, Transfer::new("https://pilots.example", "pilot-task-31"));
    assert_exact("written", &parse(&transfer::encode_native(&read).unwrap()), &minimal);

    let task = |state: &str, transfer: Value| json!({"id": "t", "contextId": "c", "status": {"state": state, "transfer": transfer}});
    for good in [
        task("TRANSFERRED", json!({"agentEndpoint": "https://pilots.example", "taskId": "pilot-task-31"})),
        task("transferred", json!({"agent_endpoint": "https://pilots.example", "taskId": "pilot-task-31"})),
    ] {
        assert_eq!(Transfer::of(&transfer::decode_native(&bytes(&good)).unwrap().metadata).unwrap().unwrap(), found, "{good}");
    }
    for bad in
        [Value::Null, json!({}), json!({"agent_endpoint": "https://x.example"}), json!({"agent_endpoint": 1, "task_id": "t"}), json!([])]
    {
        let error = transfer::decode_native(&bytes(&task("TRANSFERRED", bad.clone()))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{bad}");
        assert!(error.to_string().contains("transfer"), "{error}");
    }
}

/// DIA-002-XFER-010: metadata decides, whatever the state says.
#[test]
fn a_client_finds_the_handover_in_the_metadata() {
    let vector = canonical();
    assert_eq!(Transfer::of(&vector.metadata).unwrap(), Some(the_transfer()));
    let mut snake = Task::new("t", "c", TaskState::Working);
    let said = json!({"state": "Transferred", "transfer": {"agent_endpoint": "https://x.example", "task_id": "x", "hop": 2.0, "grant": {"token": "s3cr3t"}}});
    snake.metadata.insert(HANDOFF.to_owned(), said);
    let found = Transfer::of(&snake.metadata).unwrap().unwrap();
    assert_eq!(
        (found.agent_endpoint.as_str(), found.hop, found.grant.as_ref().unwrap().token.expose()),
        ("https://x.example", Some(2), "s3cr3t")
    );
    assert!(!format!("{found:?}").contains("s3cr3t"));

    for (said, kind) in [
        (json!({"state": "failed", "transfer": {}}), None),
        (json!({"transferContext": {}}), None),
        (json!({"state": "transferred", "transfer": {"taskId": "t"}}), Some(ErrorKind::InvalidAgentResponse)),
        (json!({"state": "transferred", "transfer": {"agentEndpoint": "", "taskId": "t"}}), Some(ErrorKind::InvalidAgentResponse)),
        (
            json!({"state": "transferred", "transfer": {"agentEndpoint": "x", "taskId": "t", "hop": -1}}),
            Some(ErrorKind::InvalidAgentResponse),
        ),
    ] {
        let metadata = [(HANDOFF.to_owned(), said.clone())].into_iter().collect();
        match (Transfer::of(&metadata), kind) {
            (Ok(None), None) => {}
            (Err(error), Some(kind)) => assert_eq!(error.kind(), kind, "{said}"),
            (other, _) => panic!("{said}: {other:?}"),
        }
    }
}

/// DIA-002-XFER-005, DIA-002-XFER-006: the task, its status message and the event say the same.
#[test]
fn the_canonical_form_says_it_three_times() {
    let mut made: Task = Task::new("2b6f0c52-8d7e-4f0a-9c31-5a0e7d9b4c11", "7f3d2a9e-41c6-4f7b-8a55-0d1e2c3b4a59", TaskState::Working);
    made.status.timestamp = canonical().status.timestamp;
    the_transfer().apply(&mut made);
    assert_exact("task", &unnamed(value(&made)), &unnamed(body("transferred-v1")));

    let mut update = StatusUpdate::new(made.id.clone(), made.context_id.clone(), made.status.clone());
    update.metadata = made.metadata.clone();
    assert_exact("event", &unnamed(value(&Event::from(update))), &unnamed(body("transferred-v1-event")));
    for dialect in [Dialect::V1_0, Dialect::V1_0Strict] {
        let golden = body("transferred-v1-event");
        let events = dialect.decode_event(&bytes(&golden), &mut StreamMemory::default()).unwrap();
        assert_exact("v1.0", &parse(&dialect.encode_event(&events[0], &mut StreamMemory::default()).unwrap()[0]), &golden);
    }
}

/// DIA-002-XFER-008, DIA-003-STATE-001: the compact dialect has the state natively.
#[test]
fn the_compact_dialect_writes_the_native_state() {
    let golden = body("transferred-003");
    let Reply::Task(read) = Dialect::Compact.decode_reply(Operation::GetTask, &bytes(&golden)).unwrap() else { panic!() };
    assert_exact("read", &unnamed(value(&read)), &unnamed(body("transferred-v1")));
    let mut task = canonical();
    task.record = read.task().unwrap().record;
    assert_exact("written", &parse(&Dialect::Compact.encode_reply(&reply(task.clone())).unwrap()), &golden);

    let mut update = StatusUpdate::new(task.id.clone(), task.context_id.clone(), task.status.clone());
    update.metadata = task.metadata.clone();
    let mut memory = StreamMemory::default();
    let json = Dialect::Compact.encode_event(&update.clone().into(), &mut memory).unwrap().remove(0);
    let written = parse(&json);
    assert_exact("event", &written["statusUpdate"]["status"], &golden["status"]);
    assert_eq!(written["statusUpdate"].get("metadata"), None);
    let events = Dialect::Compact.decode_event(&json, &mut memory).unwrap();
    assert_exact("event read", &unnamed(value(&events)), &unnamed(json!([{"statusUpdate": value(&update)}])));
    let silent = json!({"taskId": "t", "status": {"state": "TRANSFERRED"}});
    assert!(Dialect::Compact.decode_reply(Operation::GetTask, &bytes(&silent)).is_err());
}

/// DIA-002-XFER-007: v0.3 and v0.2 carry the canonical form in their own words; what their vector shows is that form.
#[test]
fn the_v0_3_form_is_the_canonical_one_in_other_words() {
    let golden = body("transferred-v03");
    assert_eq!((&golden["status"]["state"], &golden["metadata"]), (&json!("completed"), &value(&canonical().metadata)));
    assert_eq!(golden["status"]["message"]["metadata"], golden["metadata"]);
    let unaware = body("transferred-v03-unaware");
    assert_eq!((&unaware["status"]["state"], unaware.get("metadata")), (&json!("rejected"), None));
}

/// DIA-002-XFER-009.
#[test]
fn who_does_not_know_the_extension_is_told_in_words() {
    let mut task = canonical();
    transfer::unaware(&mut task);
    assert_exact("v1.0", &value(&task), &body("transferred-v1-unaware"));

    let mut update = StatusUpdate::new(task.id.clone(), task.context_id.clone(), canonical().status);
    update.metadata = canonical().metadata;
    transfer::unaware_update(&mut update);
    assert_exact("update", &value(&update.status), &body("transferred-v1-unaware")["status"]);
    assert!(update.metadata.is_empty());

    let mut other = Task::new("t", "c", TaskState::Completed);
    transfer::unaware(&mut other);
    assert_eq!(other, Task::new("t", "c", TaskState::Completed));
}

/// DIA-002-XFER-009: an agent's own words may leave out where the task went.
#[test]
fn words_of_an_agent_are_completed_with_the_way() {
    let mut task = Task::new("t", "c", TaskStatus::new(TaskState::Working).message(Message::agent("The pilots will help you.")));
    the_transfer().apply(&mut task);
    assert_eq!(task.status.message.as_ref().unwrap().text(), "The pilots will help you.");
    transfer::unaware(&mut task);
    let message = task.status.message.unwrap();
    assert_eq!(message.text(), "The pilots will help you.\nHanded over to https://pilots.example, task pilot-task-31.");
    assert!(message.extensions.is_empty() && message.metadata.is_empty());
}

/// DIA-002-XFER-009: clients of v0.1 can never know it, so their dialect itself sees to it.
#[test]
fn clients_of_v0_1_are_never_told_otherwise() {
    let golden = body("transferred-v01");
    assert_exact("task", &parse(&Dialect::V0_1.encode_reply(&reply(canonical())).unwrap()), &golden);
    let event = Event::from(canonical());
    assert_exact("webhook", &parse(&Dialect::V0_1.encode_push(&event, &canonical()).unwrap()), &golden);

    let mut memory = StreamMemory::default();
    let elements = Dialect::V0_1.encode_event(&event, &mut memory).unwrap();
    assert_exact("stream", &parse(&elements[0])["status"], &golden["status"]);
    assert_eq!(parse(&Dialect::V0_1.encode_end(&memory).unwrap().unwrap())["status"]["state"], "failed");

    let mut update = StatusUpdate::new("t", "c", canonical().status);
    update.metadata = canonical().metadata;
    let elements = Dialect::V0_1.encode_event(&update.into(), &mut StreamMemory::default()).unwrap();
    assert_exact("update", &parse(&elements[0]), &json!({"id": "t", "status": golden["status"], "final": true}));
}

/// DIA-002-XFER-010, DIA-002-TASK-001: a v1.0 peer that answers in the native form is understood.
#[test]
fn the_native_form_is_understood_in_answers_of_v1_0() {
    let native = body("transferred-native");
    let golden = unnamed(body("transferred-v1"));
    let read = |operation, answer: Value| Dialect::V1_0.decode_reply(operation, &bytes(&answer)).unwrap();
    let tasks = [
        match read(Operation::GetTask, native.clone()) {
            Reply::Task(task) => task.into_task().unwrap(),
            other => panic!("{other:?}"),
        },
        match read(Operation::SendMessage, json!({"task": native})) {
            Reply::Sent(SendReply::Task(task)) => *task,
            other => panic!("{other:?}"),
        },
        match read(Operation::ListTasks, json!({"tasks": [native], "pageSize": 1, "totalSize": 1})) {
            Reply::Tasks(page) => page.decode().unwrap().tasks.remove(0),
            other => panic!("{other:?}"),
        },
    ];
    for task in tasks {
        assert_exact("answer", &unnamed(value(&task)), &golden);
    }
    let update = json!({"status_update": {"task_id": native["id"], "context_id": native["context_id"], "status": native["status"]}});
    let events = Dialect::V1_0.decode_event(&bytes(&update), &mut StreamMemory::default()).unwrap();
    assert_exact("event", &unnamed(value(&events)), &unnamed(json!([body("transferred-v1-event")])));

    assert!(Dialect::V1_0Strict.decode_reply(Operation::GetTask, &bytes(&native)).is_err());
    let wrong = Dialect::V1_0.decode_reply(Operation::GetTask, br#"{"id":7}"#).unwrap_err();
    assert_eq!(wrong.violations()[0].field, "id");
}

/// DIA-002-TASK-001: every state has an upper-case name.
#[test]
fn native_states_are_upper_case_without_prefix() {
    for state in TaskState::ALL {
        let task = Task::new("t", "c", *state);
        let json = transfer::encode_native(&task).unwrap();
        let word = state.as_str().strip_prefix("TASK_STATE_").unwrap();
        assert_eq!(parse(&json), json!({"id": "t", "context_id": "c", "status": {"state": word}}));
        assert_eq!(transfer::decode_native(&json).unwrap(), task);
    }
}

/// DIA-002-CTX-001, DIA-002-CTX-002, DIA-002-PART-001, HO-T8.
#[test]
fn the_context_of_a_message_is_native_or_extension_data() {
    let vector = one("dialect-002/transfer-context-native");
    let golden = vector.at("/v1/message").unwrap();
    let read = transfer::decode_native_message(&bytes(vector.at("/body").unwrap())).unwrap();
    assert!(!read.message_id.is_empty());
    assert_exact(&vector.name, &unnamed(value(&read)), &unnamed(golden.clone()));

    let message: Message = serde_json::from_value(golden.clone()).unwrap();
    let native = parse(&transfer::encode_native_message(&message).unwrap());
    let mut expected = vector.at("/body").unwrap().clone();
    expected["message_id"] = json!("<generated>");
    expected["parts"][0].as_object_mut().unwrap().remove("kind");
    assert_exact(&vector.name, &native, &expected);
    assert_eq!(transfer::decode_native_message(&bytes(&native)).unwrap(), message);
}

/// DIA-002-CTX-002: the compact dialect has the native member, v0.1 only the metadata.
#[test]
fn the_context_of_a_message_travels_in_every_version() {
    let message: Message = serde_json::from_value(one("dialect-002/transfer-context-native").at("/v1/message").unwrap().clone()).unwrap();
    let mut send = SendMessage::new(message.to_task("t"));
    send.configuration.return_immediately = true;
    let request = Request::SendMessage(Box::new(send));
    let compact = Dialect::Compact.encode_request(&request).unwrap();
    let context = body("transfer-context-native")["transfer_context"].clone();
    let written = parse(&compact);
    assert_eq!(written["message"]["transfer_context"], context);
    assert!(written["message"].get("metadata").is_none() && written["message"].get("extensions").is_none());
    let mut read = Dialect::Compact.request(Operation::SendMessage, &compact, &Limits::default()).unwrap();
    read.set_origin(chancery_core::Origin::default());
    assert_eq!(read, request);

    let v0_1 = Dialect::V0_1.encode_request(&request).unwrap();
    let Request::SendMessage(read) = Dialect::V0_1.request(Operation::SendMessage, &v0_1, &Limits::default()).unwrap() else { panic!() };
    let Request::SendMessage(sent) = &request else { panic!() };
    assert_eq!(read.message.metadata, sent.message.metadata);
}

/// DIA-002-CTX-004: v1.0 reads the native member as extension data, beside what is there.
#[test]
fn v1_0_reads_the_native_context_as_extension_data() {
    let mut message = body("transfer-context-native");
    message["messageId"] = json!("m");
    message["metadata"] = json!({HANDOFF: {"note": 1}, "k": 2});
    let params = bytes(&json!({"message": message}));
    let Request::SendMessage(read) = Dialect::V1_0.request(Operation::SendMessage, &params, &Limits::default()).unwrap() else { panic!() };
    let metadata = value(&read.message.metadata);
    assert_eq!(metadata[HANDOFF]["transferContext"]["originatingAgent"], "https://tide.example");
    assert_eq!((&metadata[HANDOFF]["note"], &metadata["k"]), (&json!(1), &json!(2)));
    assert_eq!(read.message.extensions, [HANDOFF]);
}

/// DIA-002-AP2-001: data of other extensions goes through every version as it is.
#[test]
fn data_parts_of_extensions_pass_unchanged() {
    let mandate =
        json!({"ap2.mandates.CartMandate": {"contents": {"id": "cart-1", "total": {"currency": "USD", "value": 120.0}}, "jws": "e.y"}});
    let mut task = Task::new("t", "c", TaskState::Completed);
    task.artifacts.push(chancery_core::Artifact::new(Part::data(mandate.clone())).id("cart"));
    for (dialect, member) in [(Dialect::V1_0, "data"), (Dialect::V0_1, "data"), (Dialect::Compact, "structuredData")] {
        let json = dialect.encode_reply(&reply(task.clone())).unwrap();
        assert_eq!(parse(&json)["artifacts"][0]["parts"][0][member], mandate, "{dialect:?}");
        let Reply::Task(read) = dialect.decode_reply(Operation::GetTask, &json).unwrap() else { panic!() };
        assert_eq!(read.task().unwrap().artifacts, task.artifacts, "{dialect:?}");
    }
}

/// Members of the agents' own data keep their names, and other data of the extension stays.
#[test]
fn only_our_members_are_renamed() {
    let mut message = Message::user("go").id("m");
    let context = json!({"state": {"task_id": 1, "taskId": 2}, "maxHops": 3, "custom_Member": 4});
    message.metadata.insert(HANDOFF.to_owned(), json!({"transferContext": context, "note": 5}));
    message.extensions.push(HANDOFF.to_owned());
    let native = transfer::encode_native_message(&message).unwrap();
    let written = parse(&native);
    assert_eq!(written["transfer_context"], json!({"state": {"task_id": 1, "taskId": 2}, "max_hops": 3, "custom_Member": 4}));
    assert_eq!(written["metadata"], json!({HANDOFF: {"note": 5}}));
    assert_eq!(transfer::decode_native_message(&native).unwrap(), message);
}

/// DIA-002-LAT-001, DIA-002-LAT-002, DIA-002-LAT-003: the file's own arithmetic; who enforces it reads the same cases.
#[test]
fn the_lattice_cases_are_set_arithmetic() {
    for case in one("dialect-002/lattice-cases").at("/cases").unwrap().as_array().unwrap() {
        let set = |name: &str| -> BTreeSet<&str> { case[name].as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect() };
        let effective: BTreeSet<_> = set("capsB").intersection(&set("scopeA")).copied().collect();
        assert_eq!(effective, set("effective"), "{case}");
        let allowed = set("required").is_subset(&effective);
        assert_eq!(json!(allowed), case["allowed"], "{case}");
        let outcome = match (allowed, case.get("escalation").is_some()) {
            (true, _) => None,
            (false, true) => Some("INPUT_REQUIRED"),
            (false, false) => Some("FAILED"),
        };
        assert_eq!(case.get("outcome").and_then(Value::as_str), outcome, "{case}");
    }
}

/// DIA-002-TASK-001, DIA-002-PART-001, DIA-002-XFER-002.
#[test]
fn a_task_comes_back_from_its_native_form() {
    for case in 0..10_000 {
        let mut make = Generator::new(case);
        let mut made = make.task();
        if make.chance(2) {
            Transfer::new("https://x.example", "x").reason(make.text()).apply(&mut made);
        }
        let read = transfer::decode_native(&transfer::encode_native(&made).unwrap()).unwrap();
        assert_same(&format!("case {case}"), &unnamed(value(&read)), &unnamed(value(&made)));
    }
}

/// Whatever a peer sends is read or refused, and what is read can be written.
#[test]
fn nothing_that_a_peer_sends_does_harm() {
    for name in ["transferred-native", "transferred-003", "transferred-v1"] {
        for spoiled in spoiled(&body(name)) {
            if let Ok(task) = transfer::decode_native(&bytes(&spoiled)) {
                transfer::encode_native(&task).unwrap();
            }
            for dialect in [Dialect::V1_0, Dialect::Compact, Dialect::V0_1] {
                if let Ok(Reply::Task(task)) = dialect.decode_reply(Operation::GetTask, &bytes(&spoiled)) {
                    dialect.encode_reply(&Reply::Task(task.clone())).unwrap();
                    let mut task = task.into_task().unwrap();
                    transfer::unaware(&mut task);
                    assert!(Transfer::of(&task.metadata).unwrap().is_none(), "{spoiled}");
                }
            }
        }
    }
}

/// HO-5: the native filter selects what was handed over, and that of completed tasks leaves it out; both ways there and back.
#[test]
fn a_list_is_narrowed_to_what_was_handed_over() {
    let limits = Limits::default();
    for (word, handed_over) in [("TRANSFERRED", Some(true)), ("COMPLETED", Some(false)), ("WORKING", None)] {
        let json = json!({"status": word}).to_string();
        let request = Dialect::Compact.request(Operation::ListTasks, json.as_bytes(), &limits).unwrap();
        let Request::ListTasks(list) = &request else { panic!("{request:?}") };
        assert_eq!(list.handed_over, handed_over, "{word}");
        assert_eq!(list.status == TaskState::Completed, handed_over.is_some());
        let route = chancery_wire::rest::Route::find("GET", "/compact/tasks", None, false).unwrap().unwrap();
        let asked = route.request(Dialect::Compact, &format!("status={word}"), b"", &limits).unwrap();
        let Request::ListTasks(asked) = &asked else { panic!("{asked:?}") };
        assert_eq!((asked.status, asked.handed_over), (list.status, list.handed_over), "{word}");
        let written = Dialect::Compact.encode_request(&request).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), json!({"status": word}));
    }
}
