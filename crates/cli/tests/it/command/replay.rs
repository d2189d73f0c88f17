//! An agent that begins the stream of a follow-up with the task as it is stored, as `@a2a-js/sdk` 1.3.0 does: its old question is not
//! its answer.

use std::{
    net::{TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    Sandbox, field,
    scripted::{begin, call, card, write},
};

/// How long a client has to take the replayed question for the answer, and to ask for the task.
const TEMPTATION: Duration = Duration::from_millis(300);

/// Asks about every first message, and books what the second one says.
#[derive(Default)]
struct Replaying {
    /// The stored tasks; the id of one is its place.
    tasks: Mutex<Vec<Value>>,
    /// Somebody has asked for a task.
    read: Condvar,
}

impl Replaying {
    /// Starts it; it ends with the process.
    fn start() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (agent, here) = (Arc::new(Self::default()), url.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (agent, here) = (agent.clone(), here.clone());
                std::thread::spawn(move || agent.serve(&mut stream.unwrap(), &here));
            }
        });
        url
    }

    /// Answers the one request of a connection.
    fn serve(&self, stream: &mut TcpStream, here: &str) {
        let Some(call) = call(stream) else {
            return begin(stream, "application/json", &[card(here).to_string()]);
        };
        let result = |result: Value| json!({"jsonrpc": "2.0", "id": call["id"], "result": result}).to_string();
        match call["method"].as_str() {
            Some("GetTask") => begin(stream, "application/json", &[result(self.stored(&call["params"]["id"]))]),
            Some("SendStreamingMessage") => {
                let events = self.events(&call["params"]["message"]);
                let frames: Vec<_> = events.map(|event| format!("data: {}\n\n", result(event))).collect();
                begin(stream, "text/event-stream", &frames[..1]);
                if frames.len() > 1 {
                    drop(self.read.wait_timeout(self.tasks.lock().unwrap(), TEMPTATION).unwrap());
                    write(stream, &frames[1..]);
                    self.finish(&call["params"]["message"]);
                }
            }
            other => panic!("{other:?}"),
        }
    }

    fn stored(&self, id: &Value) -> Value {
        let task = self.tasks.lock().unwrap()[id.as_str().unwrap().parse::<usize>().unwrap()].clone();
        self.read.notify_all();
        task
    }

    /// What happens after a message. The task works while a client has heard nothing but its question.
    fn events(&self, message: &Value) -> std::vec::IntoIter<Value> {
        let mut tasks = self.tasks.lock().unwrap();
        let Some(id) = message["taskId"].as_str() else {
            let question = json!({"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "Which city?"}]});
            let status = json!({"state": "TASK_STATE_INPUT_REQUIRED", "message": question});
            let task = json!({"id": tasks.len().to_string(), "contextId": "c", "status": status});
            tasks.push(task.clone());
            return vec![json!({"task": task})].into_iter();
        };
        let task = &mut tasks[id.parse::<usize>().unwrap()];
        let replayed = task.clone();
        task["status"] = json!({"state": "TASK_STATE_WORKING"});
        let update = |state: &str| json!({"statusUpdate": {"taskId": id, "contextId": "c", "status": {"state": state}}});
        let artifact = json!({"artifactUpdate": {"taskId": id, "contextId": "c", "artifact": booked(message)}});
        vec![json!({"task": replayed}), update("TASK_STATE_WORKING"), artifact, update("TASK_STATE_COMPLETED")].into_iter()
    }

    /// Stores what a client that has read everything has heard.
    fn finish(&self, message: &Value) {
        let id: usize = message["taskId"].as_str().unwrap().parse().unwrap();
        let task = &mut self.tasks.lock().unwrap()[id];
        task["status"] = json!({"state": "TASK_STATE_COMPLETED"});
        task["artifacts"] = json!([booked(message)]);
    }
}

fn booked(message: &Value) -> Value {
    let words = format!("Booked for {}.", message["parts"][0]["text"].as_str().unwrap());
    json!({"artifactId": "a", "name": "answer", "parts": [{"text": words}]})
}

#[test]
fn an_answer_is_waited_for_although_the_question_is_replayed() {
    let (sandbox, agent) = (Sandbox::new(), Replaying::start());
    let asked = sandbox.ok(&["send", "-a", &agent, "book"]);
    assert_eq!(field(&asked, "State"), "INPUT_REQUIRED");
    let ran = sandbox.run(&["send", "-a", &agent, "--task-id", field(&asked, "Task ID"), "Paris"]);
    assert_eq!((ran.code, field(&ran.out, "State")), (0, "COMPLETED"), "{ran:?}");
    assert!(ran.out.contains("Booked for Paris.") && !ran.out.contains("Which city?"), "{ran:?}");
}

#[test]
fn a_stream_does_not_repeat_the_question_and_goes_on_to_the_answer() {
    let (sandbox, agent) = (Sandbox::new(), Replaying::start());
    let asked = sandbox.ok(&["send", "-a", &agent, "--stream", "book"]);
    assert!(asked.contains("Which city?"), "a question that is all there is, is shown: {asked}");
    let ran = sandbox.run(&["send", "-a", &agent, "--task-id", field(&asked, "Task ID"), "--stream", "Paris"]);
    assert_eq!((ran.code, field(&ran.out, "State")), (0, "COMPLETED"), "{ran:?}");
    assert!(ran.out.contains("Booked for Paris.") && !ran.out.contains("Which city?"), "{ran:?}");
    // As JSON every event is there.
    let asked = sandbox.json(&["send", "-a", &agent, "book"]);
    let out = sandbox.ok(&["send", "-a", &agent, "--task-id", asked["task"]["id"].as_str().unwrap(), "--stream", "-o", "json", "Rome"]);
    let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len(), 4, "{out}");
    assert_eq!(events[0]["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(events[3]["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
}

#[test]
fn a_piped_chat_loses_no_turn() {
    let (sandbox, agent) = (Sandbox::new(), Replaying::start());
    let ran = sandbox.run_with("book\nParis\nbook\nRome\n", &["chat", "-a", &agent]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.out.matches("Which city?").count(), 2, "{ran:?}");
    let places: Vec<_> = ["Which city?", "Booked for Paris.", "Booked for Rome."].map(|words| ran.out.find(words)).into_iter().collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{ran:?}");
    let ran = sandbox.run_with("book\nParis\n", &["chat", "-a", &agent, "-o", "json"]);
    let turns: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let states: Vec<_> = turns.iter().map(|turn| turn["task"]["status"]["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"], "{ran:?}");
}
