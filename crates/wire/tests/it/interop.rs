//! The released SDKs read every object that we write, and we read what they write: each goes
//! through the SDK's own client and server and comes back as the same canonical value.

use chancery_core::{Event, Limits, Operation, Reply, Request};
use chancery_wire::{Dialect, StreamMemory, grpc, proto::lf_a2a_v1};
use prost::Message;
use serde_json::Value;

use crate::{
    generate::Generator,
    sdk::Peer,
    vector::{bytes, canonical_reply, canonical_request, normal, parse},
};

/// How many generated values of each kind an SDK gets.
const CASES: u64 = 40;

/// What the tests call the request and the answer of an operation.
fn kinds(operation: Operation) -> (&'static str, &'static str) {
    match operation {
        Operation::SendMessage => ("SendMessageRequest", "SendMessageResponse"),
        Operation::StreamMessage => ("SendMessageRequest", "StreamResponse"),
        Operation::GetTask => ("GetTaskRequest", "Task"),
        Operation::ListTasks => ("ListTasksRequest", "ListTasksResponse"),
        Operation::CancelTask => ("CancelTaskRequest", "Task"),
        Operation::Subscribe => ("SubscribeToTaskRequest", "StreamResponse"),
        Operation::CreatePushConfig => ("CreatePushConfigRequest", "PushConfig"),
        Operation::GetPushConfig => ("GetPushConfigRequest", "PushConfig"),
        Operation::ListPushConfigs => ("ListPushConfigsRequest", "ListPushConfigsResponse"),
        Operation::DeletePushConfig => ("DeletePushConfigRequest", ""),
        Operation::GetExtendedCard => ("", "AgentCard"),
    }
}

/// One SDK over one of its bindings.
pub struct Trial {
    pub sdk: &'static str,
    pub prefix: &'static str,
    pub dialect: Dialect,
    /// Makes a generated canonical value into one that this SDK can carry, and forgets in the
    /// answer what it is known to add.
    pub fit: fn(&mut Value),
}

impl Trial {
    pub fn run(&self) {
        let Some(mut peer) = Peer::start(self.sdk) else { return };
        let mut passed = 0;
        for case in 0..CASES {
            let mut make = Generator::new(case);
            for operation in Operation::ALL {
                let (request_kind, reply_kind) = kinds(operation);
                passed += usize::from(self.request(&mut peer, case, operation, request_kind, &mut make));
                if !operation.is_streaming() && operation != Operation::GetExtendedCard {
                    passed += usize::from(self.reply(&mut peer, case, operation, reply_kind, &mut make));
                }
            }
            for event in make.stream() {
                passed += usize::from(self.event(&mut peer, case, &event));
            }
        }
        assert!(passed > 100, "{}: only {passed} objects passed through", self.sdk);
    }

    fn request(&self, peer: &mut Peer, case: u64, operation: Operation, kind: &str, make: &mut Generator) -> bool {
        let kind = format!("{}{kind}", self.prefix);
        let mut canonical = canonical_request(&make.request(operation));
        if !peer.knows(&kind) {
            return false;
        }
        (self.fit)(&mut canonical);
        let request = Dialect::V1_0Strict.decode_request(operation, &bytes(&canonical)).unwrap();
        let Ok(json) = self.dialect.encode_request(&request) else { return false };
        let theirs = self.pass(peer, case, &kind, parse(&json));
        let read = self.dialect.request(operation, &bytes(&theirs), &Limits::default());
        let read = read.unwrap_or_else(|error| panic!("{} case {case} {kind}: {error:?}\n  {theirs}", self.sdk));
        self.compare(case, &kind, &canonical_request(&read), &canonical);
        true
    }

    fn reply(&self, peer: &mut Peer, case: u64, operation: Operation, kind: &str, make: &mut Generator) -> bool {
        let kind = format!("{}{kind}", self.prefix);
        let mut canonical = canonical_reply(&make.reply(operation));
        if !peer.knows(&kind) {
            return false;
        }
        (self.fit)(&mut canonical);
        let reply = Dialect::V1_0Strict.decode_reply(operation, &bytes(&canonical)).unwrap();
        let Ok(json) = self.dialect.encode_reply(&reply) else { return false };
        let theirs = self.pass(peer, case, &kind, parse(&json));
        let read = self.dialect.decode_reply(operation, &bytes(&theirs));
        let read = read.unwrap_or_else(|error| panic!("{} case {case} {kind}: {error:?}\n  {theirs}", self.sdk));
        self.compare(case, &kind, &canonical_reply(&read), &canonical);
        true
    }

    fn event(&self, peer: &mut Peer, case: u64, event: &Event) -> bool {
        let kind = format!("{}StreamResponse", self.prefix);
        let mut canonical = serde_json::to_value(event).unwrap();
        (self.fit)(&mut canonical);
        let event: Event = serde_json::from_value(canonical.clone()).unwrap();
        let json = self.dialect.encode_event(&event, &mut StreamMemory::default()).unwrap().remove(0);
        let theirs = self.pass(peer, case, &kind, parse(&json));
        let read = self.dialect.decode_event(&bytes(&theirs), &mut StreamMemory::default());
        let read = read.unwrap_or_else(|error| panic!("{} case {case} {kind}: {error:?}\n  {theirs}", self.sdk));
        self.compare(case, &kind, &serde_json::to_value(&read[0]).unwrap(), &canonical);
        true
    }

    fn pass(&self, peer: &mut Peer, case: u64, kind: &str, ours: Value) -> Value {
        peer.pass(kind, ours.clone()).unwrap_or_else(|error| panic!("{} case {case} refuses our {kind}: {error}\n  {ours}", self.sdk))
    }

    fn compare(&self, case: u64, kind: &str, theirs: &Value, ours: &Value) {
        let mut theirs = theirs.clone();
        (self.fit)(&mut theirs);
        assert!(normal(&theirs) == normal(ours), "{} case {case} {kind}\n  theirs: {theirs}\n  ours:   {ours}", self.sdk);
    }
}

/// Calls `change` on every object inside a value, innermost first.
pub fn each_object(value: &mut Value, change: &impl Fn(&mut serde_json::Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(|value| each_object(value, change));
            change(members);
        }
        Value::Array(items) => items.iter_mut().for_each(|value| each_object(value, change)),
        _ => {}
    }
}

#[test]
fn python_1_3_0_and_we_read_each_other_over_json_rpc() {
    Trial { sdk: "py-1.3.0", prefix: "", dialect: Dialect::V1_0, fit: |_| {} }.run();
}

#[test]
fn python_1_3_0_and_we_read_each_other_over_http_json() {
    Trial { sdk: "py-1.3.0", prefix: "rest/", dialect: Dialect::V1_0, fit: |_| {} }.run();
}

/// JavaScript takes a `data` of null for no data.
fn no_null_data(value: &mut Value) {
    each_object(value, &|members| {
        if members.get("data") == Some(&Value::Null) {
            members.insert("data".to_owned(), "null".into());
        }
    });
}

#[test]
fn javascript_1_3_0_and_we_read_each_other_over_json_rpc() {
    Trial { sdk: "js-1.3.0", prefix: "", dialect: Dialect::V1_0, fit: no_null_data }.run();
}

#[test]
fn javascript_1_3_0_and_we_read_each_other_over_http_json() {
    Trial { sdk: "js-1.3.0", prefix: "rest/", dialect: Dialect::V1_0, fit: no_null_data }.run();
}

/// Generated values as protobuf, there and back.
fn protobuf(sdk: &str) {
    let Some(mut peer) = Peer::start(sdk) else { return };
    for case in 0..CASES {
        let mut make = Generator::new(case);
        let mut pass = |kind: &str, bytes: Vec<u8>| {
            peer.pass_bytes(kind, &bytes).unwrap_or_else(|error| panic!("{sdk} case {case} refuses our {kind}: {error}"))
        };
        for event in make.stream() {
            let theirs = pass("pb/StreamResponse", grpc::v1_0::event_to_proto(&event).encode_to_vec());
            let read = grpc::v1_0::event_from_proto(lf_a2a_v1::StreamResponse::decode(theirs.as_slice()).unwrap()).unwrap();
            assert_eq!(read, event, "{sdk} case {case}");
        }
        let Request::SendMessage(send) = make.request(Operation::SendMessage) else { panic!() };
        let theirs = pass("pb/SendMessageRequest", grpc::v1_0::send_message_to_proto(&send).encode_to_vec());
        let read = grpc::v1_0::send_message_from_proto(lf_a2a_v1::SendMessageRequest::decode(theirs.as_slice()).unwrap()).unwrap();
        assert_eq!(read, *send, "{sdk} case {case}");
        let Reply::Sent(reply) = make.reply(Operation::SendMessage) else { panic!() };
        let theirs = pass("pb/SendMessageResponse", grpc::v1_0::send_reply_to_proto(&reply).encode_to_vec());
        let read = grpc::v1_0::send_reply_from_proto(lf_a2a_v1::SendMessageResponse::decode(theirs.as_slice()).unwrap()).unwrap();
        assert_eq!(read, reply, "{sdk} case {case}");
    }
}

#[test]
fn python_1_3_0_and_we_read_each_other_over_grpc() {
    protobuf("py-1.3.0");
}

#[test]
fn javascript_1_3_0_and_we_read_each_other_over_grpc() {
    protobuf("js-1.3.0");
}
