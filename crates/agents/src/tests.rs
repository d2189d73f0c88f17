//! Agents of a file, run by the real engine with real programs.

mod jsonl;
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
