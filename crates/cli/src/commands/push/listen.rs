//! `a2a push listen`: a webhook that shows what it gets.

use std::{
    collections::HashMap,
    future::pending,
    time::{Duration, Instant},
};

use chancery_client::webhook::{Notification, Receiver, Rejection};
use chancery_core::{DeletePushConfig, Event, Operations as _, PushConfig, Version};
use chancery_engine::clock::{Clock as _, SystemClock};
use chancery_wire::facts;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};
use uuid::Uuid;

use super::hook::{Arrival, Hook};
use crate::{
    args::PushListen,
    connect::{self, Agent, Capability},
    context::Context,
    print::{Text, task::state},
    trouble::Trouble,
};

/// How long the other webhook may take.
const FORWARD: Duration = Duration::from_secs(15);

pub(crate) async fn run(context: &Context, args: &PushListen) -> Result<(), Trouble> {
    let status = StatusCode::from_u16(args.status).map_err(|_| Trouble::usage(format!("--status: {} is no status", args.status)))?;
    if !args.path.starts_with('/') {
        return Err(Trouble::usage(format!("--path: {} does not begin with /", args.path)));
    }
    if context.printer.is_json() && !context.settings.stream && !args.once {
        return Err(Trouble::usage("-o json needs --stream or --once").hint("a2a push listen -o json --stream"));
    }
    let agent = match &args.register {
        Some(task) => {
            let agent = connect::agent(context).await?;
            agent.require(Capability::PushNotifications, || {
                format!("a2a task get{} --wait {}", crate::resume::same(&context.settings), crate::resume::quoted(task))
            })?;
            Some(agent)
        }
        None => None,
    };
    let token = args.token.clone().or_else(|| agent.as_ref().map(|_| format!("{}{}", Uuid::now_v7().simple(), Uuid::now_v7().simple())));
    let (receiver, checks) = receiver(context, args, token.as_deref(), agent.as_ref()).await?;
    let hook = Hook::open(&args.listen).await?;
    if args.register.is_some() && args.public_url.is_none() && hook.address.ip().is_unspecified() {
        return Err(
            Trouble::usage(format!("nobody can call {}", hook.address)).hint("add --public-url URL: what the agent calls this machine by")
        );
    }
    let url = format!("http://{}{}", hook.address, args.path);
    let mut listener = Listener {
        context,
        lenient: (!args.only_verified).then(|| receiver.clone().unsigned_too()),
        receiver,
        checks,
        token: token.is_some(),
        path: &args.path,
        status,
        failing: args.fail_first,
        forward: args.forward.as_deref(),
        client: plain_client()?,
        // Heard before anything is registered, so that whatever is will be removed.
        interrupt: heard(SignalKind::interrupt())?,
        terminate: heard(SignalKind::terminate())?,
        left: if args.once { Some(1) } else { args.count },
        numbers: HashMap::new(),
        count: 0,
    };
    listener.say("Listening", &url)?;
    let registered = match (&agent, &args.register) {
        (Some(agent), Some(task)) => {
            let config = PushConfig::new(args.public_url.clone().unwrap_or(url)).for_task(task.as_str()).token(token.unwrap_or_default());
            let made = agent.client.create_push_config(&agent.caller(context), config).await;
            let made = made.map_err(|error| agent.trouble(context, error))?;
            listener.say("Registered", &format!("config {} on task {task}", made.id))?;
            Some((agent, DeletePushConfig::new(task.as_str(), made.id)))
        }
        _ => None,
    };
    let ended = listener.listen(hook).await;
    let Some((agent, delete)) = registered else { return ended };
    let id = delete.id.to_string();
    match agent.client.delete_push_config(&agent.caller(context), delete).await {
        Ok(()) => ended.and(listener.say("Removed", &format!("config {id}"))),
        Err(error) => {
            context.notes.warning(&format!("config {id} could not be removed: {error}"));
            ended
        }
    }
}

/// The receiver that the flags describe, and whether it checks signatures.
async fn receiver(context: &Context, args: &PushListen, token: Option<&str>, agent: Option<&Agent>) -> Result<(Receiver, bool), Trouble> {
    let mut receiver = Receiver::new().using(&connect::builder(context)?);
    if let Some(token) = token {
        receiver = receiver.token(token);
    }
    let unusable = |option: &str, error: &chancery_core::Error| Trouble::usage(format!("{option}: {}", crate::trouble::with_cause(error)));
    if let Some(name) = &args.hmac_secret_env {
        let secret = std::env::var(name).map_err(|_| Trouble::usage(format!("--hmac-secret-env: the variable {name} is not set")))?;
        return Ok((receiver.shared_secret(&secret).map_err(|error| unusable("--hmac-secret-env", &error))?, true));
    }
    match (&args.jwks, agent) {
        (Some(url), _) if url.starts_with("http://") || url.starts_with("https://") => {
            if url.ends_with("/.well-known/jwks.json") {
                return Ok((receiver.signed_by(url).map_err(|error| unusable("--jwks", &error))?, true));
            }
            let keys = plain_client()?.get(url).send().await.and_then(reqwest::Response::error_for_status);
            let keys = keys.map_err(|error| Trouble::unreachable(format!("--jwks: {}", crate::trouble::with_cause(&error))))?;
            let keys = keys.bytes().await.map_err(|error| Trouble::unreachable(format!("--jwks: {error}")))?;
            Ok((receiver.keys(&keys).map_err(|error| unusable("--jwks", &error))?, true))
        }
        (Some(file), _) => {
            let keys = crate::context::read(std::path::Path::new(file), "--jwks")?;
            Ok((receiver.keys(&keys).map_err(|error| unusable("--jwks", &error))?, true))
        }
        // The agent's own server says what it signs with.
        (None, Some(agent)) => {
            let url = agent.client.url();
            let url = if url.contains("://") { url } else { format!("https://{url}") };
            Ok((receiver.signed_by(&url).map_err(|error| unusable("--register", &error))?, true))
        }
        (None, None) if args.only_verified => {
            Err(Trouble::usage("--only-verified needs something to verify with").hint("add --jwks URL or --hmac-secret-env NAME"))
        }
        (None, None) => Ok((receiver, false)),
    }
}

/// A client that talks to nobody but the one it is told to.
fn plain_client() -> Result<reqwest::Client, Trouble> {
    let built = chancery_net::Client::trusted(&chancery_net::Options::new().connect_timeout(FORWARD).timeout(FORWARD));
    built.map_err(|error| Trouble::internal(format!("no HTTP client can be made: {error}")))
}

fn heard(kind: SignalKind) -> Result<Signal, Trouble> {
    signal(kind).map_err(|error| Trouble::internal(format!("signals cannot be heard: {error}")))
}

/// What is done with what arrives.
struct Listener<'a> {
    context: &'a Context,
    /// Refuses what is not signed rightly.
    receiver: Receiver,
    /// Takes that too.
    lenient: Option<Receiver>,
    checks: bool,
    token: bool,
    path: &'a str,
    status: StatusCode,
    failing: u32,
    forward: Option<&'a str>,
    client: reqwest::Client,
    interrupt: Signal,
    terminate: Signal,
    /// How many events are still waited for.
    left: Option<u64>,
    /// The number of each notification, by its id.
    numbers: HashMap<String, u64>,
    count: u64,
}

impl Listener<'_> {
    async fn listen(&mut self, mut hook: Hook) -> Result<(), Trouble> {
        let settings = &self.context.settings;
        let limit = settings.timeout.filter(|_| settings.timeout_given);
        let over = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => pending().await,
            }
        };
        let mut over = std::pin::pin!(over);
        while self.left != Some(0) {
            let arrival = tokio::select! {
                _ = self.interrupt.recv() => break,
                _ = self.terminate.recv() => break,
                () = &mut over => return Err(Trouble::timeout("the time of --timeout is over, and not everything came")),
                arrival = hook.next() => arrival,
            };
            let Some(arrival) = arrival else { break };
            let answered = self.take(&arrival).await;
            let status = answered.as_ref().map_or(StatusCode::SERVICE_UNAVAILABLE, |status| *status);
            arrival.answer(status);
            answered?;
        }
        hook.close().await;
        Ok(())
    }

    /// Looks at a delivery, and says what it is answered with.
    async fn take(&mut self, arrival: &Arrival) -> Result<StatusCode, Trouble> {
        if arrival.path != self.path {
            self.say("Refused", &format!("a delivery to {}, which is not the webhook", arrival.path))?;
            return Ok(StatusCode::NOT_FOUND);
        }
        if self.failing > 0 {
            self.failing -= 1;
            self.say("Failed", &format!("on purpose, {} more will", self.failing))?;
            return Ok(StatusCode::SERVICE_UNAVAILABLE);
        }
        let (notification, doubt) = match self.check(arrival).await {
            Ok(checked) => checked,
            Err(Rejection::Duplicate) => {
                let number = self.numbers.get(id(&arrival.headers)).copied().unwrap_or_default();
                self.say("Event", &format!("{number} duplicate, already seen"))?;
                return Ok(self.status);
            }
            Err(rejection) => {
                self.say("Refused", &crate::trouble::with_cause(&rejection))?;
                return Ok(rejection.status());
            }
        };
        let status = match self.forward {
            Some(url) => self.pass_on(url, arrival).await?,
            None => self.status,
        };
        if self.forward.is_some() && !status.is_success() {
            // It comes again, and then it is news.
            self.receiver.forget(&notification);
            return Ok(status);
        }
        self.count += 1;
        self.numbers.insert(id(&arrival.headers).to_owned(), self.count);
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.show(&notification, doubt.as_deref(), &arrival.body)?;
        Ok(status)
    }

    /// Checks a delivery; a signature that is not right is told as a doubt if it does not have to be right.
    async fn check(&self, arrival: &Arrival) -> Result<(Notification, Option<String>), Rejection> {
        let (headers, body) = (&arrival.headers, &arrival.body);
        match (self.receiver.receive(headers, body).await, &self.lenient) {
            (Err(rejection @ (Rejection::Signature(_) | Rejection::Keys(_))), Some(lenient)) => {
                let doubt = rejection.to_string();
                lenient.receive(headers, body).await.map(|notification| (notification, Some(doubt)))
            }
            (received, _) => received.map(|notification| (notification, None)),
        }
    }

    /// Sends a delivery on as it came, and gives the answer.
    async fn pass_on(&self, url: &str, arrival: &Arrival) -> Result<StatusCode, Trouble> {
        let mut headers = arrival.headers.clone();
        for name in ["host", "content-length", "connection", "transfer-encoding"] {
            headers.remove(name);
        }
        let begun = Instant::now();
        match self.client.post(url).headers(headers).body(arrival.body.clone()).send().await {
            Ok(answer) => {
                self.say("Forwarded", &format!("{} in {} ms", answer.status().as_u16(), begun.elapsed().as_millis()))?;
                Ok(answer.status())
            }
            Err(error) => {
                self.context.notes.warning(&format!("{url} could not be reached: {}", crate::trouble::with_cause(&error)));
                Ok(StatusCode::BAD_GATEWAY)
            }
        }
    }

    /// Shows a notification: as JSON what came, else a line about it.
    fn show(&self, notification: &Notification, doubt: Option<&str>, body: &[u8]) -> Result<(), Trouble> {
        if self.context.printer.is_json() {
            let raw: Option<Value> = serde_json::from_slice(body).ok().filter(|_| facts(notification.version).is_canonical);
            return match raw {
                Some(raw) => self.context.printer.document(&raw),
                None => self.context.printer.document(&notification.event),
            };
        }
        let token = if self.token { "token ok" } else { "token not checked" };
        let signature = match (&notification.signed_by, doubt) {
            (Some(key), _) => format!("signature verified kid={key}"),
            (None, Some(doubt)) => doubt.to_owned(),
            (None, None) if self.checks => "signature not verified".to_owned(),
            (None, None) => "signature not checked".to_owned(),
        };
        let version = if notification.version == Version::LATEST { String::new() } else { format!(", version {}", notification.version) };
        let line = format!("{} {} ({token}, {signature}{version}{})", self.count, what(&notification.event), late(&notification.event));
        self.say("Event", &line)
    }

    /// A line on stdout, or with JSON on stderr.
    fn say(&self, label: &str, value: &str) -> Result<(), Trouble> {
        if self.context.printer.is_json() {
            self.context.notes.say(&format!("{label}: {value}"));
            return Ok(());
        }
        let mut text = Text::default();
        text.field(label, &value.replace('\n', " "));
        self.context.printer.text(&text)
    }
}

/// `statusUpdate WORKING`
fn what(event: &Event) -> String {
    let about = |name: &str, more: String| format!("{name} {more}");
    match event {
        Event::Task(task) => about("task", state(task.status.state).to_owned()),
        Event::Status(update) => about("statusUpdate", state(update.status.state).to_owned()),
        Event::Artifact(update) => about("artifactUpdate", crate::print::task::name(&update.artifact).to_owned()),
        Event::Message(message) => about("message", message.message_id.to_string()),
        _ => "event".to_owned(),
    }
}

/// How long ago the change was, if the event tells and the clocks agree.
fn late(event: &Event) -> String {
    let at = match event {
        Event::Task(task) => task.status.timestamp,
        Event::Status(update) => update.status.timestamp,
        _ => None,
    };
    let now = SystemClock.now().unix_millis();
    match at.map(|at| now - at.unix_millis()) {
        Some(millis @ 0..10_000) => format!(", {millis} ms after the change"),
        Some(millis @ 10_000..86_400_000) => format!(", {} s after the change", millis / 1_000),
        _ => String::new(),
    }
}

fn id(headers: &HeaderMap) -> &str {
    headers.get("webhook-id").and_then(|value| value.to_str().ok()).unwrap_or_default()
}
