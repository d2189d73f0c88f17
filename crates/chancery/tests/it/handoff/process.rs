//! Servers in processes of their own, which can be killed and started again. A process is this program once more, told by its
//! environment to be a server.

use std::{
    fs::OpenOptions,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use chancery::{
    Artifact, Auth, Caller, Card, Client, Engine, Failure, Follow, Handoff, Keyring, OnRestart, Operations as _, Outcome, Passing, Secrets,
    Server, Task, Turn,
    auth::{Digest, Holder, Scheme},
    core::{Binding, CancelTask, GetTask, ListTasks, Message, SendMessage, SendReply, TaskId, Transfer, Version, extension::HANDOFF},
};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

/// What a process is told to be.
const SETUP: &str = "CHANCERY_HANDOFF_SERVER";
/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// A process that shares its data with another one holds a task for so long without a sign of life.
const LEASE: Duration = Duration::from_millis(500);

/// A server that is to be started.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Setup {
    folder: PathBuf,
    /// Where it listens; any port at first, and the same one when it is started again.
    address: String,
    public_url: Option<String>,
    agents: usize,
    aware: bool,
    visits: usize,
    /// Who may come in, with what token; everybody when there is nobody.
    holders: Vec<(String, String)>,
    /// Which token it shows to whom.
    keys: Vec<(String, String)>,
}

impl Setup {
    /// One agent that knows of handoffs, and keeps its tasks in this folder.
    pub(crate) fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            address: "127.0.0.1:0".to_owned(),
            public_url: None,
            agents: 1,
            aware: true,
            visits: 1,
            holders: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// The agent says that it is elsewhere: behind a proxy.
    pub(crate) fn public_url(mut self, url: &str) -> Self {
        self.public_url = Some(url.to_owned());
        self
    }

    /// So many agents, at `/0`, `/1` and so on.
    pub(crate) fn agents(mut self, agents: usize) -> Self {
        self.agents = agents;
        self
    }

    /// The agent knows nothing of handoffs.
    pub(crate) fn unaware(mut self) -> Self {
        self.aware = false;
        self
    }

    /// The agent takes a task so often.
    pub(crate) fn visits(mut self, visits: usize) -> Self {
        self.visits = visits;
        self
    }

    /// Somebody may come in with this token.
    pub(crate) fn holder(mut self, subject: &str, token: &str) -> Self {
        self.holders.push((subject.to_owned(), token.to_owned()));
        self
    }

    /// This token is shown to the agent there.
    pub(crate) fn key(mut self, url: &str, token: &str) -> Self {
        self.keys.push((url.to_owned(), token.to_owned()));
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) async fn start(self) -> Process {
        Process::start(self).await
    }

    fn peers(&self) -> chancery::Peers {
        let ring = self.keys.iter().try_fold(Keyring::new(), |ring, (url, token)| ring.at(url, Secrets::new().bearer(token.as_str())));
        let builder = Client::builder();
        if self.keys.is_empty() { builder } else { builder.credentials(ring.unwrap()) }.peers()
    }

    fn server(&self) -> Server {
        let mut server = Server::several().data(&self.folder);
        for number in 0..self.agents {
            let runs = Runs(self.folder.join("runs"));
            let agent = Engine::new(card(), move |turn| agent(turn, runs.clone())).lease(LEASE).on_restart(OnRestart::Rerun);
            let passing = Passing::new(Arc::new(self.peers())).max_visits(self.visits);
            let agent = if self.aware { agent.passing(passing) } else { agent };
            server = server.agent(if self.agents == 1 { "/".to_owned() } else { format!("/{number}") }, agent);
        }
        if let Some(url) = &self.public_url {
            server = server.public_url(url);
        }
        if self.holders.is_empty() {
            return server;
        }
        let bearer = Scheme::bearer();
        let bearer = self.holders.iter().fold(bearer, |scheme, (name, token)| scheme.holder(Holder::new(name, Digest::of(token))));
        server.auth(Auth::new().scheme("token", bearer))
    }
}

/// A server at work. It ends with this.
pub(crate) struct Process {
    child: Child,
    /// Held, so that the process has somebody to talk to.
    _output: Lines<BufReader<ChildStdout>>,
    setup: Setup,
    pub(crate) address: std::net::SocketAddr,
    /// Where its agent is, for others.
    pub(crate) url: String,
}

impl Process {
    async fn start(mut setup: Setup) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["handoff::process::child", "--exact", "--nocapture", "--test-threads", "1"])
            .env(SETUP, serde_json::to_string(&setup).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let listening = async {
            while let Some(line) = output.next_line().await.unwrap() {
                if let Some(address) = line.strip_prefix("listening on ") {
                    return address.parse::<std::net::SocketAddr>().unwrap();
                }
            }
            panic!("the server ended before it listened");
        };
        let address = timeout(PATIENCE, listening).await.expect("the server does not listen");
        setup.address = address.to_string();
        let url = setup.public_url.clone().unwrap_or_else(|| format!("http://{address}"));
        Self { child, _output: output, setup, address, url }
    }

    /// Kills the process with SIGKILL: nothing is flushed, nothing is handed back. Gives what starts it again.
    pub(crate) async fn kill(mut self) -> Setup {
        self.child.kill().await.unwrap();
        self.setup
    }

    /// Kills the process, and starts another one in its place.
    pub(crate) async fn replace(self) -> Self {
        self.kill().await.start().await
    }

    /// How often the agent was run, over all processes.
    pub(crate) fn runs(&self) -> usize {
        Runs(self.setup.folder.join("runs")).count()
    }

    pub(crate) async fn visitor(&self) -> Visitor {
        Visitor::at(&self.url).await
    }
}

/// The server. Does nothing as a test.
#[test]
fn child() {
    let Ok(setup) = std::env::var(SETUP) else { return };
    let setup: Setup = serde_json::from_str(&setup).unwrap();
    // Whoever started this process holds the other end of its input.
    std::thread::spawn(|| {
        let ended = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(i32::from(ended.is_err()));
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let running = setup.server().bind(setup.address.as_str()).await.unwrap();
        println!("\nlistening on {}", running.local_addr());
        std::future::pending::<()>().await;
    });
}

/// A file with a line for every run of an agent.
#[derive(Clone)]
struct Runs(PathBuf);

impl Runs {
    fn note(&self, turn: &Turn) {
        let mut file = OpenOptions::new().append(true).create(true).open(&self.0).unwrap();
        file.write_all(format!("{} {}\n", turn.task_id(), turn.attempt()).as_bytes()).unwrap();
    }

    fn count(&self) -> usize {
        std::fs::read_to_string(&self.0).unwrap_or_default().lines().count()
    }
}

pub(crate) fn card() -> Card {
    Card::new("Clerk", "Does it, or finds somebody who does").skill("obey", "Does what the first word says")
}

/// Does what the first word says.
async fn agent(turn: Turn, runs: Runs) -> Result<Outcome, Failure> {
    runs.note(&turn);
    let (verb, rest) = turn.text().split_once(' ').unwrap_or((turn.text(), ""));
    let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
    match verb {
        "to" => Ok(Outcome::transfer(Handoff::to(first).reason("not my trade").part(more))),
        "ask" => Ok(Outcome::ask("To whom?")),
        "delegate" => {
            let done = turn.delegate(first, more).await?;
            Ok(Outcome::complete_with(Artifact::new(done.text()).named("heard")))
        }
        // Works until it is told what the result is.
        "listen" => {
            turn.status("Listening").await?;
            let word = turn.next_message().await.ok_or("nobody said anything")?;
            Ok(Outcome::complete_with(Artifact::new(word.text()).named("word")))
        }
        "wait" => {
            turn.status("Waiting").await?;
            turn.canceled().await;
            Ok(Outcome::Completed)
        }
        "context" => {
            let context = turn.handoff().ok_or("no context")?;
            Ok(Outcome::complete_with(Artifact::new(serde_json::to_string(&context)?).named("context")))
        }
        _ => {
            turn.status("Working on it").await?;
            Ok(Outcome::complete_with(Artifact::new(turn.text()).named("done")))
        }
    }
}

/// Somebody who calls one agent, and follows nothing.
#[derive(Clone)]
pub(crate) struct Visitor(pub(crate) Client);

/// Who knows of handoffs.
pub(crate) fn aware() -> Caller {
    Caller::anonymous().extension(HANDOFF)
}

/// Who does not.
pub(crate) fn unaware() -> Caller {
    Caller::anonymous()
}

impl Visitor {
    pub(crate) async fn at(url: &str) -> Self {
        // Who repeats calls, or waits for long, hides what a test is about.
        let builder = Client::builder().follow_handoffs(Follow::never()).retries(0);
        Self(timeout(PATIENCE, builder.connect(url)).await.expect("the card does not come").unwrap())
    }

    /// Calls a process where it listens, whatever its card says.
    pub(crate) async fn past(process: &Process) -> Self {
        let url = format!("http://{}", process.address);
        Self(Client::builder().follow_handoffs(Follow::never()).retries(0).over(Binding::JsonRpc, Version::V1_0, url).unwrap())
    }

    async fn sent(&self, caller: &Caller, request: SendMessage) -> chancery::Result<Task> {
        match timeout(PATIENCE, self.0.send_message(caller, request)).await.expect("no answer")? {
            SendReply::Task(task) => Ok(*task),
            SendReply::Message(message) => panic!("a message: {}", message.text()),
        }
    }

    /// Sends, and waits for the end of the turn.
    pub(crate) async fn send(&self, caller: &Caller, message: impl Into<Message>) -> chancery::Result<Task> {
        self.sent(caller, SendMessage::new(message.into())).await
    }

    /// Sends, and does not wait.
    pub(crate) async fn begin(&self, caller: &Caller, message: impl Into<Message>) -> chancery::Result<Task> {
        let mut request = SendMessage::new(message.into());
        request.configuration.return_immediately = true;
        self.sent(caller, request).await
    }

    pub(crate) async fn task(&self, caller: &Caller, id: &TaskId) -> Task {
        self.0.get_task(caller, GetTask::new(id.clone())).await.unwrap()
    }

    pub(crate) async fn cancel(&self, caller: &Caller, id: &TaskId) -> chancery::Result<Task> {
        timeout(PATIENCE, self.0.cancel_task(caller, CancelTask::new(id.clone()))).await.expect("no answer")
    }

    /// Waits until something is true of a task.
    pub(crate) async fn until(&self, caller: &Caller, id: &TaskId, is: impl Fn(&Task) -> bool) -> Task {
        let wait = async {
            loop {
                let task = self.task(caller, id).await;
                if is(&task) {
                    return task;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, wait).await.expect("it does not come true")
    }

    /// Waits for the end of a task.
    pub(crate) async fn end(&self, caller: &Caller, id: &TaskId) -> Task {
        self.until(caller, id, |task| task.state().is_terminal()).await
    }

    /// The tasks of the agent that changed last.
    pub(crate) async fn newest(&self, caller: &Caller) -> Vec<Task> {
        let mut wanted = ListTasks::default();
        wanted.page_size = Some(20);
        self.0.list_tasks(caller, wanted).await.unwrap().tasks
    }

    /// All tasks of the agent.
    pub(crate) async fn tasks(&self, caller: &Caller) -> Vec<Task> {
        let mut wanted = ListTasks::default();
        (wanted.page_size, wanted.include_artifacts) = (Some(100), Some(true));
        let mut tasks = Vec::new();
        loop {
            let page = self.0.list_tasks(caller, wanted.clone()).await.unwrap();
            tasks.extend(page.tasks);
            if page.next_page_token.is_empty() {
                return tasks;
            }
            wanted.page_token = page.next_page_token;
        }
    }
}

pub(crate) fn transfer(task: &Task) -> Transfer {
    Transfer::of(&task.metadata).unwrap().unwrap_or_else(|| panic!("not handed over: {task:?}"))
}

/// The code of a handoff that came to nothing.
pub(crate) fn code(task: &Task) -> &str {
    let message = task.status.message.as_ref().unwrap_or_else(|| panic!("no words: {task:?}"));
    message.metadata.get(HANDOFF).and_then(|said| said["error"]["code"].as_str()).unwrap_or_else(|| panic!("no code: {task:?}"))
}

/// The text of a task's artifacts.
pub(crate) fn text(task: &Task) -> Vec<&str> {
    task.artifacts.iter().flat_map(|artifact| &artifact.parts).filter_map(chancery::Part::as_text).collect()
}

/// A folder that goes away with this.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("chancery-handoff-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
