//! Checks of reading, listing and canceling tasks.

use chancery_core::{ErrorKind, Operation, Timestamp};
use serde_json::{Value, json};

use super::{Checked, LONG, Miss, NOBODY, demand, dismissed, done, id, message, refused, running, state};
use crate::{agent::Place, interface::Interface};

pub(super) async fn current(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = done(interface).await?;
    let first = interface.call(Operation::GetTask, json!({"id": task["id"]})).await?.result("GetTask")?;
    demand!(first["id"] == task["id"] && state(&first) == state(&task), "GetTask shows {} in {}", first["id"], state(&first));
    let count = |task: &Value| task["artifacts"].as_array().map_or(0, Vec::len);
    demand!(count(&first) == count(&task), "GetTask shows {} artifacts of {}", count(&first), count(&task));
    let second = interface.call(Operation::GetTask, json!({"id": task["id"]})).await?.result("GetTask")?;
    demand!(first == second, "the second answer differs from the first");
    Ok(())
}

pub(super) async fn unknown(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let answer = interface.call(Operation::GetTask, json!({"id": NOBODY})).await?;
    refused(interface, answer, "an unknown task", ErrorKind::TaskNotFound)
}

/// A task with several messages, if the agent keeps any.
async fn conversation(interface: &Interface) -> Result<Value, Miss> {
    let task = super::asking(interface).await?;
    let mut answer = message("Paris");
    answer["taskId"] = task["id"].clone();
    let result = interface.call(Operation::SendMessage, json!({"message": answer})).await?.result("an answer")?;
    let whole = interface.call(Operation::GetTask, json!({"id": result["task"]["id"]})).await?.result("GetTask")?;
    match whole["history"].as_array().map_or(0, Vec::len) {
        0 | 1 => Err(Miss::NotTested("the agent keeps no history of several messages".to_owned())),
        _ => Ok(whole),
    }
}

pub(super) async fn history_limit(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let whole = conversation(interface).await?;
    let cut =
        interface.call(Operation::GetTask, json!({"id": whole["id"], "historyLength": 1})).await?.result("GetTask with historyLength")?;
    let history = cut["history"].as_array().cloned().unwrap_or_default();
    demand!(history.len() <= 1, "historyLength 1 gives {} messages", history.len());
    let last = whole["history"].as_array().and_then(|all| all.last().cloned());
    demand!(history.is_empty() || history.last() == last.as_ref(), "historyLength 1 does not give the newest message");
    Ok(())
}

pub(super) async fn no_history(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = done(interface).await?;
    let cut =
        interface.call(Operation::GetTask, json!({"id": task["id"], "historyLength": 0})).await?.result("GetTask with historyLength")?;
    demand!(cut.get("history").is_none(), "history is there with {} messages", cut["history"].as_array().map_or(0, Vec::len));
    Ok(())
}

async fn list(interface: &Interface, params: Value) -> Result<Value, Miss> {
    interface.call(Operation::ListTasks, params).await?.result("ListTasks")
}

fn tasks(page: &Value) -> Vec<Value> {
    page["tasks"].as_array().cloned().unwrap_or_default()
}

/// A context with three tasks that have ended.
async fn three(interface: &Interface) -> Result<String, Miss> {
    let first = super::task(interface, "one", false).await?;
    let context = first["contextId"].as_str().unwrap_or_default().to_owned();
    for words in ["two", "three"] {
        let mut next = message(words);
        next["contextId"] = json!(context);
        interface.call(Operation::SendMessage, json!({"message": next})).await?.result("a message in a context")?;
    }
    let all = list(interface, json!({"contextId": context})).await?;
    match tasks(&all).len() {
        3.. => Ok(context),
        _ => Err(Miss::NotTested("the agent does not make a task for each message of a context".to_owned())),
    }
}

pub(super) async fn pages(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let context = three(interface).await?;
    let mut seen = Vec::new();
    let mut token = String::new();
    for _ in 0..5 {
        let mut params = json!({"contextId": context, "pageSize": 1});
        if !token.is_empty() {
            params["pageToken"] = json!(token);
        }
        let page = list(interface, params).await?;
        demand!(tasks(&page).len() <= 1, "a page of one holds {} tasks", tasks(&page).len());
        seen.extend(tasks(&page).iter().map(|task| id(task).to_owned()));
        token = page["nextPageToken"].as_str().unwrap_or_default().to_owned();
        if token.is_empty() {
            break;
        }
    }
    let mut once = seen.clone();
    once.sort();
    once.dedup();
    demand!(once.len() == 3 && seen.len() == 3, "pages of one show {} tasks, {} of them different, expected 3", seen.len(), once.len());
    let answer = interface.call(Operation::ListTasks, json!({"pageToken": "a2a conformance: no token"})).await?;
    answer.fault("an unreadable pageToken").map(drop)
}

pub(super) async fn order(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let context = three(interface).await?;
    let page = list(interface, json!({"contextId": context})).await?;
    let times: Vec<_> = tasks(&page).iter().filter_map(|task| Timestamp::parse(task["status"]["timestamp"].as_str()?).ok()).collect();
    if times.len() < 2 {
        return Err(Miss::NotTested("the tasks have no timestamps".to_owned()));
    }
    demand!(times.windows(2).all(|pair| pair[0] >= pair[1]), "an older status comes before a newer one");
    Ok(())
}

pub(super) async fn token(place: &Place<'_>) -> Checked {
    let page = list(place.interface()?, json!({"contextId": "a2a-conformance-no-such-context"})).await?;
    demand!(
        page["nextPageToken"] == "",
        "nextPageToken of the last page is {}",
        page.get("nextPageToken").map_or("absent".to_owned(), Value::to_string)
    );
    Ok(())
}

pub(super) async fn no_artifacts(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = done(interface).await?;
    let page = list(interface, json!({"contextId": task["contextId"]})).await?;
    demand!(!tasks(&page).is_empty(), "the task is not listed");
    demand!(tasks(&page).iter().all(|task| task.get("artifacts").is_none()), "artifacts are there without includeArtifacts");
    Ok(())
}

pub(super) async fn artifacts(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = done(interface).await?;
    let page = list(interface, json!({"contextId": task["contextId"], "includeArtifacts": true})).await?;
    demand!(tasks(&page).iter().all(|task| task["artifacts"].is_array()), "a task has no artifacts member");
    Ok(())
}

pub(super) async fn page_size(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let page = list(interface, json!({})).await?;
    demand!(tasks(&page).len() <= 50, "without a pageSize there are {} tasks", tasks(&page).len());
    for size in [0, -1, 101] {
        let answer = interface.call(Operation::ListTasks, json!({"pageSize": size})).await?;
        refused(interface, answer, &format!("a pageSize of {size}"), ErrorKind::InvalidParams)?;
    }
    Ok(())
}

pub(super) async fn since(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = done(interface).await?;
    let Some(time) = task["status"]["timestamp"].as_str() else { return Err(Miss::NotTested("the status has no timestamp".to_owned())) };
    let page = list(interface, json!({"contextId": task["contextId"], "statusTimestampAfter": time})).await?;
    demand!(tasks(&page).iter().any(|one| one["id"] == task["id"]), "a task that is exactly as new is left out");
    let page = list(interface, json!({"contextId": task["contextId"], "statusTimestampAfter": "2100-01-01T00:00:00Z"})).await?;
    demand!(tasks(&page).is_empty(), "{} tasks are newer than the year 2100", tasks(&page).len());
    Ok(())
}

pub(super) async fn sizes(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let context = three(interface).await?;
    let page = list(interface, json!({"contextId": context, "pageSize": 2})).await?;
    demand!(
        page["pageSize"] == 2 && page["totalSize"] == 3,
        "pageSize is {}, totalSize {}, expected 2 and 3",
        page["pageSize"],
        page["totalSize"]
    );
    Ok(())
}

pub(super) async fn filters(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = done(interface).await?;
    let both = list(interface, json!({"contextId": task["contextId"], "status": task["status"]["state"]})).await?;
    demand!(tasks(&both).iter().any(|one| one["id"] == task["id"]), "the task is not found by its context and its state");
    let other = list(interface, json!({"contextId": task["contextId"], "status": "TASK_STATE_REJECTED"})).await?;
    demand!(tasks(&other).iter().all(|one| one["id"] != task["id"]), "the task is found by a state that it is not in");
    Ok(())
}

pub(super) async fn cancel(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = running(interface, LONG).await?;
    let canceled = interface.call(Operation::CancelTask, json!({"id": task["id"]})).await?.result("CancelTask")?;
    demand!(canceled["id"] == task["id"] && state(&canceled) == "TASK_STATE_CANCELED", "the task is {}", state(&canceled));
    Ok(())
}

pub(super) async fn not_cancelable(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = done(interface).await?;
    let answer = interface.call(Operation::CancelTask, json!({"id": task["id"]})).await?;
    refused(interface, answer, "canceling a task that has ended", ErrorKind::TaskNotCancelable)
}

pub(super) async fn cancel_unknown(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let answer = interface.call(Operation::CancelTask, json!({"id": NOBODY})).await?;
    refused(interface, answer, "canceling an unknown task", ErrorKind::TaskNotFound)
}

pub(super) async fn cancel_again(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = running(interface, LONG).await?;
    dismissed(interface, &task).await;
    let again = interface.call(Operation::CancelTask, json!({"id": task["id"]})).await?;
    if let Err(fault) = &again.outcome {
        let fine = [ErrorKind::TaskNotCancelable, ErrorKind::TaskNotFound].iter().any(|kind| fault.is(*kind, interface.binding));
        demand!(fine, "canceling again answers {}", fault.words());
    }
    let answer = interface.call(Operation::GetTask, json!({"id": task["id"]})).await?;
    if let Ok(task) = answer.outcome {
        demand!(state(&task) == "TASK_STATE_CANCELED", "after canceling twice the task is {}", state(&task));
    }
    Ok(())
}
