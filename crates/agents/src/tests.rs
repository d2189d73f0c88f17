//! Agents of a file, run by the real engine with real programs.

mod passing;

use std::{
    collections::BTreeMap,
    future::poll_fn,
    path::{Path, PathBuf},
    time::Duration,
};

use chancery_core::{
    Caller, CancelTask, Event, GetTask, Message, Operations, Part, SendMessage, SendReply, Task, TaskId, TaskState, TraceContext,
};
use chancery_engine::{Engine, store::sqlite::Sqlite};

use crate::{Agent, Config, Served, Site, folder::Folder, peers::ServerUrl, process::Children, site::build};

/// How long anything may take before a test gives up.
const DEADLINE: Duration = Duration::from_secs(60);

/// An agent of a file with a shell script behind it.
pub(super) struct Rig {
    pub(super) engine: Engine,
    pub(super) children: Children,
    pub(super) folder: Folder,
}

impl Rig {
    fn new(settings: &str, script: &str) -> Self {
        let folder = Folder::new();
        folder.script("agent.sh", script);
        let text = format!("[[agent]]\nname = \"test\"\ncommand = [\"./agent.sh\"]\n{settings}");
        let children = Children::default();
        let agent = agent(&folder, &text, &children);
        Self { engine: agent.engine().start(), children, folder }
    }

    pub(super) async fn send(&self, message: impl Into<Message>) -> Task {
        within(self.engine.send_message(&Caller::anonymous(), SendMessage::new(message))).await.unwrap().task().expect("a task").clone()
    }

    async fn begin(&self, text: &str) -> Task {
        let mut request = SendMessage::new(text);
        request.configuration.return_immediately = true;
        self.engine.send_message(&Caller::anonymous(), request).await.unwrap().task().expect("a task").clone()
    }

    async fn answer(&self, task: &Task, text: &str) -> Task {
        self.send(Message::user(text).to_task(task.id.clone())).await
    }

    async fn cancel(&self, task: &TaskId) {
        let canceled = self.engine.cancel_task(&Caller::anonymous(), CancelTask::new(task.clone())).await.unwrap();
        assert_eq!(canceled.state(), TaskState::Canceled);
    }

    /// Waits for a file that a script writes, with something in it.
    async fn written(&self, name: &str) -> String {
        let path = self.folder.path(name);
        until(|| std::fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'))).await.trim().to_owned()
    }

    /// Waits until no process is left.
    async fn quiet(&self) {
        until(|| (self.children.len() == 0).then_some(())).await;
    }
}

fn agent(folder: &Folder, text: &str, children: &Children) -> Agent {
    let file = folder.write("a2a.toml", text);
    let variables: BTreeMap<_, _> = std::env::vars().collect();
    let config = Config::parse(&file, text, &variables).unwrap_or_else(|problem| panic!("{problem}"));
    build(&config, children, &ServerUrl::default()).remove(0)
}

/// Serves what a file says, in memory and at a free port.
pub(super) async fn bind(mut config: Config) -> Served {
    config.store.ephemeral = true;
    let host = config.server.listen.rsplit_once(':').unwrap().0;
    config.server.listen = format!("{host}:0");
    Site::new(config).bind().await.unwrap()
}

/// `/secure` of the demo takes its token and its key, says where it found them, and sends others away; the rest of the demo
/// is open.
#[tokio::test]
async fn the_demo_has_a_place_that_demands_credentials() {
    let running = bind(crate::demo::config(PathBuf::new()).unwrap()).await;
    let body = r#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"request"}]}}"#;
    for (path, header, expected) in [
        ("/secure", ("authorization", "Bearer demo-token"), "Credential: bearer, header Authorization"),
        ("/secure", ("x-api-key", "demo-key"), "Credential: key, header X-API-Key"),
        ("/secure", ("x-api-key", "else"), "UNAUTHENTICATED"),
        ("/secure", ("x", "y"), "UNAUTHENTICATED"),
        ("", ("x", "y"), "Credential: none"),
    ] {
        let request = reqwest::Client::new().post(format!("{}{path}/message:send", running.url())).header("a2a-version", "1.0");
        let request = request.header("content-type", "application/json").header(header.0, header.1).body(body);
        let answer = request.send().await.unwrap().text().await.unwrap();
        assert!(answer.contains(expected), "{path} {header:?} {answer}");
    }
    running.shutdown().await;
}

pub(super) async fn within<F: Future>(work: F) -> F::Output {
    tokio::time::timeout(DEADLINE, work).await.expect("it takes too long")
}

async fn until<T>(look: impl Fn() -> Option<T>) -> T {
    within(async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}

fn text_of(task: &Task) -> String {
    task.artifacts.iter().flat_map(|artifact| &artifact.parts).filter_map(Part::as_text).collect()
}

fn words(task: &Task) -> String {
    task.status.message.as_ref().map(Message::text).unwrap_or_default()
}

fn alive(pid: &str) -> bool {
    // A process that has ended and was not waited for by its new parent yet is as good as gone.
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[tokio::test]
async fn text_goes_in_and_text_comes_out() {
    let rig = Rig::new("", "tr a-z A-Z; printf ' %s' \"$A2A_AGENT\" \"${HOME-unset}\"\n");
    let task = rig.send(Message::user("one").part("two")).await;
    assert_eq!((task.state(), text_of(&task).as_str()), (TaskState::Completed, "ONE\nTWO test unset"));
    assert_eq!((task.artifacts.len(), task.artifacts[0].name.as_str()), (1, "output"));
    rig.quiet().await;
}

#[tokio::test]
async fn a_command_knows_its_task_its_context_and_its_trace() {
    let rig = Rig::new("", "echo $A2A_TASK_ID $A2A_CONTEXT_ID $TRACEPARENT\n");
    let caller = Caller::anonymous().trace(TraceContext::new("00-abc-def-01", ""));
    let reply = within(rig.engine.send_message(&caller, SendMessage::new("x"))).await.unwrap();
    let task = reply.task().unwrap();
    assert_eq!(text_of(task), format!("{} {} 00-abc-def-01\n", task.id, task.context_id));
}

#[tokio::test]
async fn output_is_streamed_line_by_line_while_the_command_runs() {
    let rig = Rig::new("", "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two\n");
    let mut stream = rig.engine.stream_message(&Caller::anonymous(), SendMessage::new("x")).await.unwrap();
    let (mut chunks, mut states) = (Vec::new(), Vec::new());
    while let Some(event) = within(poll_fn(|cx| stream.as_mut().poll_next(cx))).await {
        let event = event.unwrap().1.into_event();
        states.extend(event.state());
        if let Event::Artifact(update) = event {
            assert_eq!(states, [TaskState::Submitted, TaskState::Working], "it does not say that it works");
            chunks.push((update.artifact.parts[0].as_text().unwrap().to_owned(), update.append));
            // The second line is only written when the first was seen.
            rig.folder.write("go", "");
        }
    }
    assert_eq!(chunks, [("one\n".to_owned(), false), ("two\n".to_owned(), true)]);
}

/// Whoever asks for the task hears that a silent command works on it.
#[tokio::test]
async fn a_command_that_is_running_is_working() {
    let rig = Rig::new("", "while [ ! -e go ]; do sleep 0.02; done\n");
    let begun = rig.begin("x").await;
    within(async {
        loop {
            let task = rig.engine.get_task(&Caller::anonymous(), GetTask::new(begun.id.clone())).await.unwrap().into_task().unwrap();
            if task.state() == TaskState::Working {
                return assert_eq!(task.status.message, None);
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    rig.folder.write("go", "");
    rig.quiet().await;
}

#[tokio::test]
async fn a_delimiter_ends_a_chunk() {
    let rig = Rig::new("chunk = \"--\"\n", "printf 'one--two\\nlines--'; printf 'thr'; printf 'ee'\n");
    let task = rig.send("x").await;
    let parts: Vec<_> = task.artifacts[0].parts.iter().filter_map(Part::as_text).collect();
    assert_eq!(parts, ["one", "two\nlines", "three"]);
}

#[tokio::test]
async fn a_failing_command_fails_the_task_and_keeps_its_stderr_to_itself() {
    let script = "echo partly; echo a secret >&2; exit 3\n";
    let task = Rig::new("", script).send("x").await;
    assert_eq!((task.state(), words(&task).as_str()), (TaskState::Failed, "The command ended with exit status 3."));
    assert_eq!(text_of(&task), "partly\n");
    let task = Rig::new("expose_stderr = true\n", script).send("x").await;
    assert_eq!(words(&task), "The command ended with exit status 3.\na secret");
    let task = Rig::new("", "kill -9 $$\n").send("x").await;
    assert_eq!((task.state(), words(&task).as_str()), (TaskState::Failed, "The command ended with signal 9."));
}

#[tokio::test]
async fn files_go_in_and_come_out() {
    let script = "cd \"$A2A_FILES\" && ls && cat in.bin\nprintf '{}' > \"$A2A_OUT/a.json\"; cp in.bin \"$A2A_OUT/b\"; ln -s /etc/passwd \"$A2A_OUT/c\"\n";
    let rig = Rig::new("", script);
    let message = Message::user("x").part(Part::raw("bytes").filename("../in.bin").media_type("image/png")).part(Part::data(7));
    let task = rig.send(message).await;
    assert_eq!(text_of(&task), "in.bin\npart-3.json\nbytes");
    let files: Vec<_> = task.artifacts[1..].iter().map(|artifact| (artifact.name.as_str(), artifact.parts[0].clone())).collect();
    let json = Part::raw("{}").filename("a.json").media_type("application/json");
    let copy = Part::raw("bytes").filename("b").media_type("application/octet-stream");
    assert_eq!(files, [("a.json", json), ("b", copy)]);
}

/// The whole group ends, also when it does not want to; nothing is left behind.
#[tokio::test]
async fn cancel_ends_a_command_that_ignores_it_and_its_children() {
    let script =
        "trap '' TERM\n(trap '' TERM; while :; do sleep 0.05; done) &\necho $! > child\necho $$ > parent\nwhile :; do sleep 0.05; done\n";
    let rig = Rig::new("kill_after = \"200ms\"\n", script);
    let task = rig.begin("x").await;
    let (parent, child) = (rig.written("parent").await, rig.written("child").await);
    assert!(alive(&parent) && alive(&child));
    rig.cancel(&task.id).await;
    until(|| (!alive(&parent) && !alive(&child)).then_some(())).await;
    rig.quiet().await;
}

#[tokio::test]
async fn cancel_asks_first() {
    let rig = Rig::new("kill_after = \"1h\"\n", "trap 'echo asked > asked; exit 0' TERM\necho x > ready\nwhile :; do sleep 0.02; done\n");
    let task = rig.begin("x").await;
    rig.written("ready").await;
    rig.cancel(&task.id).await;
    assert_eq!(rig.written("asked").await, "asked");
    rig.quiet().await;
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended() {
    let rig = Rig::new("timeout = \"300ms\"\nkill_after = \"50ms\"\n", "echo $$ > pid\nsleep 600\n");
    let task = rig.send("x").await;
    assert_eq!((task.state(), words(&task).as_str()), (TaskState::Failed, "The agent took too long."));
    assert!(!rig.written("pid").await.is_empty());
    rig.quiet().await;
}

#[tokio::test]
async fn a_child_that_stays_behind_does_not_hold_the_task() {
    let rig = Rig::new("kill_after = \"100ms\"\n", "sleep 600 &\necho $! > child\necho done\n");
    let task = rig.send("x").await;
    assert_eq!((task.state(), text_of(&task).as_str()), (TaskState::Completed, "done\n"));
    let child = rig.written("child").await;
    until(|| (!alive(&child)).then_some(())).await;
    rig.quiet().await;
}

#[tokio::test]
async fn no_more_processes_run_than_are_allowed() {
    // Each says how many there are beside it.
    let script = "mkdir -p on; touch on/$$; ls on | wc -l; sleep 0.05; rm on/$$\n";
    let rig = Rig::new("max_processes = 2\n", script);
    let all = (0..8).map(|number| rig.send(format!("{number}")));
    let mut running: Vec<std::pin::Pin<Box<dyn Future<Output = Task> + '_>>> = Vec::new();
    for one in all {
        running.push(Box::pin(one));
    }
    let mut most = 0;
    let mut done = Vec::new();
    within(poll_fn(|cx| {
        running.retain_mut(|one| match one.as_mut().poll(cx) {
            std::task::Poll::Ready(task) => {
                done.push(task);
                false
            }
            std::task::Poll::Pending => true,
        });
        if running.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    }))
    .await;
    for task in &done {
        most = most.max(text_of(task).trim().parse::<u32>().unwrap());
    }
    assert_eq!((done.len(), most), (8, 2));
}

#[tokio::test]
async fn waiting_for_a_place_does_not_count_as_work() {
    let rig = Rig::new("max_processes = 1\ntimeout = \"2s\"\n", "sleep 0.9\n");
    let (one, two, three) = tokio::join!(rig.send("1"), rig.send("2"), rig.send("3"));
    assert_eq!([one.state(), two.state(), three.state()], [TaskState::Completed; 3]);
}

/// Five megabytes arrive whole, from memory and from the disk.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_output_passes_through_on_both_stores() {
    let script = "awk 'BEGIN { for (i = 0; i < 100000; i++) printf \"%051d\\n\", i }'\n";
    let rig = Rig::new("", script);
    let task = rig.send("x").await;
    let text = text_of(&task);
    assert_eq!((task.state(), text.len(), text.lines().count()), (TaskState::Completed, 5_200_000, 100_000));
    let folder = Folder::new();
    folder.script("agent.sh", script);
    let agent = agent(&folder, "[[agent]]\nname = \"test\"\ncommand = [\"./agent.sh\"]\n", &rig.children);
    let store = Sqlite::open(folder.path("tasks.db")).await.unwrap();
    let engine = agent.engine().store(store).start();
    let reply = within(engine.send_message(&Caller::anonymous(), SendMessage::new("x"))).await.unwrap();
    let id = reply.task().unwrap().id.clone();
    let stored = engine.get_task(&Caller::anonymous(), GetTask::new(id)).await.unwrap().into_task().unwrap();
    assert_eq!(text_of(&stored), text);
}

#[tokio::test]
async fn concurrency_lets_so_many_tasks_run() {
    let rig = Rig::new("concurrency = 1\nmax_processes = 9\n", "mkdir busy && cat && sleep 0.2 && rmdir busy\n");
    let first = rig.begin("first").await;
    let second = rig.send("second").await;
    assert_eq!((second.state(), text_of(&second).as_str()), (TaskState::Completed, "second"));
    let first = rig.engine.get_task(&Caller::anonymous(), GetTask::new(first.id)).await.unwrap().into_task().unwrap();
    assert_eq!((first.state(), text_of(&first).as_str()), (TaskState::Completed, "first"));
}

#[tokio::test]
async fn the_server_stops_when_every_process_is_gone() {
    let rig = Rig::new("kill_after = \"100ms\"\n", "trap '' TERM\necho $$ > pid\nwhile :; do sleep 0.05; done\n");
    rig.begin("x").await;
    let pid = rig.written("pid").await;
    within(rig.children.stop()).await;
    assert!(!alive(&pid));
}

#[tokio::test]
async fn echo_gives_back_every_part() {
    let folder = Folder::new();
    let agent = agent(&folder, "[[agent]]\nname = \"test\"\necho = true\n", &Children::default());
    let engine = agent.engine().start();
    let message = Message::user("hi").part(Part::raw("x").media_type("image/png"));
    let reply = engine.send_message(&Caller::anonymous(), SendMessage::new(message.clone())).await.unwrap();
    assert!(matches!(reply, SendReply::Task(task) if task.artifacts[0].parts == message.parts));
}

// --- a2a-jsonl/1 ------------------------------------------------------------------------------------

/// Answers each line with what the function `on_task` and `on_message` of the test print.
fn speaker(functions: &str) -> String {
    format!(
        "on_message() {{ :; }}\non_cancel() {{ exit 0; }}\n{functions}\nwhile read -r line; do\n  echo \"$line\" >> heard\n  id=$(printf '%s' \"$line\" | sed 's/.*\"taskId\":\"\\([^\"]*\\)\".*/\\1/')\n  case \"$line\" in\n  *'\"type\":\"task\"'*) on_task;;\n  *'\"type\":\"message\"'*) on_message;;\n  *'\"type\":\"cancel\"'*) on_cancel;;\n  *'\"type\":\"shutdown\"'*) exit 0;;\n  esac\ndone\n"
    )
}

fn jsonl(settings: &str, functions: &str) -> Rig {
    Rig::new(&format!("mode = \"jsonl\"\n{settings}"), &speaker(functions))
}

fn heard(rig: &Rig) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(rig.folder.path("heard")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_process_speaks_of_its_task() {
    let rig = jsonl(
        "",
        r#"on_task() {
          echo '{"type":"ready","skills":[]}'
          echo '{"type":"log","level":"debug","text":"begun"}'
          echo '{"type":"sing","tune":"la"}'
          echo '{"type":"status","state":"working","text":"thinking"}'
          echo '{"type":"artifact","artifactId":"a","text":"Hel","append":false}'
          echo '{"type":"artifact","artifactId":"a","text":"lo","append":true,"last":true}'
          echo '{"type":"artifact","artifactId":"b","parts":[{"data":{"x":1}},{"text":"y"}],"last":true}'
          echo '{"type":"status","state":"completed","text":"There you are."}'
        }"#,
    );
    let task = rig.send("hi").await;
    assert_eq!((task.state(), words(&task).as_str()), (TaskState::Completed, "There you are."));
    let history: Vec<_> = task.history.iter().map(Message::text).collect();
    assert_eq!(history, ["hi", "thinking"]);
    let artifacts: Vec<_> = task.artifacts.iter().map(|artifact| (artifact.name.as_str(), artifact.parts.clone())).collect();
    assert_eq!(
        artifacts,
        [("a", vec![Part::text("Hel"), Part::text("lo")]), ("b", vec![Part::data(serde_json::json!({"x": 1})), Part::text("y")])]
    );
    rig.quiet().await;
    let heard = heard(&rig);
    assert_eq!(
        heard[0],
        serde_json::json!({"type":"hello","protocol":"a2a-jsonl/1","agent":{"id":"test","name":"test"},"lifetime":"task"})
    );
    assert_eq!((&heard[1]["taskId"], &heard[1]["message"]["parts"][0]["text"]), (&serde_json::json!(task.id), &serde_json::json!("hi")));
    assert_eq!(
        (&heard[1]["principal"], &heard[1]["handoff"], &heard[1]["skill"]),
        (&serde_json::Value::Null, &serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert!(heard[1]["deadline"].as_str().unwrap().ends_with('Z'));
    assert_eq!(heard[2]["type"], "shutdown");
}

/// The last line with something in it is the last chunk; a line that says nothing but that makes none.
#[tokio::test]
async fn the_last_chunk_of_a_process_is_one_with_content() {
    let rig = jsonl(
        "",
        r#"on_task() {
          echo '{"type":"status","state":"working"}'
          echo '{"type":"artifact","artifactId":"a","text":"Hel"}'
          echo '{"type":"artifact","artifactId":"a","parts":[{"text":"lo"},{"raw":"AAEC"}],"append":true,"last":true}'
          echo '{"type":"artifact","artifactId":"b","text":"x"}'
          echo '{"type":"artifact","artifactId":"b","append":true,"last":true}'
          echo '{"type":"status","state":"completed"}'
        }"#,
    );
    let mut stream = rig.engine.stream_message(&Caller::anonymous(), SendMessage::new("x")).await.unwrap();
    let mut chunks = Vec::new();
    while let Some(event) = within(poll_fn(|cx| stream.as_mut().poll_next(cx))).await {
        match event.unwrap().1.into_event() {
            Event::Artifact(update) => chunks.push((update.artifact.parts.len(), update.append, update.last_chunk)),
            Event::Status(update) => assert_eq!(update.status.message, None, "words that nobody said"),
            _ => {}
        }
    }
    assert_eq!(chunks[..2], [(1, false, false), (2, true, true)]);
    assert_eq!((chunks.len(), chunks[2].0), (3, 1), "{chunks:?}");
}

#[tokio::test]
async fn every_end_has_its_state() {
    for (line, state, said) in [
        (r#"{"type":"status","state":"completed"}"#, TaskState::Completed, ""),
        (r#"{"type":"status","state":"completed","text":"Done so."}"#, TaskState::Completed, "Done so."),
        (r#"{"type":"status","state":"failed","text":"Too stormy."}"#, TaskState::Failed, "Too stormy."),
        (r#"{"type":"status","state":"failed"}"#, TaskState::Failed, "The agent failed."),
        (r#"{"type":"status","state":"rejected","parts":[{"text":"No."}]}"#, TaskState::Rejected, "No."),
        (r#"{"type":"status","state":"canceled"}"#, TaskState::Failed, "The agent gave up the task."),
        (
            r#"{"type":"handoff","agent":"other"}"#,
            TaskState::Failed,
            "The task is not handed over: the file of this agent has no section [handoff].",
        ),
        ("not json", TaskState::Failed, "The agent's process broke its protocol."),
    ] {
        let rig = jsonl("", &format!("on_task() {{ echo '{line}'; }}"));
        let task = rig.send("hi").await;
        assert_eq!((task.state(), words(&task).as_str()), (state, said), "{line}");
        rig.quiet().await;
    }
}

#[tokio::test]
async fn a_reply_needs_no_task() {
    let rig = jsonl("", r#"on_task() { echo '{"type":"reply","text":"hello"}'; }"#);
    let reply = within(rig.engine.send_message(&Caller::anonymous(), SendMessage::new("hi"))).await.unwrap();
    assert!(matches!(reply, SendReply::Message(message) if message.text() == "hello"));
}

#[tokio::test]
async fn an_exit_ends_the_task() {
    let task = jsonl("", "on_task() { exit 0; }").send("x").await;
    assert_eq!(task.state(), TaskState::Completed);
    let crash = r#"on_task() { echo '{"type":"artifact","artifactId":"a","text":"half"}'; exit 9; }"#;
    let task = jsonl("", crash).send("x").await;
    assert_eq!((task.state(), words(&task).as_str()), (TaskState::Failed, "The agent's process ended with exit status 9."));
    assert_eq!(text_of(&task), "half");
}

#[tokio::test]
async fn a_question_is_answered_to_the_same_process() {
    let functions = r#"
      on_task() { echo '{"type":"status","state":"input-required","text":"Which quay?"}'; }
      on_message() { echo '{"type":"artifact","text":"same '$$'","last":true}'; echo $$ > pid; echo '{"type":"status","state":"completed"}'; }
    "#;
    for lifetime in ["task", "pool"] {
        let rig = jsonl(&format!("lifetime = \"{lifetime}\"\n"), functions);
        let asked = rig.send("book").await;
        assert_eq!((asked.state(), words(&asked).as_str()), (TaskState::InputRequired, "Which quay?"));
        let done = rig.answer(&asked, "north").await;
        assert_eq!((done.state(), text_of(&done)), (TaskState::Completed, format!("same {}", rig.written("pid").await)));
        let heard = heard(&rig);
        assert_eq!(
            (&heard[2]["type"], &heard[2]["message"]["parts"][0]["text"]),
            (&serde_json::json!("message"), &serde_json::json!("north"))
        );
    }
}

#[tokio::test]
async fn a_process_that_asks_and_goes_is_started_again_with_the_history() {
    let functions = r#"
      on_task() {
        case "$line" in
        *'"history":[]'*) echo '{"type":"status","state":"input-required","text":"Which quay?"}'; exit 0;;
        *) echo '{"type":"status","state":"completed"}';;
        esac
      }
    "#;
    let rig = jsonl("", functions);
    let asked = rig.send("book").await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    assert_eq!(rig.answer(&asked, "north").await.state(), TaskState::Completed);
    rig.quiet().await;
    let heard = heard(&rig);
    let second = heard.iter().rfind(|line| line["type"] == "task").unwrap();
    let history: Vec<_> =
        second["history"].as_array().unwrap().iter().map(|message| message["parts"][0]["text"].as_str().unwrap()).collect();
    assert_eq!((history, &second["message"]["parts"][0]["text"]), (vec!["book", "Which quay?"], &serde_json::json!("north")));
}

#[tokio::test]
async fn nothing_is_delegated_when_nothing_is_said_about_it() {
    let functions = r#"
      on_task() { echo '{"type":"delegate","call":"c1","agent":"other","text":"x"}'; read -r line; echo "$line" >> heard; echo '{"type":"status","state":"completed"}'; }
    "#;
    let rig = jsonl("", functions);
    assert_eq!(rig.send("x").await.state(), TaskState::Completed);
    let answer = heard(&rig).into_iter().find(|line| line["type"] == "delegated").unwrap();
    assert_eq!(
        (&answer["call"], &answer["error"]["code"], &answer["error"]["message"]),
        (&"c1".into(), &"not_configured".into(), &"the file of this agent has no section [handoff]".into())
            as (&serde_json::Value, &serde_json::Value, &serde_json::Value)
    );
}

#[tokio::test]
async fn lines_that_are_no_json_are_text_when_that_is_wanted() {
    let rig = jsonl("lenient = true\n", r#"on_task() { echo hello; echo there; echo '{"type":"status","state":"completed"}'; }"#);
    let task = rig.send("x").await;
    assert_eq!((task.state(), text_of(&task).as_str()), (TaskState::Completed, "hello\nthere\n"));
}

#[tokio::test]
async fn a_line_may_not_be_too_long() {
    let rig =
        jsonl("kill_after = \"100ms\"\n", "on_task() { awk 'BEGIN { for (i = 0; i < 1100000; i++) printf \"x\"; printf \"\\n\" }'; }");
    let task = rig.send("x").await;
    assert_eq!((task.state(), words(&task).as_str()), (TaskState::Failed, "The agent's process broke its protocol."));
    rig.quiet().await;
}

#[tokio::test]
async fn cancel_is_said_before_it_is_enforced() {
    let polite = jsonl("kill_after = \"1h\"\n", "on_task() { echo x > ready; }\non_cancel() { echo \"$line\" > canceled; exit 0; }");
    let task = polite.begin("x").await;
    polite.written("ready").await;
    polite.cancel(&task.id).await;
    assert!(polite.written("canceled").await.contains(task.id.as_str()));
    polite.quiet().await;
    let deaf = jsonl("kill_after = \"100ms\"\n", "trap '' TERM\non_task() { echo $$ > pid; while :; do sleep 0.05; done; }");
    let task = deaf.begin("x").await;
    let pid = deaf.written("pid").await;
    deaf.cancel(&task.id).await;
    until(|| (!alive(&pid)).then_some(())).await;
    deaf.quiet().await;
}

#[tokio::test]
async fn a_pool_serves_many_tasks_with_one_process_and_is_started_again_after_a_crash() {
    let functions = r#"
      on_task() {
        case "$line" in
        *'"text":"crash"'*) exit 1;;
        *) echo '{"type":"artifact","taskId":"'$id'","text":"'$$'","last":true}'; echo '{"type":"status","taskId":"'$id'","state":"completed"}';;
        esac
      }
    "#;
    let rig = jsonl("lifetime = \"pool\"\nmax_processes = 1\n", functions);
    let first = text_of(&rig.send("x").await);
    assert_eq!(text_of(&rig.send("x").await), first);
    let crashed = rig.send("crash").await;
    assert_eq!((crashed.state(), words(&crashed).as_str()), (TaskState::Failed, "The agent's process ended with exit status 1."));
    let began = std::time::Instant::now();
    let second = rig.send("x").await;
    assert_eq!(second.state(), TaskState::Completed);
    assert_ne!(text_of(&second), first);
    // The pause of one second began with the crash, which was noticed at most a moment before.
    assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
    within(rig.children.stop()).await;
    assert!(!alive(&first));
}

#[tokio::test]
async fn a_canceled_task_of_a_pool_leaves_the_others_alone() {
    let functions = r#"
      on_task() { echo "$id" >> tasks; }
      on_cancel() { echo "$id" > canceled; }
      on_message() { echo '{"type":"status","taskId":"'$id'","state":"completed"}'; }
    "#;
    let rig = jsonl("lifetime = \"pool\"\nmax_processes = 1\nkill_after = \"100ms\"\n", functions);
    let (first, second) = (rig.begin("x").await, rig.begin("x").await);
    until(|| std::fs::read_to_string(rig.folder.path("tasks")).ok().filter(|text| text.lines().count() == 2)).await;
    rig.cancel(&first.id).await;
    assert_eq!(rig.written("canceled").await, first.id.as_str());
    assert_eq!(rig.answer(&second, "go").await.state(), TaskState::Completed);
    within(rig.children.stop()).await;
}

#[tokio::test]
async fn a_process_of_a_pool_that_breaks_the_protocol_is_replaced() {
    let functions = r#"
      on_task() {
        case "$line" in
        *'"text":"babble"'*) echo $$ > pid; echo babble;;
        *) echo '{"type":"status","taskId":"'$id'","state":"completed"}';;
        esac
      }
    "#;
    let rig = jsonl("lifetime = \"pool\"\nkill_after = \"100ms\"\n", functions);
    let broken = rig.send("babble").await;
    assert_eq!((broken.state(), words(&broken).as_str()), (TaskState::Failed, "The agent's process broke its protocol."));
    let pid = rig.written("pid").await;
    until(|| (!alive(&pid)).then_some(())).await;
    assert_eq!(rig.send("x").await.state(), TaskState::Completed);
    within(rig.children.stop()).await;
}

#[tokio::test]
async fn only_the_time_of_the_process_counts() {
    let functions = r#"
      on_task() { echo '{"type":"status","state":"auth-required","text":"Sign in"}'; }
      on_message() { echo '{"type":"status","state":"completed"}'; }
    "#;
    let settings = "timeout = \"1s\"\nkill_after = \"50ms\"\n";
    let (asking, silent) = (jsonl(settings, functions), jsonl(settings, "on_task() { :; }"));
    let asked = asking.send("x").await;
    assert_eq!(asked.state(), TaskState::AuthRequired);
    // Begun later and over: so the client took longer for its answer than the agent may.
    let task = silent.send("x").await;
    assert_eq!((task.state(), words(&task).as_str()), (TaskState::Failed, "The agent took too long."));
    silent.quiet().await;
    assert_eq!(asking.answer(&asked, "done").await.state(), TaskState::Completed);
}

/// The queue to a client that reads nothing is finite; what is said arrives all the same.
#[tokio::test]
async fn a_process_that_says_much_is_slowed_and_nothing_is_lost() {
    let functions = "on_task() { awk 'BEGIN { for (i = 0; i < 5000; i++) printf \"{\\\"type\\\":\\\"artifact\\\",\\\"artifactId\\\":\\\"a\\\",\\\"text\\\":\\\"%d \\\",\\\"append\\\":%s}\\n\", i, (i ? \"true\" : \"false\") }'; echo '{\"type\":\"status\",\"state\":\"completed\"}'; }";
    let task = jsonl("", functions).send("x").await;
    let expected: String = (0..5_000).map(|number| format!("{number} ")).collect();
    assert_eq!((task.state(), text_of(&task)), (TaskState::Completed, expected));
}

/// The example of the guide works.
#[tokio::test]
async fn the_agents_of_the_example_answer() {
    let file: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents/a2a.toml");
    let config = Config::load(&file).unwrap_or_else(|problem| panic!("{problem}"));
    let children = Children::default();
    let built = build(&config, &children, &ServerUrl::default());
    let rig = |at: usize| Rig { engine: built[at].engine().start(), children: children.clone(), folder: Folder::new() };
    assert_eq!(text_of(&rig(0).send("to be or not to be").await).trim(), "6");
    let greeter = rig(1);
    let asked = greeter.send("hello").await;
    assert_eq!(words(&asked), "What is your name?");
    assert_eq!(text_of(&greeter.answer(&asked, "Ada").await), "Good day, Ada!");
    within(children.stop()).await;
}
