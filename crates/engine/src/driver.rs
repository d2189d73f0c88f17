//! Drives one task: hears what is asked of it, runs its turns, and answers whoever waits.
//!
//! There is at most one driver per task and process. It owns everything that may change the task, so
//! nothing here is locked. What happens goes into its [`Journal`], which commits it.

use std::{
    collections::VecDeque,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, OnceLock, atomic::Ordering},
    task::{Context, Poll},
};

use chancery_core::{
    ArtifactUpdate, Caller, Error, ErrorKind, Message, Object, PushConfigId, Record, Result, SendMessage, Seq, StatusUpdate, Task,
    TaskState, TaskStatus, extension,
};
use tokio::{
    sync::{mpsc, oneshot},
    task::coop,
    time::{Instant, Sleep},
};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tracing::Instrument as _;

use crate::{
    agent::{Ending, Failure, Outcome, Running},
    desk::Desk,
    engine::Inner,
    journal::{Committed, Journal},
    keys::Keyed,
    live::Live,
    pass::{
        self, Handoff, calls, record,
        ride::{Canceling, Ride},
    },
    state::Entry,
    store::{self, KeyAnswer},
    turn::{self, Emitted, Shared, Turn},
};

/// What others ask of a driver.
pub(crate) enum Command {
    /// A message for the task.
    Message(Box<Ask>),
    /// Cancel the task.
    Cancel(oneshot::Sender<Result<()>>),
    /// Notify this webhook of everything that happens after the answer, and perhaps of a little more.
    Watch(PushConfigId, oneshot::Sender<()>),
    /// Stop notifying this webhook.
    Unwatch(PushConfigId),
}

/// A message with everything around it, and whoever waits for the answer.
pub(crate) struct Ask {
    pub(crate) send: Box<SendMessage>,
    pub(crate) caller: Caller,
    pub(crate) key: Option<Box<Keyed>>,
    pub(crate) wait: Wait,
    pub(crate) answer: oneshot::Sender<Result<Answer>>,
}

/// What the caller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The task is finished or waits for its client.
    Done,
    /// The task exists and has the message; a new task is made for it at once.
    Taken,
    /// The same, if the agent needs a task; it may also answer without one.
    Begun,
}

/// What a driver answers.
pub(crate) enum Answer {
    /// A direct message; no task was needed.
    Message(Box<Message>),
    /// The task is there, and this is the place of the event that took the message.
    Task(Seq),
}

/// How a driver begins.
pub(crate) enum Begin {
    /// With the first message of a new task.
    New(Box<Ask>),
    /// With a command for a stored task.
    Stored,
    /// With a turn that a dead process had begun.
    Rerun { attempt: u32 },
    /// With the news that a dead process had begun a turn.
    Fail,
    /// With a handoff that a dead process had begun.
    Pass { attempt: u32 },
}

/// A driver at work: done when there is nothing more to do for its task.
pub(crate) type Working = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a turn begins with.
struct Opening {
    message: Message,
    caller: Caller,
    metadata: Object,
    accepted_output_modes: Vec<String>,
}

/// The turn that is running.
struct Run {
    agent: Running,
    turn: Turn,
    /// When it takes too long.
    limit: Option<Pin<Box<Sleep>>>,
    /// Where to tell a handoff that the task is to be canceled.
    cancels: Option<mpsc::UnboundedSender<Canceling>>,
}

struct Driver {
    journal: Journal,
    run: Option<Run>,
    /// How often the current turn was begun.
    attempt: u32,
    /// Turns that wait for the one that is running.
    queue: VecDeque<Opening>,
    /// The message of a task that was not needed so far.
    unborn: Option<Box<Unborn>>,
    /// Messages that wait for a commit that has room for their key.
    deferred: VecDeque<Box<Ask>>,
    waiting: Vec<Waiting>,
    canceling: Vec<oneshot::Sender<Result<()>>>,
    /// What the agent said last.
    heard: Vec<Emitted>,
    /// Whether a turn of the task runs in another process.
    elsewhere: bool,
    /// Whether others may drive the task again.
    gone: bool,
}

/// A new task before its first event: it comes to be when the agent says something, or takes its time.
struct Unborn {
    send: Box<SendMessage>,
    key: Option<Box<Keyed>>,
    wait: Wait,
    answer: oneshot::Sender<Result<Answer>>,
    /// Whether whoever sent it knows of handoffs.
    aware: bool,
    /// When the agent takes its time.
    patience: Option<Pin<Box<Sleep>>>,
}

struct Waiting {
    /// The event that took the message.
    seq: Seq,
    wait: Wait,
    answer: oneshot::Sender<Result<Answer>>,
}

/// What happened next.
enum Happened {
    Committed(Result<Committed>),
    Ended(Box<Result<Ending, Failure>>),
    Panicked,
    /// The agent said what is heard.
    Said,
    /// Nobody has anything more to say for now: what was said can be committed.
    Paused,
    Asked(Command),
    TookTime,
    Overran,
    Stopped,
}

/// A driver for a task that is claimed for it.
pub(crate) fn work(engine: &Arc<Inner>, live: Arc<Live>, begin: Begin) -> Working {
    let span = tracing::info_span!("task", task = %live.id);
    let mut driver = Driver::new(Journal::new(engine.clone(), live));
    let work = async move {
        // Read when commands have their way to the driver already: a webhook made meanwhile is seen here
        // or comes as a command.
        if !matches!(begin, Begin::New(_)) {
            let journal = &mut driver.journal;
            // In a box, because most drivers begin without.
            match Box::pin(journal.engine.config_ids(&journal.live.scope, &journal.live.id)).await {
                Ok(configs) => journal.configs = configs,
                Err(error) => return driver.give_up(crate::engine::unavailable(error)),
            }
        }
        let begin = match begin {
            Begin::Stored => match Box::pin(driver.look_around()).await {
                Ok(begin) => begin,
                Err(error) => return driver.give_up(crate::engine::unavailable(error)),
            },
            begin => begin,
        };
        driver.begin(begin);
        let answers = driver.drive().await;
        // Whoever hears that the task is finished is the only one who has it, if nobody watches.
        drop(driver);
        for Waiting { seq, answer, .. } in answers {
            // A caller that went away changes nothing about the task.
            drop(answer.send(Ok(Answer::Task(seq))));
        }
    };
    Box::pin(engine.drivers.track_future(work.instrument(span)))
}

impl Driver {
    fn new(journal: Journal) -> Self {
        Self {
            journal,
            run: None,
            attempt: 1,
            queue: VecDeque::new(),
            unborn: None,
            deferred: VecDeque::new(),
            waiting: Vec::new(),
            canceling: Vec::new(),
            heard: Vec::new(),
            elsewhere: false,
            gone: false,
        }
    }

    /// How to begin with a stored task: another process may work on it, or have died while it handed it over (HO-15).
    ///
    /// A lease that is given after this look comes with an event, and our commit finds its place taken.
    async fn look_around(&mut self) -> store::Result<Begin> {
        let Journal { engine, live, .. } = &self.journal;
        let Some(lease) = engine.store.lease(&live.scope, &live.id).await?.filter(|lease| lease.holder != engine.holder) else {
            return Ok(Begin::Stored);
        };
        self.elsewhere = lease.until > engine.now();
        match live.read(record::Record::is_open) && !self.elsewhere {
            true => Ok(Begin::Pass { attempt: lease.attempt + 1 }),
            false => Ok(Begin::Stored),
        }
    }

    fn begin(&mut self, begin: Begin) {
        match begin {
            Begin::New(ask) => self.new_task(*ask),
            Begin::Stored => {}
            Begin::Rerun { attempt } => {
                self.attempt = attempt;
                self.rerun();
            }
            Begin::Pass { attempt } => {
                self.attempt = attempt;
                self.resume_handoff();
            }
            Begin::Fail => {
                self.abandon_calls();
                let words = Message::agent("The server was restarted while the agent was working; the task was not finished.");
                self.journal.put_status(TaskState::Failed, Some(words));
            }
        }
    }

    /// Works until there is nothing more to do, and says who is to be told that the task is finished.
    async fn drive(&mut self) -> Vec<Waiting> {
        let mut stopping = std::pin::pin!(None);
        let mut finished = Vec::new();
        loop {
            if !self.journal.has_key()
                && let Some(ask) = self.deferred.pop_front()
            {
                self.take_message(*ask);
                continue;
            }
            if self.is_idle() {
                match self.retire() {
                    Some(command) => self.asked(command),
                    None => return finished,
                }
                continue;
            }
            let happened = std::future::poll_fn(|cx| self.poll(cx, stopping.as_mut())).await;
            self.journal.turn_over();
            match happened {
                Happened::Committed(committed) => {
                    self.committed(committed, &mut finished);
                    self.listen();
                    // An agent that never waits is stopped too.
                    if self.run.is_some() && self.journal.engine.stopping.is_cancelled() {
                        self.stop().await;
                    }
                }
                Happened::Stopped => self.stop().await,
                Happened::Said => self.said(),
                Happened::Paused => self.journal.write(self.run.is_some().then_some(self.attempt)),
                Happened::Ended(outcome) => self.ended(*outcome),
                Happened::Panicked => {
                    tracing::error!("the agent panicked");
                    self.ended(Err(Failure::from("the agent panicked")));
                }
                Happened::Overran => {
                    tracing::warn!("the turn took too long");
                    self.ended(Err(Failure::new("The agent took too long.")));
                }
                Happened::Asked(command) => self.asked(command),
                Happened::TookTime => self.be_born(),
            }
            if self.gone {
                return finished;
            }
        }
    }

    /// What happens next. What the agent has said comes before that it is done, and both before new asks: a
    /// turn that never waits is then one commit.
    fn poll(&mut self, cx: &mut Context<'_>, mut stopping: Pin<&mut Option<WaitForCancellationFutureOwned>>) -> Poll<Happened> {
        // An agent that always has something to say must not keep the thread; what it has said is committed.
        let proceed = coop::poll_proceed(cx);
        let may_speak = proceed.is_ready() && self.journal.has_room();
        let happened = |happened| {
            if let Poll::Ready(progress) = proceed {
                progress.made_progress();
            }
            Poll::Ready(happened)
        };
        if let Some(run) = &mut self.run {
            if stopping.as_mut().as_pin_mut().is_some_and(|stopping| stopping.poll(cx).is_ready()) {
                return happened(Happened::Stopped);
            }
            let desk = run.turn.desk();
            if may_speak {
                if desk.hear(&mut self.heard, None) {
                    return happened(Happened::Said);
                }
                match catch_unwind(AssertUnwindSafe(|| run.agent.as_mut().poll(cx))) {
                    Ok(Poll::Ready(outcome)) => return happened(Happened::Ended(Box::new(outcome))),
                    Err(_) => return happened(Happened::Panicked),
                    Ok(Poll::Pending) if desk.hear(&mut self.heard, Some(cx.waker())) => return happened(Happened::Said),
                    Ok(Poll::Pending) => {}
                }
            }
            // Most turns end before they wait, and never have to ask.
            if stopping.is_none() {
                stopping.set(Some(self.journal.engine.stopping.clone().cancelled_owned()));
                if stopping.as_mut().as_pin_mut().is_some_and(|stopping| stopping.poll(cx).is_ready()) {
                    return happened(Happened::Stopped);
                }
            }
            if run.limit.as_mut().is_some_and(|limit| limit.as_mut().poll(cx).is_ready()) {
                return happened(Happened::Overran);
            }
        }
        if self.journal.is_ready() {
            return happened(Happened::Paused);
        }
        if let Poll::Ready(Some(committed)) = self.journal.poll_commit(cx) {
            return happened(Happened::Committed(committed));
        }
        if let Some(unborn) = &mut self.unborn {
            let patience = self.journal.engine.setup().options.task_after;
            let patience = unborn.patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
            if patience.as_mut().poll(cx).is_ready() {
                return happened(Happened::TookTime);
            }
        }
        if let Poll::Ready(command) = self.journal.live.poll_command(cx) {
            return happened(Happened::Asked(command));
        }
        // Webhooks are told by the driver, so they do not wait for a caller.
        let ending = self.run.is_none() && self.unborn.is_none() && self.journal.configs.is_empty();
        self.journal.live.ending.store(ending, Ordering::Relaxed);
        Poll::Pending
    }

    /// Hears what is asked, however much the agent has to say: one that never waits is canceled too.
    fn listen(&mut self) {
        while !self.gone
            && let Some(command) = self.journal.live.next_command()
        {
            self.asked(command);
        }
    }

    /// Leaves a turn to whoever takes it over. What is not committed did not happen; the lease stays in
    /// the store, and the engine ends it when all drivers are gone.
    async fn stop(&mut self) {
        self.run = None;
        self.journal.clear();
        if let Some(committed) = std::future::poll_fn(|cx| self.journal.poll_commit(cx)).await {
            let mut finished = Vec::new();
            self.committed(committed, &mut finished);
            for Waiting { seq, answer, .. } in finished {
                drop(answer.send(Ok(Answer::Task(seq))));
            }
        }
        self.unborn = None;
        self.give_up(crate::engine::closed());
    }

    fn is_idle(&self) -> bool {
        self.run.is_none() && self.journal.is_clean() && self.unborn.is_none()
    }

    /// Ends the driver unless somebody asks for something at the same moment.
    fn retire(&mut self) -> Option<Command> {
        let live = &self.journal.live;
        if self.journal.state().is_terminal() && !live.is_read() {
            // Nothing more happens to it, and nobody watches: whoever wants to see it finds it in the store.
            self.journal.engine.drop_live(live);
        }
        let command = live.retire();
        self.gone = command.is_none();
        command
    }

    // --- Asks -----------------------------------------------------------------------------------

    fn asked(&mut self, command: Command) {
        match command {
            Command::Message(ask) => self.message(ask),
            Command::Cancel(answer) => self.cancel(answer),
            Command::Watch(config, taken) => {
                if !self.journal.configs.contains(&config) {
                    self.journal.configs.push(config);
                }
                // Whoever asked may have gone away; the webhook stays.
                let _ = taken.send(());
            }
            Command::Unwatch(config) => self.journal.configs.retain(|known| *known != config),
        }
    }

    fn new_task(&mut self, ask: Ask) {
        let Ask { mut send, caller, key, wait, answer } = ask;
        self.journal.context = send.message.context_id.clone().unwrap_or_default();
        let aware = caller.has_extension(extension::HANDOFF);
        let opening = Opening::new(send.message.clone(), caller, &mut send);
        self.start_turn(opening);
        let now = wait == Wait::Taken || send.configuration.push_config.is_some();
        self.unborn = Some(Box::new(Unborn { send, key, wait, answer, aware, patience: None }));
        if now {
            self.be_born();
        }
    }

    /// Makes the new task's first event.
    fn be_born(&mut self) {
        let Some(unborn) = self.unborn.take() else { return };
        let Unborn { mut send, key, wait, answer, aware, .. } = *unborn;
        let now = self.journal.now();
        let (id, context) = (&self.journal.live.id, &self.journal.context);
        let mut task = Task::new(id.clone(), context.clone(), TaskStatus::new(TaskState::Submitted).at(now));
        task.record = Record::new(send.origin).times(now, now);
        task.record.aware = aware;
        task.history = vec![turn::addressed(send.message, id, context)];
        if let Some(config) = send.configuration.push_config.take() {
            self.journal.add_config(*config);
        }
        if let Some(key) = key {
            self.journal.set_key(key);
        }
        self.journal.put(Entry::new(task));
        self.waiting.push(Waiting { seq: self.journal.seq(), wait, answer });
    }

    /// A message for a task that exists.
    fn message(&mut self, ask: Box<Ask>) {
        self.be_born();
        if !self.deferred.is_empty() || (ask.key.is_some() && self.journal.has_key()) {
            self.deferred.push_back(ask);
        } else {
            self.take_message(*ask);
        }
    }

    fn take_message(&mut self, ask: Ask) {
        let Ask { mut send, caller, key, wait, answer } = ask;
        let now = self.journal.now();
        let (id, context, state) = (&self.journal.live.id, &self.journal.context, self.journal.state());
        if self.elsewhere {
            // It would end the turn that runs there, or hand over what is on its way already.
            drop(answer.send(Err(self.journal.worked_on_elsewhere())));
            return;
        }
        if state.is_terminal() {
            let error = Error::new(ErrorKind::UnsupportedOperation, "Task is in a terminal state and takes no further messages")
                .with("taskId", id.as_str())
                .with("state", state.as_str());
            drop(answer.send(Err(error)));
            return;
        }
        let message = turn::addressed(std::mem::take(&mut send.message), id, context);
        // A running task keeps its state; a waiting one goes on.
        let state = if self.run.is_some() && !state.is_interrupted() { state } else { TaskState::Working };
        let update = StatusUpdate::new(id.clone(), context.clone(), TaskStatus::new(state).at(now));
        // A message without a key leaves that of another alone; two with keys do not meet here.
        if let Some(key) = key {
            self.journal.set_key(key);
        }
        self.journal.put(Entry::with_message(update, message.clone()));
        self.waiting.push(Waiting { seq: self.journal.seq(), wait, answer });
        match &self.run {
            Some(run) => run.turn.desk().lay(message),
            None => {
                // The answer to what another agent asked goes to the turn that asked it, which is run again.
                let began = self.journal.live.read(calls::began);
                let (message, answer) = match began {
                    Some(began) => (began, Some(message)),
                    None => (message, None),
                };
                self.queue.push_back(Opening::new(message, caller, &mut send));
                self.next_turn();
                if let (Some(run), Some(answer)) = (&self.run, answer) {
                    run.turn.desk().lay(answer);
                }
            }
        }
        self.next_turn();
    }

    fn cancel(&mut self, answer: oneshot::Sender<Result<()>>) {
        self.be_born();
        if self.journal.state().is_terminal() {
            let error = Error::from(ErrorKind::TaskNotCancelable).with("taskId", self.journal.live.id.as_str());
            drop(answer.send(Err(error)));
            return;
        }
        if self.elsewhere && self.journal.live.read(record::Record::is_open) {
            // The other agent may have it already, and only that process can tell it.
            drop(answer.send(Err(self.journal.worked_on_elsewhere())));
            return;
        }
        if let Some(cancels) = self.run.as_ref().and_then(|run| run.cancels.as_ref()) {
            // Another agent may have the task, and is asked first. If nobody hears this, the answer says so.
            drop(cancels.send(answer));
            return;
        }
        // Who works for the task hears of it first, and has a while to stop (DE-6).
        if let Some(closing) = self.run.as_ref().and_then(|run| run.turn.close_calls()) {
            let (engine, live) = (self.journal.engine.clone(), self.journal.live.clone());
            self.journal.engine.drivers.spawn(async move {
                closing.await;
                // Nobody to ask any more means nobody who waits for the answer.
                drop(engine.command(&live, Command::Cancel(answer)));
            });
            return;
        }
        if self.run.is_none() {
            self.abandon_calls();
        }
        self.run = None;
        self.journal.put_status(TaskState::Canceled, None);
        self.canceling.push(answer);
    }

    /// Cancels what other agents do for a turn that nobody goes on with.
    fn abandon_calls(&self) {
        let notes = self.journal.live.read(|task| task.notes.clone());
        let options = &self.journal.engine.setup().options;
        if let (false, Some(passing)) = (notes.is_empty(), options.passing.as_ref().or(options.reach.as_ref())) {
            self.journal.engine.drivers.spawn(calls::abandon(passing.clone(), notes));
        }
    }

    // --- Turns ----------------------------------------------------------------------------------

    fn next_turn(&mut self) {
        if self.run.is_some() || self.journal.state().is_terminal() {
            return;
        }
        if let Some(opening) = self.queue.pop_front() {
            self.attempt = 1;
            self.start_turn(opening);
        }
    }

    /// Takes up the turn of a process that died: the client's last message once more.
    fn rerun(&mut self) {
        let live = &self.journal.live;
        let last = |task: &Task| task.history.iter().rev().find(|message| message.role == chancery_core::Role::User).cloned();
        let last = live.read(|task| calls::began(task).or_else(|| last(task)));
        let Some(message) = last else {
            self.journal.put_status(TaskState::Failed, Some(Message::agent("The task has no message to start again from.")));
            return;
        };
        let caller = self.journal.engine.caller_of(&live.scope);
        // The event also fences off the former holder, should it still be alive.
        self.journal.put_status(TaskState::Working, None);
        self.start_turn(Opening::again(message, caller));
    }

    fn start_turn(&mut self, opening: Opening) {
        let turn = self.turn_of(opening);
        let setup = self.journal.engine.setup();
        let refused = pass::receive::refused(setup.options.passing.as_deref(), &turn);
        let agent = refused.unwrap_or_else(|| setup.agent.clone().start(turn.clone()));
        let limit = setup.options.turn_timeout.and_then(|limit| Instant::now().checked_add(limit));
        let limit = limit.map(|at| Box::pin(tokio::time::sleep_until(at)));
        self.run = Some(Run { agent, turn, limit, cancels: None });
    }

    /// Goes on with a turn that hands its task over.
    fn hand_over(&mut self, handoff: Handoff) {
        self.be_born();
        let live = self.journal.live.clone();
        let Some(run) = &mut self.run else { return };
        let Some(passing) = run.turn.passing() else { return self.ended(Err(pass::perform::impossible())) };
        let (cancels, asked) = mpsc::unbounded_channel();
        let ride = Ride { turn: run.turn.clone(), live, passing, cancels: asked, canceling: Vec::new(), token: None, scope: None };
        (run.agent, run.limit, run.cancels) = (pass::perform::start(ride, handoff), None, Some(cancels));
    }

    /// Takes up the handoff of a process that died.
    fn resume_handoff(&mut self) {
        let live = self.journal.live.clone();
        let last = live.read(|task| task.history.iter().rev().find(|message| message.role == chancery_core::Role::User).cloned());
        let turn = self.turn_of(Opening::again(last.unwrap_or_default(), self.journal.engine.caller_of(&live.scope)));
        let record = pass::record::Record::read(turn.notes());
        let (Some(record), Some(passing)) = (record, turn.passing()) else {
            let words = Message::agent("The server was restarted, and can hand tasks over no more; the task was not finished.");
            return self.journal.put_status(TaskState::Failed, Some(words));
        };
        let (cancels, asked) = mpsc::unbounded_channel();
        let ride = Ride { turn: turn.clone(), live, passing, cancels: asked, canceling: Vec::new(), token: None, scope: None };
        self.run = Some(Run { agent: pass::perform::resume(ride, record), turn, limit: None, cancels: Some(cancels) });
    }

    fn turn_of(&self, opening: Opening) -> Turn {
        let Opening { message, caller, metadata, accepted_output_modes } = opening;
        let Journal { engine, live, context, .. } = &self.journal;
        let (mut history, artifacts, notes) = live.read(|task| {
            // The agent's question becomes history with the next event; this turn is after it.
            let asked = task.status.message.iter().filter(|_| task.status.state.is_interrupted());
            let history = task.history.iter().chain(asked).cloned().collect::<Vec<_>>();
            (history, task.artifacts.clone(), task.notes.clone())
        });
        // A message that is committed already, for the turn waited or is run again, is still this turn's own.
        // Its id alone does not tell: there are clients that use one id for everything.
        if let Some(own) = history.iter().rposition(|known| *known == message) {
            history.remove(own);
        }
        Turn::new(Shared {
            message,
            task: live.id.clone(),
            context: context.clone(),
            history,
            artifacts,
            notes,
            caller,
            metadata,
            accepted_output_modes,
            attempt: self.attempt,
            engine: engine.clone(),
            desk: Desk::default(),
            text: OnceLock::new(),
            calls: OnceLock::new(),
        })
    }

    fn said(&mut self) {
        self.be_born();
        let mut heard = std::mem::take(&mut self.heard);
        let now = self.journal.now();
        for emitted in heard.drain(..) {
            if let Err(error) = emitted.put(&mut self.journal, now) {
                tracing::warn!(%error, "the agent said something that the protocol forbids");
                self.run = None;
                self.journal.put_status(TaskState::Failed, Some(Message::agent("The agent broke the protocol.")));
                break;
            }
        }
        heard.clear();
        self.heard = heard;
    }

    fn ended(&mut self, ending: Result<Ending, Failure>) {
        // What was said before the end comes first.
        if self.run.as_ref().is_some_and(|run| run.turn.desk().hear(&mut self.heard, None)) {
            self.said();
        }
        let outcome = match ending {
            Ok(Ending::Outcome(Outcome::Transferred(handoff))) => return self.hand_over(*handoff),
            Ok(Ending::Outcome(outcome)) => Ok(Some(outcome)),
            Ok(Ending::Said) => Ok(None),
            Err(failure) => Err(failure),
        };
        let Some(run) = self.run.take() else { return };
        let unread = run.turn.desk().close();
        match outcome {
            Ok(Some(Outcome::Reply(message))) if self.unborn.is_some() => return self.reply(message),
            Ok(None) => {}
            Ok(Some(outcome)) => {
                self.be_born();
                self.put_outcome(outcome);
            }
            Err(failure) => {
                tracing::warn!(cause = ?failure.cause(), "the agent failed");
                self.be_born();
                self.journal.put_status(TaskState::Failed, Some(Message::agent(failure.told())));
            }
        }
        self.queue.extend(unread.into_iter().map(|message| Opening::again(message, run.turn.caller().clone())));
        self.next_turn();
    }

    /// Answers with a message; there is no task, and nothing is stored but the idempotency record.
    fn reply(&mut self, mut message: Message) {
        let Some(unborn) = self.unborn.take() else { return };
        let Journal { engine, live, context, .. } = &self.journal;
        message.context_id = Some(context.clone());
        // v0.1 names its tasks itself and finds the answer under that name.
        message.task_id = unborn.send.create_missing.then(|| live.id.clone());
        let Unborn { key, answer: waiting, .. } = *unborn;
        match key.map(|key| *key) {
            None => drop(waiting.send(Ok(Answer::Message(Box::new(message))))),
            Some(Keyed { mut record, held }) => {
                let (engine, scope) = (engine.clone(), live.scope.clone());
                record.answer = KeyAnswer::Message(serde_json::to_vec(&message).unwrap_or_default().into());
                let drivers = engine.drivers.clone();
                let store = async move {
                    let stored = engine.store.put_key(&scope, record, engine.now()).await;
                    let answer = stored.map(|()| Answer::Message(Box::new(message))).map_err(crate::engine::unavailable);
                    drop(waiting.send(answer));
                    drop(held);
                };
                drivers.spawn(store);
            }
        }
    }

    fn put_outcome(&mut self, outcome: Outcome) {
        let journal = &mut self.journal;
        match outcome {
            Outcome::Completed => journal.put_status(TaskState::Completed, None),
            Outcome::Reply(message) => journal.put_status(TaskState::Completed, Some(message)),
            Outcome::CompletedWith(artifact) => {
                let update = ArtifactUpdate::new(journal.live.id.clone(), journal.context.clone(), *artifact).last();
                journal.put(Entry::new(update));
                journal.put_status(TaskState::Completed, None);
            }
            Outcome::InputRequired(message) => journal.put_status(TaskState::InputRequired, Some(message)),
            Outcome::AuthRequired(message) => journal.put_status(TaskState::AuthRequired, Some(message)),
            Outcome::Rejected(message) => journal.put_status(TaskState::Rejected, Some(message)),
            Outcome::Failed(message) => journal.put_status(TaskState::Failed, Some(message)),
            // Such a turn goes on; it does not come here.
            Outcome::Transferred(_) => {}
        }
    }

    // --- Answers --------------------------------------------------------------------------------

    /// Answers whoever waited for a commit, but for those who wait for the end of a finished task: they are
    /// told when the driver is gone.
    fn committed(&mut self, committed: Result<Committed>, finished: &mut Vec<Waiting>) {
        let Committed { state, seq } = match committed {
            Ok(committed) => committed,
            Err(error) => {
                tracing::error!(%error, "the task cannot be committed");
                return self.give_up(error);
            }
        };
        let ready =
            |waiting: &mut Waiting| waiting.seq <= seq && (waiting.wait != Wait::Done || state.is_terminal() || state.is_interrupted());
        if state.is_terminal() {
            match finished.is_empty() && self.waiting.iter_mut().all(ready) {
                true => std::mem::swap(finished, &mut self.waiting),
                false => finished.extend(self.waiting.extract_if(.., ready)),
            }
            for answer in self.canceling.drain(..) {
                drop(answer.send(Ok(())));
            }
        } else {
            for waiting in self.waiting.extract_if(.., ready) {
                // A caller that went away changes nothing about the task.
                drop(waiting.answer.send(Ok(Answer::Task(waiting.seq))));
            }
        }
        if state.is_interrupted() {
            // A client may take long to answer; there may be many such tasks.
            self.waiting.shrink_to_fit();
            self.heard = Vec::new();
        }
    }

    /// Stops without another word about the task: somebody else has it, or the store is gone.
    fn give_up(&mut self, error: Error) {
        self.run = None;
        self.gone = true;
        let Journal { engine, live, .. } = &self.journal;
        engine.drop_live(live);
        live.leave();
        live.abandon();
        // The next look at the store finds out whether it is still ours.
        engine.orphan(live.scope.clone(), live.id.clone());
        let (kind, words) = (error.kind(), error.message().to_owned());
        for answer in self.canceling.drain(..) {
            drop(answer.send(Err(Error::new(kind, words.clone()))));
        }
        for ask in self.deferred.drain(..) {
            drop(ask.answer.send(Err(Error::new(kind, words.clone()))));
        }
        // Whoever began the task hears the cause too: a key that was taken is answered by the other request.
        let mut first = Some(error);
        for waiting in self.waiting.drain(..) {
            drop(waiting.answer.send(Err(first.take().unwrap_or_else(|| Error::new(kind, words.clone())))));
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Dropped in the middle of its work, as when the runtime ends: nobody must wait for it.
        if !self.gone {
            self.journal.live.abandon();
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // What the agent left running elsewhere hears that the turn is over.
        drop(self.turn.desk().close());
    }
}

impl Opening {
    fn new(message: Message, caller: Caller, send: &mut SendMessage) -> Self {
        let metadata = std::mem::take(&mut send.metadata);
        let accepted_output_modes = std::mem::take(&mut send.configuration.accepted_output_modes);
        Self { message, caller, metadata, accepted_output_modes }
    }

    /// A message of which no more is known.
    fn again(message: Message, caller: Caller) -> Self {
        Self { message, caller, metadata: Object::new(), accepted_output_modes: Vec::new() }
    }
}
