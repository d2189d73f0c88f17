//! The two examples of the dialect that has handoffs natively, through running servers.

use std::path::Path;

use chancery::core::extension::HANDOFF;
use serde_json::{Value, json};

use super::{Pair, process::PATIENCE};

/// A vector, with the address of the extension as it is here.
fn vector(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../vectors/dialect-002/{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text.replace("BASE/handoff/v1", HANDOFF)).unwrap()
}

async fn call(url: &str, headers: &[(&str, &str)], method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut request = reqwest::Client::new().post(url).header("content-type", "application/json").body(body).timeout(PATIENCE);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer: Value = serde_json::from_str(&request.send().await.unwrap().text().await.unwrap()).unwrap();
    assert!(answer["error"].is_null(), "{method}: {answer}");
    answer["result"].clone()
}

/// The task in an answer, whatever it is wrapped in.
fn task(result: &Value) -> &Value {
    if result["task"].is_object() { &result["task"] } else { result }
}

fn members(value: &Value) -> Vec<&String> {
    value.as_object().unwrap().keys().collect()
}

/// HO-2, HO-29, HO-T8, DIA-002-CTX-001, DIA-002-CTX-002: the message of the example reaches the agent with its context, and comes back as v1.0 shows it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_message_of_the_example_arrives_with_its_context() {
    let (pair, example) = (Pair::start().await, vector("transfer-context-native"));
    let mut message = example["body"].clone();
    message["parts"][0]["text"] = json!("context");
    let sent = call(&pair.a.url, &[], "A2A.SendMessage", json!({"message": message})).await;
    let id = task(&sent).get("taskId").or(task(&sent).get("id")).unwrap_or_else(|| panic!("{sent}"));

    let aware = [("a2a-version", "1.0"), ("a2a-extensions", HANDOFF)];
    let read = call(&pair.a.url, &aware, "GetTask", json!({"id": id})).await;
    assert_eq!(read["status"]["state"], "TASK_STATE_COMPLETED", "{read}");
    let expected = &example["v1"]["message"]["metadata"][HANDOFF]["transferContext"];
    let told: Value = serde_json::from_str(read["artifacts"][0]["parts"][0]["text"].as_str().unwrap()).unwrap();
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&told[name], value, "{told}");
    }
    let history = &read["history"][0];
    assert_eq!(&history["metadata"][HANDOFF]["transferContext"], expected, "{read}");
    assert_eq!(history["extensions"], example["v1"]["message"]["extensions"], "{read}");
}

/// HO-T8, DIA-002-XFER-001, DIA-002-XFER-002, DIA-002-XFER-008: a task that was handed over looks as in the example, and leads to a task of the other agent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_was_handed_over_looks_like_the_example() {
    let (pair, example) = (Pair::start().await, vector("transferred-003"));
    let message = json!({"role": "user", "parts": [{"kind": "text", "text": pair.to_b("wait")}]});
    let sent = call(&pair.a.url, &[], "A2A.SendMessage", json!({"message": message})).await;
    let id = task(&sent)["taskId"].clone();
    let over = async {
        loop {
            let read = call(&pair.a.url, &[], "A2A.GetTask", json!({"id": id})).await;
            if task(&read)["status"]["state"] == "TRANSFERRED" {
                return task(&read).clone();
            }
            tokio::task::yield_now().await;
        }
    };
    let shown = tokio::time::timeout(PATIENCE, over).await.expect("it is not handed over");
    let (status, expected) = (&shown["status"], &example["body"]["status"]);
    assert_eq!(members(status), members(expected), "{shown}");
    let transfer = &status["transfer"];
    for member in members(&expected["transfer"]) {
        assert!(!transfer[member].is_null(), "{member}: {transfer}");
    }
    assert_eq!((&transfer["agent_endpoint"], &transfer["reason"]), (&json!(pair.b.url), &json!("not my trade")));
    assert_eq!(transfer["hop"], 1);
    let there = call(transfer["agent_endpoint"].as_str().unwrap(), &[], "A2A.GetTask", json!({"id": transfer["task_id"]})).await;
    assert_eq!((&task(&there)["taskId"], &task(&there)["status"]["state"]), (&transfer["task_id"], &json!("WORKING")));

    // The same task in v1.0: whoever knows of handoffs sees it completed, and where it is.
    let aware = [("a2a-version", "1.0"), ("a2a-extensions", HANDOFF)];
    let read = call(&pair.a.url, &aware, "GetTask", json!({"id": id})).await;
    assert_eq!(read["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(read["metadata"][HANDOFF]["transfer"]["taskId"], transfer["task_id"]);
    assert_eq!(read["status"]["message"]["metadata"][HANDOFF], read["metadata"][HANDOFF]);
}
