//! Checks of webhooks, and of the extended card.

use chancery_core::{ErrorKind, Operation};
use serde_json::{Value, json};

use super::{Checked, LONG, Miss, NOBODY, demand, dismissed, refused, running};
use crate::{agent::Place, interface::Interface};

/// A webhook that nobody answers at.
const HOOK: &str = "https://example.com/a2a-conformance";

fn declared(place: &Place<'_>) -> Checked {
    match place.agent.card.capabilities.push_notifications {
        Some(true) => Ok(()),
        _ => Err(Miss::NotTested("the card does not declare pushNotifications".to_owned())),
    }
}

/// A task with a webhook.
async fn hooked<'a>(place: &'a Place<'_>) -> Result<(&'a Interface, Value, Value), Miss> {
    declared(place)?;
    let interface = place.interface()?;
    let task = running(interface, LONG).await?;
    let params = json!({"taskId": task["id"], "url": HOOK, "token": "a2a-conformance"});
    let config = interface.call(Operation::CreatePushConfig, params).await?.result("a webhook")?;
    Ok((interface, task, config))
}

pub(super) async fn create(place: &Place<'_>) -> Checked {
    let (interface, task, config) = hooked(place).await?;
    dismissed(interface, &task).await;
    demand!(config["id"].as_str().is_some_and(|id| !id.is_empty()), "the config has no id");
    demand!(config["url"] == HOOK, "the config has the url {}", config["url"]);
    Ok(())
}

pub(super) async fn unknown_task(place: &Place<'_>) -> Checked {
    declared(place)?;
    let interface = place.interface()?;
    for (operation, params) in [
        (Operation::CreatePushConfig, json!({"taskId": NOBODY, "url": HOOK})),
        (Operation::ListPushConfigs, json!({"taskId": NOBODY})),
        (Operation::DeletePushConfig, json!({"taskId": NOBODY, "id": "none"})),
    ] {
        let answer = interface.call(operation, params).await?;
        refused(interface, answer, &format!("{operation:?} of an unknown task"), ErrorKind::TaskNotFound)?;
    }
    Ok(())
}

pub(super) async fn get(place: &Place<'_>) -> Checked {
    let (interface, task, config) = hooked(place).await?;
    let read = interface.call(Operation::GetPushConfig, json!({"taskId": task["id"], "id": config["id"]})).await?.result("the config");
    dismissed(interface, &task).await;
    let read = read?;
    demand!(read["url"] == HOOK && read["id"] == config["id"], "the config reads {} {}", read["id"], read["url"]);
    Ok(())
}

pub(super) async fn missing(place: &Place<'_>) -> Checked {
    let (interface, task, _) = hooked(place).await?;
    let answer = interface.call(Operation::GetPushConfig, json!({"taskId": task["id"], "id": "a2a-conformance-none"})).await?;
    dismissed(interface, &task).await;
    refused(interface, answer, "a webhook that is not there", ErrorKind::TaskNotFound)
}

async fn listed(interface: &Interface, task: &Value) -> Result<Vec<Value>, Miss> {
    let page = interface.call(Operation::ListPushConfigs, json!({"taskId": task["id"]})).await?.result("the list of webhooks")?;
    Ok(page["configs"].as_array().cloned().unwrap_or_default())
}

pub(super) async fn list(place: &Place<'_>) -> Checked {
    let (interface, task, config) = hooked(place).await?;
    let second = interface.call(Operation::CreatePushConfig, json!({"taskId": task["id"], "id": "a2a-conformance-2", "url": HOOK})).await;
    let all = listed(interface, &task).await;
    dismissed(interface, &task).await;
    let (second, all) = (second?.result("a second webhook")?, all?);
    for id in [&config["id"], &second["id"]] {
        demand!(all.iter().any(|one| one["id"] == *id), "the webhook {id} is not listed");
    }
    Ok(())
}

pub(super) async fn delete(place: &Place<'_>) -> Checked {
    let (interface, task, config) = hooked(place).await?;
    let deleted = interface.call(Operation::DeletePushConfig, json!({"taskId": task["id"], "id": config["id"]})).await;
    let all = listed(interface, &task).await;
    dismissed(interface, &task).await;
    deleted?.result("deleting a webhook")?;
    demand!(all?.iter().all(|one| one["id"] != config["id"]), "the deleted webhook is still listed");
    Ok(())
}

pub(super) async fn delete_twice(place: &Place<'_>) -> Checked {
    let (interface, task, config) = hooked(place).await?;
    let params = json!({"taskId": task["id"], "id": config["id"]});
    let first = interface.call(Operation::DeletePushConfig, params.clone()).await;
    let second = interface.call(Operation::DeletePushConfig, params).await;
    dismissed(interface, &task).await;
    first?.result("deleting a webhook")?;
    second?.result("deleting a webhook again").map(drop)
}

pub(super) async fn undeclared(place: &Place<'_>) -> Checked {
    if declared(place).is_ok() {
        return Err(Miss::NotTested("the card declares pushNotifications".to_owned()));
    }
    let interface = place.interface()?;
    for (operation, params) in [
        (Operation::CreatePushConfig, json!({"taskId": NOBODY, "url": HOOK})),
        (Operation::GetPushConfig, json!({"taskId": NOBODY, "id": "none"})),
        (Operation::ListPushConfigs, json!({"taskId": NOBODY})),
        (Operation::DeletePushConfig, json!({"taskId": NOBODY, "id": "none"})),
    ] {
        let answer = interface.call(operation, params).await?;
        refused(interface, answer, &format!("{operation:?} without the capability"), ErrorKind::PushNotificationNotSupported)?;
    }
    Ok(())
}

pub(super) async fn extended_needs_auth(place: &Place<'_>) -> Checked {
    if place.agent.card.capabilities.extended_agent_card != Some(true) {
        return Err(Miss::NotTested("the card does not declare an extended card".to_owned()));
    }
    if place.agent.has_credentials {
        return Err(Miss::NotTested("the calls carry credentials".to_owned()));
    }
    place.interface()?.call(Operation::GetExtendedCard, json!({})).await?.fault("the extended card without credentials").map(drop)
}

pub(super) async fn extended_undeclared(place: &Place<'_>) -> Checked {
    if place.agent.card.capabilities.extended_agent_card == Some(true) {
        return Err(Miss::NotTested("the card declares an extended card".to_owned()));
    }
    let interface = place.interface()?;
    let answer = interface.call(Operation::GetExtendedCard, json!({})).await?;
    refused(interface, answer, "an extended card that the card does not declare", ErrorKind::UnsupportedOperation)
}
