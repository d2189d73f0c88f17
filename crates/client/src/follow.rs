//! Following a task that is handed over from agent to agent.
//!
//! ```text
//!  an event or a task tells of a Transfer
//!     |  Follow     is its agent one that may be followed to
//!     |  Journey      not too far, and not in a circle
//!     v
//!  card -> interface -> GetTask -> its events, or the task again and again
//!     with the credentials of the new origin only, and the grant for the task
//! ```

use std::{collections::HashSet, fmt, future::Future, pin::Pin, sync::Arc};

use chancery_core::{
    Caller, CancelTask, Error, ErrorKind, Event, GetTask, Message, Operations, Result, SendMessage, Task, TaskId, TraceContext, Transfer,
    extension,
};
use http::HeaderValue;
use url::Url;
use uuid::Uuid;

use crate::{
    client::Client,
    credentials::{Credentials, SharedCredentials},
    discover,
    reply::{Events, Reply},
    trouble::{Trouble, TroubleKind},
};

/// Whether tasks that are handed over are followed, and how far.
///
/// When nothing is said, they are followed to agents on the same origin. What is followed is what [`Client::send`],
/// [`Client::stream`] and [`Client::watch`] show; the operations of the protocol are calls to one agent.
///
/// ```
/// use chancery_client::{Client, Follow};
///
/// let builder = Client::builder().follow_handoffs(Follow::same_origin().host("billing.example.com").max_hops(3));
/// ```
#[derive(Debug, Clone)]
pub struct Follow {
    allow: Allow,
    hosts: Vec<String>,
    max_hops: u32,
    /// What is shown to other origins.
    pub(crate) credentials: SharedCredentials,
}

#[derive(Clone)]
enum Allow {
    Never,
    SameOrigin,
    Any,
    Ask(Arc<Asker>),
}

type Asker = dyn Fn(Handoff) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync;

impl fmt::Debug for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "Never",
            Self::SameOrigin => "SameOrigin",
            Self::Any => "Any",
            Self::Ask(_) => "Ask",
        })
    }
}

impl Default for Follow {
    fn default() -> Self {
        Self::same_origin()
    }
}

impl Follow {
    /// To agents on the same origin, and to [hosts](Self::host) that are named.
    #[must_use]
    pub fn same_origin() -> Self {
        Self::new(Allow::SameOrigin)
    }

    /// To nobody: the agent is not even told that the client knows what a handover is.
    #[must_use]
    pub fn never() -> Self {
        Self::new(Allow::Never)
    }

    /// To whatever agent is named.
    #[must_use]
    pub fn any() -> Self {
        Self::new(Allow::Any)
    }

    /// As [`same_origin`](Self::same_origin), and elsewhere if the function says so.
    ///
    /// ```
    /// use chancery_client::Follow;
    ///
    /// let follow = Follow::ask(|handoff| async move { handoff.to.ends_with(".example.com") });
    /// ```
    #[must_use]
    pub fn ask<F, R>(ask: F) -> Self
    where
        F: Fn(Handoff) -> R + Send + Sync + 'static,
        R: Future<Output = bool> + Send + 'static,
    {
        Self::new(Allow::Ask(Arc::new(move |handoff| Box::pin(ask(handoff)))))
    }

    fn new(allow: Allow) -> Self {
        Self { allow, hosts: Vec::new(), max_hops: 8, credentials: SharedCredentials::default() }
    }

    /// Also to agents on this host, given as `billing.example.com` or with its port.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Over how many handovers a task is followed; 8 when not said.
    #[must_use]
    pub fn max_hops(mut self, hops: u32) -> Self {
        self.max_hops = hops;
        self
    }

    /// The credentials for other origins; without this there are none. Those of the client are for its own origin only.
    #[must_use]
    pub fn credentials(mut self, credentials: impl Credentials + 'static) -> Self {
        self.credentials = SharedCredentials(Some(Arc::new(credentials)));
        self
    }

    /// Whether anything is followed at all.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self.allow, Allow::Never)
    }

    async fn allows(&self, head: &Head, handoff: &Handoff, card: &str) -> bool {
        let near = |url: &str| Url::parse(url).is_ok_and(|url| head.client.shares_origin(&url) || self.lists(&url, &head.agent));
        match &self.allow {
            Allow::Never => false,
            Allow::Any => true,
            Allow::SameOrigin => near(&handoff.to) && near(card),
            Allow::Ask(ask) => near(&handoff.to) && near(card) || ask(handoff.clone()).await,
        }
    }

    /// Whether a host was named, and is reached no less safely than the agent before.
    fn lists(&self, url: &Url, from: &str) -> bool {
        let secure = url.scheme() == "https" || from.starts_with("http://");
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or_default();
        secure && self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host) || known.eq_ignore_ascii_case(&format!("{host}:{port}")))
    }
}

/// A task went from one agent to another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handoff {
    /// The base URL of the agent that had the task.
    pub from: String,
    /// The base URL of the agent that has it now.
    pub to: String,
    /// The task there.
    pub task: TaskId,
    /// The number of this handover, from 1, as far as the client has followed.
    pub hop: u32,
    /// Why, in the agent's words; empty when it does not say.
    pub reason: String,
    /// Whether the client goes on with the task there.
    pub followed: bool,
}

impl fmt::Display for Handoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "handed over to {}, task {}", self.to, self.task)?;
        if self.reason.is_empty() { Ok(()) } else { write!(f, ": {}", self.reason) }
    }
}

/// Who has a task now: what is sent, read and canceled here reaches the agent that the task is with.
#[derive(Debug, Clone)]
pub struct Head {
    client: Client,
    /// The caller of every call to it: it shows what was granted for the task.
    caller: Caller,
    agent: Arc<str>,
    task: TaskId,
    hop: u32,
}

impl Head {
    /// The base URL of the agent.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The task there.
    #[must_use]
    pub fn task_id(&self) -> &TaskId {
        &self.task
    }

    /// How often the task was handed over on the way here.
    #[must_use]
    pub fn hop(&self) -> u32 {
        self.hop
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The client for the agent.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Sends a message to the task, and waits as [`Client::send`] does.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn send(&self, message: impl Into<Message>) -> Result<Reply> {
        self.request(message).send().await
    }

    /// Sends a message to the task, and watches what happens.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn stream(&self, message: impl Into<Message>) -> Result<Events> {
        self.request(message).stream().await
    }

    /// Reads the task.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn task(&self) -> Result<Task> {
        self.client.get_task(&self.caller, GetTask::new(self.task.clone())).await
    }

    /// Cancels the task.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn cancel(&self) -> Result<Task> {
        self.client.cancel_task(&self.caller, CancelTask::new(self.task.clone())).await
    }
}

/// The way of a task from agent to agent.
///
/// [`Client::send`] and [`Client::stream`] go it by themselves; this is for those who use the
/// [operations](chancery_core::Operations) and find a [`Transfer`] in an answer.
#[derive(Debug, Clone)]
pub struct Journey {
    head: Head,
    /// Agents and their tasks, as often as they were reached.
    seen: HashSet<(Arc<str>, TaskId)>,
    follow: Follow,
}

impl Journey {
    /// A way that begins with a task of this client's agent. The caller is the one of every call on the way.
    pub fn new(client: &Client, caller: Caller, task: impl Into<TaskId>) -> Self {
        let head = Head { client: client.clone(), caller, agent: client.base().into(), task: task.into(), hop: 0 };
        let seen = HashSet::from([(head.agent.clone(), head.task.clone())]);
        Self { head, seen, follow: client.settings().follow.clone() }
    }

    /// Who has the task now, as far as it was followed.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// What a transfer means here, and whether it is to be followed.
    pub async fn handoff(&self, transfer: &Transfer) -> Handoff {
        let mut handoff = Handoff {
            from: self.head.agent.to_string(),
            to: transfer.agent_endpoint.trim_end_matches('/').to_owned(),
            task: transfer.task_id.clone(),
            hop: self.head.hop + 1,
            reason: transfer.reason.clone(),
            followed: false,
        };
        handoff.followed = self.follow.allows(&self.head, &handoff, &card_url(transfer)).await;
        handoff
    }

    /// Goes to the agent of a transfer, and gives the task as it stands there. Whether that
    /// [may be](Self::handoff) is another question. When it fails, the head stays where it was.
    ///
    /// # Errors
    /// When the agent cannot be reached, its card is not to be trusted, the task cannot be read there, or the way leads
    /// too far or back to where it has been. An agent that wants other credentials is a
    /// [`TroubleKind::AuthRequired`].
    pub async fn follow(&mut self, transfer: &Transfer) -> Result<Task> {
        let target = transfer.agent_endpoint.trim_end_matches('/');
        let hop = self.head.hop + 1;
        if hop > self.follow.max_hops {
            return Err(lost("the task was handed over too often", target, TroubleKind::HandoffLimit));
        }
        let place = (Arc::from(target), transfer.task_id.clone());
        if self.seen.contains(&place) {
            return Err(lost("the task was handed over in a circle", target, TroubleKind::HandoffLoop));
        }
        let reached = self.reach(transfer, target).await;
        let (client, caller, task) =
            reached.map_err(|error| if wants_credentials(&error) { auth_required(error, target) } else { error })?;
        self.head = Head { client, caller, agent: place.0.clone(), task: place.1.clone(), hop };
        self.seen.insert(place);
        Ok(task)
    }

    async fn reach(&self, transfer: &Transfer, target: &str) -> Result<(Client, Caller, Task)> {
        let client = self.head.client.elsewhere(target, &card_url(transfer)).await?;
        let mut caller = self.head.caller.clone();
        caller.identity_mut().tenant.clear();
        let call = caller.call_mut();
        (call.idempotency_key, call.resume_after) = (None, None);
        call.grant = transfer.grant.as_ref().map(|grant| grant.token.clone());
        // The first request is part of the handover's trace, if the agent tells it.
        let told = |name: &str| transfer.other.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
        let mut first = caller.clone();
        if !told("traceparent").is_empty() && HeaderValue::from_str(told("traceparent")).is_ok() {
            first.call_mut().trace = Some(TraceContext::new(told("traceparent"), told("tracestate")));
        }
        let task = client.get_task(&first, GetTask::new(transfer.task_id.clone())).await?;
        Ok((client, caller, task))
    }
}

/// The transfer that an event tells of, if it tells of one.
pub(crate) fn transfer_of(event: &Event) -> Result<Option<Transfer>> {
    match event {
        Event::Task(task) => Transfer::of(&task.metadata),
        Event::Status(update) => Transfer::of(&update.metadata),
        _ => Ok(None),
    }
}

fn card_url(transfer: &Transfer) -> String {
    match transfer.card_url.as_str() {
        "" => format!("{}{}", transfer.agent_endpoint.trim_end_matches('/'), discover::AGENT_CARD),
        url => url.to_owned(),
    }
}

fn wants_credentials(error: &Error) -> bool {
    use TroubleKind::{CardRefused, CredentialsMissing, Refused};
    let by_kind = matches!(error.kind(), ErrorKind::Unauthenticated | ErrorKind::PermissionDenied);
    by_kind || Trouble::of(error).is_some_and(|trouble| matches!(trouble.kind(), CardRefused | CredentialsMissing | Refused))
}

fn auth_required(error: Error, target: &str) -> Error {
    let trouble = Trouble::new(TroubleKind::AuthRequired).because(error);
    Error::new(ErrorKind::Unauthenticated, format!("the task went on to {target}, which wants credentials that are not given"))
        .with("target", target)
        .caused_by(trouble)
}

fn lost(words: &str, target: &str, kind: TroubleKind) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, words).with("target", target).caused_by(Trouble::new(kind))
}

impl Client {
    /// The caller of calls that may lead further: it knows what a handover is, and one trace holds them together.
    pub(crate) fn traveler(&self) -> Caller {
        let caller = Caller::anonymous().trace(trace());
        if self.settings().follow.is_on() { caller.extension(extension::HANDOFF) } else { caller }
    }

    /// Follows the task of a stream of this client's agent wherever it is handed over to. The caller should have
    /// [`extension::HANDOFF`] active, or the agent may not tell.
    #[must_use]
    pub fn follow(&self, caller: &Caller, events: chancery_core::EventStream) -> Events {
        Events::new(self.clone(), caller.clone(), events, true)
    }

    /// Sends a message, and follows its task if it is handed over.
    pub(crate) async fn send_and_follow(&self, caller: Caller, request: SendMessage) -> Result<Reply> {
        let reply = self.send_message(&caller, request).await?;
        Reply::followed(self, caller, reply).await
    }
}

/// A new trace, of which nobody is told to keep anything.
fn trace() -> TraceContext {
    // The last half of such an id is random.
    let random = |id: Uuid| format!("{:016x}", id.as_u64_pair().1);
    TraceContext::new(format!("00-{}-{}-00", Uuid::now_v7().simple(), random(Uuid::now_v7())), "")
}
