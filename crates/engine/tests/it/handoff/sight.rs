//! Who sees what of a task that was handed over: users that it is for, lists, and webhooks.

use chancery_core::OnBehalfOf;
use chancery_engine::{
    push::{Notification, Sender, Sent},
    store::Sqlite,
};

use super::*;

/// A message that hands a task over, for a user if one is named.
fn handing(id: &str, user: Option<(&str, &str)>) -> SendMessage {
    let mut message = Message::user("converse").id(id);
    let mut context = TransferContext::new("task-of-a", url("a"));
    context.handoff_id = id.to_owned();
    context.on_behalf_of = user.map(|(iss, sub)| OnBehalfOf::new(iss, sub));
    context.put(&mut message).unwrap();
    SendMessage::new(message)
}

async fn handed(engine: &Engine, caller: &Caller, request: SendMessage) -> TaskId {
    match engine.send_message(caller, request).await.unwrap() {
        SendReply::Task(task) => task.id,
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

/// HO-53: the user that a trusted caller names may read the task, go on with it and cancel it, and nobody else may; whoever is not
/// trusted names nobody.
#[tokio::test]
async fn a_user_sees_the_task_that_a_trusted_agent_hands_over() {
    let net = Net::default();
    let b = Engine::new(card("b"), agent).passing(net.passing("b").trusted_delegator("triage")).start();
    let [triage, stranger] = ["triage", "stranger"].map(|name| Caller::new(name).extension(HANDOFF));
    let [alice, bob] = ["alice", "bob"].map(|name| Caller::new(format!("https://id.example#{name}")));
    let elsewhere = Caller::new("https://other.example#alice");
    let for_alice = Some(("https://id.example", "alice"));
    let theirs = handed(&b, &triage, handing("one", for_alice)).await;
    let ignored = handed(&b, &stranger, handing("two", for_alice)).await;
    let nameless = handed(&b, &triage, handing("three", Some(("", "alice")))).await;
    let get =
        async |caller: &Caller, id: &TaskId| b.get_task(caller, GetTask::new(id.clone())).await.and_then(|task| Ok(task.into_task()?.id));
    assert_eq!(get(&alice, &theirs).await.unwrap(), theirs);
    assert_eq!(get(&triage, &theirs).await.unwrap(), theirs);
    for (caller, id) in
        [(&bob, &theirs), (&elsewhere, &theirs), (&alice, &ignored), (&alice, &nameless), (&Caller::new("alice"), &nameless)]
    {
        assert_eq!(get(caller, id).await.unwrap_err().kind(), ErrorKind::TaskNotFound, "{caller:?}");
    }
    // The same handoff once more is the same task, for the same user.
    assert_eq!(handed(&b, &triage, handing("one", for_alice)).await, theirs);
    assert!(b.subscribe(&alice, Subscribe::new(theirs.clone())).await.is_ok());
    let hook = PushConfig::new("https://hook.example").id("hook").for_task(theirs.clone());
    assert_eq!(b.create_push_config(&alice, hook.clone()).await.unwrap().id.as_str(), "hook");
    assert_eq!(b.create_push_config(&bob, hook).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    assert_eq!(b.list_push_configs(&alice, ListPushConfigs::new(theirs.clone())).await.unwrap().configs.len(), 1);
    let answer = SendMessage::new(Message::user("North").to_task(theirs.clone()));
    let SendReply::Task(done) = b.send_message(&alice, answer).await.unwrap() else { panic!("no task") };
    assert_eq!((done.id.clone(), done.status.state), (theirs, TaskState::Completed));
    let other = handed(&b, &triage, handing("four", for_alice)).await;
    assert_eq!(b.cancel_task(&bob, CancelTask::new(other.clone())).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    assert_eq!(b.cancel_task(&alice, CancelTask::new(other)).await.unwrap().status.state, TaskState::Canceled);
}

/// HO-53: an agent names the user that it works for when it hands a task over; one that was told of a user by somebody it trusts names
/// that one, and one that was told by anybody else names its caller.
#[tokio::test]
async fn an_agent_names_the_user_that_it_works_for() {
    let net = Net::default();
    let a = Engine::new(card("a"), agent).passing(net.passing("a").trusted_delegator("triage")).start();
    start(&net, "b");
    let mut named = Vec::new();
    let carol = Some(("https://id.example", "carol"));
    for (caller, user) in [("https://id.example#alice", None), ("key-holder", None), ("triage", carol), ("https://id.example#eve", carol)] {
        let mut request = handing(caller, user);
        request.message.parts = vec!["to b context".into()];
        if user.is_none() {
            request.message.metadata.clear();
        }
        let SendReply::Task(sent) = a.send_message(&Caller::new(caller), request).await.unwrap() else { panic!("no task") };
        // Whoever hands a task over is shown the next handoff; others see it go on.
        let done = until(&a, &Caller::new(caller), &sent.id, |task| task.status.state == TaskState::Completed).await;
        let text = done.artifacts.last().unwrap().parts[0].as_text().unwrap().to_owned();
        let context: Value = serde_json::from_str(&text).unwrap();
        named.push(context["onBehalfOf"]["sub"].clone());
    }
    assert_eq!(named, [json!("alice"), Value::Null, json!("carol"), json!("eve")]);
}

/// HO-5: lists are filtered by what a caller sees. Tasks that were handed over are completed for the aware, and can be asked for alone;
/// for the unaware they are what they seem to be.
async fn lists_show_what_was_asked_for(store: Arc<dyn Store>) {
    let net = Net::default();
    let a = builder(&net, "a").name("a").shared_store(store.clone()).start();
    // The same tasks, where nothing is relayed.
    let quiet = Engine::new(card("a"), agent).passing(net.passing("a").relay(false)).name("a").shared_store(store).start();
    start(&net, "b");
    let plain = send(&a, &unaware(), "work").await.id;
    let away = send(&a, &aware(), "to b work").await.id;
    let declined = send(&quiet, &unaware(), "to b work").await.id;
    let relayed = send(&a, &unaware(), "to b work").await.id;
    let waiting = begin(&a, &unaware(), "to b converse").await.id;
    until(&a, &unaware(), &waiting, |task| task.status.state == TaskState::InputRequired).await;
    let own = send(&a, &unaware(), "converse").await.id;
    let rejected = send(&a, &unaware(), "reject").await.id;

    let listed = async |caller: &Caller, status: TaskState, handed_over: Option<bool>, size: i32| {
        let mut request = ListTasks::default();
        (request.status, request.handed_over, request.page_size) = (status, handed_over, Some(size));
        let mut ids = Vec::new();
        loop {
            let page = a.list_tasks(caller, request.clone()).await.unwrap();
            let mut text = Vec::new();
            page.append_json(&mut text).unwrap();
            let page = page.decode().unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string(&page).unwrap());
            assert!(page.tasks.iter().all(|task| status == TaskState::Unspecified || task.status.state == status));
            ids.extend(page.tasks.into_iter().map(|task| task.id));
            if page.next_page_token.is_empty() {
                assert_eq!(usize::try_from(page.total_size).unwrap(), ids.len());
                break;
            }
            // No page is shorter than was asked for.
            assert_eq!(ids.len() % usize::try_from(size).unwrap(), 0);
            request.page_token = page.next_page_token;
        }
        ids.sort();
        ids
    };
    let sorted = |ids: &[&TaskId]| {
        let mut ids: Vec<_> = ids.iter().map(|id| (*id).clone()).collect();
        ids.sort();
        ids
    };
    for size in [1, 2, 50] {
        let handed = sorted(&[&away, &declined, &relayed, &waiting]);
        let completed = sorted(&[&plain, &away, &declined, &relayed, &waiting]);
        assert_eq!(listed(&aware(), TaskState::Completed, None, size).await, completed);
        assert_eq!(listed(&aware(), TaskState::Completed, Some(true), size).await, handed);
        assert_eq!(listed(&aware(), TaskState::Unspecified, Some(true), size).await, handed);
        assert_eq!(listed(&aware(), TaskState::Completed, Some(false), size).await, sorted(&[&plain]));
        assert!(listed(&aware(), TaskState::Working, Some(true), size).await.is_empty());
        assert_eq!(listed(&aware(), TaskState::InputRequired, None, size).await, sorted(&[&own]));
        assert_eq!(listed(&aware(), TaskState::Rejected, None, size).await, sorted(&[&rejected]));
        assert_eq!(listed(&unaware(), TaskState::Completed, None, size).await, sorted(&[&plain, &relayed]));
        assert_eq!(listed(&unaware(), TaskState::InputRequired, None, size).await, sorted(&[&own, &waiting]));
        assert_eq!(listed(&unaware(), TaskState::Rejected, None, size).await, sorted(&[&rejected, &away, &declined]));
        assert_eq!(listed(&unaware(), TaskState::Unspecified, None, size).await.len(), 7);
    }
}

/// HO-5: in memory.
#[tokio::test]
async fn lists_are_filtered_by_what_a_caller_sees() {
    lists_show_what_was_asked_for(Arc::new(Memory::new())).await;
}

/// HO-5: in a file, and in another process after this one.
#[tokio::test]
async fn lists_of_a_file_are_filtered_by_what_a_caller_sees() {
    let folder = crate::folder::Folder::new();
    let path = folder.file("tasks.db");
    lists_show_what_was_asked_for(Arc::new(Sqlite::open(&path).await.unwrap())).await;
    let net = Net::default();
    let again = builder(&net, "a").name("a").store(Sqlite::open(&path).await.unwrap()).by_hand().start();
    let mut request = ListTasks::default();
    request.handed_over = Some(true);
    let page = again.list_tasks(&aware(), request).await.unwrap().decode().unwrap();
    assert_eq!((page.tasks.len(), page.total_size), (4, 4));
}

/// Keeps what is sent to webhooks.
#[derive(Clone, Default)]
struct Hooks(Arc<Mutex<Vec<Notification>>>);

#[async_trait]
impl Sender for Hooks {
    async fn send(&self, notification: &Notification) -> Sent {
        self.0.lock().unwrap().push(notification.clone());
        Sent::Accepted
    }
}

impl Hooks {
    /// What one webhook was told, in order.
    fn of(&self, id: &str) -> Vec<Notification> {
        self.0.lock().unwrap().iter().filter(|notification| notification.config.id.as_str() == id).cloned().collect()
    }
}

/// GX-9, HO-22: a webhook is told what whoever registered it sees: the handoff and nothing after, or one uninterrupted task.
#[tokio::test]
async fn a_webhook_is_told_what_its_owner_sees() {
    for relay in [true, false] {
        let (net, hooks) = (Net::default(), Hooks::default());
        let a = Engine::new(card("a"), agent).passing(net.passing("a").relay(relay)).sender(hooks.clone()).start();
        start(&net, "b");
        let gate = net.hold();
        let begun = begin(&a, &unaware(), "to b work").await;
        for (caller, id) in [(aware(), "aware"), (unaware(), "unaware")] {
            a.create_push_config(&caller, PushConfig::new("https://hook.example").id(id).for_task(begun.id.clone())).await.unwrap();
        }
        gate.add_permits(9);
        let end = if relay { TaskState::Completed } else { TaskState::Rejected };
        until(&a, &unaware(), &begun.id, |task| task.status.state == end).await;
        let told = async {
            while [("aware", TaskState::Completed), ("unaware", end)]
                .iter()
                .any(|(id, end)| hooks.of(id).last().is_none_or(|last| last.task.status.state != *end))
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), told).await.expect("the webhooks are not told");
        let (knows, unknowing) = (hooks.of("aware"), hooks.of("unaware"));
        let Event::Status(last) = &knows.last().unwrap().event else { panic!("{knows:?}") };
        let seen = task(&a, &aware(), &begun.id).await;
        assert_eq!((&last.status, &last.metadata[HANDOFF]), (&seen.status, &seen.metadata[HANDOFF]));
        assert_eq!(knows.last().unwrap().task, seen);
        assert_eq!(unknowing.last().unwrap().event.state(), Some(end));
        assert_eq!(unknowing.last().unwrap().task, task(&a, &unaware(), &begun.id).await);
        for notification in &unknowing {
            let text =
                format!("{} {}", serde_json::to_string(&notification.event).unwrap(), serde_json::to_string(&notification.task).unwrap());
            assert!(!text.contains("transferred") && notification.task.notes.is_empty(), "{text}");
        }
        assert!(knows.iter().all(|notification| notification.task.notes.is_empty()));
        // The work there is nothing that the aware one is told here.
        let artifacts = |told: &[Notification]| told.iter().filter(|told| matches!(told.event, Event::Artifact(_))).count();
        assert_eq!(artifacts(&knows), 0);
        assert_eq!(artifacts(&unknowing), usize::from(relay));
    }
}
