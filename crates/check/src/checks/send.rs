//! Checks of sending messages.

use std::time::{Duration, Instant};

use chancery_core::{ErrorKind, Operation};
use serde_json::{Value, json};

use super::{
    Checked, HELLO, LONG, Miss, NOBODY, SHORT, asking, demand, dismissed, done, id, is_interrupted, is_terminal, message, refused, state,
    task,
};
use crate::agent::Place;

pub(super) async fn either(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let result = interface.call(Operation::SendMessage, json!({"message": message(HELLO)})).await?.result("a message")?;
    let (task, message) = (result["task"].is_object(), result["message"].is_object());
    demand!(task != message, "the result holds {}", if task { "both a task and a message" } else { "neither a task nor a message" });
    Ok(())
}

pub(super) async fn terminal(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = done(interface).await?;
    let mut message = message("more");
    message["taskId"] = task["id"].clone();
    let answer = interface.call(Operation::SendMessage, json!({"message": message})).await?;
    refused(interface, answer, "a message to a task that has ended", ErrorKind::UnsupportedOperation)
}

pub(super) async fn unknown(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let mut message = message(HELLO);
    message["taskId"] = json!(NOBODY);
    let answer = interface.call(Operation::SendMessage, json!({"message": message})).await?;
    refused(interface, answer, "a message to an unknown task", ErrorKind::TaskNotFound)
}

pub(super) async fn not_created(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let mut message = message(HELLO);
    message["taskId"] = json!(NOBODY);
    interface.call(Operation::SendMessage, json!({"message": message})).await?.fault("a message to a task that the client named")?;
    let answer = interface.call(Operation::GetTask, json!({"id": NOBODY})).await?;
    demand!(answer.outcome.is_err(), "the task {NOBODY} is there now");
    Ok(())
}

pub(super) async fn media_type(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let modes = place.agent.input_modes();
    if modes.is_empty() || modes.iter().any(|mode| mode.contains('*')) {
        return Err(Miss::NotTested("the card takes every media type".to_owned()));
    }
    let mut message = message(HELLO);
    message["parts"] = json!([{"raw": "AAEC", "mediaType": "application/x-a2a-conformance", "filename": "x"}]);
    let answer = interface.call(Operation::SendMessage, json!({"message": message})).await?;
    refused(interface, answer, "a part of an undeclared media type", ErrorKind::ContentTypeNotSupported)
}

pub(super) async fn blocking(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = task(interface, SHORT, false).await?;
    demand!(is_terminal(state(&task)) || is_interrupted(state(&task)), "the answer comes with {}", state(&task));
    Ok(())
}

pub(super) async fn newest(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let sent = done(interface).await?;
    let read = interface.call(Operation::GetTask, json!({"id": sent["id"]})).await?.result("GetTask")?;
    demand!(sent["status"]["state"] == read["status"]["state"], "the answer says {}, GetTask {}", state(&sent), state(&read));
    let count = |task: &Value| task["artifacts"].as_array().map_or(0, Vec::len);
    demand!(count(&sent) == count(&read), "the answer has {} artifacts, GetTask {}", count(&sent), count(&read));
    Ok(())
}

pub(super) async fn immediate(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let begun = Instant::now();
    let task = super::running(interface, LONG).await?;
    let took = begun.elapsed();
    dismissed(interface, &task).await;
    demand!(took < Duration::from_secs(10), "the answer takes {:.1} s", took.as_secs_f64());
    Ok(())
}

pub(super) async fn unique(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let (first, second) = (task(interface, HELLO, false).await?, task(interface, HELLO, false).await?);
    demand!(!id(&first).is_empty() && id(&first) != id(&second), "two tasks have the id {:?}", id(&first));
    Ok(())
}

pub(super) async fn context(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let result = interface.call(Operation::SendMessage, json!({"message": message(HELLO)})).await?.result("a message")?;
    let context = result["task"]["contextId"].as_str().or(result["message"]["contextId"].as_str()).unwrap_or_default();
    demand!(!context.is_empty(), "the answer has no contextId");
    Ok(())
}

pub(super) async fn own_context(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let own = format!("a2a-conformance-{}", uuid::Uuid::now_v7());
    let mut message = message(HELLO);
    message["contextId"] = json!(own);
    let answer = interface.call(Operation::SendMessage, json!({"message": message})).await?;
    let Ok(result) = answer.outcome else { return Ok(()) };
    let context = result["task"]["contextId"].as_str().or(result["message"]["contextId"].as_str()).unwrap_or_default();
    demand!(context == own, "the contextId became {context:?}");
    Ok(())
}

pub(super) async fn derived(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = asking(interface).await?;
    let mut message = message("Paris");
    message["taskId"] = task["id"].clone();
    let result = interface.call(Operation::SendMessage, json!({"message": message})).await?.result("an answer with only a taskId")?;
    let context = if result["task"].is_object() { &result["task"]["contextId"] } else { &result["message"]["contextId"] };
    demand!(*context == task["contextId"], "the context is another one");
    Ok(())
}

pub(super) async fn mismatch(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = asking(interface).await?;
    let mut message = message("Paris");
    message["taskId"] = task["id"].clone();
    message["contextId"] = json!("a2a-conformance-another-context");
    let answer = interface.call(Operation::SendMessage, json!({"message": message})).await?;
    dismissed(interface, &task).await;
    answer.fault("a message with a foreign context").map(drop)
}

pub(super) async fn validated(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let mut without = Vec::new();
    for member in ["messageId", "role", "parts"] {
        let mut message = message(HELLO);
        if let Some(members) = message.as_object_mut() {
            members.remove(member);
        }
        without.push((format!("a message without {member}"), message));
    }
    let mut empty = message(HELLO);
    empty["parts"] = json!([]);
    without.push(("a message with no parts".to_owned(), empty));
    for (what, message) in without {
        let answer = interface.call(Operation::SendMessage, json!({"message": message})).await?;
        refused(interface, answer, &what, ErrorKind::InvalidParams)?;
    }
    let answer = interface.call(Operation::GetTask, json!({"id": NOBODY, "historyLength": -1})).await?;
    let fault = answer.fault("a negative historyLength")?;
    let fine = fault.is(ErrorKind::InvalidParams, interface.binding) || fault.is(ErrorKind::TaskNotFound, interface.binding);
    demand!(fine, "a negative historyLength answers {}", fault.words());
    Ok(())
}

pub(super) async fn unknown_members(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let mut message = message(HELLO);
    message["x-a2a-conformance"] = json!({"a": [1, 2]});
    interface
        .call(Operation::SendMessage, json!({"message": message, "somethingNew": true}))
        .await?
        .result("a message with unknown members")
        .map(drop)
}

pub(super) async fn task_shape(place: &Place<'_>) -> Checked {
    let task = done(place.interface()?).await?;
    demand!(!id(&task).is_empty() && task["status"].is_object(), "the task lacks id or status");
    Ok(())
}

pub(super) async fn state_shape(place: &Place<'_>) -> Checked {
    let task = done(place.interface()?).await?;
    const STATES: [&str; 8] = [
        "TASK_STATE_SUBMITTED",
        "TASK_STATE_WORKING",
        "TASK_STATE_COMPLETED",
        "TASK_STATE_FAILED",
        "TASK_STATE_CANCELED",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_REJECTED",
        "TASK_STATE_AUTH_REQUIRED",
    ];
    demand!(STATES.contains(&state(&task)), "the state is {:?}", state(&task));
    Ok(())
}

/// Every message in a task.
fn messages(task: &Value) -> Vec<Value> {
    let mut all = task["history"].as_array().cloned().unwrap_or_default();
    all.extend(task["status"].get("message").cloned());
    all
}

pub(super) async fn message_shape(place: &Place<'_>) -> Checked {
    let task = done(place.interface()?).await?;
    let all = messages(&task);
    if all.is_empty() {
        return Err(Miss::NotTested("the task holds no messages".to_owned()));
    }
    for message in all {
        demand!(message["messageId"].as_str().is_some_and(|id| !id.is_empty()), "a message has no messageId");
        demand!(matches!(message["role"].as_str(), Some("ROLE_USER" | "ROLE_AGENT")), "a message has the role {}", message["role"]);
        demand!(message["parts"].as_array().is_some_and(|parts| !parts.is_empty()), "a message has no parts");
    }
    Ok(())
}

pub(super) async fn part_shape(place: &Place<'_>) -> Checked {
    let task = done(place.interface()?).await?;
    let artifacts = task["artifacts"].as_array().cloned().unwrap_or_default();
    let holders = messages(&task).into_iter().chain(artifacts);
    let parts: Vec<_> = holders.flat_map(|holder| holder["parts"].as_array().cloned().unwrap_or_default()).collect();
    if parts.is_empty() {
        return Err(Miss::NotTested("the task holds no parts".to_owned()));
    }
    for part in parts {
        let held = ["text", "raw", "url", "data"].iter().filter(|name| part.get(**name).is_some()).count();
        demand!(held == 1, "a part holds {held} of text, raw, url and data");
    }
    Ok(())
}

pub(super) async fn artifact_shape(place: &Place<'_>) -> Checked {
    let task = done(place.interface()?).await?;
    let artifacts = task["artifacts"].as_array().cloned().unwrap_or_default();
    if artifacts.is_empty() {
        return Err(Miss::NotTested("the task has no artifacts".to_owned()));
    }
    let ids: std::collections::BTreeSet<_> = artifacts.iter().filter_map(|one| one["artifactId"].as_str()).collect();
    demand!(ids.len() == artifacts.len(), "{} artifacts have {} ids", artifacts.len(), ids.len());
    demand!(artifacts.iter().all(|one| one["parts"].as_array().is_some_and(|parts| !parts.is_empty())), "an artifact has no parts");
    Ok(())
}

pub(super) async fn enum_names(place: &Place<'_>) -> Checked {
    let task = done(place.interface()?).await?;
    demand!(state(&task).starts_with("TASK_STATE_"), "the state is {}", task["status"]["state"]);
    for message in messages(&task) {
        demand!(message["role"].as_str().is_some_and(|role| role.starts_with("ROLE_")), "a role is {}", message["role"]);
    }
    Ok(())
}

pub(super) async fn timestamps(place: &Place<'_>) -> Checked {
    let task = done(place.interface()?).await?;
    let Some(time) = task["status"]["timestamp"].as_str() else { return Err(Miss::NotTested("the status has no timestamp".to_owned())) };
    demand!(time.ends_with('Z') && chancery_core::Timestamp::parse(time).is_ok(), "the timestamp is {time:?}");
    Ok(())
}

pub(super) async fn no_kind(place: &Place<'_>) -> Checked {
    let task = done(place.interface()?).await?;
    demand!(task.get("kind").is_none(), "the task has a kind");
    demand!(messages(&task).iter().all(|message| message.get("kind").is_none()), "a message has a kind");
    Ok(())
}
