//! What a dialect costs: decode and encode of a typical request and of a stream event, beside
//! plain `serde_json` on derive-only structs of the same shape, in the same run.
//!
//! `cargo bench -p chancery-wire` prints the times; `docs/performance.md` keeps the ratios.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a benchmark that cannot run must stop; its parts are its own")]

mod plain;

use std::hint::black_box;

use chancery_core::{Binding, Limits, Version};
use chancery_wire::{
    Dialect, StreamMemory,
    jsonrpc::{self, Call, Id, Response},
    version,
};
use criterion::{Criterion, criterion_group, criterion_main};

const TEXT: &str = "When can a 2.4 m draught boat leave Port Elin on Friday, and which quay is free until the evening tide?";

fn send(criterion: &mut Criterion) {
    for (name, version, method, params) in [
        (
            "v1.0",
            Version::V1_0,
            "SendMessage",
            format!(
                r#"{{"message":{{"messageId":"6f1c2d3e-1111-4a5b-8c7d-000000000001","contextId":"7f3d2a9e-41c6-4f7b-8a55-0d1e2c3b4a59","role":"ROLE_USER","parts":[{{"text":"{TEXT}"}},{{"url":"https://files.example/tides/elin-friday.png","filename":"elin-friday.png","mediaType":"image/png"}}]}},"configuration":{{"acceptedOutputModes":["text/plain","application/json"],"historyLength":5,"returnImmediately":true}},"metadata":{{"trace":"abc"}}}}"#
            ),
        ),
        (
            "v0.3",
            Version::V0_3,
            "message/send",
            format!(
                r#"{{"message":{{"kind":"message","messageId":"6f1c2d3e-1111-4a5b-8c7d-000000000001","contextId":"7f3d2a9e-41c6-4f7b-8a55-0d1e2c3b4a59","role":"user","parts":[{{"kind":"text","text":"{TEXT}"}},{{"kind":"file","file":{{"uri":"https://files.example/tides/elin-friday.png","name":"elin-friday.png","mimeType":"image/png"}}}}]}},"configuration":{{"acceptedOutputModes":["text/plain","application/json"],"historyLength":5,"blocking":false}},"metadata":{{"trace":"abc"}}}}"#
            ),
        ),
        (
            "v0.1",
            Version::V0_1,
            "tasks/send",
            format!(
                r#"{{"id":"2b6f0c52-8d7e-4f0a-9c31-5a0e7d9b4c11","sessionId":"7f3d2a9e-41c6-4f7b-8a55-0d1e2c3b4a59","message":{{"role":"user","parts":[{{"type":"text","text":"{TEXT}"}},{{"type":"file","file":{{"uri":"https://files.example/tides/elin-friday.png","name":"elin-friday.png","mimeType":"image/png"}}}}]}},"acceptedOutputModes":["text/plain","application/json"],"historyLength":5,"metadata":{{"trace":"abc"}}}}"#
            ),
        ),
        (
            "compact",
            Version::Compact,
            "A2A.SendMessage",
            format!(
                r#"{{"message":{{"messageId":"6f1c2d3e-1111-4a5b-8c7d-000000000001","contextId":"7f3d2a9e-41c6-4f7b-8a55-0d1e2c3b4a59","role":"user","parts":[{{"text":"{TEXT}"}},{{"file":{{"uri":"https://files.example/tides/elin-friday.png","name":"elin-friday.png"}},"mimeType":"image/png"}}]}},"configuration":{{"acceptedOutputModes":["text/plain","application/json"],"historyLength":5,"blocking":false}},"metadata":{{"trace":"abc"}}}}"#
            ),
        ),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":"6f1c2d3e-0001","method":"{method}","params":{params}}}"#).into_bytes();
        let header = (version == Version::V1_0).then_some("1.0");
        let limits = Limits::default();
        let ours = |body: &[u8]| {
            let call = Call::parse(body).unwrap_or_else(|refused| panic!("{:?}", refused.error));
            let (spoken, operation) = version::of_rpc(&call.method, header).unwrap();
            let dialect = Dialect::of(spoken.resolve(None), Binding::JsonRpc).unwrap();
            let request = dialect.request(operation, call.params(), &limits).unwrap();
            jsonrpc::call(&call.answer_id(), method, &dialect.encode_request(&request).unwrap())
        };
        let mut group = criterion.benchmark_group(format!("send/{name}"));
        group.bench_function("chancery", |bencher| bencher.iter(|| ours(black_box(&body))));
        group.bench_function("plain", |bencher| bencher.iter(|| plain::send(name, black_box(&body))));
        group.finish();
    }
    // v0.3 over HTTP+JSON has no envelope.
    let body = format!(
        r#"{{"message":{{"messageId":"6f1c2d3e-1111-4a5b-8c7d-000000000001","contextId":"7f3d2a9e-41c6-4f7b-8a55-0d1e2c3b4a59","role":"ROLE_USER","content":[{{"text":"{TEXT}"}},{{"file":{{"fileWithUri":"https://files.example/tides/elin-friday.png","name":"elin-friday.png","mimeType":"image/png"}}}}]}},"configuration":{{"acceptedOutputModes":["text/plain","application/json"],"historyLength":5,"blocking":false}},"metadata":{{"trace":"abc"}}}}"#
    )
    .into_bytes();
    let limits = Limits::default();
    let mut group = criterion.benchmark_group("send/v0.3-rest");
    group.bench_function("chancery", |bencher| {
        bencher.iter(|| {
            let request = Dialect::V0_3Rest.request(chancery_core::Operation::SendMessage, black_box(&body), &limits).unwrap();
            Dialect::V0_3Rest.encode_request(&request).unwrap()
        });
    });
    group.bench_function("plain", |bencher| bencher.iter(|| plain::send("v0.3-rest", black_box(&body))));
    group.finish();
}

fn event(criterion: &mut Criterion) {
    let ids = r#""taskId":"2b6f0c52-8d7e-4f0a-9c31-5a0e7d9b4c11","contextId":"7f3d2a9e-41c6-4f7b-8a55-0d1e2c3b4a59""#;
    let chunk = r#""artifact":{"artifactId":"windows","name":"Departure windows","parts":[{"text":"05:10-08:45 and 17:35-21:05"}]},"append":true,"lastChunk":true"#;
    let kind_chunk = chunk.replace(r#"{"text""#, r#"{"kind":"text","text""#);
    for (name, dialect, element) in [
        ("v1.0", Dialect::V1_0, format!(r#"{{"artifactUpdate":{{{ids},{chunk}}}}}"#)),
        ("v0.3", Dialect::V0_3, format!(r#"{{"kind":"artifact-update",{ids},{kind_chunk}}}"#)),
        ("v0.3-rest", Dialect::V0_3Rest, format!(r#"{{"artifactUpdate":{{{ids},{chunk}}}}}"#)),
        (
            "v0.1",
            Dialect::V0_1,
            r#"{"id":"2b6f0c52-8d7e-4f0a-9c31-5a0e7d9b4c11","artifact":{"id":"windows","name":"Departure windows","parts":[{"type":"text","text":"05:10-08:45 and 17:35-21:05"}],"index":0,"append":true,"lastChunk":true}}"#
                .to_owned(),
        ),
        (
            "compact",
            Dialect::Compact,
            format!(
                r#"{{"artifactUpdate":{{{ids},"artifact":{{"artifactId":"windows","parts":[{{"text":"05:10-08:45 and 17:35-21:05"}}],"mimeType":"text/plain"}},"append":true,"lastChunk":true}}}}"#
            ),
        ),
    ] {
        let id = Id::text("6f1c2d3e-0001");
        let result = |text: &[u8]| {
            let written = jsonrpc::result_with(&id, |answer| {
                answer.extend_from_slice(text);
                Ok::<_, std::convert::Infallible>(())
            });
            written.unwrap()
        };
        let body = result(element.as_bytes());
        let mut memory = StreamMemory::default();
        // v0.1 gives the first event as a task; later ones are updates.
        memory.task = Some("2b6f0c52-8d7e-4f0a-9c31-5a0e7d9b4c11".into());
        memory.context = Some("7f3d2a9e-41c6-4f7b-8a55-0d1e2c3b4a59".into());
        let ours = |body: &[u8], memory: &mut StreamMemory| {
            let response = Response::parse(body).unwrap();
            let events = dialect.decode_event(response.outcome.unwrap(), memory).unwrap();
            result(&dialect.encode_event(&events[0], memory).unwrap()[0])
        };
        let mut group = criterion.benchmark_group(format!("event/{name}"));
        group.bench_function("chancery", |bencher| bencher.iter(|| ours(black_box(&body), &mut memory)));
        group.bench_function("plain", |bencher| bencher.iter(|| plain::event(name, black_box(&body))));
        group.finish();
    }
}

criterion_group!(benches, send, event);
criterion_main!(benches);
