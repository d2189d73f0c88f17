//! Hands a task over, step by step, so that a crash between any two of them leaves one task in the end.
//!
//! ```text
//! checks --> PREPARED --message sent--> the other agent has a task --> COMMITTED --> relay, or the end
//!               |                          |
//!               `--- refused, gave up -----`--- canceled meanwhile ---> ABORTED
//! ```

use chancery_core::{
    Carried, ChainEntry, Error, ErrorKind, Grant, Message, Object, Part, Passage, Peer, Role, SendMessage, SendReply, Seq, Task, TaskState,
    Timestamp, Trail, Transfer, TransferContext, extension, handoff,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Handoff, OnAmbiguous, OnMessageReply, Refusal, RefusalCode as Code, Step, access,
    active::{ActiveHandoff, cancel, status},
    backoff::{is_transient, pause_after},
    record::{Passed, Record, State, Whereabouts},
    relay,
};
use crate::{
    agent::{Ending, Failure, Outcome, Running},
    store,
    turn::Emitted,
};

/// How often the other agent is asked.
const TRIES: u32 = 5;

/// Hands a task over, from the beginning.
pub(crate) fn start(active: ActiveHandoff, handoff: Handoff) -> Running {
    Box::pin(hand_over(active, handoff))
}

/// Goes on with a handoff that another process began.
pub(crate) fn resume(active: ActiveHandoff, record: Record) -> Running {
    Box::pin(go_on(active, record))
}

/// Why a step was not the last one.
enum Stop {
    Refused(Box<Refusal>),
    Canceled,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// How sending went.
enum Sent {
    /// There is nothing more to do.
    Over,
    Refused(Box<Refusal>, Box<Record>),
}

async fn hand_over(mut active: ActiveHandoff, mut handoff: Handoff) -> Result<Ending, Failure> {
    loop {
        let (refusal, record) = match prepare(&mut active, &handoff).await {
            Ok((record, peer)) => {
                let words = Message::agent(format!("Handing over to {}.", record.target));
                if !active.note(status(TaskState::Working, Some(words)), &record).await? {
                    return Ok(Ending::Said);
                }
                match send(&mut active, record, peer).await? {
                    Sent::Over => return Ok(Ending::Said),
                    Sent::Refused(refusal, record) => (refusal, Some(record)),
                }
            }
            Err(Stop::Refused(refusal)) => (refusal, None),
            Err(Stop::Canceled) => return canceled(&mut active, None, None).await,
        };
        tracing::warn!(code = ?refusal.code, target = refusal.target, reason = refusal.message, "the handoff came to nothing");
        let Some(otherwise) = &handoff.otherwise else {
            let escalate = handoff.escalate || active.passing.escalates(&refusal);
            return refuse(&mut active, *refusal, record, escalate).await;
        };
        let outcome = otherwise(&refusal);
        if let Some(record) = record {
            active.note(status(TaskState::Working, None), &record.aborted(Some(refusal.code))).await?;
        }
        match outcome {
            Outcome::Transferred(next) => handoff = *next,
            outcome => return Ok(Ending::Outcome(outcome)),
        }
    }
}

/// HO-15: the lease was ours to take; the first event fences off whoever had it.
async fn go_on(mut active: ActiveHandoff, mut record: Record) -> Result<Ending, Failure> {
    if record.state == State::Committed {
        return relay::run(active, record, true).await;
    }
    if record.state == State::Waiting {
        record = match answered(&mut active, record).await? {
            Ok(record) => record,
            Err(record) => return canceled(&mut active, Some(record), None).await,
        };
    }
    record.attempts += 1;
    if !active.note(status(TaskState::Working, None), &record).await? {
        return Ok(Ending::Said);
    }
    let escalate = record.escalate;
    let (refusal, record) = match reach(&mut active, &record.target).await {
        Ok(peer) if accepts(&peer) || active.passing.on_ambiguous == OnAmbiguous::Retry => match send(&mut active, record, peer).await? {
            Sent::Over => return Ok(Ending::Said),
            Sent::Refused(refusal, record) => (refusal, record),
        },
        Ok(_) => {
            let words = "this agent was restarted, and the other one cannot tell whether it has the task";
            (Box::new(Refusal::new(Code::Ambiguous, &record.target, words)), Box::new(record))
        }
        Err(Stop::Refused(refusal)) => (refusal, Box::new(record)),
        Err(Stop::Canceled) => return canceled(&mut active, Some(Box::new(record)), None).await,
    };
    refuse(&mut active, *refusal, Some(record), escalate).await
}

/// HO-10: everything that can be known before anything is sent.
async fn prepare(active: &mut ActiveHandoff, wanted: &Handoff) -> Result<(Record, Peer), Stop> {
    let (turn, passing) = (active.turn.clone(), active.passing.clone());
    let target = wanted.target.trim_end_matches('/').to_owned();
    let refused = |code, words: String| Refusal::new(code, target.clone(), words);
    let now = turn.now();
    let received = turn.handoff();
    let before = received.as_ref().map_or_else(|| Trail::of(turn.message()).unwrap_or_default(), |context| context.trail.clone());
    let entry = ChainEntry::new(turn.base_url(&passing), turn.task_id().clone(), now, Passage::Handoff);
    let trail = before.extended(entry, passing.max_hops);
    if trail.is_exhausted(passing.max_hops) {
        return Err(refused(Code::HopLimit, format!("the task was passed on {} times already", trail.hop - 1)).into());
    }
    let own = passing.base_urls.iter().map(String::as_str).filter(|_| passing.is_own(&target));
    if trail.visits(own.chain([target.as_str()]), Passage::Handoff) >= passing.max_visits {
        return Err(refused(Code::LoopDetected, "that agent had the task already".to_owned()).into());
    }
    let peer = reach(active, &target).await?;
    let step = Step {
        kind: Passage::Handoff,
        from: passing.base_url(),
        to: &target,
        card: &peer.card,
        requires: &wanted.requires,
        workflow: &wanted.workflow,
        caller: turn.caller(),
        received: received.as_ref(),
        trail: &trail,
        now,
    };
    let scope = permitted(active, &step).await?;
    active.scope.clone_from(&scope);
    let handoff_id = Uuid::now_v7().to_string();
    let mut context = TransferContext::new(turn.task_id().clone(), turn.base_url(&passing));
    (context.state, context.output_keys) = (wanted.state.clone(), wanted.output_keys.clone());
    context.originating_context_id = Some(turn.context_id().clone());
    (context.requires, context.workflow) = (wanted.requires.clone(), wanted.workflow.clone());
    (context.scope, context.deadline) = (scope, wanted.deadline);
    // Whoever was believed here about the user speaks for the same one there.
    context.on_behalf_of = access::spoken_for(Some(&passing), turn.caller(), turn.message()).or_else(|| access::user(turn.caller()));
    if let Some(trace) = &turn.caller().call().trace {
        (context.traceparent, context.tracestate) = (trace.parent.clone(), trace.state.clone());
    }
    let hop = trail.hop;
    (context.handoff_id, context.trail) = (handoff_id.clone(), trail);
    let parts = if wanted.parts.is_empty() { turn.message().parts.clone() } else { wanted.parts.clone() };
    let mut message = Message::new(Role::User, parts).id(handoff_id.clone());
    let told = context.state.is_empty() && context.output_keys.is_empty();
    if !told && !knows_handoffs(&peer) {
        // HO-2: an agent that does not know where to look still finds what it needs.
        let shown =
            json!({"from": context.originating_agent, "reason": wanted.reason, "state": context.state, "outputKeys": context.output_keys});
        message.parts.push(Part::data(json!({"handoff": shown})));
    }
    context.put(&mut message).map_err(|error| refused(Code::TooLarge, error.to_string()))?;
    let record = Record {
        handoff_id,
        target,
        state: State::Prepared,
        attempts: 1,
        reason: wanted.reason.chars().take(1_000).collect(),
        hop,
        escalate: wanted.escalate,
        relayed: passing.relay,
        message: Some(Box::new(message)),
        after: Some(turn.message().message_id.clone()),
        error: None,
        passed: None,
    };
    Ok((record, peer))
}

/// How far the other agent may reach, by what the task came with and by the policy. What the policy warns of, the status of the task says.
async fn permitted(active: &mut ActiveHandoff, step: &Step<'_>) -> Result<Option<Object>, Stop> {
    let scope = step.received.and_then(|context| context.scope.clone());
    let passing = active.passing.clone();
    let Some(policy) = &passing.policy else { return Ok(scope) };
    let granted = policy.check(step).map_err(|violation| {
        let words = "the other agent would reach further than the task may";
        let mut refusal = Refusal::new(Code::ScopeViolation, step.to, words);
        refusal.violation = Some(violation);
        refusal
    })?;
    active.token = policy.token(step);
    if let Some(violation) = policy.warning(step) {
        super::warn(&active.turn, step.to, violation).await;
    }
    Ok(granted.or(scope))
}

/// Finds the other agent, again and again while it cannot be reached.
async fn reach(active: &mut ActiveHandoff, target: &str) -> Result<Peer, Stop> {
    let peers = active.passing.peers.clone();
    for tries in 0.. {
        if active.is_canceled() {
            break;
        }
        match peers.peer(target).await {
            Ok(peer) => return Ok(peer),
            Err(error) if is_transient(&error) && tries + 1 < TRIES => active.pause(pause_after(Some(&error), tries)).await,
            Err(error) if is_transient(&error) => {
                return Err(Refusal::new(Code::TargetUnreachable, target, error.to_string()).retryable().into());
            }
            Err(error) => return Err(Refusal::new(Code::TargetUntrusted, target, error.to_string()).into()),
        }
    }
    Err(Stop::Canceled)
}

/// HO-12 to HO-14: has the other agent make the task, and then says so.
async fn send(active: &mut ActiveHandoff, mut record: Record, peer: Peer) -> Result<Sent, Failure> {
    loop {
        let reply = match ask(active, &record, &peer).await {
            Ok(reply) => reply,
            Err(Stop::Refused(refusal)) => return Ok(Sent::Refused(refusal, Box::new(record))),
            Err(Stop::Canceled) => return canceled(active, Some(Box::new(record)), None).await.map(|_| Sent::Over),
        };
        let task = match reply {
            SendReply::Task(task) => *task,
            SendReply::Message(message) => return replied(active, record, *message).await,
        };
        if active.is_canceled() {
            return canceled(active, Some(Box::new(record)), Some((&peer, &task))).await.map(|_| Sent::Over);
        }
        match task.status.state {
            TaskState::Rejected | TaskState::Failed | TaskState::Canceled => {
                let mut refusal = Refusal::new(Code::TargetRejected, record.target.clone(), "the other agent declined");
                refusal.said = task.status.message;
                return Ok(Sent::Refused(Box::new(refusal), Box::new(record)));
            }
            TaskState::AuthRequired => {
                record = match authorized(active, record, &peer, task).await? {
                    Ok(record) => record,
                    Err(record) => return canceled(active, Some(record), None).await.map(|_| Sent::Over),
                };
            }
            _ => return passed(active, record, &task).await,
        }
    }
}

/// Sends the message, again and again as HO-16 says.
async fn ask(active: &mut ActiveHandoff, record: &Record, peer: &Peer) -> Result<SendReply, Stop> {
    let message = record.message.as_deref().cloned().unwrap_or_default();
    for tries in 0.. {
        if active.is_canceled() {
            break;
        }
        let mut request = SendMessage::new(message.clone());
        request.configuration.return_immediately = true;
        let mut caller = active.caller(None);
        caller.call_mut().carried = active.token.clone().map(|token| Box::new(Carried::new(token, Object::new(), 0)));
        // The one who sends finishes its attempt, whoever cancels meanwhile (HO-17).
        match peer.operations.send_message(&caller, request).await {
            Ok(reply) => return Ok(reply),
            Err(error) if is_transient(&error) && tries + 1 < TRIES => active.pause(pause_after(Some(&error), tries)).await,
            Err(error) if is_transient(&error) => {
                return Err(Refusal::new(Code::TargetUnreachable, record.target.clone(), error.to_string()).retryable().into());
            }
            Err(error) => return Err(Refusal::new(Code::TargetRejected, record.target.clone(), error.to_string()).into()),
        }
    }
    Err(Stop::Canceled)
}

/// The other agent has the task.
async fn passed(active: &mut ActiveHandoff, mut record: Record, task: &Task) -> Result<Sent, Failure> {
    let mut transfer = Transfer::new(record.target.clone(), task.id.clone()).handoff(record.handoff_id.clone(), record.hop);
    transfer.reason.clone_from(&record.reason);
    transfer.context_id = task.context_id.clone().present();
    transfer.grant = Grant::of(&task.metadata);
    let head = Whereabouts::of(&transfer, 0, 0);
    (record.state, record.message) = (State::Committed, None);
    record.passed = Some(Box::new(Passed { transfer, seq: Seq::START, at: Timestamp::EPOCH, history: 0, artifacts: 0, head }));
    if active.pass(record).await?
        && let Some(record) = active.live.read(Record::of).filter(|record| record.relayed)
    {
        relay::watch(active, record, false).await?;
    }
    Ok(Sent::Over)
}

/// HO-18: the other agent answered, and there is no task to point to.
async fn replied(active: &mut ActiveHandoff, record: Record, message: Message) -> Result<Sent, Failure> {
    if active.passing.on_message_reply == OnMessageReply::Fail {
        return Ok(Sent::Refused(Box::new(no_task(&record)), Box::new(record)));
    }
    active.turn.note(status(TaskState::Completed, Some(message)), record.aborted(None).remarks()).await?;
    Ok(Sent::Over)
}

fn no_task(record: &Record) -> Refusal {
    Refusal::new(Code::TargetNoTask, record.target.clone(), "the other agent answered without a task")
}

/// HO-19: the other agent demands an authorization; the client is asked, and then it is tried anew.
async fn authorized(
    active: &mut ActiveHandoff,
    mut record: Record,
    peer: &Peer,
    task: Task,
) -> Result<Result<Record, Box<Record>>, Failure> {
    record.state = State::Waiting;
    let mut said = task.status.message.unwrap_or_else(|| Message::agent("The other agent demands an authorization."));
    said.role = Role::Agent;
    if !active.note(status(TaskState::AuthRequired, Some(said)), &record).await? {
        return Err(Failure::from("the task is over"));
    }
    if let Err(error) = cancel(peer, &active.caller(None), &task.id).await {
        tracing::debug!(%error, "the other agent keeps a task that nobody needs");
    }
    answered(active, record).await
}

/// Waits for the client, and makes the handoff a new one.
async fn answered(active: &mut ActiveHandoff, mut record: Record) -> Result<Result<Record, Box<Record>>, Failure> {
    let answer = tokio::select! {
        biased;
        canceling = active.cancels.recv() => {
            active.canceling.extend(canceling);
            return Ok(Err(Box::new(record)));
        }
        answer = active.turn.next_message() => answer,
    };
    let Some(answer) = answer else { return Err(Failure::from("the task is over")) };
    record.handoff_id = Uuid::now_v7().to_string();
    record.state = State::Prepared;
    record.after = Some(answer.message_id.clone());
    if let Some(message) = &mut record.message {
        message.message_id = record.handoff_id.as_str().into();
        message.parts.extend(answer.parts);
        if let Some(mut context) = TransferContext::of(message)? {
            context.handoff_id.clone_from(&record.handoff_id);
            context.put(message)?;
        }
    }
    if !active.note(status(TaskState::Working, None), &record).await? {
        return Err(Failure::from("the task is over"));
    }
    Ok(Ok(record))
}

/// HO-17: nobody is to have the task.
async fn canceled(active: &mut ActiveHandoff, record: Option<Box<Record>>, made: Option<(&Peer, &Task)>) -> Result<Ending, Failure> {
    if let Some((peer, task)) = made
        && let Err(error) = cancel(peer, &active.caller(None), &task.id).await
    {
        tracing::warn!(%error, "the other agent does not cancel the task it was given");
    }
    let update = status(TaskState::Canceled, None);
    match record {
        Some(record) => active.turn.note(update, record.aborted(Some(Code::Canceled)).remarks()).await?,
        None => active.turn.emit(Emitted::Status(Box::new(update))).await?,
    }
    active.told().await;
    Ok(Ending::Said)
}

/// HO-40: the task fails, or waits for its client, and says why.
async fn refuse(active: &mut ActiveHandoff, refusal: Refusal, record: Option<Box<Record>>, escalate: bool) -> Result<Ending, Failure> {
    let state = if escalate { TaskState::InputRequired } else { TaskState::Failed };
    let update = status(state, Some(refusal.to_message()));
    match record {
        Some(record) => active.turn.note(update, record.aborted(Some(refusal.code)).remarks()).await?,
        None => active.turn.emit(Emitted::Status(Box::new(update))).await?,
    }
    Ok(Ending::Said)
}

/// Whether an agent knows of handoffs.
fn knows_handoffs(peer: &Peer) -> bool {
    peer.card.capabilities.extensions.iter().any(|known| known.uri == extension::HANDOFF)
}

/// Whether an agent makes one task of one handoff, however often it is sent.
fn accepts(peer: &Peer) -> bool {
    let mut known = peer.card.capabilities.extensions.iter().filter(|known| known.uri == extension::HANDOFF);
    known.any(|known| known.params.as_ref().and_then(|params| params.get("accept")).and_then(Value::as_bool) == Some(true))
}

/// What an agent that cannot pass work on says when it is asked to.
pub(crate) fn impossible() -> Failure {
    Failure::from(Error::new(ErrorKind::UnsupportedOperation, "no way to other agents is configured"))
        .tell("This agent cannot hand tasks over.")
}

/// Puts the event that tells of a handoff into the journal: for those who go on here it is work, for all others the end.
pub(crate) fn commit(journal: &mut crate::journal::Journal, mut record: Record) {
    use chancery_core::{StatusUpdate, TaskStatus};
    let Some(task) = journal.projected() else { return };
    let (id, context, now) = (journal.live.id.clone(), journal.context.clone(), journal.engine.now());
    let mut status = TaskStatus::new(TaskState::Working).at(now);
    let mut metadata = chancery_core::Object::new();
    // HO-20: fixed when the task was made.
    record.relayed &= !task.record.aware;
    if let Some(passed) = &mut record.passed {
        (passed.seq, passed.at) = (journal.seq().next(), now);
        passed.artifacts = task.artifacts.len();
        passed.head.artifacts = task.artifacts.len();
        // The words of the status before become history with this event.
        passed.history = task.history.len() + usize::from(task.status.message.is_some());
        journal.passed = if record.relayed { store::Passed::Relayed } else { store::Passed::Away };
        if !record.relayed {
            handoff::mark(&mut status, &mut metadata, passed.transfer.to_object(), &id, &context);
        }
    }
    let mut update = StatusUpdate::new(id, context, status);
    update.metadata = metadata;
    journal.put(crate::state::Entry::new(update).noted(record.remarks()));
}
