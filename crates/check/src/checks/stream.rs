//! Checks of streams.

use std::time::{Duration, Instant};

use chancery_core::{ErrorKind, Operation, Timestamp};
use serde_json::{Value, json};

use super::{Checked, HELLO, Miss, NOBODY, SHORT, demand, done, id, is_interrupted, is_terminal, refused, running, state};
use crate::{
    agent::Place,
    interface::{Events, Interface, words},
};

/// Skips agents that do not stream.
fn streams(place: &Place<'_>) -> Checked {
    match place.agent.card.capabilities.streaming {
        Some(true) => Ok(()),
        _ => Err(Miss::NotTested("the card does not declare streaming".to_owned())),
    }
}

async fn opened(interface: &Interface, operation: Operation, params: Value) -> Result<Events, Miss> {
    match interface.open(operation, params).await? {
        Ok(flow) => Ok(flow),
        Err(answer) => {
            let media = answer.media.clone();
            answer.result("the stream")?;
            Err(Miss::Fail(format!("the answer is no stream but {media:?}")))
        }
    }
}

/// Every event of a message.
async fn events(place: &Place<'_>, words: &str) -> Result<Vec<Value>, Miss> {
    streams(place)?;
    let mut flow = opened(place.interface()?, Operation::StreamMessage, json!({"message": message_of(words)})).await?;
    flow.all().await
}

/// The events of a task stream.
async fn task_events(place: &Place<'_>, words: &str) -> Result<Vec<Value>, Miss> {
    let events = events(place, words).await?;
    match events.iter().any(|event| event.get("message").is_some()) {
        true => Err(Miss::NotTested("the agent answers with a message".to_owned())),
        false => Ok(events),
    }
}

/// The state that an event tells.
fn told(event: &Value) -> Option<&str> {
    event["statusUpdate"]["status"]["state"].as_str().or_else(|| event["task"]["status"]["state"].as_str())
}

pub(super) async fn opens(place: &Place<'_>) -> Checked {
    let events = events(place, HELLO).await?;
    demand!(!events.is_empty(), "the stream ends without an event");
    Ok(())
}

pub(super) async fn message_only(events: &[Value]) -> Checked {
    demand!(events.len() == 1, "there are {} events beside the message", events.len().saturating_sub(1));
    Ok(())
}

pub(super) async fn message(place: &Place<'_>) -> Checked {
    let events = events(place, "message hi").await?;
    if !events.iter().any(|event| event.get("message").is_some()) {
        return Err(Miss::NotTested("the agent does not answer with messages".to_owned()));
    }
    message_only(&events).await
}

pub(super) async fn first(place: &Place<'_>) -> Checked {
    let events = task_events(place, HELLO).await?;
    demand!(events.first().is_some_and(|event| event["task"].is_object()), "the first event is not the Task");
    let rest = events.get(1..events.len().max(1)).unwrap_or_default();
    for (at, event) in rest.iter().enumerate() {
        let update = event["statusUpdate"].is_object() || event["artifactUpdate"].is_object();
        // A last snapshot before the end is allowed.
        demand!(update || (at + 1 == rest.len() && event["task"].is_object()), "event {} is no update", at + 2);
    }
    Ok(())
}

pub(super) async fn ends(place: &Place<'_>) -> Checked {
    let events = task_events(place, HELLO).await?;
    let last = events.last().and_then(told).unwrap_or_default();
    demand!(is_terminal(last) || is_interrupted(last), "the last event tells {last:?}");
    let early = events.iter().rev().skip(1).filter_map(told).any(is_terminal);
    demand!(!early || events.last().is_some_and(|event| event["task"].is_object()), "events follow the end of the task");
    Ok(())
}

pub(super) async fn progress(place: &Place<'_>) -> Checked {
    streams(place)?;
    let begun = Instant::now();
    let mut flow = opened(place.interface()?, Operation::StreamMessage, json!({"message": message_of(SHORT)})).await?;
    demand!(flow.next().await?.is_some(), "the stream ends without an event");
    let first = begun.elapsed();
    flow.all().await?;
    let whole = begun.elapsed();
    if whole < Duration::from_millis(500) {
        return Err(Miss::NotTested("the agent makes no task that takes time".to_owned()));
    }
    demand!(
        whole - first > Duration::from_millis(200),
        "the first event comes {:.1} s after the beginning, with all others",
        first.as_secs_f64()
    );
    Ok(())
}

fn message_of(words: &str) -> Value {
    super::message(words)
}

pub(super) async fn undeclared(place: &Place<'_>) -> Checked {
    if place.agent.card.capabilities.streaming == Some(true) {
        return Err(Miss::NotTested("the card declares streaming".to_owned()));
    }
    let interface = place.interface()?;
    match interface.open(Operation::StreamMessage, json!({"message": message_of(HELLO)})).await? {
        Ok(_) => Err(Miss::Fail("a stream is opened that the card does not declare".to_owned())),
        Err(answer) => refused(interface, answer, "a stream that the card does not declare", ErrorKind::UnsupportedOperation),
    }
}

/// Opens what must be refused.
async fn denied(interface: &Interface, operation: Operation, params: Value, what: &str, kind: ErrorKind) -> Checked {
    match interface.open(operation, params).await? {
        Err(answer) => refused(interface, answer, what, kind),
        // A stream whose first event is the error is accepted too.
        Ok(mut flow) => {
            let event = flow.raw().await?.unwrap_or_default();
            let code = event["error"]["code"].as_i64();
            let right = match interface.binding {
                chancery_core::Binding::HttpJson => i64::from(chancery_wire::errors::http_status(kind, chancery_core::Version::V1_0)),
                _ => i64::from(chancery_wire::errors::rpc_code(kind, chancery_core::Version::V1_0)),
            };
            demand!(code == Some(right), "{what} opens a stream");
            Ok(())
        }
    }
}

pub(super) async fn refusals(place: &Place<'_>) -> Checked {
    streams(place)?;
    let interface = place.interface()?;
    let mut to_nobody = message_of(HELLO);
    to_nobody["taskId"] = json!(NOBODY);
    denied(interface, Operation::StreamMessage, json!({"message": to_nobody}), "a stream to an unknown task", ErrorKind::TaskNotFound)
        .await?;
    let task = done(interface).await?;
    let mut late = message_of(HELLO);
    late["taskId"] = task["id"].clone();
    denied(
        interface,
        Operation::StreamMessage,
        json!({"message": late}),
        "a stream to a task that has ended",
        ErrorKind::UnsupportedOperation,
    )
    .await
}

pub(super) async fn one_member(place: &Place<'_>) -> Checked {
    for event in events(place, HELLO).await? {
        let held = ["task", "message", "statusUpdate", "artifactUpdate"].iter().filter(|name| event.get(**name).is_some()).count();
        demand!(held == 1, "an event holds {held} of task, message, statusUpdate and artifactUpdate");
    }
    Ok(())
}

pub(super) async fn update_shape(place: &Place<'_>) -> Checked {
    let events = task_events(place, HELLO).await?;
    let task = events.first().map(|event| event["task"].clone()).unwrap_or_default();
    for event in &events {
        for (name, held) in [("statusUpdate", "status"), ("artifactUpdate", "artifact")] {
            let Some(update) = event.get(name) else { continue };
            demand!(update["taskId"] == task["id"] && update["contextId"] == task["contextId"], "a {name} is of another task or context");
            demand!(update[held].is_object(), "a {name} has no {held}");
        }
    }
    Ok(())
}

pub(super) async fn order(place: &Place<'_>) -> Checked {
    let events = task_events(place, "stream 5").await?;
    let times: Vec<_> =
        events.iter().filter_map(|event| Timestamp::parse(event["statusUpdate"]["status"]["timestamp"].as_str()?).ok()).collect();
    demand!(times.windows(2).all(|pair| pair[0] <= pair[1]), "an older status comes after a newer one");
    let mut open = std::collections::BTreeSet::new();
    let mut text = std::collections::BTreeMap::<String, String>::new();
    for update in events.iter().filter_map(|event| event.get("artifactUpdate")) {
        let artifact = update["artifact"]["artifactId"].as_str().unwrap_or_default().to_owned();
        let more = update["append"] == true;
        demand!(!more || open.contains(&artifact), "a chunk is appended to an artifact that has not begun");
        open.insert(artifact.clone());
        let chunk: String = update["artifact"]["parts"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect();
        let whole = text.entry(artifact).or_default();
        if !more {
            whole.clear();
        }
        whole.push_str(&chunk);
    }
    let task = events.first().map(|event| event["task"]["id"].clone()).unwrap_or_default();
    let read = place.interface()?.call(Operation::GetTask, json!({"id": task})).await?.result("GetTask")?;
    for artifact in read["artifacts"].as_array().into_iter().flatten() {
        let stored: String = artifact["parts"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect();
        if let Some(streamed) = artifact["artifactId"].as_str().and_then(|id| text.get(id)) {
            demand!(*streamed == stored, "the chunks make {streamed:?}, and the task holds {stored:?}");
        }
    }
    Ok(())
}

/// The events after the first.
fn updates(events: Vec<Value>) -> Vec<Value> {
    events.into_iter().filter(|event| event.get("task").is_none()).collect()
}

/// Two subscriptions to a task that is still being worked on.
async fn two(place: &Place<'_>) -> Result<(Events, Events), Miss> {
    streams(place)?;
    let interface = place.interface()?;
    let task = running(interface, SHORT).await?;
    let first = opened(interface, Operation::Subscribe, json!({"id": task["id"]})).await?;
    let second = opened(interface, Operation::Subscribe, json!({"id": task["id"]})).await?;
    Ok((first, second))
}

pub(super) async fn same(place: &Place<'_>) -> Checked {
    let (mut first, mut second) = two(place).await?;
    let (first, second) = tokio::join!(first.all(), second.all());
    let (first, second) = (updates(first?), updates(second?));
    // What happened between both beginnings is in the second one's snapshot.
    demand!(first.ends_with(&second), "two streams differ: {} and {} updates", first.len(), second.len());
    demand!(!second.is_empty(), "a stream has no updates");
    Ok(())
}

pub(super) async fn closing(place: &Place<'_>) -> Checked {
    let (mut first, mut second) = two(place).await?;
    first.next().await?;
    drop(first);
    let events = second.all().await?;
    demand!(events.last().and_then(told).is_some_and(is_terminal), "the other stream ends before the task");
    Ok(())
}

pub(super) async fn independent(place: &Place<'_>) -> Checked {
    streams(place)?;
    let interface = place.interface()?;
    let mut flow = opened(interface, Operation::StreamMessage, json!({"message": message_of(SHORT)})).await?;
    let first = flow.next().await?.unwrap_or_default();
    drop(flow);
    let task = first["task"].clone();
    if id(&task).is_empty() {
        return Err(Miss::NotTested("the agent makes no tasks".to_owned()));
    }
    let begun = Instant::now();
    loop {
        let task = interface.call(Operation::GetTask, json!({"id": task["id"]})).await?.result("GetTask")?;
        if is_terminal(state(&task)) {
            demand!(state(&task) == "TASK_STATE_COMPLETED", "without its stream the task is {}", state(&task));
            return Ok(());
        }
        if begun.elapsed() >= interface.patience {
            let (state, time) = (state(&task), words(interface.patience));
            return Err(Miss::Late(format!("without its stream the task is still {state} after {time}")));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub(super) async fn snapshot(place: &Place<'_>) -> Checked {
    streams(place)?;
    let interface = place.interface()?;
    let task = running(interface, SHORT).await?;
    let mut flow = opened(interface, Operation::Subscribe, json!({"id": task["id"]})).await?;
    let first = flow.next().await?.unwrap_or_default();
    demand!(first["task"]["id"] == task["id"], "the first event is not the Task");
    Ok(())
}

pub(super) async fn subscription_ends(place: &Place<'_>) -> Checked {
    streams(place)?;
    let interface = place.interface()?;
    let task = running(interface, SHORT).await?;
    let events = opened(interface, Operation::Subscribe, json!({"id": task["id"]})).await?.all().await?;
    let last = events.last().and_then(told).unwrap_or_default();
    demand!(is_terminal(last) || is_interrupted(last), "the last event tells {last:?}");
    Ok(())
}

pub(super) async fn ended(place: &Place<'_>) -> Checked {
    streams(place)?;
    let interface = place.interface()?;
    let task = done(interface).await?;
    denied(
        interface,
        Operation::Subscribe,
        json!({"id": task["id"]}),
        "a subscription to a task that has ended",
        ErrorKind::UnsupportedOperation,
    )
    .await
}

pub(super) async fn unknown(place: &Place<'_>) -> Checked {
    streams(place)?;
    denied(place.interface()?, Operation::Subscribe, json!({"id": NOBODY}), "a subscription to an unknown task", ErrorKind::TaskNotFound)
        .await
}

pub(super) async fn subscription_undeclared(place: &Place<'_>) -> Checked {
    if place.agent.card.capabilities.streaming == Some(true) {
        return Err(Miss::NotTested("the card declares streaming".to_owned()));
    }
    let what = "a subscription that the card does not declare";
    denied(place.interface()?, Operation::Subscribe, json!({"id": NOBODY}), what, ErrorKind::UnsupportedOperation).await
}
