//! `a2a bench`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Sandbox;

#[test]
fn every_scenario_is_measured_without_errors() {
    let sandbox = Sandbox::new();
    for (scenario, streams) in [("send", false), ("stream", true), ("get", false), ("list", false), ("card", false), ("mixed", false)] {
        let result = sandbox.json(&["bench", "--scenario", scenario, "-u", "2", "-n", "20", "--warmup", "0", "--chunks", "5"]);
        assert_eq!((result["requests"].as_u64(), result["errors"].as_u64()), (Some(20), Some(0)), "{scenario} {result}");
        let latency = &result["latencyMs"];
        let of = |name: &str| latency[name].as_f64().unwrap();
        assert!(0.0 < of("p50") && of("p50") <= of("p90") && of("p90") <= of("p99") && of("p99") <= of("max"), "{result}");
        assert_eq!(result["firstEventMs"].is_object(), streams, "{result}");
    }
}

#[test]
fn streams_that_are_held_and_shared_are_measured() {
    let sandbox = Sandbox::new();
    let result = sandbox.json(&["bench", "--scenario", "idle", "-u", "3", "-d", "1s"]);
    assert_eq!((result["requests"].as_u64(), result["errors"].as_u64()), (Some(3), Some(0)), "{result}");
    assert!(result["latencyMs"]["p50"].as_f64().unwrap() >= 1_000.0, "{result}");
    assert!(result["firstEventMs"]["p99"].as_f64().unwrap() < result["latencyMs"]["p50"].as_f64().unwrap(), "{result}");
    let result = sandbox.json(&["bench", "--scenario", "fanout", "-u", "4", "-n", "4", "--warmup", "0"]);
    assert_eq!((result["requests"].as_u64(), result["errors"].as_u64()), (Some(4), Some(0)), "{result}");
    assert_eq!(sandbox.json(&["task", "list"])["totalSize"], 4, "three that were held, and one for all that subscribed");
}

#[test]
fn a_rate_is_kept_and_stages_follow_each_other() {
    let sandbox = Sandbox::new();
    let result = sandbox.json(&["bench", "--scenario", "get", "--rate", "50", "-d", "2s", "--warmup", "0", "-u", "4"]);
    let requests = result["requests"].as_u64().unwrap();
    assert!((90..=100).contains(&requests), "{result}");
    let begun = Instant::now();
    let result = sandbox.json(&["bench", "--scenario", "get", "--stages", "500ms:1,500ms:3", "--warmup", "0"]);
    assert!(begun.elapsed() >= Duration::from_secs(1) && result["users"] == 3 && result["errors"] == 0, "{result}");
    assert_eq!(sandbox.run(&["bench", "--stages", "ten:1"]).code, 2);
}

#[test]
fn thresholds_decide_the_verdict_and_the_result_is_kept() {
    let sandbox = Sandbox::new();
    let arguments = ["bench", "--scenario", "get", "-n", "10", "-u", "1", "--warmup", "0", "--label", "trial", "--out", "out.json"];
    let ran = sandbox
        .run(&[&arguments[..], &["--threshold", "p99<60s", "--threshold", "errors<1", "--pid", &std::process::id().to_string()]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    for line in
        ["Label: trial\n", "Scenario: get JSONRPC 1.0, 1 users\n", "Requests: 10 (", "Threshold: p99<60s ok\n", "Memory: ", "Processor: "]
    {
        assert!(ran.out.contains(line), "{line:?} {}", ran.out);
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(sandbox.work("out.json")).unwrap()).unwrap();
    assert_eq!((&kept["label"], &kept["requests"]), (&json!("trial"), &json!(10)));
    assert!(kept["process"]["memoryKib"]["max"].as_u64().unwrap() > 0, "{kept}");
    let ran = sandbox.run(&[&arguments[..], &["--threshold", "max<1ms", "--threshold", "rate>1000000"]].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("Threshold: rate>1000000 does not hold\n") && ran.err.contains("A2AX_ERR_THRESHOLD"), "{ran:?}");
    assert_eq!(sandbox.run(&["bench", "--threshold", "speed>1"]).code, 2);
}

#[test]
fn servers_elsewhere_are_not_loaded_by_mistake() {
    let sandbox = Sandbox::new();
    let mut card = sandbox.json(&["card", "get"]);
    card["supportedInterfaces"] = json!([{"url": "http://192.0.2.1:9/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]);
    std::fs::write(sandbox.work("far.json"), card.to_string()).unwrap();
    let ran = sandbox.run(&["bench", "-a", "./far.json", "-n", "1"]);
    assert!(ran.code == 2 && ran.err.contains("--yes-remote"), "{ran:?}");
}
