//! Every operation with its rules, on an agent that does what the message says.

use std::{task::Poll, time::Duration};

use chancery_core::{
    Artifact, Caller, CancelTask, Card, DeletePushConfig, Error, ErrorKind, Event, EventStream, Extension, GetExtendedCard, GetPushConfig,
    GetTask, ListPushConfigs, ListTasks, Message, Operations, Part, PushConfig, SendMessage, SendReply, Seq, Subscribe, Task, TaskId,
    TaskState,
};
use chancery_engine::{Engine, Failure, Outcome, Turn, store::Sqlite};

use crate::folder::Folder;

/// Does what the first word of the message says.
pub async fn obedient(turn: Turn) -> Result<Outcome, Failure> {
    let (verb, rest) = turn.text().split_once(' ').unwrap_or((turn.text(), ""));
    match verb {
        "reply" => Ok(Outcome::reply(rest)),
        "message" => Ok(Outcome::message(rest)),
        "work" => {
            turn.status("Working on it").await?;
            Ok(Outcome::complete_with(Artifact::new(rest).id("result").named("result")))
        }
        "chunks" => {
            turn.status("Writing").await?;
            let mut artifact = turn.artifact("numbers");
            for number in 0..rest.parse::<u32>()? {
                artifact.push(number.to_string()).await?;
            }
            artifact.finish().await?;
            Ok(Outcome::Completed)
        }
        "ask" => Ok(Outcome::ask(rest)),
        "auth" => Ok(Outcome::require_auth(rest)),
        "reject" => Ok(Outcome::reject(rest)),
        "fail" => Err(Failure::from("a secret detail").tell(rest)),
        "panic" => panic!("the agent is broken"),
        "wait" => {
            turn.status("Waiting").await?;
            std::future::pending().await
        }
        "converse" => {
            let answer = turn.require_input("Which quay?").await?;
            Ok(Outcome::complete_with(Artifact::new(answer.text())))
        }
        "listen" => {
            turn.status("Listening").await?;
            let next = turn.next_message().await.ok_or("no more messages")?;
            Ok(Outcome::complete_with(Artifact::new(next.text())))
        }
        "references" => {
            let names: Vec<_> = turn.referenced_tasks().await.iter().map(|task| task.id.to_string()).collect();
            Ok(Outcome::reply(names.join(",")))
        }
        "history" => Ok(Outcome::reply(turn.history().len().to_string())),
        _ => Ok(Outcome::reply(format!("{}?", turn.text()))),
    }
}

pub fn card() -> Card {
    Card::new("Obedient", "Does what it is told").skill("obey", "Does what the first word says").streaming(true).push_notifications(true)
}

pub fn engine() -> Engine {
    Engine::new(card(), obedient).start()
}

fn anyone() -> Caller {
    Caller::anonymous()
}

async fn send(engine: &Engine, text: &str) -> Task {
    match engine.send_message(&anyone(), SendMessage::new(text)).await.unwrap() {
        SendReply::Task(task) => *task,
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

async fn begin(engine: &Engine, text: &str) -> Task {
    let mut request = SendMessage::new(text);
    request.configuration.return_immediately = true;
    match engine.send_message(&anyone(), request).await.unwrap() {
        SendReply::Task(task) => *task,
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

fn to(task: &Task, text: &str) -> SendMessage {
    SendMessage::new(Message::user(text).to_task(task.id.clone()))
}

/// All events of a stream; fails when it does not end in time.
pub async fn all(stream: EventStream) -> Vec<(Seq, Event)> {
    tokio::time::timeout(Duration::from_secs(10), collect(stream)).await.expect("the stream does not end")
}

async fn collect(mut stream: EventStream) -> Vec<(Seq, Event)> {
    let mut events = Vec::new();
    while let Some((seq, event)) = stream.try_next().await.unwrap() {
        events.push((seq, event.into_event()));
    }
    events
}

/// Everything that happened to a task so far.
pub async fn whole_log(engine: &Engine, id: &TaskId) -> Vec<(Seq, Event)> {
    let caller = anyone().resume_after(Seq::START);
    all(engine.subscribe(&caller, Subscribe::new(id.clone())).await.unwrap()).await
}

pub fn states(events: &[(Seq, Event)]) -> Vec<TaskState> {
    events.iter().filter_map(|(_, event)| event.state()).collect()
}

#[track_caller]
fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.err().expect("an error").kind()
}

/// V10-SEND-001, V10-SEND-002, V10-MODE-004, V10-CTX-001, V10-CTX-002.
#[tokio::test]
async fn an_agent_may_answer_with_a_message_and_no_task() {
    let engine = engine();
    let reply = engine.send_message(&anyone(), SendMessage::new("message hello")).await.unwrap();
    let SendReply::Message(message) = reply else { panic!("a task") };
    assert_eq!(message.text(), "hello");
    assert!(message.context_id.is_some() && message.task_id.is_none());
    assert_eq!(engine.list_tasks(&anyone(), ListTasks::default()).await.unwrap().decode().unwrap().total_size, 0);
}

/// V10-MODE-001, V10-MODE-002, V10-TID-001, V10-TID-002, V10-MSG-002, V10-GET-001.
#[tokio::test]
async fn a_blocking_send_answers_when_the_task_is_done() {
    let engine = engine();
    let task = send(&engine, "work the result").await;
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(task.artifacts[0].parts, [Part::text("the result")]);
    assert_eq!(task.history[0].task_id.as_ref(), Some(&task.id));
    assert_eq!(engine.get_task(&anyone(), GetTask::new(task.id.clone())).await.unwrap().into_task().unwrap(), task);
}

/// V10-MODE-003, V10-SEND-003, V10-EVT-007.
#[tokio::test]
async fn an_immediate_send_answers_when_the_task_exists_and_work_goes_on() {
    let engine = engine();
    let task = begin(&engine, "listen").await;
    assert!(!task.state().is_terminal());
    let done = engine.send_message(&anyone(), to(&task, "the end")).await.unwrap();
    assert_eq!(done.task().unwrap().state(), TaskState::Completed);
}

/// V10-STREAM-001, V10-STREAM-003, V10-STREAM-004, V10-STREAM-005, V10-EVT-001, V10-EVT-002.
#[tokio::test]
async fn a_stream_shows_the_task_then_every_event_in_order_and_ends_with_it() {
    let engine = engine();
    let events = all(engine.stream_message(&anyone(), SendMessage::new("chunks 20")).await.unwrap()).await;
    assert!(matches!(&events[0].1, Event::Task(task) if task.state() == TaskState::Submitted));
    let numbers: Vec<_> = events.iter().map(|(seq, _)| seq.get()).collect();
    assert_eq!(numbers, (1..=u64::try_from(events.len()).unwrap()).collect::<Vec<_>>());
    assert_eq!(states(&events), [TaskState::Submitted, TaskState::Working, TaskState::Completed]);
    assert_eq!(events.len(), 1 + 1 + 20 + 1);
}

/// V10-STREAM-002.
#[tokio::test]
async fn a_stream_of_a_direct_answer_is_one_message() {
    let events = all(engine().stream_message(&anyone(), SendMessage::new("message hi")).await.unwrap()).await;
    assert!(matches!(&events[..], [(_, Event::Message(message))] if message.text() == "hi"));
}

/// V10-TURN-001, V10-TURN-002, V10-HIST-006, V10-HIST-007.
#[tokio::test]
async fn a_question_pauses_the_task_and_the_answer_continues_it() {
    let engine = engine();
    let asked = send(&engine, "ask Which quay?").await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    assert_eq!(asked.status.message.as_ref().unwrap().text(), "Which quay?");
    let done = engine.send_message(&anyone(), to(&asked, "work north")).await.unwrap();
    let done = done.task().unwrap().clone();
    assert_eq!((done.state(), &done.id, &done.context_id), (TaskState::Completed, &asked.id, &asked.context_id));
    let history: Vec<_> = done.history.iter().map(Message::text).collect();
    assert_eq!(history, ["ask Which quay?", "Which quay?", "work north", "Working on it"]);
}

#[tokio::test]
async fn a_turn_may_ask_and_go_on_within_itself() {
    let engine = engine();
    let asked = send(&engine, "converse").await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    let done = engine.send_message(&anyone(), to(&asked, "north")).await.unwrap();
    assert_eq!(done.task().unwrap().artifacts[0].parts, [Part::text("north")]);
}

/// V10-TURN-006, V10-SEND-004, V10-STREAM-007, V10-SUB-003, V10-CANCEL-002, V10-SEND-005, V10-TID-003, V10-TID-004, V10-TURN-003,
/// V10-SUB-004, V10-GET-002, V10-CANCEL-003, V10-CTX-005.
#[tokio::test]
async fn what_is_illegal_is_refused_with_the_right_error() {
    let engine = engine();
    let done = send(&engine, "work x").await;
    let asked = send(&engine, "ask y").await;
    let missing = Message::user("hi").to_task("no-such-task");
    let elsewhere = SendMessage::new(Message::user("hi").to_task(asked.id.clone()).in_context("another"));
    assert_eq!(kind(engine.send_message(&anyone(), to(&done, "more")).await), ErrorKind::UnsupportedOperation);
    assert_eq!(kind(engine.stream_message(&anyone(), to(&done, "more")).await), ErrorKind::UnsupportedOperation);
    assert_eq!(kind(engine.subscribe(&anyone(), Subscribe::new(done.id.clone())).await), ErrorKind::UnsupportedOperation);
    assert_eq!(kind(engine.cancel_task(&anyone(), CancelTask::new(done.id.clone())).await), ErrorKind::TaskNotCancelable);
    assert_eq!(kind(engine.send_message(&anyone(), SendMessage::new(missing)).await), ErrorKind::TaskNotFound);
    assert_eq!(kind(engine.send_message(&anyone(), elsewhere).await), ErrorKind::InvalidParams);
    assert_eq!(kind(engine.get_task(&anyone(), GetTask::new("nope")).await), ErrorKind::TaskNotFound);
    assert_eq!(kind(engine.subscribe(&anyone(), Subscribe::new("nope")).await), ErrorKind::TaskNotFound);
    assert_eq!(kind(engine.cancel_task(&anyone(), CancelTask::new("nope")).await), ErrorKind::TaskNotFound);
    assert_eq!(kind(engine.send_message(&anyone(), SendMessage::new(Message::default())).await), ErrorKind::InvalidParams);
    let picture = Message::user(Part::raw("x").media_type("image/png"));
    assert_eq!(kind(engine.send_message(&anyone(), SendMessage::new(picture)).await), ErrorKind::ContentTypeNotSupported);
}

/// V10-ERR-002: the peer hears what was meant for it and nothing else.
#[tokio::test]
async fn a_failing_agent_gives_a_failed_task_without_its_secrets() {
    let engine = engine();
    let failed = send(&engine, "fail It is too stormy.").await;
    assert_eq!((failed.state(), failed.status.message.unwrap().text()), (TaskState::Failed, "It is too stormy.".to_owned()));
    let broken = send(&engine, "panic").await;
    assert_eq!((broken.state(), broken.status.message.unwrap().text()), (TaskState::Failed, "The agent failed.".to_owned()));
    assert_eq!(send(&engine, "reject No.").await.state(), TaskState::Rejected);
    assert_eq!(send(&engine, "auth Sign in").await.state(), TaskState::AuthRequired);
}

/// V10-CANCEL-001, V10-CANCEL-004, V10-EVT-004.
#[tokio::test]
async fn cancel_stops_the_agent_and_ends_its_streams() {
    let engine = engine();
    let task = begin(&engine, "wait").await;
    let watching = engine.subscribe(&anyone(), Subscribe::new(task.id.clone())).await.unwrap();
    let canceled = engine.cancel_task(&anyone(), CancelTask::new(task.id.clone())).await.unwrap();
    assert_eq!(canceled.state(), TaskState::Canceled);
    assert_eq!(states(&all(watching).await).last(), Some(&TaskState::Canceled));
    assert_eq!(kind(engine.cancel_task(&anyone(), CancelTask::new(task.id)).await), ErrorKind::TaskNotCancelable);
    let asked = send(&engine, "ask z").await;
    assert_eq!(engine.cancel_task(&anyone(), CancelTask::new(asked.id)).await.unwrap().state(), TaskState::Canceled);
}

/// V10-SUB-001, V10-SUB-002, V10-EVT-003, V10-EVT-005, V10-EVT-006.
#[tokio::test]
async fn a_cut_stream_goes_on_after_the_last_event_seen() {
    let engine = engine();
    let events = all(engine.stream_message(&anyone(), SendMessage::new("chunks 30")).await.unwrap()).await;
    let id = events[0].1.task_id().unwrap().clone();
    for cut in 0..events.len() {
        let caller = anyone().resume_after(Seq::new(u64::try_from(cut).unwrap()));
        let rest = all(engine.subscribe(&caller, Subscribe::new(id.clone())).await.unwrap()).await;
        assert_eq!(rest, events[cut..], "after {cut}");
    }
}

/// V10-LIST-001 to V10-LIST-010 as far as the engine decides them: V10-LIST-001, V10-LIST-002, V10-LIST-003, V10-LIST-004, V10-LIST-005, V10-LIST-006,
/// V10-LIST-007, V10-LIST-009, V10-LIST-010, V10-LIST-011.
#[tokio::test]
async fn tasks_are_listed_newest_first_page_by_page() {
    let engine = engine();
    let mut made = Vec::new();
    for number in 0..7 {
        made.push(send(&engine, &format!("work {number}")).await.id);
    }
    let asked = send(&engine, "ask q").await;
    let mut request = ListTasks::default();
    request.page_size = Some(3);
    let mut seen = Vec::new();
    loop {
        let page = engine.list_tasks(&anyone(), request.clone()).await.unwrap().decode().unwrap();
        assert_eq!((page.page_size, page.total_size), (3, 8));
        assert!(page.tasks.iter().all(|task| task.artifacts.is_empty()));
        seen.extend(page.tasks.into_iter().map(|task| task.id));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    made.push(asked.id.clone());
    made.reverse();
    assert_eq!(seen, made);
    let mut waiting = ListTasks::default();
    waiting.status = TaskState::InputRequired;
    waiting.context_id = Some(asked.context_id.clone());
    waiting.include_artifacts = Some(true);
    let page = engine.list_tasks(&anyone(), waiting).await.unwrap().decode().unwrap();
    assert!(page.with_artifacts && page.tasks.len() == 1 && page.tasks[0].id == asked.id);
    let mut wrong = ListTasks::default();
    wrong.page_token = "%".to_owned();
    assert_eq!(kind(engine.list_tasks(&anyone(), wrong).await), ErrorKind::InvalidParams);
    assert_eq!(engine.list_tasks(&Caller::new("somebody else"), ListTasks::default()).await.unwrap().decode().unwrap().total_size, 0);
}

/// The caller's own future begins the task and waits for its commit; that must not be all that does.
#[tokio::test]
async fn a_caller_that_dawdles_or_leaves_holds_nobody_up() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file("tasks.db")).await.unwrap();
    let engine = Engine::new(card(), obedient).store(store).start();
    for leaves in [false, true] {
        let caller = Caller::new(format!("leaves {leaves}"));
        let mut sending = engine.send_message(&caller, SendMessage::new("work x"));
        assert!(std::future::poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx).is_pending())).await);
        let dawdling = (!leaves).then_some(sending);
        let answers = async {
            let task = loop {
                let page = engine.list_tasks(&caller, ListTasks::default()).await.unwrap().decode().unwrap();
                if let Some(task) = page.tasks.into_iter().next() {
                    break task;
                }
            };
            let read = engine.get_task(&caller, GetTask::new(task.id.clone())).await.unwrap().into_task().unwrap();
            (read, engine.send_message(&caller, to(&task, "work y")).await)
        };
        let (read, again) = tokio::time::timeout(Duration::from_secs(10), answers).await.expect("the task stands still");
        assert_eq!((read.state(), kind(again)), (TaskState::Completed, ErrorKind::UnsupportedOperation), "leaves: {leaves}");
        if let Some(sending) = dawdling {
            assert_eq!(sending.await.unwrap().task().unwrap().id, read.id);
        }
    }
}

/// V10-HIST-001, V10-HIST-003, V10-HIST-004, V10-HIST-005.
#[tokio::test]
async fn history_is_cut_to_what_was_asked_for() {
    let engine = engine();
    let asked = send(&engine, "ask a").await;
    let id = engine.send_message(&anyone(), to(&asked, "work b")).await.unwrap().task().unwrap().id.clone();
    let length = async |wanted: Option<i32>| {
        let mut get = GetTask::new(id.clone());
        get.history_length = wanted;
        engine.get_task(&anyone(), get).await.unwrap().into_task().unwrap().history.len()
    };
    assert_eq!((length(None).await, length(Some(0)).await, length(Some(2)).await, length(Some(99)).await), (4, 0, 2, 4));
}

/// V10-HIST-001, V10-HIST-003, V10-HIST-004: the task of a stream too, but not what is kept of it.
#[tokio::test]
async fn history_is_cut_in_a_stream_and_nowhere_else() {
    let engine = engine();
    let stream = async |mut request: SendMessage, wanted: Option<i32>| {
        request.configuration.history_length = wanted;
        let (_, first) = all(engine.stream_message(&anyone(), request).await.unwrap()).await.remove(0);
        let Event::Task(task) = first else { panic!("no task: {first:?}") };
        *task
    };
    assert_eq!(stream(SendMessage::new("ask a"), None).await.history.len(), 1);
    let asked = stream(SendMessage::new("ask b"), Some(0)).await;
    assert_eq!(asked.history, []);
    let continued = stream(to(&asked, "ask c"), Some(1)).await;
    assert_eq!(continued.history.iter().map(Message::text).collect::<Vec<_>>(), ["ask c"]);
    assert_eq!(engine.get_task(&anyone(), GetTask::new(asked.id.clone())).await.unwrap().into_task().unwrap().history.len(), 3);
    let log = whole_log(&engine, &asked.id).await;
    assert!(matches!(&log[0].1, Event::Task(task) if task.history.len() == 1));
}

/// CONV-TASK-007, V10-TURN-003: who names tasks itself may be wrong about the conversation, nobody else.
#[tokio::test]
async fn another_conversation_is_ignored_from_those_who_name_their_tasks() {
    let engine = engine();
    let asked = send(&engine, "ask a").await;
    let elsewhere = || SendMessage::new(Message::user("work b").to_task(asked.id.clone()).in_context("elsewhere"));
    assert_eq!(kind(engine.send_message(&anyone(), elsewhere()).await), ErrorKind::InvalidParams);
    let mut request = elsewhere();
    request.create_missing = true;
    let reply = engine.send_message(&anyone(), request).await.unwrap();
    let task = reply.task().unwrap();
    assert_eq!((&task.id, &task.context_id, task.state()), (&asked.id, &asked.context_id, TaskState::Completed));
    assert!(task.history.iter().all(|message| message.context_id.as_ref() == Some(&asked.context_id)));
}

/// V10-PUSH-001, V10-PUSH-003, V10-PUSH-004, V10-PUSH-005, V10-PUSH-006, V10-PUSH-008, V10-PUSH-009, V10-PUSH-010.
#[tokio::test]
async fn push_configs_are_made_read_listed_and_deleted() {
    let engine = engine();
    let task = send(&engine, "ask a").await;
    let made = engine.create_push_config(&anyone(), PushConfig::new("https://hook.example").for_task(task.id.clone())).await.unwrap();
    assert!(!made.id.is_empty());
    let read = engine.get_push_config(&anyone(), GetPushConfig::new(task.id.clone(), made.id.clone())).await.unwrap();
    assert_eq!(read, made);
    assert_eq!(
        engine.list_push_configs(&anyone(), ListPushConfigs::new(task.id.clone())).await.unwrap().configs,
        std::slice::from_ref(&made)
    );
    for _ in 0..2 {
        engine.delete_push_config(&anyone(), DeletePushConfig::new(task.id.clone(), made.id.clone())).await.unwrap();
    }
    let missing = engine.get_push_config(&anyone(), GetPushConfig::new(task.id.clone(), made.id.clone())).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::TaskNotFound);
    assert!(missing.to_string().starts_with("Push notification config not found"), "{missing}");
    assert_eq!(missing.metadata().get("pushNotificationConfigId").map(String::as_str), Some(made.id.as_str()));
    assert_eq!(kind(engine.list_push_configs(&anyone(), ListPushConfigs::new("nope")).await), ErrorKind::TaskNotFound);
    let silent = Engine::new(Card::new("Silent", "Has no webhooks"), obedient).start();
    let refused = silent.create_push_config(&anyone(), PushConfig::new("https://hook.example").for_task("t")).await;
    assert_eq!(kind(refused), ErrorKind::PushNotificationNotSupported);
}

/// V10-STREAM-006, V10-SUB-005, V10-XCARD-006, V10-XCARD-007, V10-CAP-001.
#[tokio::test]
async fn what_the_card_does_not_declare_is_refused() {
    let plain = Engine::new(Card::new("Plain", "Answers"), obedient).start();
    assert_eq!(kind(plain.stream_message(&anyone(), SendMessage::new("reply x")).await), ErrorKind::UnsupportedOperation);
    assert_eq!(kind(plain.subscribe(&anyone(), Subscribe::new("t")).await), ErrorKind::UnsupportedOperation);
    assert_eq!(kind(plain.get_extended_card(&anyone(), GetExtendedCard::default()).await), ErrorKind::UnsupportedOperation);
    let mut declared = card();
    declared.capabilities.extended_agent_card = Some(true);
    let declared = Engine::new(declared.extension(Extension::new("urn:x").required()), obedient).start();
    assert_eq!(kind(declared.send_message(&anyone(), SendMessage::new("reply x")).await), ErrorKind::ExtensionSupportRequired);
    let aware = anyone().extension("urn:x");
    assert_eq!(kind(declared.get_extended_card(&aware, GetExtendedCard::default()).await), ErrorKind::ExtendedAgentCardNotConfigured);
}

/// V10-SEND-008.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_with_the_same_key_makes_one_task() {
    let engine = engine();
    let request = SendMessage::new("work once");
    let caller = anyone().idempotency_key("k-1");
    let mut sending = Vec::new();
    for _ in 0..64 {
        let (engine, request, caller) = (engine.clone(), request.clone(), caller.clone());
        sending.push(tokio::spawn(async move { engine.send_message(&caller, request).await.unwrap().task().unwrap().id.clone() }));
    }
    let mut ids: Vec<TaskId> = Vec::new();
    for one in sending {
        ids.push(one.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(engine.list_tasks(&anyone(), ListTasks::default()).await.unwrap().decode().unwrap().total_size, 1);
    assert_eq!(kind(engine.send_message(&caller, SendMessage::new("work twice")).await), ErrorKind::InvalidParams);
    let message = anyone().idempotency_key("k-2");
    let first = engine.send_message(&message, SendMessage::new(Message::user("message hi").id("m"))).await.unwrap();
    let again = engine.send_message(&message, SendMessage::new(Message::user("message hi").id("m"))).await.unwrap();
    assert_eq!(first, again);
}

/// V10-TURN-004, V10-TURN-005, V10-CTX-003.
#[tokio::test]
async fn an_agent_sees_the_tasks_that_a_message_refers_to() {
    let engine = engine();
    let earlier = send(&engine, "work a").await;
    let message = Message::user("references").referring_to(earlier.id.clone()).referring_to("nope").in_context("mine");
    let reply = engine.send_message(&anyone(), SendMessage::new(message)).await.unwrap();
    let task = reply.task().expect("a task");
    assert_eq!((task.status.message.as_ref().unwrap().text(), task.context_id.as_str()), (earlier.id.to_string(), "mine"));
}

/// Clients are known that give every message the same id; what they said before is still history.
#[tokio::test]
async fn a_message_id_that_was_used_before_hides_nothing() {
    let engine = engine();
    let asked = send(&engine, "ask Which quay?").await;
    let id = asked.history[0].message_id.clone();
    let next = Message::user("history").id(id).to_task(asked.id.clone());
    let SendReply::Task(task) = engine.send_message(&anyone(), SendMessage::new(next)).await.unwrap() else { panic!("a message") };
    // The client's first message and the agent's question.
    assert_eq!(task.status.message.unwrap().text(), "2");
}
