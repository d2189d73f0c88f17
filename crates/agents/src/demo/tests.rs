//! Every verb of the demo, on both stores.

use std::{future::poll_fn, sync::Arc};

use chancery_core::{
    Binding, Caller, CancelTask, EventStream, GetTask, Operations, Origin, SendMessage, SendReply, Seq, Subscribe, Task, TaskState,
    Validate, Version,
};
use chancery_engine::{
    Engine,
    store::{Store, memory::Memory, sqlite::Sqlite},
};

use super::*;
use crate::{folder::Folder, tests::within};

fn agent_at(path: &str, store: Arc<dyn Store>) -> FaultInjector<Engine> {
    let site = crate::Site::new(config(PathBuf::new()).unwrap());
    let agent = site.agents().iter().find(|agent| agent.config().path == path).unwrap();
    FaultInjector::new(agent.engine().shared_store(store).start())
}

fn demo() -> FaultInjector<Engine> {
    agent_at("/", Arc::new(Memory::new()))
}

async fn send(stage: &FaultInjector<Engine>, message: impl Into<Message>) -> Task {
    let reply = within(stage.send_message(&Caller::anonymous(), SendMessage::new(message))).await.unwrap();
    reply.task().expect("a task").clone()
}

fn text(task: &Task) -> String {
    task.artifacts.iter().flat_map(|artifact| &artifact.parts).filter_map(Part::as_text).collect()
}

async fn states(mut stream: EventStream) -> (Vec<TaskState>, usize, Seq) {
    let (mut states, mut count, mut last) = (Vec::new(), 0, Seq::START);
    while let Some(event) = within(poll_fn(|cx| stream.as_mut().poll_next(cx))).await {
        let (seq, event) = event.unwrap();
        states.extend(event.state());
        (count, last) = (count + 1, seq);
    }
    (states, count, last)
}

#[tokio::test]
async fn every_verb_has_its_end() {
    let folder = Folder::new();
    let stores: [Arc<dyn Store>; 2] = [Arc::new(Memory::new()), Arc::new(Sqlite::open(folder.path("tasks.db")).await.unwrap())];
    for store in stores {
        let demo = agent_at("/", store);
        for (said, state, answer) in [
            ("hi there", TaskState::Completed, "hi there"),
            ("stream 3", TaskState::Completed, "1\n2\n3\n"),
            ("slow 10ms", TaskState::Completed, "Done after 10ms."),
            ("unspecified 10ms", TaskState::Completed, "Done after 10ms."),
            ("cut 1", TaskState::Completed, "1\n2\n3\n4\n5\n6\n"),
            ("ask", TaskState::InputRequired, ""),
            ("login", TaskState::AuthRequired, ""),
            ("fail", TaskState::Failed, ""),
            ("reject", TaskState::Rejected, ""),
            ("stream many", TaskState::Failed, ""),
            ("slow down", TaskState::Failed, ""),
            ("parts", TaskState::Completed, "1 text \"parts\""),
        ] {
            let task = send(&demo, said).await;
            assert_eq!((task.state(), text(&task).as_str()), (state, answer), "{said}");
        }
    }
}

#[tokio::test]
async fn an_answer_goes_on_with_the_task() {
    let demo = demo();
    for (said, answer, end) in [("ask", "Paris", "Booked for Paris."), ("login", "ok", "Signed in.")] {
        let asked = send(&demo, said).await;
        let done = send(&demo, Message::user(answer).to_task(asked.id.clone())).await;
        assert_eq!((done.id, done.status.state), (asked.id, TaskState::Completed));
        assert_eq!(done.artifacts[0].parts, [Part::text(end)]);
    }
}

#[tokio::test]
async fn a_message_needs_no_task() {
    let reply = demo().send_message(&Caller::anonymous(), SendMessage::new("message hi")).await.unwrap();
    assert!(matches!(reply, SendReply::Message(message) if message.text() == "hi"));
}

#[tokio::test]
async fn files_has_one_part_of_each_kind() {
    let task = send(&demo(), "files").await;
    let kinds: Vec<_> = task.artifacts[0]
        .parts
        .iter()
        .map(|part| match &part.content {
            Content::Text(_) => "text",
            Content::Raw(_) => "raw",
            Content::Url(_) => "url",
            Content::Data(_) => "data",
        })
        .collect();
    assert_eq!(kinds, ["text", "data", "raw", "url"]);
}

#[tokio::test]
async fn parts_are_listed_in_order() {
    let message = Message::user("parts").part(Part::data(json!({"a": 1}))).part("end");
    let message = message.part(Part::raw("abc").filename("x.bin").media_type("application/pdf"));
    let listed = text(&send(&demo(), message).await);
    assert_eq!(listed, "1 text \"parts\"\n2 data {\"a\":1}\n3 text \"end\"\n4 file application/pdf x.bin 3 bytes");
}

#[tokio::test]
async fn a_request_is_described() {
    let mut request = SendMessage::new("request");
    request.origin = Origin::new(Version::V0_3, Binding::HttpJson);
    let caller = Caller::new("ada").tenant("harbor").extension("urn:x");
    let reply = demo().send_message(&caller, request).await.unwrap();
    assert_eq!(
        text(reply.task().unwrap()),
        "Binding: HTTP+JSON\nVersion: 0.3\nTenant: harbor\nExtensions: urn:x\nSubject: ada\nCredential: none"
    );
    let caller = Caller::new("demo").scheme("key");
    let reply = demo().send_message(&caller, SendMessage::new("request")).await.unwrap();
    assert!(text(reply.task().unwrap()).ends_with("Subject: demo\nCredential: key, header X-API-Key"));
}

/// The stream is lost after so many events, once; a second one goes on to the end.
#[tokio::test]
async fn a_stream_is_cut_once() {
    let demo = demo();
    for after in [2_usize, 4] {
        let request = SendMessage::new(format!("cut {after}"));
        let (seen, count, last) = states(demo.stream_message(&Caller::anonymous(), request).await.unwrap()).await;
        assert_eq!((count, seen.contains(&TaskState::Completed)), (after, false));
        let tasks = demo.list_tasks(&Caller::anonymous(), Default::default()).await.unwrap().decode().unwrap().tasks;
        let caller = Caller::anonymous().resume_after(last);
        let (seen, ..) = states(demo.subscribe(&caller, Subscribe::new(tasks[0].id.clone())).await.unwrap()).await;
        assert_eq!(seen.last(), Some(&TaskState::Completed));
    }
}

#[tokio::test]
async fn a_task_may_be_in_no_state() {
    let demo = demo();
    let mut request = SendMessage::new("unspecified 1h");
    request.configuration.return_immediately = true;
    let id = demo.send_message(&Caller::anonymous(), request).await.unwrap().task().unwrap().id.clone();
    let unspecified = async {
        while demo.get_task(&Caller::anonymous(), GetTask::new(id.clone())).await.unwrap().into_task().unwrap().state()
            != TaskState::Unspecified
        {
            tokio::task::yield_now().await;
        }
    };
    within(unspecified).await;
    let canceled = demo.cancel_task(&Caller::anonymous(), CancelTask::new(id)).await.unwrap();
    assert_eq!(canceled.state(), TaskState::Canceled);
}

#[test]
fn every_card_is_valid_and_its_own() {
    let made: Vec<_> = cards::agents().collect();
    for (at, one) in made.iter().enumerate() {
        let card =
            one.card.clone().interface("http://localhost:8080/", one.bindings.as_ref().unwrap()[0], one.versions.as_ref().unwrap()[0]);
        card.validate().unwrap_or_else(|error| panic!("{}: {error}", one.path));
        assert!(made[..at].iter().all(|other| other.path != one.path && other.name != one.name));
    }
    let paths: Vec<_> = made.iter().map(|made| made.path.as_str()).collect();
    assert_eq!(paths, ["/", "/nostream", "/nopush", "/tenant", "/legacy", "/rest-first", "/secure", "/signed", "/signed-bad", "/ext"]);
}
