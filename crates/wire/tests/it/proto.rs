//! The generated protobuf code: up to date, and byte for byte what other peers send.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use chancery_wire::proto::{a2a_v1, google_rpc, lf_a2a_v1};
use prost::{Message, Name};
use prost_build::Module;
use prost_types::FileDescriptorSet;
use serde_json::Value;

/// The packages, and the files that define them.
const SOURCES: [(&str, &str); 3] =
    [("lf.a2a.v1", "lf/a2a/v1/a2a.proto"), ("a2a.v1", "a2a/v1/a2a.proto"), ("google.rpc", "google/rpc/status.proto")];

#[test]
fn regenerating_the_protobuf_code_gives_the_same_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/proto");
    for (name, fresh) in SOURCES.iter().flat_map(|(package, source)| generate(package, source)) {
        let path = folder.join(name);
        if env::var_os("CHANCERY_BLESS").is_some_and(|value| value == "1") {
            fs::write(path, fresh).unwrap();
            continue;
        }
        let current = fs::read(&path).is_ok_and(|kept| kept == fresh);
        assert!(current, "{} is out of date: set CHANCERY_BLESS=1 to rewrite it", path.display());
    }
}

#[test]
fn v0_3_messages_of_other_peers_survive_a_round_trip_byte_for_byte() {
    check_vectors("v0.3");
}

#[test]
fn v1_0_messages_of_other_peers_survive_a_round_trip_byte_for_byte() {
    check_vectors("v1.0");
}

#[test]
fn a_vector_frame_is_the_length_of_the_message_and_the_message() {
    let framed = vectors("v1.0").filter(|vector| vector.get("frame").is_some());
    for vector in framed {
        let message = bytes(&vector["hex"]);
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        assert_eq!(bytes(&vector["frame"]), [&[0], &length[..], &message].concat(), "{}", vector["id"]);
    }
}

#[test]
fn error_details_are_found_by_their_type() {
    let vector = vectors("v1.0").find(|vector| vector["id"] == "v1.0/grpc-error-not-found").unwrap();
    let status = google_rpc::Status::decode(bytes(&vector["hex"]).as_slice()).unwrap();
    assert_eq!((status.code, status.message.as_str()), (5, "Task not found"));
    let info: google_rpc::ErrorInfo = status.details[0].to_msg().unwrap();
    assert_eq!((info.reason.as_str(), info.domain.as_str()), ("TASK_NOT_FOUND", "a2a-protocol.org"));
    assert_eq!(google_rpc::BadRequest::type_url(), "type.googleapis.com/google.rpc.BadRequest");
}

#[test]
fn descriptors_hold_the_service_and_every_file_it_refers_to() {
    for (package, set) in [("lf.a2a.v1", lf_a2a_v1::FILE_DESCRIPTOR_SET), ("a2a.v1", a2a_v1::FILE_DESCRIPTOR_SET)] {
        let files = FileDescriptorSet::decode(set).unwrap().file;
        let names: BTreeSet<_> = files.iter().map(|file| file.name()).collect();
        for import in files.iter().flat_map(|file| &file.dependency) {
            assert!(names.contains(import.as_str()), "{import}");
        }
        let file = files.iter().find(|file| file.package() == package).unwrap();
        assert_eq!(file.service[0].name(), "A2AService");
        assert_eq!(file.service[0].method.len(), 11);
    }
}

#[test]
fn v0_3_fields_that_hold_the_message_are_called_message_in_json() {
    let set = FileDescriptorSet::decode(a2a_v1::FILE_DESCRIPTOR_SET).unwrap();
    for (message, field) in
        [("SendMessageRequest", "request"), ("SendMessageResponse", "msg"), ("StreamResponse", "msg"), ("TaskStatus", "update")]
    {
        let mut messages = set.file.iter().flat_map(|file| &file.message_type);
        let fields = &messages.find(|found| found.name() == message).unwrap().field;
        let field = fields.iter().find(|found| found.name() == field).unwrap();
        assert_eq!(field.json_name(), "message");
    }
}

/// Compiles the file of one package; returns what belongs into `src/proto`, by file name.
fn generate(package: &str, source: &str) -> Vec<(String, Vec<u8>)> {
    let stem = package.replace('.', "_");
    let module = Module::from_protobuf_package_name(package);
    let files = compiler(source).include_source_info(true).file_descriptor_set().file;
    let requests = files.into_iter().map(|file| (Module::from_protobuf_package_name(file.package()), file)).collect();
    let mut code = config(package).generate(requests).unwrap();
    let mut generated = vec![(format!("{stem}.rs"), code.remove(&module).unwrap().into_bytes())];
    if package != "google.rpc" {
        generated.push((format!("{stem}.bin"), compiler(source).encode_file_descriptor_set()));
    }
    generated
}

fn compiler(source: &str) -> protox::Compiler {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let mut compiler = protox::Compiler::new([include]).unwrap();
    compiler.include_imports(true).open_file(source).unwrap();
    compiler
}

fn config(package: &str) -> prost_build::Config {
    let mut config = prost_build::Config::new();
    config.bytes(["."]).btree_map(["."]);
    // Written by hand: an entry of this map must have its value even when it is empty.
    for requirement in [".a2a.v1.Security", ".lf.a2a.v1.SecurityRequirement"] {
        config.extern_path(requirement, "crate::proto::SecurityRequirement");
    }
    if package == "google.rpc" {
        // Error details travel as Any, which names its type.
        config.enable_type_names().type_name_domain(["."], "type.googleapis.com");
    }
    config
}

fn check_vectors(version: &str) {
    let mut checked = 0;
    for vector in vectors(version) {
        let message = vector["message"].as_str().unwrap();
        let received = vector["hex"].as_str().unwrap();
        let sent = hex(&round_trip(message, &bytes(&vector["hex"])));
        assert_eq!(sent, received, "{}", vector["id"]);
        checked += 1;
    }
    assert!(checked > 8, "only {checked} vectors of {version}");
}

/// The vectors of the gRPC binding of one version.
fn vectors(version: &str) -> impl Iterator<Item = Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(version);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("grpc-"));
    paths.sort();
    paths.into_iter().map(|path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
}

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn round_trip(message: &str, bytes: &[u8]) -> Vec<u8> {
    fn of<M: Message + Default>(bytes: &[u8]) -> Vec<u8> {
        M::decode(bytes).unwrap().encode_to_vec()
    }
    let of = match message {
        "a2a.v1.AgentCard" => of::<a2a_v1::AgentCard>,
        "a2a.v1.CancelTaskRequest" => of::<a2a_v1::CancelTaskRequest>,
        "a2a.v1.CreateTaskPushNotificationConfigRequest" => of::<a2a_v1::CreateTaskPushNotificationConfigRequest>,
        "a2a.v1.GetTaskRequest" => of::<a2a_v1::GetTaskRequest>,
        "a2a.v1.ListTaskPushNotificationConfigResponse" => of::<a2a_v1::ListTaskPushNotificationConfigResponse>,
        "a2a.v1.SendMessageRequest" => of::<a2a_v1::SendMessageRequest>,
        "a2a.v1.SendMessageResponse" => of::<a2a_v1::SendMessageResponse>,
        "a2a.v1.StreamResponse" => of::<a2a_v1::StreamResponse>,
        "a2a.v1.TaskPushNotificationConfig" => of::<a2a_v1::TaskPushNotificationConfig>,
        "a2a.v1.TaskSubscriptionRequest" => of::<a2a_v1::TaskSubscriptionRequest>,
        "google.rpc.Status" => of::<google_rpc::Status>,
        "lf.a2a.v1.AgentCard" => of::<lf_a2a_v1::AgentCard>,
        "lf.a2a.v1.CancelTaskRequest" => of::<lf_a2a_v1::CancelTaskRequest>,
        "lf.a2a.v1.DeleteTaskPushNotificationConfigRequest" => of::<lf_a2a_v1::DeleteTaskPushNotificationConfigRequest>,
        "lf.a2a.v1.GetExtendedAgentCardRequest" => of::<lf_a2a_v1::GetExtendedAgentCardRequest>,
        "lf.a2a.v1.GetTaskPushNotificationConfigRequest" => of::<lf_a2a_v1::GetTaskPushNotificationConfigRequest>,
        "lf.a2a.v1.GetTaskRequest" => of::<lf_a2a_v1::GetTaskRequest>,
        "lf.a2a.v1.ListTaskPushNotificationConfigsRequest" => of::<lf_a2a_v1::ListTaskPushNotificationConfigsRequest>,
        "lf.a2a.v1.ListTaskPushNotificationConfigsResponse" => of::<lf_a2a_v1::ListTaskPushNotificationConfigsResponse>,
        "lf.a2a.v1.ListTasksRequest" => of::<lf_a2a_v1::ListTasksRequest>,
        "lf.a2a.v1.ListTasksResponse" => of::<lf_a2a_v1::ListTasksResponse>,
        "lf.a2a.v1.Message" => of::<lf_a2a_v1::Message>,
        "lf.a2a.v1.Part" => of::<lf_a2a_v1::Part>,
        "lf.a2a.v1.SendMessageRequest" => of::<lf_a2a_v1::SendMessageRequest>,
        "lf.a2a.v1.SendMessageResponse" => of::<lf_a2a_v1::SendMessageResponse>,
        "lf.a2a.v1.StreamResponse" => of::<lf_a2a_v1::StreamResponse>,
        "lf.a2a.v1.SubscribeToTaskRequest" => of::<lf_a2a_v1::SubscribeToTaskRequest>,
        "lf.a2a.v1.Task" => of::<lf_a2a_v1::Task>,
        "lf.a2a.v1.TaskPushNotificationConfig" => of::<lf_a2a_v1::TaskPushNotificationConfig>,
        other => panic!("no test knows the message {other}"),
    };
    of(bytes)
}
