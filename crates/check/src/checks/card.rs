//! Checks of the agent card and how it is served.

use chancery_core::Operation;
use serde_json::{Value, json};

use super::{Checked, Miss, NOBODY, demand};
use crate::{agent::Place, interface::sent};

/// What was fetched; a card that was read from a file cannot be looked at.
fn served<'a>(place: &'a Place<'_>) -> Result<&'a http::HeaderMap, Miss> {
    place.agent.served.as_ref().map(|served| &served.1).ok_or_else(|| Miss::NotTested("the card was not fetched over HTTP".to_owned()))
}

fn header<'a>(place: &'a Place<'_>, name: &str) -> Result<Option<&'a str>, Miss> {
    Ok(served(place)?.get(name).and_then(|value| value.to_str().ok()))
}

pub(super) async fn available(place: &Place<'_>) -> Checked {
    demand!(place.agent.body.is_object(), "the card is no JSON object");
    Ok(())
}

pub(super) async fn well_known(place: &Place<'_>) -> Checked {
    served(place)?;
    let Some((url, _)) = &place.agent.served else { return Ok(()) };
    let parsed = url::Url::parse(url).map_err(|error| Miss::NotTested(error.to_string()))?;
    if parsed.path() != "/.well-known/agent-card.json" {
        return Err(Miss::NotTested("the card was named by a URL of its own".to_owned()));
    }
    demand!(place.agent.body["name"].is_string(), "what is there is no AgentCard");
    Ok(())
}

pub(super) async fn protocols(place: &Place<'_>) -> Checked {
    let interfaces = place.agent.body["supportedInterfaces"].as_array().cloned().unwrap_or_default();
    demand!(!interfaces.is_empty(), "supportedInterfaces is missing or empty");
    for (at, interface) in interfaces.iter().enumerate() {
        let binding = interface["protocolBinding"].as_str().unwrap_or_default();
        let known = matches!(binding, "JSONRPC" | "GRPC" | "HTTP+JSON") || binding.contains(':');
        demand!(known, "interface {} has the binding {binding:?}", at + 1);
        demand!(interface["protocolVersion"].as_str().is_some_and(|version| !version.is_empty()), "interface {} has no version", at + 1);
    }
    Ok(())
}

pub(super) async fn interface(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let answer = interface.call(Operation::GetTask, json!({"id": NOBODY})).await?;
    let spoken = answer.outcome.is_ok() || interface.binding == chancery_core::Binding::Grpc || answer.body.is_object();
    demand!(spoken, "{} does not speak {}: status {} {}", interface.url, interface.binding, answer.status, answer.media);
    Ok(())
}

pub(super) async fn required(place: &Place<'_>) -> Checked {
    let findings = crate::card(place.agent.body.to_string().as_bytes()).findings;
    demand!(findings.is_empty(), "{}", findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
    Ok(())
}

/// Looks at every text in a document, with the names that lead to it.
fn walk(value: &Value, look: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            look(name, value);
            walk(value, look);
        }),
        Value::Array(elements) => elements.iter().for_each(|value| walk(value, look)),
        _ => {}
    }
}

pub(super) async fn no_secrets(place: &Place<'_>) -> Checked {
    let mut found = Vec::new();
    walk(&place.agent.body, &mut |name, value| {
        let url = value.as_str().and_then(|text| url::Url::parse(text).ok());
        if url.is_some_and(|url| url.password().is_some()) {
            found.push(name.to_owned());
        }
    });
    demand!(found.is_empty(), "a password is in the URL of {}", found.join(", "));
    Ok(())
}

pub(super) async fn https(place: &Place<'_>) -> Checked {
    served(place)?;
    let url = place.agent.served.as_ref().and_then(|(url, _)| url::Url::parse(url).ok());
    let Some(url) = url else { return Err(Miss::NotTested("the URL of the card is not known".to_owned())) };
    if crate::agent::is_loopback(&url) {
        return Err(Miss::NotTested("the agent is on this machine".to_owned()));
    }
    demand!(url.scheme() == "https", "the card is served over {}", url.scheme());
    Ok(())
}

pub(super) async fn revalidated(place: &Place<'_>) -> Checked {
    let Some(etag) = header(place, "etag")? else { return Err(Miss::NotTested("the card has no ETag".to_owned())) };
    let Some((url, _)) = &place.agent.served else { return Ok(()) };
    let asked = place.agent.http.get(url).header("if-none-match", etag);
    let status = sent(asked, place.agent.patience).await?.status().as_u16();
    demand!(status == 304, "If-None-Match with the current ETag answers {status}");
    Ok(())
}

pub(super) async fn max_age(place: &Place<'_>) -> Checked {
    let value = header(place, "cache-control")?.unwrap_or_default();
    demand!(value.contains("max-age="), "the card has no max-age: {value:?}");
    Ok(())
}

pub(super) async fn etag(place: &Place<'_>) -> Checked {
    demand!(header(place, "etag")?.is_some(), "the card has no ETag");
    Ok(())
}

pub(super) async fn last_modified(place: &Place<'_>) -> Checked {
    match header(place, "last-modified")? {
        Some(_) => Ok(()),
        None => Err(Miss::NotTested("the card has no Last-Modified, and needs none".to_owned())),
    }
}

fn declared(place: &Place<'_>) -> Vec<String> {
    let interfaces = place.agent.body["supportedInterfaces"].as_array().cloned().unwrap_or_default();
    interfaces.iter().filter_map(|one| one["protocolVersion"].as_str().map(str::to_owned)).collect()
}

pub(super) async fn versions(place: &Place<'_>) -> Checked {
    for version in declared(place) {
        let numbers: Vec<_> = version.split('.').collect();
        let fine = numbers.len() >= 2 && numbers.iter().all(|number| number.parse::<u32>().is_ok());
        demand!(fine, "{version:?} is no Major.Minor");
    }
    Ok(())
}

pub(super) async fn no_patch(place: &Place<'_>) -> Checked {
    for version in declared(place) {
        demand!(version.split('.').count() == 2, "{version:?} has a patch number");
    }
    Ok(())
}

pub(super) async fn camel_case(place: &Place<'_>) -> Checked {
    let mut found = Vec::new();
    // Names of schemes, scopes and values of metadata are free.
    const FREE: [&str; 5] = ["securitySchemes", "scopes", "schemes", "params", "metadata"];
    fn look(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    if name.contains('_') {
                        found.push(name.clone());
                    }
                    if !FREE.contains(&name.as_str()) {
                        look(value, found);
                    }
                }
            }
            Value::Array(elements) => elements.iter().for_each(|value| look(value, found)),
            _ => {}
        }
    }
    look(&place.agent.body, &mut found);
    demand!(found.is_empty(), "{} is not camelCase", found.join(", "));
    Ok(())
}
