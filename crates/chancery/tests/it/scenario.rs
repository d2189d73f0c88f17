//! One suite of scenarios over whatever can do the operations: the engine itself, and a client through
//! each binding and version.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use chancery::{Caller, ErrorKind, Message, Operations, Part, Task, TaskState};
use chancery_core::{
    CancelTask, DeletePushConfig, Event, EventStream, GetPushConfig, GetTask, ListPushConfigs, ListTasks, PushConfig, SendMessage,
    SendReply, Seq, Subscribe, TaskId, Version,
};

use crate::receiver::Receiver;

/// How long any step may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a scenario plays.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) operations: Arc<dyn Operations>,
    pub(crate) version: Version,
    pub(crate) receiver: Receiver,
}

type Played = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A scenario, with the versions that cannot express it.
struct Scenario {
    name: &'static str,
    play: fn(World) -> Played,
    without: &'static [Version],
}

macro_rules! scenarios {
    ($($name:ident $(except $($version:ident),+)?;)+) => {
        const SCENARIOS: &[Scenario] = &[$(Scenario {
            name: stringify!($name),
            play: |world| Box::pin($name(world)),
            without: &[$($(Version::$version),+)?],
        }),+];
    };
}

scenarios! {
    send_blocks_until_the_task_is_done;
    send_can_return_at_once except V0_1;
    a_direct_message_makes_no_task except V0_1;
    parts_come_back_as_they_are;
    a_stream_shows_everything_in_order;
    a_follow_up_goes_on_with_the_task;
    a_task_can_be_canceled_once;
    a_finished_task_takes_no_message except V0_1;
    failures_and_refusals_are_told;
    tasks_are_listed_newest_first except V0_1, V0_2;
    history_is_as_long_as_asked;
    a_webhook_hears_of_everything;
    push_configs_are_kept_and_deleted;
    a_stream_is_resumed_where_it_was_cut;
    a_watcher_sees_the_rest;
    an_unknown_task_is_not_found;
    a_repeated_request_makes_no_second_task;
}

/// Plays all scenarios, and gives a cell of the table for each: `ok`, `-` where the version cannot say it,
/// or what went wrong.
pub(crate) async fn play(world: &World) -> Vec<(&'static str, String)> {
    let mut cells = Vec::new();
    for scenario in SCENARIOS {
        if scenario.without.contains(&world.version) {
            cells.push((scenario.name, "-".to_owned()));
            continue;
        }
        let played = tokio::spawn(tokio::time::timeout(PATIENCE, (scenario.play)(world.clone()))).await;
        cells.push((
            scenario.name,
            match played {
                Ok(Ok(())) => "ok".to_owned(),
                Ok(Err(_)) => "stood still".to_owned(),
                Err(panic) => panicked(panic.into_panic().as_ref()),
            },
        ));
    }
    cells
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("panicked").to_owned()
}

fn caller() -> Caller {
    Caller::anonymous()
}

impl World {
    async fn send(&self, message: impl Into<Message>) -> Task {
        self.send_with(SendMessage::new(message)).await
    }

    async fn send_with(&self, request: SendMessage) -> Task {
        match self.operations.send_message(&caller(), request).await.unwrap() {
            SendReply::Task(task) => *task,
            SendReply::Message(message) => panic!("a message: {}", message.text()),
        }
    }

    async fn get(&self, id: &TaskId) -> Task {
        self.operations.get_task(&caller(), GetTask::new(id.clone())).await.unwrap().into_task().unwrap()
    }

    /// Sends without waiting, and waits until the agent is at work.
    async fn working(&self, text: &str) -> Task {
        let mut request = SendMessage::new(text);
        let id = if self.version == Version::V0_1 {
            // It always waits, but for a stream; whoever leaves that changes nothing.
            let mut stream = self.operations.stream_message(&caller(), request).await.unwrap();
            next(&mut stream).await.unwrap().1.task_id().unwrap().clone()
        } else {
            request.configuration.return_immediately = true;
            self.send_with(request).await.id
        };
        loop {
            let task = self.get(&id).await;
            if task.status.state == TaskState::Working {
                return task;
            }
            assert!(!task.status.state.is_terminal(), "{:?}", task.status);
            tokio::task::yield_now().await;
        }
    }
}

async fn next(stream: &mut EventStream) -> Option<(Seq, Event)> {
    let item = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await?;
    let (seq, event) = item.unwrap();
    Some((seq, event.into_event()))
}

async fn all(mut stream: EventStream) -> Vec<(Seq, Event)> {
    let mut events = Vec::new();
    while let Some(event) = next(&mut stream).await {
        events.push(event);
    }
    events
}

/// The text of all artifact chunks.
fn written(events: &[(Seq, Event)]) -> String {
    let chunks = events.iter().filter_map(|(_, event)| match event {
        Event::Artifact(update) => Some(update.artifact.parts.iter().filter_map(Part::as_text).collect::<String>()),
        _ => None,
    });
    chunks.collect()
}

fn result(task: &Task) -> String {
    task.artifacts.iter().flat_map(|artifact| &artifact.parts).filter_map(Part::as_text).collect()
}

fn numbers(to: u32) -> String {
    (1..=to).map(|number| format!("{number};")).collect()
}

// --- The scenarios --------------------------------------------------------------------------------

async fn send_blocks_until_the_task_is_done(world: World) {
    let task = world.send("hello there").await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(result(&task), "hello there");
    assert_eq!(world.get(&task.id).await.status.state, TaskState::Completed);
}

async fn send_can_return_at_once(world: World) {
    let task = world.working("wait").await;
    world.operations.cancel_task(&caller(), CancelTask::new(task.id)).await.unwrap();
}

async fn a_direct_message_makes_no_task(world: World) {
    match world.operations.send_message(&caller(), SendMessage::new("say hello")).await.unwrap() {
        SendReply::Message(message) => assert_eq!(message.text(), "hello"),
        SendReply::Task(task) => panic!("a task: {:?}", task.status),
    }
}

async fn parts_come_back_as_they_are(world: World) {
    let task = world.send("parts").await;
    let parts = &task.artifacts[0].parts;
    assert_eq!(parts.len(), 3);
    assert_eq!(parts[0].as_text(), Some("text"));
    assert_eq!(parts[1].content, Part::data(serde_json::json!({"berth": 7})).content);
    assert_eq!(parts[2].content, Part::raw(vec![0_u8, 159, 146, 150]).content);
    assert_eq!(parts[2].filename, "seal.bin");
}

async fn a_stream_shows_everything_in_order(world: World) {
    let stream = world.operations.stream_message(&caller(), SendMessage::new("stream 20")).await.unwrap();
    let events = all(stream).await;
    assert_eq!(written(&events), numbers(20));
    let empty =
        |event: &Event| matches!(event, Event::Artifact(update) if update.artifact.parts.iter().any(|part| part.as_text() == Some("")));
    assert!(!events.iter().any(|(_, event)| empty(event)), "an empty part: {events:?}");
    assert_eq!(events.last().unwrap().1.state(), Some(TaskState::Completed));
    let places: Vec<_> = events.iter().map(|(seq, _)| *seq).collect();
    assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{places:?}");
}

async fn a_follow_up_goes_on_with_the_task(world: World) {
    let asked = world.send("ask").await;
    assert_eq!(asked.status.state, TaskState::InputRequired);
    assert_eq!(asked.status.message.as_ref().unwrap().text(), "Which quay?");
    let done = world.send(Message::user("the third").to_task(asked.id.clone()).in_context(asked.context_id.clone())).await;
    assert_eq!((done.id, done.context_id), (asked.id, asked.context_id));
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.artifacts[0].parts[0].as_text(), Some("the third"));
}

async fn a_task_can_be_canceled_once(world: World) {
    let task = world.working("wait").await;
    let canceled = world.operations.cancel_task(&caller(), CancelTask::new(task.id.clone())).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    let error = world.operations.cancel_task(&caller(), CancelTask::new(task.id)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotCancelable);
}

async fn a_finished_task_takes_no_message(world: World) {
    let task = world.send("hello").await;
    let again = SendMessage::new(Message::user("more").to_task(task.id));
    let error = world.operations.send_message(&caller(), again).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
}

async fn failures_and_refusals_are_told(world: World) {
    let failed = world.send("fail").await;
    assert_eq!(failed.status.state, TaskState::Failed);
    assert_eq!(failed.status.message.unwrap().text(), "The crane is broken.");
    let rejected = world.send("reject").await;
    // v0.1 has one word for both.
    let expected = if world.version == Version::V0_1 { TaskState::Failed } else { TaskState::Rejected };
    assert_eq!(rejected.status.state, expected);
}

async fn tasks_are_listed_newest_first(world: World) {
    let first = world.send("one").await;
    let in_context = |text: &str| Message::user(text).in_context(first.context_id.clone());
    let second = world.send(in_context("two")).await;
    let third = world.send(in_context("three")).await;
    let context = first.context_id.clone();
    let mut tasks = [first, second, third];
    // Of tasks with a status of the same millisecond the greater id comes first.
    tasks.sort_by_key(|task| std::cmp::Reverse((task.status.timestamp, task.id.clone())));
    let [newest, newer, oldest] = tasks.map(|task| task.id);
    let mut request = ListTasks::default();
    request.context_id = Some(context);
    request.page_size = Some(2);
    let page = world.operations.list_tasks(&caller(), request.clone()).await.unwrap().decode().unwrap();
    let ids = |tasks: &[Task]| tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&page.tasks), [newest, newer]);
    assert_eq!(page.total_size, 3);
    request.page_token = page.next_page_token;
    let page = world.operations.list_tasks(&caller(), request).await.unwrap().decode().unwrap();
    assert_eq!(ids(&page.tasks), [oldest]);
    assert!(page.next_page_token.is_empty());
}

async fn history_is_as_long_as_asked(world: World) {
    let asked = world.send("ask").await;
    world.send(Message::user("the third").to_task(asked.id.clone()).in_context(asked.context_id.clone())).await;
    let mut get = GetTask::new(asked.id.clone());
    get.history_length = Some(1);
    let task = world.operations.get_task(&caller(), get.clone()).await.unwrap().into_task().unwrap();
    assert_eq!(task.history.len(), 1);
    get.history_length = Some(100);
    let task = world.operations.get_task(&caller(), get).await.unwrap().into_task().unwrap();
    assert!(task.history.iter().any(|message| message.text() == "ask"), "{:?}", task.history);
}

async fn a_webhook_hears_of_everything(world: World) {
    let hook = world.receiver.hook();
    let mut request = SendMessage::new("stream 3");
    request.configuration.push_config = Some(Box::new(PushConfig::new(hook.url()).token("secret-7")));
    let task = world.send_with(request).await;
    assert_eq!(task.status.state, TaskState::Completed);
    loop {
        let delivery = hook.next().await;
        assert_eq!(delivery.headers["x-a2a-notification-token"], "secret-7");
        let (version, event) = chancery_wire::decode_push(&delivery.body).unwrap();
        if matches!(world.version, Version::V1_0) {
            assert_eq!(version, Version::V1_0);
        }
        assert_eq!(event.task_id(), Some(&task.id));
        if event.state() == Some(TaskState::Completed) {
            return;
        }
    }
}

async fn push_configs_are_kept_and_deleted(world: World) {
    let task = world.working("wait").await;
    let hook = world.receiver.hook();
    let mut config = PushConfig::new(hook.url());
    config.task_id = task.id.clone();
    let kept = world.operations.create_push_config(&caller(), config).await.unwrap();
    assert_eq!(kept.url, hook.url());
    let found = world.operations.get_push_config(&caller(), GetPushConfig::new(task.id.clone(), kept.id.clone())).await.unwrap();
    assert_eq!(found.url, hook.url());
    let page = world.operations.list_push_configs(&caller(), ListPushConfigs::new(task.id.clone())).await.unwrap();
    assert_eq!(page.configs.len(), 1);
    world.operations.delete_push_config(&caller(), DeletePushConfig::new(task.id.clone(), kept.id)).await.unwrap();
    let page = world.operations.list_push_configs(&caller(), ListPushConfigs::new(task.id.clone())).await.unwrap();
    assert!(page.configs.is_empty());
    world.operations.cancel_task(&caller(), CancelTask::new(task.id)).await.unwrap();
}

async fn a_stream_is_resumed_where_it_was_cut(world: World) {
    /// After so many events.
    const CUT: usize = 5;
    let mut stream = world.operations.stream_message(&caller(), SendMessage::new("stream 20")).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..CUT {
        seen.push(next(&mut stream).await.unwrap());
    }
    drop(stream);
    let (last, event) = seen.last().unwrap().clone();
    let id = event.task_id().unwrap().clone();
    let stream = world.operations.subscribe(&caller().resume_after(last), Subscribe::new(id)).await.unwrap();
    seen.extend(all(stream).await);
    assert_eq!(written(&seen), numbers(20));
    // V01-STREAM-002: events of v0.1 do not show their places, so whoever reads them counts anew.
    let from = if world.version == Version::V0_1 { CUT } else { 0 };
    let places: Vec<_> = seen[from..].iter().map(|(seq, _)| seq.get()).collect();
    assert_eq!(places, (1..=places.len() as u64).collect::<Vec<_>>());
}

async fn a_watcher_sees_the_rest(world: World) {
    let task = world.working("wait").await;
    let mut stream = world.operations.subscribe(&caller(), Subscribe::new(task.id.clone())).await.unwrap();
    let (_, first) = next(&mut stream).await.unwrap();
    assert_eq!(first.state(), Some(TaskState::Working));
    world.operations.cancel_task(&caller(), CancelTask::new(task.id)).await.unwrap();
    let events = all(stream).await;
    assert_eq!(events.last().unwrap().1.state(), Some(TaskState::Canceled));
}

async fn an_unknown_task_is_not_found(world: World) {
    let id = TaskId::generate();
    let operations = &world.operations;
    let kinds = [
        operations.get_task(&caller(), GetTask::new(id.clone())).await.unwrap_err().kind(),
        operations.cancel_task(&caller(), CancelTask::new(id.clone())).await.unwrap_err().kind(),
        match operations.subscribe(&caller(), Subscribe::new(id)).await {
            Err(error) => error.kind(),
            Ok(mut stream) => std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await.unwrap().unwrap_err().kind(),
        },
    ];
    assert_eq!(kinds, [ErrorKind::TaskNotFound; 3]);
}

async fn a_repeated_request_makes_no_second_task(world: World) {
    let mut message = Message::user("once");
    if world.version == Version::V0_1 {
        // Its clients name the task, and a repetition names the same.
        message = message.to_task(TaskId::generate());
    }
    let request = SendMessage::new(message);
    let caller = caller().idempotency_key(TaskId::generate().as_str());
    let mut ids = Vec::new();
    for _ in 0..3 {
        match world.operations.send_message(&caller, request.clone()).await.unwrap() {
            SendReply::Task(task) => ids.push(task.id),
            SendReply::Message(message) => panic!("a message: {}", message.text()),
        }
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
}
