//! The agent itself: its card, every interface of it, the version header, and a stream.

use std::time::{Duration, Instant};

use chancery_client::{Client, TaskWait};
use chancery_core::{
    Binding, CancelTask, Card, Error, ErrorKind, Event, GetTask, Interface, Message, Operations as _, SendMessage, Task, Version,
};
use http::Method;
use serde_json::{Value, json};
use url::Url;

use super::{Findings, here::is_local, readers, same, way};
use crate::{
    args::Doctor,
    card::{self, Broken, Found},
    connect,
    context::Context,
    print::card::interface,
    trouble::{TOO_LATE, Trouble, UNAUTHORIZED, UNREACHABLE, with_cause},
};

/// What makes a server write addresses into its cards that others can call.
const PUBLIC_URL: &str = "set public_url in [server] to what others call the server by, or start it with --public-url URL";
/// A task that nobody has.
const NOBODY: &str = "a2a-doctor-asks-for-a-task-that-does-not-exist";
/// A version that nobody speaks.
const NEVER: &str = "99.0";
/// Events that come within this time have come together.
const TOGETHER: Duration = Duration::from_millis(100);
/// Events that were made with this much time between them should not.
const APART: Duration = Duration::from_millis(500);

/// Looks at the agent that the settings name.
pub(super) async fn agent(context: &Context, args: &Doctor, findings: &mut Findings) {
    let (found, usable) = match card::examine(context).await {
        Ok(found) => (found, true),
        // What is left of a card that cannot be used says more.
        Err(Broken { rest: Some(found), .. }) => (*found, false),
        Err(Broken { trouble, .. }) => {
            findings.unreachable |= trouble.exit == UNREACHABLE;
            let next = trouble
                .hint
                .filter(|hint| !hint.contains("a2a doctor"))
                .unwrap_or_else(|| format!("a2a card get --debug{}", same(context)));
            return findings.problem("card", trouble.message, next);
        }
    };
    valid(context, &found, findings);
    misplaced(&found, findings);
    let body = as_others_get_it(context, &found).await.unwrap_or_else(|| found.body.to_vec());
    readers::look(&body, found.url.as_deref(), findings);
    let before = findings.count(super::Level::Problem);
    for (at, one) in found.card.supported_interfaces.iter().enumerate() {
        advertised(context, &found, at + 1, one, findings).await;
    }
    // Who cannot be called cannot be asked for more.
    if findings.count(super::Level::Problem) > before || !usable {
        return;
    }
    version_header(context, &found.card, findings).await;
    if args.read_only {
        return findings.ok("stream", "no message is sent, so streams are not looked at");
    }
    stream(context, &found, &args.message, findings).await;
}

/// Says everything that is wrong with the card itself.
fn valid(context: &Context, found: &Found, findings: &mut Findings) {
    let wrong = chancery_check::card(&found.body).findings;
    if wrong.is_empty() {
        return findings.ok("card", format!("the card of {:?} is found and valid", found.card.name));
    }
    for finding in wrong {
        let next = format!("a2a card get --validate{}", same(context));
        findings.problem("card", format!("the card is not valid: {finding}"), next);
    }
}

/// The card for whoever says no version, as the clients of others ask for it: it may have more members than ours.
async fn as_others_get_it(context: &Context, found: &Found) -> Option<Vec<u8>> {
    let client = way::client(context, context.settings.insecure).ok()?;
    let answer = client.request(Method::GET, found.url.as_deref()?).send().await.ok()?;
    if !answer.status().is_success() {
        return None;
    }
    answer.text().await.ok().map(String::into_bytes)
}

/// Looks at the interface of `--endpoint`.
pub(super) async fn endpoint(context: &Context, findings: &mut Findings) {
    match connect::agent(context).await {
        Ok(agent) => {
            let name = format!("{} {} {}", agent.client.binding(), agent.client.version(), agent.client.url());
            answers(context, &agent.client, &name, findings, "start it, or name another: -e URL".to_owned()).await;
        }
        Err(trouble) => findings.problem("interface", trouble.message, trouble.hint.unwrap_or_else(|| "a2a help references".to_owned())),
    }
}

/// Calls one interface of the card.
async fn advertised(context: &Context, found: &Found, number: usize, one: &Interface, findings: &mut Findings) {
    let name = format!("interface {number}, {},", interface(one));
    let Some(binding) = Binding::from_name(&one.protocol_binding) else {
        return findings.ok("interface", format!("{name} is of a kind that is not known here, and not called"));
    };
    let elsewhere = found.url.as_deref().and_then(host).is_some_and(|card| !is_local(&card));
    if found.url.as_deref().is_some_and(|url| url.starts_with("https://")) && one.url.starts_with("http://") {
        findings.warning(
            "interface",
            format!("{name} is not encrypted, and the card is"),
            "set public_url in [server] to https://… and restart",
        );
    }
    let client = match single(context, found, one, binding) {
        Ok(client) => client,
        Err(error) => {
            return findings.problem("interface", format!("{name} cannot be called: {}", with_cause(&error)), "correct it in the card");
        }
    };
    let next =
        if elsewhere && host(&one.url).is_some_and(|host| is_local(&host)) { PUBLIC_URL } else { "start it, or take it out of the card" };
    answers(context, &client, &name, findings, next.to_owned()).await;
}

/// The host of an address, which needs no scheme over gRPC.
fn host(url: &str) -> Option<String> {
    let url = if url.contains("://") { Url::parse(url) } else { Url::parse(&format!("http://{url}")) };
    url.ok()?.host_str().map(str::to_owned)
}

/// Says when interfaces are at addresses that mean another machine to everybody else, or none: a server that listens on all addresses does not
/// know what others call it by.
fn misplaced(found: &Found, findings: &mut Findings) {
    let nowhere = |host: &str| {
        let plain = host.trim_start_matches('[').trim_end_matches(']');
        plain.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_unspecified())
    };
    let card_host = found.url.as_deref().and_then(host).filter(|card| !is_local(card));
    let mut hosts: Vec<_> = found.card.supported_interfaces.iter().filter_map(|one| host(&one.url)).collect();
    hosts.sort();
    hosts.dedup();
    for host in hosts {
        if nowhere(&host) {
            let message =
                format!("the interfaces of the card are at {host}, which is where a server listens, and no address that others can call");
            findings.problem("interface", message, PUBLIC_URL);
        } else if let Some(card) = card_host.as_deref().filter(|_| is_local(&host)) {
            let message =
                format!("the card is fetched from {card}, and its interfaces are at {host}, which is another machine for everybody else");
            findings.problem("interface", message, PUBLIC_URL);
        }
    }
}

/// A client for one interface, with the rest of the card.
fn single(context: &Context, found: &Found, one: &Interface, binding: Binding) -> Result<Client, Trouble> {
    let mut card = found.card.clone();
    card.supported_interfaces = vec![one.clone()];
    let body = serde_json::to_vec(&card).map_err(|error| Trouble::internal(format!("the card is no JSON: {error}")))?;
    let builder = connect::builder(context)?.bindings([binding]).versions(Version::RELEASED).retries(0);
    Ok(builder.connect_card(&body, found.url.as_deref())?)
}

/// Asks for a task that does not exist: whoever says so understands what it is asked.
async fn answers(context: &Context, client: &Client, name: &str, findings: &mut Findings, restart: String) {
    let begun = Instant::now();
    let caller = chancery_core::Caller::anonymous().deadline(begun + context.call_limit());
    let asked = client.get_task(&caller, GetTask::new(NOBODY)).await;
    let took = begun.elapsed().as_millis();
    let Err(error) = asked else {
        return findings.warning(
            "interface",
            format!("{name} answers with a task that nobody made"),
            format!("a2a conformance{}", same(context)),
        );
    };
    let (kind, words) = (error.kind(), with_cause(&error));
    let exit = Trouble::from(error).exit;
    match kind {
        ErrorKind::TaskNotFound => findings.ok("interface", format!("{name} answers in {took} ms")),
        _ if exit == UNAUTHORIZED => {
            let card = client.card();
            let next = connect::ways_in(card.as_deref(), &same(context));
            findings.warning("interface", format!("{name} answers, and wants other credentials: {words}"), next);
        }
        _ if matches!(exit, UNREACHABLE | TOO_LATE) => {
            findings.problem("interface", format!("{name} is not reachable from here: {words}"), restart);
        }
        _ => {
            let message = format!("{name} does not say that a task which nobody has is not found: {words}");
            findings.problem("interface", message, format!("a2a conformance{}", same(context)));
        }
    }
}

/// Asks in a version that nobody speaks, which must be refused.
async fn version_header(context: &Context, card: &Card, findings: &mut Findings) {
    let current = |one: &&Interface| one.protocol_version.starts_with("1.") && one.url.starts_with("http");
    let known = |one: &&Interface| matches!(Binding::from_name(&one.protocol_binding), Some(Binding::JsonRpc | Binding::HttpJson));
    let Some(one) = card.supported_interfaces.iter().filter(current).find(known) else { return };
    let Ok(client) = way::client(context, context.settings.insecure) else { return };
    let is_rpc = Binding::from_name(&one.protocol_binding) == Some(Binding::JsonRpc);
    let request = if is_rpc {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": NOBODY, "tenant": one.tenant}});
        client.post(&one.url).header("content-type", "application/json").body(call.to_string())
    } else {
        let tenant = if one.tenant.is_empty() { String::new() } else { format!("/{}", one.tenant) };
        client.request(Method::GET, format!("{}{tenant}/tasks/{NOBODY}", one.url.trim_end_matches('/')))
    };
    let Ok(answer) = request.header(chancery_wire::headers::VERSION, NEVER).send().await else { return };
    let status = answer.status();
    let text = answer.text().await.unwrap_or_default();
    if matches!(status.as_u16(), 401 | 403) {
        return findings.ok("version", "the version header is not looked at: that wants credentials");
    }
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    let refused = body["error"]["code"] == -32009 || text.contains("VERSION_NOT_SUPPORTED") || text.contains("VersionNotSupported");
    if refused {
        findings.ok("version", "the version header is honored");
    } else {
        let message = format!("the version header is not honored: {NEVER} was answered with status {}", status.as_u16());
        findings.warning("version", message, format!("a2a conformance{}", same(context)));
    }
}

/// What was seen of a stream.
#[derive(Debug, Default)]
struct Seen {
    /// When each event came, since the call.
    came: Vec<Duration>,
    /// When the first and the last status was made, in milliseconds since 1970.
    made: Option<(i64, i64)>,
    task: Task,
}

/// Sends a message, and looks whether its events come one by one.
async fn stream(context: &Context, found: &Found, words: &str, findings: &mut Findings) {
    if !found.card.capabilities.streaming.unwrap_or(false) {
        return findings.ok("stream", "the card declares no streams");
    }
    let agent = match connect::agent(context).await {
        Ok(agent) => agent,
        Err(trouble) => {
            return findings.problem("stream", trouble.message, trouble.hint.unwrap_or_else(|| format!("a2a card get{}", same(context))));
        }
    };
    let caller = agent.caller(context);
    let again = format!("a2a send --stream --debug{} {}", same(context), crate::resume::quoted(words));
    let seen = match watched(&agent.client, &caller, words).await {
        Ok(seen) => seen,
        Err(error) if matches!(error.kind(), ErrorKind::Unauthenticated | ErrorKind::PermissionDenied) => {
            return findings.ok("stream", "streams are not looked at: that wants credentials");
        }
        Err(error) => return findings.problem("stream", format!("the stream broke: {}", with_cause(&error)), again),
    };
    if !seen.task.id.is_empty() && !seen.task.state().is_terminal() {
        // It was made only to be looked at; if it cannot be canceled, its agent will end it.
        drop(agent.client.cancel_task(&agent.caller(context), CancelTask::new(seen.task.id.clone())).await);
    }
    judge(&seen, findings, again);
}

/// Says whether something between us and the agent holds events back.
fn judge(seen: &Seen, findings: &mut Findings, again: String) {
    let (Some(first), Some(last)) = (seen.came.first(), seen.came.last()) else {
        return findings.problem("stream", "the stream ended without an event", again);
    };
    let count = super::count(seen.came.len(), "event");
    let apart = seen.made.and_then(|(first, last)| u64::try_from(last - first).ok()).map(Duration::from_millis).unwrap_or_default();
    let together = *last - *first <= TOGETHER;
    let seconds = last.as_secs_f64();
    if together && apart >= APART {
        let message = format!("stream events arrive in one lump after {seconds:.1} s; a proxy buffers text/event-stream");
        return findings.warning("stream", message, "turn buffering off in the proxy (nginx: proxy_buffering off)");
    }
    match together {
        true => findings.ok(
            "stream",
            format!("the stream works: {count} in {} ms, too fast to tell whether a proxy holds them back", last.as_millis()),
        ),
        false => findings.ok(
            "stream",
            format!("the stream is flushed event by event: {count} in {seconds:.1} s, the first after {} ms", first.as_millis()),
        ),
    }
}

/// Sends a message, and notes when each event comes.
async fn watched(client: &Client, caller: &chancery_core::Caller, words: &str) -> Result<Seen, Error> {
    let begun = Instant::now();
    let mut wait = TaskWait::send(client, caller.clone(), SendMessage::new(Message::user(words))).await?;
    let mut seen = Seen::default();
    while let Some(event) = wait.next().await? {
        seen.came.push(begun.elapsed());
        let status = match &event {
            Event::Task(task) => task.status.timestamp,
            Event::Status(update) => update.status.timestamp,
            _ => None,
        };
        if let Some(at) = status.map(|at| at.unix_millis()) {
            seen.made = Some(seen.made.map_or((at, at), |(first, _)| (first, at)));
        }
    }
    seen.task = wait.task().clone();
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(came: &[u64], made: Option<(i64, i64)>) -> (super::super::Level, String) {
        let mut findings = Findings::default();
        let seen = Seen { came: came.iter().map(|millis| Duration::from_millis(*millis)).collect(), made, task: Task::default() };
        judge(&seen, &mut findings, "again".to_owned());
        let finding = findings.all.pop().unwrap();
        (finding.level, finding.message)
    }

    #[test]
    fn events_that_were_made_apart_and_come_together_are_a_lump() {
        use super::super::Level;
        assert_eq!(verdict(&[5_000, 5_001, 5_002], Some((0, 4_900))).0, Level::Warning);
        assert_eq!(verdict(&[3, 4, 5_002], Some((0, 4_900))).0, Level::Ok);
        assert!(verdict(&[3, 4, 5], Some((0, 2))).1.contains("too fast"));
        assert!(verdict(&[900, 905], None).1.contains("too fast"));
        assert_eq!(verdict(&[], None).0, Level::Problem);
    }
}
