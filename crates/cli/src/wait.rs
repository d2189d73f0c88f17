//! Waiting for a task: by its stream, or by reading it again and again, until it is over or wants something.
//!
//! A wait ends early when the user stops it or when its time is up. The task goes on either way, and
//! [`Wait::known`] says which one it was.

use std::{
    future::Future,
    pin::{Pin, pin},
    time::{Duration, Instant},
};

use chancery_core::{
    Caller, Error, ErrorKind, Event, EventStream, GetTask, Message, Operations as _, SendMessage, SendReply, Task, TaskState,
};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{
    connect::{Agent, Capability},
    context::Context,
    fold::fold,
    print::{live::Screen, task::state},
    resume::{self, Known},
    trouble::Trouble,
};

/// After how long progress is shown, and how often it is drawn anew.
const PROGRESS: Duration = Duration::from_millis(500);
/// The longest pause between two polls, and the shortest.
const LONGEST: Duration = Duration::from_secs(30);
const SHORTEST: Duration = Duration::from_millis(100);
/// How many failures in a row end the polling.
const FAILURES: u32 = 5;

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
    /// Until the end, and then it is read once more.
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
    pub(crate) fn is_settled(&self, state: TaskState) -> bool {
        state.is_terminal() || state == TaskState::InputRequired || state == TaskState::AuthRequired && !self.patient
    }

    /// Sends a message, and waits as the mode says.
    pub(crate) async fn send(&mut self, mut request: SendMessage, mode: Mode, screen: &mut dyn Screen) -> Result<SendReply, Halt> {
        let agent = self.agent;
        let history = request.configuration.history_length;
        if mode != Mode::Detached && agent.offers(Capability::Streaming) {
            let caller = self.caller();
            match self.call(agent.client.stream_message(&caller, request.clone())).await? {
                Ok(events) => return self.events(events, mode, history, screen).await,
                // Without a card it is the call that tells.
                Err(error) if agent.card.is_none() && is_unsupported(&error) => {}
                Err(error) => return Err(agent.trouble(self.context, error).into()),
            }
        }
        if mode == Mode::Stream {
            self.context.notes.note("the agent offers no streams, polling instead");
        }
        request.configuration.return_immediately = true;
        let caller = agent.caller(self.context);
        let reply = self.call(agent.client.send_message(&caller, request)).await?.map_err(|error| agent.trouble(self.context, error))?;
        self.note_reply(&reply);
        if mode != Mode::Detached {
            screen.event(&event(&reply))?;
        }
        match reply {
            SendReply::Task(task) if mode != Mode::Detached => self.poll(*task, history, screen).await.map(SendReply::from),
            reply => Ok(reply),
        }
    }

    /// Reads events until the task is over or wants something.
    pub(crate) async fn events(
        &mut self,
        mut events: EventStream,
        mode: Mode,
        history: Option<i32>,
        screen: &mut dyn Screen,
    ) -> Result<SendReply, Halt> {
        let mut folded = Task::default();
        loop {
            let next = std::future::poll_fn(|cx| events.as_mut().poll_next(cx));
            let event = match self.call(next).await? {
                Some(Ok((_, event))) => event.into_event(),
                Some(Err(error)) => {
                    screen.close()?;
                    return Err(self.agent.trouble(self.context, error).into());
                }
                // The agent may hang up while it waits for somebody.
                None => break,
            };
            screen.event(&event)?;
            fold(&mut folded, &event);
            if let Event::Message(message) = event {
                self.note_message(&message);
                screen.close()?;
                return Ok(SendReply::Message(message));
            }
            self.note_task(&folded);
            if self.is_settled(folded.status.state) {
                break;
            }
        }
        screen.close()?;
        if !self.is_settled(folded.status.state) {
            return self.poll(folded, history, screen).await.map(SendReply::from);
        }
        match mode {
            Mode::Whole => self.whole(folded, history).await.map(SendReply::from),
            _ => Ok(folded.into()),
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

    /// Reads a task again and again until it is over or wants something. Under `--stream` each change is shown.
    pub(crate) async fn poll(&mut self, mut task: Task, history: Option<i32>, screen: &mut dyn Screen) -> Result<Task, Halt> {
        let (agent, first) = (self.agent, self.context.settings.poll_interval);
        let (mut step, mut failures) = (0, 0);
        self.note_task(&task);
        while !self.is_settled(task.status.state) {
            let mut wait = pause(first, step);
            step += 1;
            let mut get = GetTask::new(task.id.clone());
            get.history_length = history;
            self.call(tokio::time::sleep(wait)).await?;
            let caller = agent.caller(self.context);
            let error = match self.call(agent.client.get_task(&caller, get)).await? {
                Ok(now) => {
                    failures = 0;
                    if now.status != task.status || now.artifacts != task.artifacts {
                        step = 0;
                        screen.event(&Event::from(now.clone()))?;
                    }
                    task = now;
                    self.note_task(&task);
                    continue;
                }
                Err(error) => error,
            };
            failures += 1;
            if failures >= FAILURES || !is_passing(&error) {
                return Err(agent.trouble(self.context, error).into());
            }
            if let Some(after) = chancery_client::Trouble::of(&error).and_then(chancery_client::Trouble::retry_after) {
                wait = after;
                self.call(tokio::time::sleep(wait)).await?;
            }
        }
        screen.close()?;
        Ok(task)
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

    fn note_reply(&mut self, reply: &SendReply) {
        match reply {
            SendReply::Task(task) => self.note_task(task),
            SendReply::Message(message) => self.note_message(message),
        }
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
            notes.say(&format!("Task ID: {}", task.id));
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

fn event(reply: &SendReply) -> Event {
    match reply {
        SendReply::Task(task) => Event::Task(task.clone()),
        SendReply::Message(message) => Event::Message(message.clone()),
    }
}

fn is_unsupported(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::UnsupportedOperation | ErrorKind::MethodNotFound)
}

/// Whether asking again may help.
fn is_passing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::RateLimited | ErrorKind::Timeout | ErrorKind::Internal)
}

/// The pause before the poll of this number since the last change: it grows by half, with some chance in it so
/// that many clients do not come back at once.
fn pause(first: Duration, step: u32) -> Duration {
    let grown = first.mul_f64(1.5_f64.powi(i32::try_from(step.min(20)).unwrap_or(20))).min(LONGEST);
    // The last bits of a v7 id are random.
    let random = u32::try_from(uuid::Uuid::now_v7().as_u128() & 0xffff).unwrap_or_default();
    let jitter = 0.9 + 0.2 * f64::from(random) / f64::from(0x1_0000);
    grown.mul_f64(jitter).max(SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_by_half_up_to_thirty_seconds() {
        let within = |pause: Duration, about: Duration| pause >= about.mul_f64(0.89) && pause <= about.mul_f64(1.11);
        for (step, seconds) in [(0, 2.0), (1, 3.0), (2, 4.5), (3, 6.75), (10, 30.0), (4_000_000, 30.0)] {
            let pause = pause(Duration::from_secs(2), step);
            assert!(within(pause, Duration::from_secs_f64(seconds)), "{step}: {pause:?}");
        }
        assert_eq!(pause(Duration::ZERO, 0), SHORTEST);
    }
}
