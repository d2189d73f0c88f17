//! A check for every requirement, named like it. Each runs the program and looks at what it did.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};

use super::trial::{Checked, Miss, Ran, Trial, agree, demand, refusing};

/// The fields of an object, for messages.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Skips what this build does not have.
fn built(ran: &Ran, what: &str) -> Checked {
    if ran.is_not_built() {
        return Err(Miss::NotMeasured(format!("{what} is not built yet")));
    }
    Ok(())
}

/// The card of an agent of the demo that this build may not have.
fn variant(trial: &Trial<'_>, name: &str) -> Result<String, Miss> {
    let at = trial.at(name);
    match trial.run(&["card", "get", "-a", &at, "-o", "json"])?.code {
        0 => Ok(at),
        _ => Err(Miss::NotMeasured(format!("the demo server has no agent at {name}"))),
    }
}

/// A card of the demo that was changed, as a file.
fn changed(trial: &Trial<'_>, name: &str, change: impl FnOnce(&mut Value)) -> Result<String, Miss> {
    let mut card = trial.json(&["card", "get"])?;
    change(&mut card);
    trial.write(&trial.work(name), card.to_string())?;
    Ok(format!("./{name}"))
}

/// A card whose only interface is somewhere else, and which wants a credential.
fn secured(port: u16, address: &str, scheme: &Value) -> Value {
    let url = format!("{address}:{port}/");
    json!({
        "name": "Secure", "description": "Wants a credential", "version": "1",
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["s"]}],
        "securitySchemes": {"s": scheme}, "securityRequirements": [{"schemes": {"s": {"list": []}}}],
    })
}

pub(super) fn card_get_001(trial: &Trial<'_>) -> Checked {
    let card = trial.ok(&["card", "get", "-o", "json"])?.out;
    trial.write(&trial.work("c.json"), card)?;
    let host = trial.at("");
    let (url, file) = (format!("http://{host}/.well-known/agent-card.json"), format!("file://{}", trial.work("c.json").display()));
    for reference in [host.as_str(), &url, &file, "./c.json"] {
        let card = trial.json(&["card", "get", "-a", reference])?;
        demand!(card["name"] == "Demo", "{reference} gives the card {}", text(&card["name"]));
    }
    let ran = trial.ok(&["send", "-a", "./c.json", "request"])?;
    demand!(ran.fact("Binding") == "JSONRPC", "the first interface of the card is JSONRPC, and {} was used", ran.fact("Binding"));
    Ok(())
}

pub(super) fn send_001(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["send", "hi"])?;
    demand!(ran.field("State") == "COMPLETED", "State is {:?}", ran.field("State"));
    Ok(())
}

pub(super) fn send_002(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["send", "slow 2s"])?;
    demand!(ran.took >= Duration::from_secs(2), "send returned after {:?}, before the task ended", ran.took);
    for flag in ["--async", "--return-immediately", "--no-wait"] {
        let ran = trial.ok(&["send", flag, "slow 60s", "-o", "json"])?;
        let reply = ran.json()?;
        demand!(reply["task"]["id"].is_string() && reply["task"]["contextId"].is_string(), "{flag} names no ids");
        demand!(reply["task"]["status"]["state"] != "TASK_STATE_COMPLETED", "{flag} waited for the end");
    }
    Ok(())
}

pub(super) fn send_003(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["send", "--stream", "stream 5"])?;
    demand!(ran.out.contains("  1\n  2\n  3\n  4\n  5\n") && ran.field("State") == "COMPLETED", "the stream is not shown whole");
    let ran = trial.ok(&["send", "-a", &trial.at("/nostream"), "--stream", "hi"])?;
    demand!(ran.field("State") == "COMPLETED", "without a stream the state is {:?}", ran.field("State"));
    let ran = trial.ok(&["send", "--stream", "message hi"])?;
    demand!(ran.out.contains("  hi\n"), "a message that is the whole answer is not shown");
    Ok(())
}

pub(super) fn send_004(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["send", "files"])?;
    let count = |label: &str| ran.out.lines().filter(|line| line.starts_with(label)).count();
    let seen = (count("Text:"), count("Data:"), count("File: "));
    demand!(seen == (1, 1, 2), "of one text, one data and two files are shown: {seen:?}");
    Ok(())
}

pub(super) fn send_005(trial: &Trial<'_>) -> Checked {
    trial.write(&trial.work("x.bin"), [0, 1, 2])?;
    trial.write(&trial.work("y.csv"), "a,b")?;
    let ran = trial.ok(&["send", "parts", "--file", "x.bin", "--media-type", "application/pdf", "--file", "y.csv"])?;
    demand!(
        ran.out.contains("  2 file application/pdf x.bin") && ran.out.contains("  3 file text/csv y.csv"),
        "the types are wrong: {}",
        ran.out
    );
    let code = trial.run(&["send", "--media-type", "a/b"])?.code;
    demand!(code == 2, "--media-type before any part ends with {code}");
    Ok(())
}

pub(super) fn send_006(trial: &Trial<'_>) -> Checked {
    trial.write(&trial.work("x.bin"), [0, 1, 2])?;
    let ran = trial.run_with(r#"{"a":1}"#, &["send", "--text", "parts", "--data", "-", "--text", "end", "--file", "x.bin"])?;
    let kinds: Vec<_> = ran.out.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().nth(1)).collect();
    demand!(kinds == ["text", "data", "text", "file"], "the parts came as {kinds:?}");
    Ok(())
}

/// The id of a task that has ended.
fn ended(trial: &Trial<'_>, words: &str) -> Result<String, Miss> {
    Ok(text(&trial.json(&["send", words])?["task"]["id"]))
}

pub(super) fn task_get_001(trial: &Trial<'_>) -> Checked {
    let task = ended(trial, "hi")?;
    let ran = trial.ok(&["task", "get", &task, "--history", "5"])?;
    demand!(ran.field("State") == "COMPLETED", "State is {:?}", ran.field("State"));
    demand!(ran.out.contains("Artifact: ") && ran.out.contains("Text:\n  hi\n"), "the artifact is not shown");
    demand!(ran.out.contains("History: 1 of "), "the history is not shown");
    Ok(())
}

pub(super) fn task_cancel_001(trial: &Trial<'_>) -> Checked {
    let task = trial.task("slow 60s")?;
    for time in ["first", "second"] {
        let ran = trial.ok(&["task", "cancel", &task])?;
        demand!(ran.field("State") == "CANCELED", "the {time} time State is {:?}", ran.field("State"));
    }
    Ok(())
}

pub(super) fn interact_001(trial: &Trial<'_>) -> Checked {
    let first = trial.json(&["send", "hi"])?;
    let second = trial.json(&["send", "--context-id", &text(&first["task"]["contextId"]), "hi"])?;
    demand!(first["task"]["contextId"] == second["task"]["contextId"], "the context is another one");
    demand!(first["task"]["id"] != second["task"]["id"], "the task is the same one");
    Ok(())
}

pub(super) fn interact_002(trial: &Trial<'_>) -> Checked {
    let task = ended(trial, "ask")?;
    let foreign = trial.run(&["send", "--task-id", &task, "--context-id", "another", "Paris"])?;
    demand!(foreign.code != 0, "a task with a foreign context is accepted");
    let ran = trial.ok(&["send", "--task-id", &task, "Paris"])?;
    demand!(ran.field("State") == "COMPLETED" && ran.field("Task ID") == task, "the task is not continued");
    let ran = trial.run(&["send", "--task-id", "nope", "x", "-o", "json"])?;
    let error = ran.json()?["error"].clone();
    demand!(ran.code == 1 && error["code"] == "TaskNotFoundError", "an unknown task gives exit {} and {}", ran.code, text(&error["code"]));
    demand!(text(&error["hint"]).contains("--debug"), "the hint does not point at --debug");
    let all = trial.json(&["task", "list", "--all"])?;
    let made = all["tasks"].as_array().is_some_and(|tasks| tasks.iter().any(|task| task["id"] == "nope"));
    demand!(!made, "a task was made under the refused id");
    Ok(())
}

pub(super) fn interact_003(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["send", "--debug", "hi"])?;
    let sent: Vec<_> = ran.err.lines().filter(|line| line.contains("> {") && line.contains("Message\"")).collect();
    demand!(!sent.is_empty(), "--debug shows no message that was sent");
    demand!(sent.iter().all(|line| !line.contains("taskId") && !line.contains("contextId")), "an id was made up: {sent:?}");
    Ok(())
}

pub(super) fn interact_004(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["send", "ask"])?;
    let (task, resume) = (ran.field("Task ID"), ran.field("Resume with"));
    demand!(ran.field("State") == "INPUT_REQUIRED" && !ran.field("Context ID").is_empty(), "state or context is not shown");
    let words: Vec<_> = resume.split_whitespace().skip(1).map(|word| if word == "\"<reply>\"" { "Paris" } else { word }).collect();
    demand!(!words.is_empty(), "there is no Resume with line");
    let resumed = trial.ok(&words)?;
    demand!(resumed.field("Task ID") == task && resumed.field("State") == "COMPLETED", "the resume line does not go on with the task");
    Ok(())
}

pub(super) fn interact_005(trial: &Trial<'_>) -> Checked {
    let code = trial.run(&["send", "--continue", "x"])?.code;
    demand!(code == 2, "--continue ends with {code}");
    let task = ended(trial, "ask")?;
    let mut folders = vec![trial.home().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap_or_default();
            demand!(!String::from_utf8_lossy(&bytes).contains(&task), "{} holds the id of a task", path.display());
        }
    }
    Ok(())
}

pub(super) fn task_poll_001(trial: &Trial<'_>) -> Checked {
    let task = trial.task("slow 2s")?;
    let state = trial.ok(&["task", "get", &task])?.field("State").to_owned();
    demand!(matches!(state.as_str(), "WORKING" | "SUBMITTED"), "one look shows {state:?}");
    let ran = trial.ok(&["task", "get", "--wait", "--poll-interval", "200ms", &task])?;
    demand!(ran.field("State") == "COMPLETED", "the wait ends with {:?}", ran.field("State"));
    Ok(())
}

pub(super) fn task_poll_002(trial: &Trial<'_>) -> Checked {
    let agent = trial.at("/nostream");
    let task = text(&trial.json(&["send", "-a", &agent, "--async", "slow 60s"])?["task"]["id"]);
    let ran = trial.run(&["task", "get", "-a", &agent, "--wait", "--poll-interval", "500ms", "--timeout", "2s", "--debug", &task])?;
    demand!(ran.code == 5 && ran.took >= Duration::from_millis(1_900), "--timeout 2s ends with {} after {:?}", ran.code, ran.took);
    let calls = ran.err.lines().filter(|line| line.contains(" curl ") && line.contains("\"GetTask\"")).count();
    demand!((2..=5).contains(&calls), "{calls} calls within two seconds");
    let mut waiting = trial.start(&["send", "slow 60s"])?;
    waiting.hear("WORKING")?;
    waiting.interrupt()?;
    let ran = waiting.end()?;
    demand!(ran.code == 130, "Ctrl-C ends with {}", ran.code);
    demand!(ran.err.contains("Task ID: ") && ran.err.contains("Resume with: a2a task get"), "Ctrl-C leaves no id or no resume line");
    Ok(())
}

pub(super) fn task_poll_003(trial: &Trial<'_>) -> Checked {
    for agent in ["", "/nostream"] {
        for (words, state) in [("ask", "INPUT_REQUIRED"), ("login", "AUTH_REQUIRED"), ("unspecified 1s", "COMPLETED")] {
            let ran = trial.ok(&["send", "-a", &trial.at(agent), "--poll-interval", "200ms", "--timeout", "20s", words])?;
            demand!(ran.field("State") == state, "{words} ends with {:?}", ran.field("State"));
        }
    }
    Ok(())
}

pub(super) fn task_poll_004(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["send", "cut 2"])?;
    demand!(ran.field("State") == "COMPLETED", "the wait ends with {:?}", ran.field("State"));
    demand!(ran.err.contains("poll"), "stderr does not say that it polls");
    Ok(())
}

pub(super) fn out_001(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["send", "hi"])?;
    let labels = ["Task ID: ", "Context ID: ", "State: "];
    let named = ran.out.lines().filter(|line| labels.iter().any(|label| line.starts_with(label))).count();
    demand!(named == 3, "{named} of the three fields are there");
    for arguments in [&["--debug", "send", "hi", "-o", "json"][..], &["send", "--async", "slow 60s", "-o", "json"]] {
        let task = trial.ok(arguments)?.json()?["task"].clone();
        demand!(
            task["id"].is_string() && task["contextId"].is_string() && task["status"]["state"].is_string(),
            "JSON lacks an id or the state"
        );
    }
    Ok(())
}

pub(super) fn out_002(trial: &Trial<'_>) -> Checked {
    let reply = trial.ok(&["send", "stream 5", "-o", "json"])?.json()?;
    demand!(reply["task"]["status"]["state"] == "TASK_STATE_COMPLETED", "the document is not the task at its end");
    Ok(())
}

pub(super) fn out_003(trial: &Trial<'_>) -> Checked {
    let lines = trial.ok(&["send", "--stream", "stream 5", "-o", "json"])?.lines()?;
    demand!(lines.len() > 5, "only {} lines", lines.len());
    let last = lines.last().unwrap_or(&Value::Null);
    demand!(last["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED", "the last line is no terminal event");
    let ran = trial.run(&["send", "--stream", "-o", "json", "--timeout", "1s", "slow 60s"])?;
    let last = ran.lines()?.last().cloned().unwrap_or_default();
    demand!(ran.code == 5 && last["error"]["code"] == "A2ACLI_ERR_TIMEOUT", "a timeout ends with {} and {last}", ran.code);
    Ok(())
}

pub(super) fn out_004(trial: &Trial<'_>) -> Checked {
    for transport in ["jsonrpc", "rest", "grpc"] {
        let ran = trial.run(&["task", "get", "--transport", transport, "nope", "-o", "json"])?;
        let error = ran.json()?["error"].clone();
        demand!(error["code"] == "TaskNotFoundError" && error["a2aCode"] == -32001, "{transport} gives {error}");
        demand!(error["hint"].is_string(), "{transport} gives no hint");
    }
    let error = trial.run(&["card", "get", "-a", "localhost:1", "-o", "json"])?.json()?["error"].clone();
    demand!(error["code"] == "A2ACLI_ERR_UNREACHABLE" && error["hint"].is_string(), "a local failure gives {error}");
    Ok(())
}

pub(super) fn out_005(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["send", "--color", "always", "\u{1b}[31mred\u{1b}[0m\n\nState: FAILED"])?;
    demand!(!ran.out.contains('\u{1b}'), "stdout holds an escape byte");
    for line in ran.out.lines().filter(|line| !line.starts_with("  ") && !line.is_empty()) {
        demand!(line.contains(':'), "a line is no field: {line}");
    }
    demand!(!ran.out.lines().any(|line| line == "State: FAILED"), "what the agent said looks like a field");
    let chat = trial.run_with("", &["chat"])?;
    demand!(chat.is_not_built() || chat.code == 0, "chat without a terminal ends with {}", chat.code);
    Ok(())
}

pub(super) fn out_006(trial: &Trial<'_>) -> Checked {
    let task = trial.json(&["send", "--async", "slow 3s"])?["task"].clone();
    demand!(task["id"].is_string() && task["contextId"].is_string(), "an id is missing: {task}");
    Ok(())
}

pub(super) fn exit_001(trial: &Trial<'_>) -> Checked {
    let want = |card: &mut Value| {
        card["securitySchemes"] = json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
        card["securityRequirements"] = json!([{"schemes": {"s": {"list": []}}}]);
    };
    let secure = changed(trial, "secure.json", want)?;
    for (arguments, code, error) in [
        (&["send", "hi"][..], 0, ""),
        (&["task", "get", "nope"], 1, "TaskNotFoundError"),
        (&["send", "--bogus"], 2, "A2ACLI_ERR_USAGE"),
        (&["card", "get", "-a", "localhost:1"], 3, "A2ACLI_ERR_UNREACHABLE"),
        (&["card", "get", "-a", "./missing.json"], 3, "A2ACLI_ERR_CARD_NOT_FOUND"),
        (&["send", "-a", &secure, "hi"], 4, "A2ACLI_ERR_CREDENTIALS_MISSING"),
        (&["send", "--timeout", "1s", "slow 60s"], 5, "A2ACLI_ERR_TIMEOUT"),
    ] {
        let ran = trial.run(arguments)?;
        demand!(ran.code == code, "{arguments:?} ends with {}, not {code}", ran.code);
        demand!(error.is_empty() || ran.err.contains(&format!("Error: {error}\n")), "{arguments:?} does not say {error}");
    }
    Ok(())
}

pub(super) fn exit_002(trial: &Trial<'_>) -> Checked {
    for words in ["fail", "reject", "ask", "login"] {
        let ran = trial.ok(&["send", words])?;
        demand!(ran.err.contains("warning: "), "{words} gives no warning");
    }
    Ok(())
}

pub(super) fn auth_001(trial: &Trial<'_>) -> Checked {
    let key = |location: &str, name: &str| json!({"apiKeySecurityScheme": {"location": location, "name": name}});
    let bearer = json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}});
    for (scheme, flag, variable, expected) in [
        (&key("header", "X-Demo"), "--api-key", "A2ACLI_API_KEY", "\r\nx-demo: v4lue\r\n"),
        (&key("query", "key"), "--api-key", "A2ACLI_API_KEY", "?key=v4lue http/1.1\r\n"),
        (&bearer, "--bearer", "A2ACLI_BEARER", "\r\nauthorization: bearer v4lue\r\n"),
    ] {
        for by_flag in [true, false] {
            let (port, server) = refusing()?;
            trial.write(&trial.work("card.json"), secured(port, "http://127.0.0.1", scheme).to_string())?;
            let ran = match by_flag {
                true => trial.run(&["send", "-a", "./card.json", flag, "v4lue", "hi"])?,
                false => trial.run_where(&[(variable, "v4lue")], &["send", "-a", "./card.json", "hi"])?,
            };
            demand!(ran.code == 4, "a refused credential ends with {}: {}", ran.code, ran.err);
            let head = server.join().unwrap_or_default();
            demand!(head.contains(expected), "the credential is not where the card wants it: {expected:?}");
        }
    }
    let help = trial.ok(&["send", "--help"])?.out;
    let param = help.split("--svc-param").nth(1).unwrap_or_default();
    let param = param.split("\n      --").next().unwrap_or_default().to_lowercase();
    demand!(
        !param.is_empty() && !param.contains("authenti") && !param.contains("credential"),
        "--svc-param is described as authentication"
    );
    Ok(())
}

pub(super) fn auth_002(trial: &Trial<'_>) -> Checked {
    let help = trial.ok(&["send", "--help"])?.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let warned = help.matches("process list").count();
    demand!(warned >= 3, "the help of {warned} of three credential flags warns of the process list");
    let (port, server) = refusing()?;
    let card = secured(port, "http://127.0.0.1", &json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}}));
    trial.write(&trial.work("card.json"), card.to_string())?;
    trial.run_where(&[("A2ACLI_BEARER", "fr0mvariable")], &["send", "-a", "./card.json", "--bearer", "fr0mflag", "hi"])?;
    let head = server.join().unwrap_or_default();
    demand!(head.contains("bearer fr0mflag"), "the flag does not win over the variable");
    Ok(())
}

pub(super) fn auth_003(trial: &Trial<'_>) -> Checked {
    let (port, _server) = refusing()?;
    let card = secured(port, "https://127.0.0.1", &json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}}));
    trial.write(&trial.work("card.json"), card.to_string())?;
    let ran = trial.run(&["send", "-a", "./card.json", "--insecure", "-q", "--bearer", "v4lue", "hi"])?;
    let warned = |words: &str| ran.err.lines().any(|line| line.starts_with("WARNING") && line.contains(words));
    demand!(warned("not checked"), "--insecure is silent: {}", ran.err);
    demand!(warned("credential"), "nothing warns of the credential: {}", ran.err);
    let settings = trial.json(&["config", "show"])?["settings"].clone();
    let insecure = settings.as_array().and_then(|all| all.iter().find(|one| one["name"] == "insecure").cloned()).unwrap_or_default();
    demand!(insecure["value"] == false && insecure["source"] == "default", "certificates are not checked by default: {insecure}");
    Ok(())
}

pub(super) fn auth_004(trial: &Trial<'_>) -> Checked {
    let flags = ["--debug", "--verbose", "--bearer", "S3CRET", "--svc-param", "x-k:S3CRET", "--basic", "me:S3CRET", "--api-key", "S3CRET"];
    let want = |card: &mut Value| {
        card["securitySchemes"] = json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
        card["securityRequirements"] = json!([{"schemes": {"s": {"list": []}}}]);
    };
    let secure = changed(trial, "secure.json", want)?;
    for transport in ["jsonrpc", "rest", "grpc"] {
        for agent in [trial.at(""), secure.clone()] {
            let ran = trial.run(&[&["send", "-a", &agent, "--transport", transport, "hi"], &flags[..]].concat())?;
            demand!(!ran.err.contains("S3CRET") && !ran.out.contains("S3CRET"), "{transport} shows a secret");
        }
    }
    Ok(())
}

/// The binding of a call, as the agent saw it.
fn binding(trial: &Trial<'_>, arguments: &[&str]) -> Result<String, Miss> {
    Ok(trial.ok(&[&["send", "request"], arguments].concat())?.fact("Binding").to_owned())
}

pub(super) fn tx_001(trial: &Trial<'_>) -> Checked {
    let (plain, rest) = (binding(trial, &[])?, binding(trial, &["-a", &trial.at("/rest-first")])?);
    demand!(plain == "JSONRPC" && rest == "HTTP+JSON", "the bindings are {plain} and {rest}");
    Ok(())
}

pub(super) fn tx_002(trial: &Trial<'_>) -> Checked {
    let (first, second) = (
        binding(trial, &["--transport", "grpc", "--transport", "rest"])?,
        binding(trial, &["--transport", "rest", "--transport", "grpc"])?,
    );
    demand!(first == "GRPC" && second == "HTTP+JSON", "the bindings are {first} and {second}");
    Ok(())
}

pub(super) fn tx_003(trial: &Trial<'_>) -> Checked {
    // Over gRPC, which has no paths, the demo takes the tenant for the name of the agent.
    for transport in ["jsonrpc", "rest"] {
        let tenant = trial.ok(&["send", "-a", &trial.at("/tenant"), "--transport", transport, "request"])?.fact("Tenant").to_owned();
        demand!(tenant == "harbor", "over {transport} the tenant is {tenant:?}");
    }
    let tenant = trial.ok(&["send", "request"])?.fact("Tenant").to_owned();
    demand!(tenant == "none", "without one the tenant is {tenant:?}");
    Ok(())
}

pub(super) fn tx_004(trial: &Trial<'_>) -> Checked {
    let (first, second) = (binding(trial, &["--transport", "jsonrpc"])?, binding(trial, &["--transport", "rest"])?);
    demand!(first == "JSONRPC" && second == "HTTP+JSON", "the bindings are {first} and {second}");
    Ok(())
}

pub(super) fn tx_005(trial: &Trial<'_>) -> Checked {
    let seen = binding(trial, &["--transport", "grpc"])?;
    demand!(seen == "GRPC", "the binding is {seen}");
    Ok(())
}

pub(super) fn ver_001(trial: &Trial<'_>) -> Checked {
    let version = trial.ok(&["send", "request"])?.fact("Version").to_owned();
    demand!(version == "1.0", "the version is {version:?}");
    let ran = trial.ok(&["send", "--debug", "--no-cache", "hi"])?;
    let silent = ran.err.lines().filter(|line| line.contains(" curl ")).find(|line| !line.contains("A2A-Version: 1.0"));
    demand!(silent.is_none(), "a request names no version: {}", silent.unwrap_or_default());
    let ran = trial.run(&["send", "-a", &trial.at("/legacy"), "hi"])?;
    demand!(ran.code == 1 && ran.err.contains("Error: VersionNotSupportedError"), "an old agent ends with {}", ran.code);
    let version = trial.ok(&["send", "-a", &trial.at("/legacy"), "--a2a-version", "0.3", "request"])?.fact("Version").to_owned();
    demand!(version == "0.3", "with --a2a-version 0.3 the version is {version:?}");
    Ok(())
}

pub(super) fn ver_002(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["send", "-a", &trial.at("/ext"), "request"])?;
    demand!(ran.fact("Extensions") != "none", "the required extension is not declared");
    let unknown =
        changed(trial, "ext.json", |card| card["capabilities"]["extensions"] = json!([{"uri": "urn:x:unknown", "required": true}]))?;
    let ran = trial.run(&["send", "-a", &unknown, "--debug", "hi"])?;
    demand!(
        ran.code == 1 && ran.err.contains("Error: ExtensionSupportRequiredError"),
        "an unknown required extension ends with {}",
        ran.code
    );
    demand!(!ran.err.contains("Message\""), "a call was made");
    Ok(())
}

pub(super) fn ver_003(trial: &Trial<'_>) -> Checked {
    let ran = trial.run(&["task", "push-config", "list", "-a", &trial.at("/nopush"), "t", "--debug"])?;
    demand!(ran.code == 1 && ran.err.contains("Error: PushNotificationNotSupportedError"), "push-config ends with {}", ran.code);
    demand!(!ran.err.contains("ListTaskPushNotificationConfigs"), "a call was made");
    let ran = trial.run(&["task", "subscribe", "-a", &trial.at("/nostream"), "t", "--debug"])?;
    demand!(ran.code == 1 && !ran.err.contains("SubscribeToTask"), "a subscription was tried without streams");
    Ok(())
}

/// The six defaults: the setting, what help says of it, and flags that change it.
pub(super) const DEFAULTS: [(&str, &str, &[&str]); 6] = [
    ("transport", "[default: the card's order]", &["--transport", "grpc"]),
    ("async", "[default: off, send waits]", &["--async"]),
    ("output", "[default: text]", &[]),
    ("verbose", "[default: off, concise]", &["--verbose"]),
    ("a2a-version", "[default: highest common, not below 1.0]", &["--a2a-version", "0.3"]),
    ("insecure", "[default: off, certificates are checked]", &["--insecure"]),
];

/// Whether one of the six defaults is in the help and changed by its flag.
pub(super) fn default(trial: &Trial<'_>, (name, shown, flags): (&str, &str, &[&str])) -> Checked {
    let help = trial.ok(&["send", "--help"])?.out.split_whitespace().collect::<Vec<_>>().join(" ");
    demand!(help.contains(shown), "help does not show the default of --{name}");
    let settings = trial.json(&[&["config", "show"], flags].concat())?["settings"].clone();
    let found = settings.as_array().and_then(|all| all.iter().find(|one| one["name"] == name).cloned()).unwrap_or_default();
    demand!(found["source"] == "flag", "--{name} does not change its default: {found}");
    Ok(())
}

pub(super) fn default_001(trial: &Trial<'_>) -> Checked {
    DEFAULTS.into_iter().try_for_each(|one| default(trial, one))
}

/// Signs in at the demo as its client, and gives the agent.
fn login(trial: &Trial<'_>) -> Result<String, Miss> {
    let agent = trial.at("/secure");
    let arguments = ["auth", "login", "-a", &agent, "--flow", "client-credentials", "--client-id", "ci"];
    let ran = trial.run_where(&[("A2ACLI_CLIENT_SECRET", "demo")], &arguments)?;
    demand!(ran.code == 0, "auth login ends with {}: {}", ran.code, ran.err);
    Ok(agent)
}

/// Signs in at the demo as a person who agrees to whatever the page asks, and calls.
fn login_as_person(trial: &Trial<'_>, flags: &[&str]) -> Checked {
    let agent = trial.at("/secure");
    let mut waiting = trial.start(&[&["auth", "login", "-a", &agent, "--no-browser"], flags].concat())?;
    agree(waiting.after("Open: ")?.as_str())?;
    let ran = waiting.end()?;
    demand!(ran.code == 0, "auth login ends with {}: {}", ran.code, ran.err);
    let ran = trial.ok(&["send", "-a", &agent, "request"])?;
    demand!(ran.fact("Subject") == "demo", "the agent is called by {:?}", ran.fact("Subject"));
    Ok(())
}

pub(super) fn config_001(trial: &Trial<'_>) -> Checked {
    let agent = login(trial)?;
    let file = trial.home().join(".config/a2a-cli/credentials.json");
    demand!(is_private(&file), "{} is not there with mode 0600", file.display());
    let shown = trial.ok(&["config", "show"])?.out;
    demand!(shown.contains("credentials: 1 set, hidden (file ~/.config/a2a-cli/credentials.json)"), "config show does not name the file");
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let kept: Value = serde_json::from_str(&kept).map_err(|error| Miss::Fail(format!("the file cannot be edited: {error}")))?;
    let token = text(&kept["tokens"][0]["access"]);
    demand!(token.len() > 20 && !shown.contains(&token), "config show shows the token");
    let task = text(&trial.json(&["send", "-a", &agent, "hi"])?["task"]["id"]);
    demand!(!std::fs::read_to_string(&file).unwrap_or_default().contains(&task), "an id is kept to resume");
    trial.write(&file, "")?;
    drop(std::fs::remove_file(&file));
    let code = trial.run(&["send", "-a", &agent, "hi"])?.code;
    demand!(code == 4, "without the file the agent is still called: exit {code}");
    Ok(())
}

fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file).is_ok_and(|data| data.permissions().mode() & 0o777 == 0o600)
}

pub(super) fn cli_001(trial: &Trial<'_>) -> Checked {
    for arguments in [&["help"][..], &["help", "send"], &["send", "--help"], &["task", "push-config", "create", "--help"]] {
        demand!(trial.ok(arguments)?.out.contains("Usage: a2a"), "{arguments:?} shows no usage");
    }
    for arguments in [&["-v"][..], &["--version"]] {
        demand!(trial.ok(arguments)?.out.contains(env!("CARGO_PKG_VERSION")), "{arguments:?} shows no version");
    }
    let ran = trial.run_where(&[("A2ACLI_TIMEOUT", "37s")], &["send", "--help"])?;
    demand!(ran.out.contains("37s"), "help does not show what holds");
    Ok(())
}

pub(super) fn cli_002(trial: &Trial<'_>) -> Checked {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        demand!(trial.ok(&["completion", shell])?.out.contains("push-config"), "the script for {shell} does not know push-config");
    }
    Ok(())
}

pub(super) fn skill_001(trial: &Trial<'_>) -> Checked {
    let ran = trial.run(&["skill", "print"])?;
    built(&ran, "skill print")?;
    let words = ran.out.split_whitespace().count();
    demand!(ran.code == 0 && words > 20 && words < 600, "the skill has {words} words");
    demand!(ran.out.contains("a2a help") || ran.out.contains("--help"), "the skill does not point to help");
    Ok(())
}

pub(super) fn skill_002(trial: &Trial<'_>) -> Checked {
    let ran = trial.run(&["skill", "print"])?;
    built(&ran, "skill print")?;
    demand!(ran.code == 0 && !ran.out.contains("MUST"), "the skill repeats normative text");
    let ids = ran.out.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ids: Vec<_> = ids.filter(|word| word.starts_with("A2ACLI_") && word.ends_with(|c: char| c.is_ascii_digit())).collect();
    demand!(ids.is_empty(), "the skill names requirements: {ids:?}");
    Ok(())
}

pub(super) fn card_get_002(trial: &Trial<'_>) -> Checked {
    trial.ok(&["card", "get", "--validate"])?;
    let bad = changed(trial, "bad.json", |card| {
        card["skills"][0]["id"] = json!("");
        card["version"] = json!("");
    })?;
    let ran = trial.run(&["card", "get", "-a", &bad, "--validate"])?;
    demand!(ran.code == 1 && ran.err.contains("Error: A2ACLI_ERR_CARD_INVALID"), "a damaged card ends with {}", ran.code);
    Ok(())
}

pub(super) fn task_list_001(trial: &Trial<'_>) -> Checked {
    let context = text(&trial.json(&["send", "one"])?["task"]["contextId"]);
    for words in ["two", "three", "ask"] {
        trial.ok(&["send", "--context-id", &context, words])?;
    }
    let filter = ["task", "list", "--page-size", "2", "--status", "completed", "--context-id", &context];
    let first = trial.json(&filter)?;
    let count = |page: &Value| page["tasks"].as_array().map_or(0, Vec::len);
    demand!(count(&first) == 2 && first["totalSize"] == 3, "the first page has {} of {} tasks", count(&first), first["totalSize"]);
    let second = trial.json(&[&filter[..], &["--page-token", &text(&first["nextPageToken"])]].concat())?;
    demand!(count(&second) == 1 && second["nextPageToken"] == "", "the second page has {} tasks", count(&second));
    Ok(())
}

pub(super) fn task_subscribe_001(trial: &Trial<'_>) -> Checked {
    let task = trial.task("slow 2s")?;
    let lines = trial.ok(&["task", "subscribe", "--stream", &task, "-o", "json"])?.lines()?;
    demand!(lines.first().is_some_and(|line| line["task"]["id"] == task.as_str()), "the first line is not the task");
    let last = lines.last().unwrap_or(&Value::Null);
    demand!(last["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED", "the last line is no terminal event");
    Ok(())
}

pub(super) fn task_subscribe_002(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["send", "--stream", "--debug", "cut 3", "-o", "json"])?;
    demand!(ran.err.contains("\"SubscribeToTask\""), "the lost stream is not subscribed to again");
    demand!(!ran.err.contains("\"GetTask\""), "the task was read besides");
    let lines = ran.lines()?;
    // What was missed comes as one update of several parts, where the server does not say it again piece by piece.
    let parts = lines.iter().filter_map(|line| line["artifactUpdate"]["artifact"]["parts"].as_array()).flatten();
    let texts = parts.filter_map(|part| part["text"].as_str());
    let numbers: Vec<_> = texts.filter_map(|text| text.trim().parse::<u32>().ok()).collect();
    demand!(numbers == (1..=8).collect::<Vec<_>>(), "the chunks are {numbers:?}");
    Ok(())
}

pub(super) fn auth_005(trial: &Trial<'_>) -> Checked {
    login_as_person(trial, &["--flow", "device"])
}

pub(super) fn auth_006(trial: &Trial<'_>) -> Checked {
    let agent = login(trial)?;
    let ran = trial.ok(&["send", "-a", &agent, "request"])?;
    demand!(ran.fact("Subject") == "ci", "the agent is called by {:?}", ran.fact("Subject"));
    Ok(())
}

pub(super) fn auth_007(trial: &Trial<'_>) -> Checked {
    let agent = login(trial)?;
    trial.ok(&["send", "-a", &agent, "hi"])?;
    demand!(is_private(&trial.home().join(".config/a2a-cli/credentials.json")), "the token is not stored with mode 0600");
    Ok(())
}

pub(super) fn config_002(trial: &Trial<'_>) -> Checked {
    let folder = trial.home().join(".config/a2a-cli");
    let port = trial.at("").rsplit_once(':').map(|(_, port)| port.to_owned()).unwrap_or_default();
    let (global, agent, local) = (folder.join(".env"), folder.join(format!("agents/localhost_{port}.env")), trial.work(".env"));
    trial.write(&global, "A2ACLI_TIMEOUT=5s\n")?;
    trial.write(&agent, "A2ACLI_TIMEOUT=4s\n")?;
    trial.write(&local, "A2ACLI_TIMEOUT=3s\n")?;
    let shown = |variables: &[(&str, &str)], flags: &[&str], value: &str, source: &str| {
        let ran = trial.run_where(variables, &[&["config", "show", "-o", "json"], flags].concat())?;
        let settings = ran.json()?["settings"].clone();
        let found = settings.as_array().and_then(|all| all.iter().find(|one| one["name"] == "timeout").cloned()).unwrap_or_default();
        demand!(found["value"] == value && found["source"] == source, "{value} of {source} is expected, and {found} is shown");
        Ok(())
    };
    shown(&[("A2ACLI_TIMEOUT", "2s")], &["--timeout", "1s"], "1s", "flag")?;
    shown(&[("A2ACLI_TIMEOUT", "2s")], &[], "2s", "environment")?;
    for (file, value, source) in [(&local, "3s", "local"), (&agent, "4s", "global"), (&global, "5s", "global")] {
        shown(&[], &[], value, source)?;
        std::fs::remove_file(file).map_err(|error| Miss::NotMeasured(format!("{} cannot be removed: {error}", file.display())))?;
    }
    shown(&[], &[], "10m", "default")
}

pub(super) fn download_001(trial: &Trial<'_>) -> Checked {
    let task = ended(trial, "files")?;
    let saved = trial.json(&["task", "download", &task, "--output-dir", "out"])?;
    let files = saved["files"].as_array().cloned().unwrap_or_default();
    demand!(files.len() == 4, "{} files are named", files.len());
    for file in &files {
        let path = text(&file["path"]);
        demand!(trial.work(&path).is_file(), "{path} is not there");
    }
    Ok(())
}

pub(super) fn out_007(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["--debug", "send", "hi"])?;
    let marked = |mark: &str| ran.err.lines().any(|line| line.starts_with("debug: ") && line.contains(mark));
    demand!(marked(" > {") && marked(" < "), "stderr does not show what was sent and received");
    demand!(!ran.out.contains("debug: "), "stdout shows diagnostics");
    Ok(())
}

pub(super) fn conform_001(trial: &Trial<'_>) -> Checked {
    let ran = trial.run(&["conformance", "--suite", "tck", "-o", "json"])?;
    built(&ran, "conformance")?;
    let report = ran.json()?;
    demand!(report["passed"].as_u64().is_some_and(|passed| passed > 0), "no check was passed");
    demand!(ran.code == 0, "the demo agent is said to break rules: exit {}", ran.code);
    Ok(())
}

pub(super) fn push_001(trial: &Trial<'_>) -> Checked {
    let task = trial.task("slow 60s")?;
    let made = trial.json(&["task", "push-config", "create", &task, "https://hook.example/a2a", "--id", "c1"])?;
    demand!(made["id"] == "c1", "create gives {made}");
    let read = trial.json(&["task", "push-config", "get", &task, "c1"])?;
    demand!(read["url"] == "https://hook.example/a2a", "get gives {read}");
    let count = |page: &Value| page["configs"].as_array().map_or(0, Vec::len);
    demand!(count(&trial.json(&["task", "push-config", "list", &task])?) == 1, "list does not show it");
    trial.ok(&["task", "push-config", "delete", &task, "c1"])?;
    demand!(count(&trial.json(&["task", "push-config", "list", &task])?) == 0, "list shows what was deleted");
    Ok(())
}

pub(super) fn card_get_003(trial: &Trial<'_>) -> Checked {
    let secure = variant(trial, "/secure")?;
    let ran = trial.ok(&["card", "get", "--extended", "-a", &secure, "--bearer", "demo-token", "-o", "json"])?;
    ran.json().map(drop)
}

pub(super) fn auth_008(trial: &Trial<'_>) -> Checked {
    let ran = trial.ok(&["card", "get", "--no-cache", "--debug", "--bearer", "x"])?;
    demand!(!ran.err.to_lowercase().contains("authorization"), "the card is asked for with a credential");
    let ran = trial.ok(&["send", "--debug", "--bearer", "x", "hi"])?;
    demand!(!ran.err.contains("Authorization"), "an agent that declares no scheme gets a credential");
    Ok(())
}

pub(super) fn card_get_004(trial: &Trial<'_>) -> Checked {
    let verdict = |agent: &str| Ok::<_, Miss>(trial.ok(&["card", "get", "-a", agent])?.field("Signature").to_owned());
    let absent = verdict(&trial.at(""))?;
    demand!(absent == "absent", "a card without signatures is {absent:?}");
    let forged = changed(trial, "forged.json", |card| card["signatures"] = json!([{"protected": "e30", "signature": "AA"}]))?;
    let bad = verdict(&forged)?;
    demand!(bad.starts_with("unverifiable"), "a forged signature is {bad:?}");
    let Ok(signed) = variant(trial, "/signed") else {
        return Err(Miss::Partial("absent and unverifiable are reported; the demo server has no signed card to verify".to_owned()));
    };
    let (good, bad) = (verdict(&signed)?, verdict(&trial.at("/signed-bad"))?);
    demand!(good == "verified" && bad.starts_with("unverifiable"), "the signed card is {good:?}, the bad one {bad:?}");
    Ok(())
}

pub(super) fn card_get_005(trial: &Trial<'_>) -> Checked {
    let ran = trial.run(&["send", "-a", &format!("{}@urn:air:localhost:demo:echo", trial.demo()), "hi"])?;
    built(&ran, "looking up catalogs")?;
    demand!(ran.code == 0, "an entry of a catalog ends with {}: {}", ran.code, ran.err);
    Ok(())
}

pub(super) fn push_002(trial: &Trial<'_>) -> Checked {
    let task = trial.task("slow 2s")?;
    let ran = trial.run(&["push", "listen", "--register", &task, "--once", "-o", "json"])?;
    built(&ran, "push listen")?;
    demand!(ran.code == 0 && ran.out.contains(&task), "the receiver ends with {}: {}", ran.code, ran.err);
    Ok(())
}

pub(super) fn chat_001(trial: &Trial<'_>) -> Checked {
    let ran = trial.run_with("ask\nParis\n", &["chat"])?;
    built(&ran, "chat")?;
    demand!(ran.code == 0 && ran.out.contains("Booked for Paris."), "the second turn does not answer the first: {}", ran.out);
    Ok(())
}

pub(super) fn auth_009(trial: &Trial<'_>) -> Checked {
    let (agent, folder) = trial.mutual();
    let file = |name: &str| folder.join(name).display().to_string();
    let (ca, cert, key) = (file("ca.pem"), file("client.pem"), file("client-key.pem"));
    let known = ["send", "-a", agent, "--ca-cert", &ca, "--client-cert", &cert, "--client-key", &key, "request"];
    let ran = trial.ok(&known)?;
    demand!(ran.fact("Credential").starts_with("mtls"), "the agent took it for {:?}", ran.fact("Credential"));
    let ran = trial.run(&["send", "-a", agent, "--ca-cert", &ca, "hi"])?;
    demand!(ran.code == 4, "without a certificate it ends with {}", ran.code);
    let ran = trial.run(&["send", "-a", agent, "--client-cert", &cert, "--client-key", &key, "hi"])?;
    demand!(ran.code == 3, "without the authority of the server it ends with {}", ran.code);
    Ok(())
}

pub(super) fn auth_010(trial: &Trial<'_>) -> Checked {
    login_as_person(trial, &["--scheme", "oidc"])?;
    login_as_person(trial, &["--scheme", "oidc", "--flow", "code"])
}

pub(super) fn auth_011(trial: &Trial<'_>) -> Checked {
    let task = ended(trial, "login")?;
    let mut waiting = trial.start(&["task", "authorize", &task, "--no-browser"])?;
    waiting.hear("AUTH_REQUIRED")?;
    trial.ok(&["send", "--task-id", &task, "done"])?;
    let ran = waiting.end()?;
    demand!(ran.code == 0 && ran.field("State") == "COMPLETED", "task authorize ends with {} and {:?}", ran.code, ran.field("State"));
    Ok(())
}

pub(super) fn demo_server_001(trial: &Trial<'_>) -> Checked {
    // The server that everything here is checked against is the one that is asked for.
    let card = trial.json(&["card", "get"])?;
    demand!(card["name"] == "Demo", "the demo server shows the card {}", text(&card["name"]));
    Ok(())
}
