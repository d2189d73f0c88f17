//! Checks of versions, extensions, errors, and of what each binding looks like.

use chancery_core::{Binding, ErrorKind, Operation};
use http::Method;
use serde_json::{Value, json};

use super::{Checked, HELLO, Miss, NOBODY, demand, done, message, refused};
use crate::{
    agent::Place,
    interface::{Fault, Interface, Mutation, name},
};

/// An error that every agent can be made to answer.
async fn unknown_task(interface: &Interface) -> Result<(Fault, super::Answer), Miss> {
    let answer = interface.call(Operation::GetTask, json!({"id": NOBODY})).await?;
    let fault = answer.clone().fault("an unknown task")?;
    Ok((fault, answer))
}

/// What a version is answered with.
async fn versioned(interface: &Interface, mutation: &Mutation<'_>) -> Result<super::Answer, Miss> {
    interface.call_with(Operation::GetTask, json!({"id": NOBODY}), mutation).await
}

pub(super) async fn version(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let fault = versioned(interface, &Mutation::default()).await?.fault("an unknown task")?;
    demand!(
        !fault.is(ErrorKind::VersionNotSupported, interface.binding) || fault.kind == Some(ErrorKind::TaskNotFound),
        "version 1.0 answers {}",
        fault.words()
    );
    Ok(())
}

pub(super) async fn patch(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let fault = versioned(interface, &Mutation { version: Some("1.0.7"), ..Mutation::default() }).await?.fault("an unknown task")?;
    demand!(fault.is(ErrorKind::TaskNotFound, interface.binding), "version 1.0.7 answers {}", fault.words());
    Ok(())
}

pub(super) async fn version_unknown(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    for version in ["9.9", "nonsense"] {
        let answer = versioned(interface, &Mutation { version: Some(version), ..Mutation::default() }).await?;
        refused(interface, answer, &format!("version {version}"), ErrorKind::VersionNotSupported)?;
    }
    Ok(())
}

pub(super) async fn version_absent(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let fault =
        versioned(interface, &Mutation { version: Some(""), ..Mutation::default() }).await?.fault("a request of v1.0 without a version")?;
    // An interface that speaks 0.3 does not know the method; one that does not says so.
    let fine = [ErrorKind::VersionNotSupported, ErrorKind::MethodNotFound].iter().any(|kind| fault.is(*kind, interface.binding));
    demand!(fine, "a request of v1.0 without a version answers {}", fault.words());
    Ok(())
}

pub(super) async fn version_parameter(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let fault = versioned(interface, &Mutation { version: Some(""), query: "?A2A-Version=1.0", ..Mutation::default() })
        .await?
        .fault("an unknown task")?;
    match fault.is(ErrorKind::TaskNotFound, interface.binding) {
        true => Ok(()),
        false => Err(Miss::NotTested("the version is not taken from a parameter, and need not be".to_owned())),
    }
}

pub(super) async fn extension_required(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    if interface.extensions.is_empty() {
        return Err(Miss::NotTested("the card requires no extension".to_owned()));
    }
    let mutation = Mutation { extensions: Some(""), ..Mutation::default() };
    let answer = interface.call_with(Operation::SendMessage, json!({"message": message(HELLO)}), &mutation).await?;
    refused(interface, answer, "a message without the required extension", ErrorKind::ExtensionSupportRequired)
}

pub(super) async fn extension_unknown(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let mut all = interface.extensions.clone();
    all.push("urn:a2a-conformance:unknown/v1".to_owned());
    let fault =
        versioned(interface, &Mutation { extensions: Some(&all.join(",")), ..Mutation::default() }).await?.fault("an unknown task")?;
    demand!(fault.is(ErrorKind::TaskNotFound, interface.binding), "an unknown extension answers {}", fault.words());
    Ok(())
}

pub(super) async fn extension_echoed(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let Some(declared) = place.agent.card.capabilities.extensions.first() else {
        return Err(Miss::NotTested("the card declares no extension".to_owned()));
    };
    let mut all = interface.extensions.clone();
    if !all.contains(&declared.uri) {
        all.push(declared.uri.clone());
    }
    let mutation = Mutation { extensions: Some(&all.join(",")), ..Mutation::default() };
    let answer = interface.call_with(Operation::ListTasks, json!({"pageSize": 1}), &mutation).await?;
    let echoed = answer.headers.get("a2a-extensions").and_then(|value| value.to_str().ok()).unwrap_or_default();
    demand!(echoed.contains(&declared.uri), "the answer names the extensions {echoed:?}");
    Ok(())
}

pub(super) async fn error(place: &Place<'_>) -> Checked {
    unknown_task(place.interface()?).await.map(drop)
}

pub(super) async fn code_and_message(place: &Place<'_>) -> Checked {
    let (_, answer) = unknown_task(place.interface()?).await?;
    let error = &answer.body["error"];
    demand!(error["code"].is_i64() && error["message"].as_str().is_some_and(|text| !text.is_empty()), "the error is {error}");
    Ok(())
}

pub(super) async fn details(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let (fault, answer) = unknown_task(interface).await?;
    let error = &answer.body["error"];
    let held = if interface.binding == Binding::JsonRpc { &error["data"] } else { &error["details"] };
    demand!(held.is_null() || held.is_array(), "the details are no array");
    demand!(fault.details.iter().all(|detail| detail["@type"].is_string()), "a detail has no @type");
    if fault.details.is_empty() {
        return Err(Miss::NotTested("the error has no details".to_owned()));
    }
    Ok(())
}

pub(super) async fn mapped(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let answer = interface.call(Operation::GetTask, json!({"id": NOBODY})).await?;
    refused(interface, answer, "an unknown task", ErrorKind::TaskNotFound)?;
    let mut to_nobody = message(HELLO);
    to_nobody["taskId"] = json!(NOBODY);
    let answer = interface.call(Operation::SendMessage, json!({"message": to_nobody})).await?;
    refused(interface, answer, "a message to an unknown task", ErrorKind::TaskNotFound)
}

pub(super) async fn error_info(place: &Place<'_>) -> Checked {
    let (fault, _) = unknown_task(place.interface()?).await?;
    let Some(info) = fault.detail("google.rpc.ErrorInfo") else { return Err(Miss::Fail("there is no ErrorInfo".to_owned())) };
    demand!(info["reason"] == "TASK_NOT_FOUND" && info["domain"] == "a2a-protocol.org", "it is {} of {}", info["reason"], info["domain"]);
    Ok(())
}

pub(super) async fn bad_request(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let mut empty = message(HELLO);
    empty["parts"] = json!([]);
    let fault = interface.call(Operation::SendMessage, json!({"message": empty})).await?.fault("a message with no parts")?;
    let Some(detail) = fault.detail("google.rpc.BadRequest") else { return Err(Miss::Fail("there is no BadRequest".to_owned())) };
    demand!(detail["fieldViolations"].as_array().is_some_and(|all| !all.is_empty()), "BadRequest names no field");
    Ok(())
}

pub(super) async fn envelope(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    for id in [json!(7), json!("a2a-conformance")] {
        let answer = interface
            .call_with(Operation::GetTask, json!({"id": NOBODY}), &Mutation { id: Some(id.clone()), ..Mutation::default() })
            .await?;
        demand!(answer.body["jsonrpc"] == "2.0", "jsonrpc is {}", answer.body["jsonrpc"]);
        demand!(answer.body["id"] == id, "the id {id} comes back as {}", answer.body["id"]);
    }
    for (body, code) in [("{", -32700), ("[]", -32600), (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, -32600)] {
        let request = interface.raw(Method::POST, "", "application/json", Some(body.to_owned()), &Mutation::default());
        let answer = interface.answer(request).await?;
        demand!(answer.body["error"]["code"] == code, "{body} answers {}, expected {code}", answer.body["error"]["code"]);
    }
    Ok(())
}

pub(super) async fn rpc_media(place: &Place<'_>) -> Checked {
    let (_, answer) = unknown_task(place.interface()?).await?;
    demand!(answer.media.starts_with("application/json"), "the answer is {:?}", answer.media);
    Ok(())
}

pub(super) async fn methods(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    for (method, found) in [("A2aConformanceNoSuchMethod", false), ("getTask", false), ("GetTask", true)] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": NOBODY}});
        let answer =
            interface.answer(interface.raw(Method::POST, "", "application/json", Some(body.to_string()), &Mutation::default())).await?;
        let missing = answer.body["error"]["code"] == -32601;
        demand!(missing != found, "{method} answers {}", answer.body["error"]["code"]);
    }
    Ok(())
}

pub(super) async fn rpc_stream(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let mut flow = stream(place).await?;
    demand!(flow.status == 200 && flow.media.starts_with("text/event-stream"), "the stream is {} {:?}", flow.status, flow.media);
    while let Some(event) = flow.raw().await? {
        demand!(event["jsonrpc"] == "2.0" && event["id"] == 1, "an event of {} is no answer to the request", interface.url);
        demand!(event["result"].is_object(), "an event has no result");
    }
    Ok(())
}

pub(super) async fn rest_stream(place: &Place<'_>) -> Checked {
    let mut flow = stream(place).await?;
    demand!(flow.status == 200 && flow.media.starts_with("text/event-stream"), "the stream is {} {:?}", flow.status, flow.media);
    while let Some(event) = flow.raw().await? {
        let held = ["task", "message", "statusUpdate", "artifactUpdate"].iter().any(|name| event.get(*name).is_some());
        demand!(held, "an event is no StreamResponse: {event}");
    }
    Ok(())
}

async fn stream(place: &Place<'_>) -> Result<crate::interface::Events, Miss> {
    if place.agent.card.capabilities.streaming != Some(true) {
        return Err(Miss::NotTested("the card does not declare streaming".to_owned()));
    }
    match place.interface()?.open(Operation::StreamMessage, json!({"message": message(HELLO)})).await? {
        Ok(flow) => Ok(flow),
        Err(answer) => Err(Miss::Fail(format!("the answer is no stream but {:?}", answer.media))),
    }
}

pub(super) async fn rpc_error(place: &Place<'_>) -> Checked {
    let (_, answer) = unknown_task(place.interface()?).await?;
    let error = &answer.body["error"];
    demand!(error["code"].is_i64() && error["message"].is_string(), "the error is {error}");
    demand!(error.get("data").is_none_or(Value::is_array), "data is no array");
    demand!(answer.body.get("result").is_none(), "there is a result beside the error");
    Ok(())
}

pub(super) async fn code_range(place: &Place<'_>) -> Checked {
    let (fault, _) = unknown_task(place.interface()?).await?;
    demand!((-32099..=-32001).contains(&fault.code), "the code is {}", fault.code);
    Ok(())
}

pub(super) async fn rest_media(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let answer = interface.call(Operation::ListTasks, json!({"pageSize": 1})).await?;
    demand!(answer.media.starts_with("application/a2a+json"), "the answer is {:?}", answer.media);
    let mutation = Mutation { media: Some("application/json"), ..Mutation::default() };
    let mut to_nobody = message(HELLO);
    to_nobody["taskId"] = json!(NOBODY);
    let fault = interface.call_with(Operation::SendMessage, json!({"message": to_nobody}), &mutation).await?.fault("an unknown task")?;
    demand!(fault.is(ErrorKind::TaskNotFound, interface.binding), "application/json answers {}", fault.words());
    Ok(())
}

pub(super) async fn paths(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let answer = interface.answer(interface.raw(Method::GET, "/a2a-conformance-no-such-path", "", None, &Mutation::default())).await?;
    demand!(matches!(answer.status, 404 | 501), "an unknown path answers {}", answer.status);
    let answer = interface.call(Operation::ListTasks, json!({"pageSize": 1})).await?;
    demand!(answer.status == 200, "GET /tasks answers {}", answer.status);
    let answer = interface.answer(interface.raw(Method::DELETE, "/message:send", "", None, &Mutation::default())).await?;
    demand!(matches!(answer.status, 404 | 405), "DELETE /message:send answers {}", answer.status);
    Ok(())
}

pub(super) async fn query(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let page =
        interface.call(Operation::ListTasks, json!({"pageSize": 1, "contextId": "a2a-conformance-none"})).await?.result("ListTasks")?;
    demand!(page["pageSize"] == 1, "pageSize=1 in the query gives a pageSize of {}", page["pageSize"]);
    demand!(page["tasks"].as_array().is_none_or(Vec::is_empty), "contextId in the query does not count");
    Ok(())
}

pub(super) async fn percent(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let context = "a2a conformance/é&x=1";
    let mut own = message(HELLO);
    own["contextId"] = json!(context);
    let Ok(result) = interface.call(Operation::SendMessage, json!({"message": own})).await?.outcome else {
        return Err(Miss::NotTested("the agent does not take such a context".to_owned()));
    };
    if result["task"]["contextId"] != context {
        return Err(Miss::NotTested("the agent makes no task in such a context".to_owned()));
    }
    let page = interface.call(Operation::ListTasks, json!({"contextId": context})).await?.result("ListTasks")?;
    demand!(page["tasks"].as_array().is_some_and(|tasks| !tasks.is_empty()), "a context with special characters is not found by the query");
    Ok(())
}

pub(super) async fn rest_error(place: &Place<'_>) -> Checked {
    let (_, answer) = unknown_task(place.interface()?).await?;
    let error = &answer.body["error"];
    demand!(error["code"] == answer.status, "code is {}, and the status {}", error["code"], answer.status);
    demand!(error["status"] == "NOT_FOUND", "status is {}", error["status"]);
    demand!(error["message"].is_string() && error["details"].is_array(), "message or details are missing");
    Ok(())
}

pub(super) async fn grpc_service(place: &Place<'_>) -> Checked {
    unknown_task(place.interface()?).await.map(drop)
}

pub(super) async fn grpc_reason(place: &Place<'_>) -> Checked {
    let interface = place.interface()?;
    let task = done(interface).await?;
    // The status of gRPC is that of several errors: only ErrorInfo tells which one it is.
    let fault = interface.call(Operation::CancelTask, json!({"id": task["id"]})).await?.fault("canceling a task that has ended")?;
    demand!(fault.kind == Some(ErrorKind::TaskNotCancelable), "the reason is not told: {}", fault.words());
    Ok(())
}

pub(super) async fn same_operations(place: &Place<'_>) -> Checked {
    const ALL: [(Operation, &str); 6] = [
        (Operation::GetTask, "id"),
        (Operation::ListTasks, "contextId"),
        (Operation::CancelTask, "id"),
        (Operation::ListPushConfigs, "taskId"),
        (Operation::GetExtendedCard, "tenant_"),
        (Operation::SendMessage, "metadata_"),
    ];
    for interface in &place.agent.interfaces {
        for (operation, member) in ALL {
            let params = match operation {
                Operation::GetExtendedCard => json!({}),
                Operation::SendMessage => {
                    json!({"message": {"messageId": "m", "role": "ROLE_USER", "taskId": NOBODY, "parts": [{"text": HELLO}]}})
                }
                _ => json!({member: NOBODY}),
            };
            let answer = interface.call(operation, params).await?;
            let missing = answer.outcome.as_ref().err().is_some_and(|fault| match interface.binding {
                Binding::HttpJson => fault.code == 501 || (fault.code == 404 && fault.details.is_empty()),
                _ => fault.is(ErrorKind::MethodNotFound, interface.binding),
            });
            demand!(!missing, "{} is not there over {}", name(operation), interface.binding);
        }
    }
    Ok(())
}

/// Skips agents with one interface.
fn several(place: &Place<'_>) -> Checked {
    match place.agent.interfaces.len() {
        0 | 1 => Err(Miss::NotTested("there is only one interface to compare".to_owned())),
        _ => Ok(()),
    }
}

pub(super) async fn same_result(place: &Place<'_>) -> Checked {
    several(place)?;
    let Some(first) = place.agent.interfaces.first() else { return Ok(()) };
    let task = done(first).await?;
    let mut seen: Option<Value> = None;
    for interface in &place.agent.interfaces {
        let read = interface.call(Operation::GetTask, json!({"id": task["id"]})).await?;
        let read = read.result(&format!("GetTask over {} of a task made over {}", interface.binding, first.binding))?;
        // Free JSON has no integers in protobuf, so metadata is not compared.
        let shown = json!({"id": read["id"], "contextId": read["contextId"], "state": read["status"]["state"], "artifacts": ids(&read)});
        demand!(seen.as_ref().is_none_or(|seen| *seen == shown), "{} shows another task than {}", interface.binding, first.binding);
        seen = Some(shown);
    }
    Ok(())
}

fn ids(task: &Value) -> Vec<Value> {
    task["artifacts"].as_array().into_iter().flatten().map(|artifact| artifact["artifactId"].clone()).collect()
}

pub(super) async fn same_error(place: &Place<'_>) -> Checked {
    several(place)?;
    for interface in &place.agent.interfaces {
        let answer = interface.call(Operation::GetTask, json!({"id": NOBODY})).await?;
        refused(interface, answer, &format!("an unknown task over {}", interface.binding), ErrorKind::TaskNotFound)?;
    }
    Ok(())
}
