//! A finished task goes out as it is stored, in every dialect as its decoded form would.

use chancery::{Artifact, Caller, Card, Failure, Outcome, Turn};
use chancery_core::{GetTask, ListTasks, Operations, Reply, SendMessage, SendReply};
use chancery_engine::Engine;
use chancery_wire::Dialect;

async fn clerk(turn: Turn) -> Result<Outcome, Failure> {
    turn.status("Working on it").await?;
    Ok(Outcome::complete_with(Artifact::new(turn.text()).named("result")))
}

/// V10-GET-001, V10-LIST-001, and what older versions say of the same.
#[tokio::test]
async fn every_dialect_writes_a_stored_task_as_it_writes_the_decoded_one() {
    let engine = Engine::new(Card::new("Clerk", "Does what it is told").skill("obey", "Obeys"), clerk).start();
    let caller = Caller::anonymous();
    let mut ids = Vec::new();
    for words in ["one", "é \u{2028} \"two\"", "three"] {
        match engine.send_message(&caller, SendMessage::new(words)).await.unwrap() {
            SendReply::Task(task) => ids.push(task.id),
            SendReply::Message(message) => panic!("a message: {}", message.text()),
        }
    }
    let mut replies = Vec::new();
    for id in ids {
        let task = engine.get_task(&caller, GetTask::new(id)).await.unwrap();
        assert!(task.decoded().is_none());
        let decoded = Reply::Task(task.task().unwrap().into_owned().into());
        replies.push((Reply::Task(task), decoded));
    }
    for include_artifacts in [None, Some(true)] {
        let mut request = ListTasks::default();
        request.include_artifacts = include_artifacts;
        let page = engine.list_tasks(&caller, request).await.unwrap();
        let decoded = Reply::Tasks(page.clone().decode().unwrap().into());
        replies.push((Reply::Tasks(page), decoded));
    }
    for (stored, decoded) in replies {
        assert_eq!(stored, decoded);
        for dialect in Dialect::JSON {
            let text =
                |reply: &Reply| dialect.encode_reply(reply).map(|text| String::from_utf8(text).unwrap()).map_err(|error| error.kind());
            assert_eq!(text(&stored), text(&decoded), "{dialect:?}");
        }
    }
}
