//! Tasks of v0.1, whose clients name them: through the door, with two callers who know nothing of each other.

use std::{path::PathBuf, time::Duration};

use chancery::{
    Auth, Mount, Running, Server,
    auth::{Digest, Holder, Scheme},
};
use chancery_core::{Card, TaskState};
use chancery_engine::{Engine, Failure, Outcome, Turn, store::Sqlite};
use chancery_net::Guard;
use serde_json::{Value, json};

use crate::{
    auth::send,
    webhook::{Receiver, answer},
};

const NAME: &str = "client-7";

/// Asks, waits, answers directly, or works: as the first word says.
async fn agent(turn: Turn) -> Result<Outcome, Failure> {
    match turn.text().split(' ').next().unwrap_or_default() {
        "ask" => Ok(Outcome::ask("Which quay?")),
        "say" => Ok(Outcome::message(turn.text())),
        "wait" => {
            turn.status("Waiting").await?;
            std::future::pending().await
        }
        _ => {
            turn.status("Working").await?;
            Ok(Outcome::reply(format!("done: {}", turn.text())))
        }
    }
}

/// A server with two callers, whose tasks are in a file.
struct Office {
    running: Running,
    folder: PathBuf,
}

impl Office {
    async fn open(test: &str, reopen: bool) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("names-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let card = Card::new("Clerk", "Works").skill("work", "Works").push_notifications(true);
        let store = Sqlite::open(folder.join("tasks.db")).await.unwrap();
        let tokens = ["ada", "bob"].into_iter().fold(Scheme::bearer(), |scheme, name| scheme.holder(Holder::new(name, Digest::of(name))));
        let mount = Mount::agent("/", Engine::new(card, agent).reopen(reopen));
        let server = Server::several().mount(mount).store(store).auth(Auth::new().scheme("bearer", tokens));
        let server = server.guard(Guard::new().loopback(true)).grace(Duration::from_millis(100));
        Self { running: server.bind("127.0.0.1:0").await.unwrap(), folder }
    }

    async fn post(&self, who: &str, version: &str, method: &str, params: Value) -> String {
        let bearer = format!("Bearer {who}");
        let headers = [("content-type", "application/json"), ("authorization", bearer.as_str()), ("a2a-version", version)];
        let headers = if version.is_empty() { &headers[..2] } else { &headers[..] };
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        send(&self.running, "POST", "/", headers, body).await.body
    }

    /// A call of v0.1.
    async fn call(&self, who: &str, method: &str, params: Value) -> Value {
        serde_json::from_str(&self.post(who, "", method, params).await).unwrap()
    }

    async fn send(&self, who: &str, name: &str, text: &str) -> Value {
        self.call(who, "tasks/send", message(name, text)).await["result"].take()
    }

    /// A task in v1.0.
    async fn task(&self, who: &str, id: &str) -> Value {
        serde_json::from_str(&self.post(who, "1.0", "GetTask", json!({"id": id})).await).unwrap()
    }

    /// The tasks of a caller in v1.0, oldest first.
    async fn tasks(&self, who: &str) -> Vec<Value> {
        let page: Value = serde_json::from_str(&self.post(who, "1.0", "ListTasks", json!({})).await).unwrap();
        let mut tasks = page["result"]["tasks"].as_array().unwrap().clone();
        tasks.reverse();
        tasks
    }

    async fn close(self) {
        self.running.shutdown().await;
        std::fs::remove_dir_all(&self.folder).unwrap();
    }
}

fn message(name: &str, text: &str) -> Value {
    json!({"id": name, "historyLength": 10, "message": {"role": "user", "parts": [{"type": "text", "text": text}]}})
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_default()
}

fn texts(task: &Value) -> Vec<&str> {
    task["history"].as_array().unwrap().iter().map(|message| message["parts"][0]["text"].as_str().unwrap()).collect()
}

/// CONV-TASK-005, V01-SEND-001, V01-SEND-004: a free name is the id of the task; one that is somebody else's stands for a task
/// of one's own, and nothing tells the one from the other.
#[tokio::test]
async fn two_callers_may_give_their_tasks_the_same_name() {
    let office = Office::open("same", true).await;
    for who in ["ada", "bob"] {
        let asked = office.send(who, NAME, &format!("ask {who}")).await;
        assert_eq!((asked["id"].as_str(), state(&asked)), (Some(NAME), "input-required"), "{asked}");
    }
    let (ada, bob) = (office.tasks("ada").await, office.tasks("bob").await);
    assert_eq!((ada.len(), bob.len()), (1, 1));
    assert_eq!(ada[0]["id"], NAME, "a free name is the id");
    let hidden = bob[0]["id"].as_str().unwrap();
    assert_ne!(hidden, NAME);
    // Other versions know a task by its id only.
    assert_eq!(office.task("bob", NAME).await["error"]["code"], -32001);
    assert_eq!(office.task("bob", hidden).await["result"]["history"][0]["parts"][0]["text"], "ask bob");
    assert_eq!(office.task("ada", hidden).await["error"]["code"], -32001);

    for who in ["bob", "ada"] {
        let read = office.call(who, "tasks/get", json!({"id": NAME, "historyLength": 5})).await["result"].take();
        assert_eq!((read["id"].as_str(), texts(&read)), (Some(NAME), vec![format!("ask {who}").as_str()]));
        let done = office.send(who, NAME, &format!("work for {who}")).await;
        assert_eq!((done["id"].as_str(), state(&done)), (Some(NAME), "completed"));
        assert_eq!(done["status"]["message"]["parts"][0]["text"], format!("done: work for {who}"));
    }
    assert_eq!((office.tasks("ada").await.len(), office.tasks("bob").await.len()), (1, 1));
    office.close().await;
}

/// CONV-TASK-005: every call of v0.1 finds the task by its name, and answers under it; streams and errors too.
#[tokio::test]
async fn every_call_finds_the_task_by_its_name() {
    let office = Office::open("calls", true).await;
    office.send("ada", NAME, "ask ada").await;
    assert_eq!(office.send("bob", NAME, "say hello").await["id"], NAME, "a direct answer");
    assert_eq!(office.call("bob", "tasks/get", json!({"id": NAME})).await["error"]["code"], -32001, "which is no task");
    let events = office.post("bob", "", "tasks/sendSubscribe", message(NAME, "ask bob")).await;
    let ids: Vec<_> = events
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|event| serde_json::from_str::<Value>(event).unwrap()["result"]["id"].as_str().unwrap().to_owned())
        .collect();
    assert!(ids.len() >= 2 && ids.iter().all(|id| id == NAME), "{events}");

    let config = json!({"id": NAME, "pushNotificationConfig": {"url": "https://client.example/hook"}});
    for method in ["tasks/pushNotification/set", "tasks/pushNotification/get"] {
        let set = office.call("bob", method, config.clone()).await;
        assert_eq!(
            (&set["result"]["id"], &set["result"]["pushNotificationConfig"]["url"]),
            (&config["id"], &config["pushNotificationConfig"]["url"]),
            "{set}"
        );
    }
    assert!(office.call("ada", "tasks/pushNotification/get", config).await["error"].is_object());

    let canceled = office.call("bob", "tasks/cancel", json!({"id": NAME})).await["result"].take();
    assert_eq!((canceled["id"].as_str(), state(&canceled)), (Some(NAME), "canceled"));
    let again = office.call("bob", "tasks/cancel", json!({"id": NAME})).await;
    assert_eq!(again["error"]["code"], -32002);
    assert!(!again.to_string().contains("alias-"), "{again}");
    assert_eq!(state(&office.call("ada", "tasks/get", json!({"id": NAME})).await["result"]), "input-required");
    office.close().await;
}

/// CONV-TASK-005: a name that nobody's task has yet, given by two callers at the same moment, and one that looks like an id
/// that the server makes.
#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_given_at_the_same_moment_do_not_meet() {
    let office = Office::open("moment", true).await;
    for round in 0..20 {
        let name = if round % 2 == 0 { format!("both-{round}") } else { format!("alias-{round:032x}") };
        let (ada, bob) = tokio::join!(office.send("ada", &name, "ask ada"), office.send("bob", &name, "ask bob"));
        for (task, text) in [(ada, "ask ada"), (bob, "ask bob")] {
            assert_eq!((task["id"].as_str(), texts(&task)), (Some(name.as_str()), vec![text]));
        }
    }
    assert_eq!((office.tasks("ada").await.len(), office.tasks("bob").await.len()), (20, 20));
    office.close().await;
}

/// CONV-TASK-006, V01-SEND-005: a message to a finished task makes a new one in the same conversation, which goes by the old name
/// and shows the old history in front.
#[tokio::test]
async fn a_message_to_a_finished_task_goes_on_under_its_name() {
    let office = Office::open("again", true).await;
    // The second caller's tasks have other ids than their name from the beginning.
    for who in ["ada", "bob"] {
        let first = office.send(who, NAME, "work 1").await;
        let direct = office.send(who, NAME, "say aside").await;
        assert_eq!((direct["id"].as_str(), direct["sessionId"].as_str()), (Some(NAME), first["sessionId"].as_str()));
        for number in 2..=4 {
            let next = office.send(who, NAME, &format!("work {number}")).await;
            assert_eq!((next["id"].as_str(), state(&next)), (Some(NAME), "completed"));
            assert_eq!(next["sessionId"], first["sessionId"]);
            assert_eq!(next["status"]["message"]["parts"][0]["text"], format!("done: work {number}"));
        }
        let read = office.call(who, "tasks/get", json!({"id": NAME, "historyLength": 100})).await["result"].take();
        let expected = [
            "work 1",
            "Working",
            "done: work 1",
            "work 2",
            "Working",
            "done: work 2",
            "work 3",
            "Working",
            "done: work 3",
            "work 4",
            "Working",
        ];
        assert_eq!(texts(&read), expected);
        let read = office.call(who, "tasks/get", json!({"id": NAME, "historyLength": 4})).await["result"].take();
        assert_eq!(texts(&read), expected[expected.len() - 4..]);

        let tasks = office.tasks(who).await;
        assert_eq!(tasks.len(), 4);
        assert!(tasks.iter().all(|task| task["contextId"] == first["sessionId"] && state(task) == TaskState::Completed.as_str()));
        for pair in tasks.windows(2) {
            let later = office.task(who, pair[1]["id"].as_str().unwrap()).await["result"].take();
            assert_eq!(later["history"][0]["referenceTaskIds"], json!([pair[0]["id"]]));
        }
        // For v1.0 a finished task stays what it was.
        let body = json!({"message": {"messageId": "m", "role": "ROLE_USER", "taskId": tasks[0]["id"], "parts": [{"text": "more"}]}});
        assert!(office.post(who, "1.0", "SendMessage", body).await.contains("-32004"));
    }
    office.close().await;
}

/// CONV-TASK-006: several messages to a finished task at the same moment lead to one task.
#[tokio::test(flavor = "multi_thread")]
async fn messages_to_a_finished_task_meet_in_one_that_follows() {
    let office = Office::open("meet", true).await;
    office.send("ada", NAME, "work 1").await;
    let now = || {
        let mut params = message(NAME, "ask 2");
        params["pushNotification"] = json!({"url": "https://client.example/hook"});
        params
    };
    let (one, two) = tokio::join!(office.call("ada", "tasks/send", now()), office.call("ada", "tasks/send", now()));
    assert_eq!((state(&one["result"]), state(&two["result"])), ("input-required", "input-required"), "{one} {two}");
    assert_eq!(office.tasks("ada").await.len(), 2);
    office.close().await;
}

/// CONV-TASK-006: the setting that refuses messages to finished tasks.
#[tokio::test]
async fn a_server_may_refuse_messages_to_finished_tasks() {
    let office = Office::open("reject", false).await;
    office.send("ada", NAME, "work 1").await;
    let refused = office.call("ada", "tasks/send", message(NAME, "work 2")).await;
    assert_eq!((&refused["error"]["code"], &refused["error"]["message"]), (&json!(-32602), &json!("Task is in a terminal state")));
    assert_eq!(office.tasks("ada").await.len(), 1);
    office.close().await;
}

/// CONV-TASK-005, CONV-TASK-006, V01-PUSH-001: a webhook hears of the task under its name, and of the task that follows it.
#[tokio::test]
async fn a_webhook_hears_of_the_task_under_its_name() {
    let office = Office::open("hook", true).await;
    let receiver = Receiver::start(|_, _| Some(answer(200, &[]))).await;
    office.send("ada", NAME, "ask ada").await;
    let mut params = message(NAME, "work 1");
    params["pushNotification"] = json!({"url": receiver.url()});
    office.call("bob", "tasks/send", params).await;
    office.send("bob", NAME, "work 2").await;
    let done = |text: &str| {
        let of = |body: &Value| body["status"]["message"]["parts"][0]["text"] == text;
        receiver.seen().iter().map(|received| serde_json::from_slice::<Value>(&received.body).unwrap()).any(|body| of(&body))
    };
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while !(done("done: work 1") && done("done: work 2")) {
        assert!(tokio::time::Instant::now() < deadline, "{:?}", receiver.seen());
        tokio::task::yield_now().await;
    }
    for received in receiver.seen() {
        assert_eq!(serde_json::from_slice::<Value>(&received.body).unwrap()["id"], NAME);
    }
    office.close().await;
}
