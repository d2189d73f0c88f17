//! Driver: the single writer (actor) of one live task. It hears what is asked of it, runs its turns, and answers whoever waits.
//!
//! There is at most one driver per task and process. It owns everything that may change the task, so
//! nothing here is locked. What happens goes into its [`Journal`], which commits it.

mod ask;
mod run;

use std::{
    collections::VecDeque,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll},
};

use chancery_core::{Caller, Error, Message, PushConfigId, Result, SendConfiguration, SendMessage, Seq, TaskState};
use tokio::{sync::oneshot, task::coop, time::Sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tracing::Instrument as _;

use self::run::{Opening, Run};
use crate::{
    agent::{Ending, Failure},
    delegation::record,
    engine::Inner,
    journal::{Committed, Journal},
    keys::Keyed,
    live::Live,
    store,
    turn::Emitted,
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

impl Wait {
    /// What the sender of a message waits for, if it wants no stream.
    pub(crate) fn of(configuration: &SendConfiguration) -> Self {
        if configuration.return_immediately { Self::Taken } else { Self::Done }
    }
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

struct Driver {
    journal: Journal,
    run: Option<Run>,
    /// How often the current turn was begun.
    attempt: u32,
    /// Turns that wait for the one that is running.
    queue: VecDeque<Opening>,
    /// The message of a task that was not needed so far.
    unborn: Option<Box<Unborn>>,
    /// Whether the only one who knows of the task waits for its end, and has to be shown nothing of it but the answer.
    unshown: bool,
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
            match Box::pin(journal.engine.config_ids(&journal.live.owner, &journal.live.id)).await {
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
            unshown: false,
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
        let Some(lease) = engine.store.lease(&live.owner, &live.id).await?.filter(|lease| lease.holder != engine.holder) else {
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
            let mailbox = run.turn.mailbox();
            if may_speak {
                if mailbox.drain(&mut self.heard, None) {
                    return happened(Happened::Said);
                }
                match catch_unwind(AssertUnwindSafe(|| run.agent.as_mut().poll(cx))) {
                    Ok(Poll::Ready(outcome)) => return happened(Happened::Ended(Box::new(outcome))),
                    Err(_) => return happened(Happened::Panicked),
                    Ok(Poll::Pending) if mailbox.drain(&mut self.heard, Some(cx.waker())) => return happened(Happened::Said),
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
        if let Some(unborn) = &mut self.unborn
            && let Some(patience) = self.journal.engine.setup().options.task_after
        {
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
        engine.orphan(live.owner.clone(), live.id.clone());
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
