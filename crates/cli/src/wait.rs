//! Waiting for a task on the command line: signals, `--timeout` and what is shown, around the client's [`TaskWait`].
//!
//! A wait ends early when the user stops it or when its time is up. The task goes on either way, and
//! [`Wait::known`] says which one it was.

use std::{
    future::Future,
    pin::{Pin, pin},
    time::{Duration, Instant},
};

use chancery_client::TaskWait;
use chancery_core::{Caller, Error, ErrorKind, Event, GetTask, Message, Operations as _, SendMessage, SendReply, Task, TaskState};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{
    connect::{Agent, Capability},
    context::Context,
    print::{live::Screen, task::state},
    resume::{self, Known},
    trouble::Trouble,
};

/// After how long progress is shown, and how often it is drawn anew.
const PROGRESS: Duration = Duration::from_millis(500);

/// Why a wait ended before the task did.
#[derive(Debug)]
pub(crate) enum Halt {
    /// Something went wrong.
    Trouble(Trouble),
    /// The user stopped it; this is what the process ends with.
    Signal(u8),
    /// `--timeout` is over.
    Timeout,
}

impl From<Trouble> for Halt {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

/// How an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Not at all.
    Detached,
    /// Until the end, and then it is read once more, unless that is how it was waited for.
    Whole,
    /// Until the end, and every event is shown.
    Stream,
}

impl Mode {
    /// The mode that the settings want.
    pub(crate) fn of(context: &Context) -> Self {
        match (context.settings.detached, context.settings.stream) {
            (true, _) => Self::Detached,
            (false, true) => Self::Stream,
            (false, false) => Self::Whole,
        }
    }
}

/// A wait for one task.
#[derive(Debug)]
pub(crate) struct Wait<'a> {
    context: &'a Context,
    agent: &'a Agent,
    pub(crate) known: Known,
    artifacts: usize,
    /// `--timeout` counts from here.
    begun: Instant,
    /// Whether a wait for an authorization goes on.
    patient: bool,
    /// Whether events are shown, so that nothing else needs to say how it goes.
    shown: bool,
    interrupt: Signal,
    terminate: Signal,
}

impl<'a> Wait<'a> {
    /// A wait that has not begun.
    pub(crate) fn new(context: &'a Context, agent: &'a Agent) -> Result<Self, Trouble> {
        let listen = |kind| signal(kind).map_err(|error| Trouble::internal(format!("signals cannot be heard: {error}")));
        Ok(Self {
            context,
            agent,
            known: Known::default(),
            artifacts: 0,
            begun: Instant::now(),
            patient: false,
            shown: context.settings.stream,
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// When the wait is over, whatever the task does.
    fn deadline(&self) -> Option<Instant> {
        self.context.settings.timeout.and_then(|limit| self.begun.checked_add(limit))
    }

    /// The circumstances of a call that lasts as long as the wait: a little longer, so that it is the wait that
    /// says it is over.
    pub(crate) fn caller(&self) -> Caller {
        self.agent.caller_until(self.deadline().map(|deadline| deadline + Duration::from_secs(1)))
    }

    /// Waits on when the task wants an authorization: somebody is giving it.
    pub(crate) fn beyond_authorization(&mut self) {
        self.patient = true;
    }

    /// Whether the wait ends with this state.
    fn is_settled(&self, state: TaskState) -> bool {
        state.is_terminal() || state == TaskState::InputRequired || state == TaskState::AuthRequired && !self.patient
    }

    /// Sends a message, and waits as the mode says.
    pub(crate) async fn send(&mut self, request: SendMessage, mode: Mode, screen: &mut dyn Screen) -> Result<SendReply, Halt> {
        let agent = self.agent;
        if mode == Mode::Detached {
            return self.send_only(request).await;
        }
        if agent.offers(Capability::Streaming) {
            let history = request.configuration.history_length;
            match self.call(TaskWait::send(&agent.client, self.caller(), request.clone())).await? {
                Ok(task) => return self.run(task, mode, history, screen).await,
                // Without a card it is the call that tells.
                Err(error) if agent.card.is_none() && is_unsupported(&error) => {}
                Err(error) => return Err(agent.trouble(self.context, error).into()),
            }
        }
        if mode == Mode::Stream {
            self.context.notes.note("the agent offers no streams, polling instead");
        }
        self.send_and_poll(request, screen).await
    }

    /// Sends a message, and waits for nothing but the answer.
    async fn send_only(&mut self, mut request: SendMessage) -> Result<SendReply, Halt> {
        let agent = self.agent;
        request.configuration.return_immediately = true;
        let caller = agent.caller(self.context);
        let reply = self.call(agent.client.send_message(&caller, request)).await?.map_err(|error| agent.trouble(self.context, error))?;
        match &reply {
            SendReply::Task(task) => self.note_task(task),
            SendReply::Message(message) => self.note_message(message),
        }
        Ok(reply)
    }

    /// Sends a message, and waits without a stream.
    pub(crate) async fn send_and_poll(&mut self, request: SendMessage, screen: &mut dyn Screen) -> Result<SendReply, Halt> {
        let (agent, history) = (self.agent, request.configuration.history_length);
        let sent = self.call(TaskWait::send_and_poll(&agent.client, self.caller(), request)).await?;
        self.run(sent.map_err(|error| agent.trouble(self.context, error))?, Mode::Stream, history, screen).await
    }

    /// Waits for a task that was just read: by its stream, or by polling.
    pub(crate) async fn resume(
        &mut self,
        task: Task,
        mode: Mode,
        history: Option<i32>,
        screen: &mut dyn Screen,
    ) -> Result<SendReply, Halt> {
        let task = TaskWait::resume(&self.agent.client, self.caller(), task).beyond_authorization(self.patient).history_length(history);
        self.run(task, mode, history, screen).await
    }

    /// Shows every event until the task is over or wants something.
    pub(crate) async fn run(
        &mut self,
        mut task: TaskWait,
        mode: Mode,
        history: Option<i32>,
        screen: &mut dyn Screen,
    ) -> Result<SendReply, Halt> {
        let mut held = None;
        loop {
            let event = match self.call(task.next()).await? {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => {
                    screen.close()?;
                    return Err(self.agent.trouble(self.context, error).into());
                }
            };
            match &event {
                Event::Message(message) => self.note_message(message),
                _ => self.note_task(task.task()),
            }
            // What the task wanted before is shown again only if that is all there is.
            held = None;
            if !task.is_replay() || screen.wants_replays() {
                screen.event(&event)?;
            } else {
                held = Some(event);
            }
        }
        if let Some(event) = held {
            screen.event(&event)?;
        }
        screen.close()?;
        let is_whole = task.is_polling() || mode != Mode::Whole;
        match task.into_reply() {
            SendReply::Task(task) if !is_whole => self.whole(*task, history).await.map(SendReply::from),
            reply => Ok(reply),
        }
    }

    /// The task as the agent has it, or else as its events told.
    async fn whole(&mut self, folded: Task, history: Option<i32>) -> Result<Task, Halt> {
        let mut get = GetTask::new(folded.id.clone());
        get.history_length = history;
        let caller = self.agent.caller(self.context);
        let agent = self.agent;
        match self.call(agent.client.get_task(&caller, get)).await? {
            Ok(task) => Ok(task),
            Err(error) => {
                self.context.notes.note(&format!("the task could not be read again, this is what its events told: {error}"));
                Ok(folded)
            }
        }
    }

    /// Does something that takes time, unless the user stops it or time is up first.
    pub(crate) async fn call<T>(&mut self, call: impl Future<Output = T>) -> Result<T, Halt> {
        let mut call = pin!(call);
        let deadline = self.deadline().map(tokio::time::Instant::from_std);
        let mut over: Pin<Box<dyn Future<Output = ()> + Send>> = match deadline {
            Some(deadline) => Box::pin(tokio::time::sleep_until(deadline)),
            None => Box::pin(std::future::pending()),
        };
        loop {
            let moving = self.context.notes.is_moving() && !self.shown;
            tokio::select! {
                biased;
                _ = self.interrupt.recv() => return Err(Halt::Signal(130)),
                _ = self.terminate.recv() => return Err(Halt::Signal(143)),
                answer = &mut call => return Ok(answer),
                () = &mut over => return Err(Halt::Timeout),
                () = tokio::time::sleep(PROGRESS), if moving => self.draw(),
            }
        }
    }

    /// `WORKING 12 s, 3 artifacts (Ctrl-C leaves the task running)`
    fn draw(&self) {
        let artifacts = match self.artifacts {
            0 => String::new(),
            1 => ", 1 artifact".to_owned(),
            many => format!(", {many} artifacts"),
        };
        let word = if self.known.task.is_some() { state(self.known.state) } else { "waiting" };
        let seconds = self.begun.elapsed().as_secs();
        self.context.notes.progress(&format!("{word} {seconds} s{artifacts} (Ctrl-C leaves the task running)"));
    }

    fn note_message(&mut self, message: &Message) {
        self.known = Known { task: None, context: message.context_id.clone(), state: TaskState::Completed };
    }

    /// Notes where the task stands; stderr says what is new about it.
    fn note_task(&mut self, task: &Task) {
        let before = std::mem::replace(
            &mut self.known,
            Known { task: Some(task.id.clone()), context: Some(task.context_id.clone()), state: task.status.state },
        );
        self.artifacts = task.artifacts.len();
        if self.shown || self.context.settings.detached {
            return;
        }
        let notes = &self.context.notes;
        if before.task.is_none() {
            notes.task_id(task.id.as_str(), !self.context.printer.is_json());
        }
        let quiet_state = self.is_settled(task.status.state) || notes.is_moving();
        if before.state != task.status.state && !quiet_state {
            notes.say(state(task.status.state));
        }
    }

    /// What an early end means for the user: how to go on, and what the process ends with.
    pub(crate) fn halted(&self, halt: Halt) -> Trouble {
        let settings = &self.context.settings;
        match halt {
            Halt::Trouble(trouble) => trouble,
            Halt::Timeout => {
                let goes_on = if self.known.task.is_some() { "; the task goes on" } else { "" };
                resume::hinted(settings, &self.known, Trouble::timeout(format!("the time of --timeout is over{goes_on}")))
            }
            Halt::Signal(exit) => {
                let notes = &self.context.notes;
                if let (Some(task), Some(context)) = (&self.known.task, &self.known.context) {
                    notes.insist(&format!("Task ID: {task}\nContext ID: {context}\nState: {}", state(self.known.state)));
                }
                if let Some(command) = resume::command(settings, &self.known) {
                    notes.insist(&format!("Resume with: {command}"));
                }
                notes.clear();
                Trouble::stopped(exit)
            }
        }
    }
}

fn is_unsupported(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::UnsupportedOperation | ErrorKind::MethodNotFound)
}
