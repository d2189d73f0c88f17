//! The examples, as their readers run them: each is started and asked something.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

// The tests of the examples themselves.
#[path = "../../examples/booking.rs"]
#[allow(dead_code, reason = "main is run by others")]
mod booking;
#[path = "../../examples/echo.rs"]
#[allow(dead_code, reason = "main is run by others")]
mod echo;
#[path = "../../examples/files.rs"]
#[allow(dead_code, reason = "main is run by others")]
mod files;
#[path = "../../examples/long_job.rs"]
#[allow(dead_code, reason = "main is run by others")]
mod long_job;
#[path = "../../examples/several.rs"]
#[allow(dead_code, reason = "main is run by others")]
mod several;
#[path = "../../examples/writer.rs"]
#[allow(dead_code, reason = "main is run by others")]
mod writer;

/// An example at work, in a folder of its own. All of them want the same port, so there is one at a time.
struct Example {
    child: Child,
    folder: PathBuf,
}

impl Example {
    /// The program, which is built if it is not there.
    fn binary(name: &str) -> PathBuf {
        // Test binaries are in target/PROFILE/deps, examples in target/PROFILE/examples.
        let binary = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("examples").join(name);
        if !binary.exists() {
            // `cargo test --test it` does not build them.
            let built = Command::new(env!("CARGO")).args(["build", "--package", "chancery", "--examples"]).status().unwrap();
            assert!(built.success(), "the examples do not build");
        }
        binary
    }

    async fn start(name: &str) -> Self {
        let binary = Self::binary(name);
        let folder = std::env::temp_dir().join(format!("chancery-example-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new(&binary);
        let stderr = std::fs::File::create(folder.join("stderr")).unwrap();
        let child = command
            .current_dir(&folder)
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", binary.display()));
        let example = Self { child, folder };
        let begun = Instant::now();
        while tokio::net::TcpStream::connect("127.0.0.1:7420").await.is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{name} does not listen");
            tokio::task::yield_now().await;
        }
        example
    }

    /// Waits until it has said this on stderr, and no more.
    async fn said(&self, words: &str) {
        let begun = Instant::now();
        while std::fs::read_to_string(self.folder.join("stderr")).unwrap() != words {
            assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", std::fs::read_to_string(self.folder.join("stderr")));
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

async fn post(path: &str, body: Value) -> String {
    let request = reqwest::Client::new().post(format!("http://127.0.0.1:7420{path}"));
    let request = request.header("a2a-version", "1.0").header("content-type", "application/a2a+json").body(body.to_string());
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.text().await.unwrap()
}

async fn send(path: &str, message: Value) -> Value {
    serde_json::from_str(&post(&format!("{path}/message:send"), json!({"message": message})).await).unwrap()
}

fn say(text: &str) -> Value {
    json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}]})
}

#[tokio::test]
async fn every_example_does_what_it_says() {
    let _echo = Example::start("echo").await;
    assert_eq!(send("", say("hi")).await["task"]["status"]["message"]["parts"][0]["text"], "hi");
    _echo.said("Echo 1.0.0 at http://127.0.0.1:7420 (card: http://127.0.0.1:7420/.well-known/agent-card.json)\n").await;
    a_second_one_says_why_it_ends(&_echo);
    drop(_echo);

    let _writer = Example::start("writer").await;
    assert_eq!(send("", say("")).await["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let stream = post("/message:stream", json!({"message": say("the tide")})).await;
    assert_eq!(stream.matches("\"artifactUpdate\"").count(), 4, "{stream}");
    assert!(stream.contains("TASK_STATE_COMPLETED"), "{stream}");
    a_client_does_all_of_it();
    drop(_writer);

    let _booking = Example::start("booking").await;
    let asked = send("", say("book")).await;
    let mut answer = say("3");
    answer["taskId"] = asked["task"]["id"].clone();
    let booked = send("", answer).await;
    assert_eq!(booked["task"]["artifacts"][0]["parts"][0]["text"], "Booked for 3 nights.", "{booked}");
    drop(_booking);

    let _files = Example::start("files").await;
    let mut file = say("");
    file["parts"] = json!([{"raw": "aGVsbG8=", "filename": "hello.txt", "mediaType": "text/plain"}]);
    let louder = send("", file).await;
    assert_eq!(louder["task"]["artifacts"][0]["parts"][1]["raw"], "SEVMTE8=", "{louder}");
    drop(_files);

    let _several = Example::start("several").await;
    assert_eq!(send("/echo", say("hi")).await["task"]["status"]["message"]["parts"][0]["text"], "hi");
    assert_eq!(send("/shout", say("hi")).await["task"]["status"]["message"]["parts"][0]["text"], "HI");
    drop(_several);

    let _job = Example::start("long_job").await;
    let receiver = crate::receiver::Receiver::start().await;
    let hook = receiver.hook();
    let configuration = json!({"returnImmediately": true, "taskPushNotificationConfig": {"url": hook.url()}});
    let begun = post("/message:send", json!({"message": say("dredge"), "configuration": configuration})).await;
    assert!(!begun.contains("TASK_STATE_COMPLETED"), "{begun}");
    loop {
        let told = tokio::time::timeout(Duration::from_secs(30), hook.next()).await.expect("no push");
        if String::from_utf8_lossy(&told.body).contains("TASK_STATE_COMPLETED") {
            break;
        }
    }
    drop(_job);
    three_agents_pass_work_on().await;
}

/// The client calls the writer, watches it, answers its question, and cancels a task.
fn a_client_does_all_of_it() {
    let ended = Command::new(Example::binary("client")).output().unwrap();
    let (said, trouble) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
    assert!(ended.status.success(), "{said}\n{trouble}");
    let place = |words: &str| said.find(words).unwrap_or_else(|| panic!("{words}: {said}"));
    let places = ["speaks 1.0 over", "the tide comes and goes", "the moon comes and goes", "What shall I write about?"].map(place);
    let later = ["the harbor comes and goes", "TASK_STATE_CANCELED"].map(place);
    assert!(places.iter().chain(&later).is_sorted(), "{said}");
}

/// A program whose port is in use ends with an error, which says so in words.
fn a_second_one_says_why_it_ends(first: &Example) {
    let ended = Command::new(Example::binary("echo")).current_dir(&first.folder).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    let first_line = "Error: cannot listen on 127.0.0.1:7420: the port is in use by another program; \
                      stop that one, or serve on another port (0 is one that is free)";
    assert_eq!(said.lines().collect::<Vec<_>>()[..3], [first_line, "", "Caused by:"], "{said}");
}

/// Work goes to the ledger and back, over to billing, and no further than it may.
async fn three_agents_pass_work_on() {
    let _agents = Example::start("passing_on").await;
    for port in [7421, 7422] {
        let begun = Instant::now();
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30), "nobody listens on {port}");
            tokio::task::yield_now().await;
        }
    }
    let balance = send("", say("balance")).await;
    assert_eq!(balance["task"]["status"]["message"]["parts"][0]["text"], "You have 31 crowns.", "{balance}");
    let refused = send("", say("close account 31")).await;
    let words = refused["task"]["status"]["message"]["parts"][0]["text"].as_str().unwrap_or_default();
    assert!(words.starts_with("That is not mine to do: work is not passed on"), "{refused}");

    // A client that follows sees who has the task, and one that knows nothing of handoffs sees it done.
    let follow = chancery::Follow::same_origin().host("127.0.0.1");
    let agent = chancery::Client::builder().follow_handoffs(follow).connect("http://127.0.0.1:7420").await.unwrap();
    let reply = agent.send("refund 17").await.unwrap();
    assert_eq!(reply.text(), "Paid back, as http://127.0.0.1:7420 wished.");
    assert_eq!(reply.head().map(chancery::client::Head::agent), Some("http://127.0.0.1:7422"));
    let unaware = send("", say("refund 18")).await;
    assert_eq!(unaware["task"]["artifacts"][0]["parts"][0]["text"], "Paid back, as http://127.0.0.1:7420 wished.", "{unaware}");
}
