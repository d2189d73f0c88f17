//! The least that can be done: derive-only structs of each shape, with no checks, no aliases, no
//! types but strings.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// Decodes and encodes a send request.
pub fn send(shape: &str, body: &[u8]) -> Vec<u8> {
    match shape {
        "v1.0" => again::<Call<v1_0::Send>>(body),
        "v0.3" => again::<Call<kind::Send>>(body),
        "v0.3-rest" => again::<rest::Send>(body),
        "v0.1" => again::<Call<v0_1::Send>>(body),
        "compact" => again::<Call<compact::Send>>(body),
        other => panic!("no shape {other}"),
    }
}

/// Decodes and encodes a stream element in its envelope.
pub fn event(shape: &str, body: &[u8]) -> Vec<u8> {
    match shape {
        "v1.0" => again::<Answer<v1_0::Event>>(body),
        "v0.3" => again::<Answer<kind::Update>>(body),
        "v0.3-rest" => again::<Answer<rest::Event>>(body),
        "v0.1" => again::<Answer<v0_1::Update>>(body),
        "compact" => again::<Answer<compact::Event>>(body),
        other => panic!("no shape {other}"),
    }
}

fn again<T: Serialize + DeserializeOwned>(body: &[u8]) -> Vec<u8> {
    serde_json::to_vec(&serde_json::from_slice::<T>(body).unwrap()).unwrap()
}

macro_rules! shape {
    ($($name:ident { $($field:ident: $type:ty),+ $(,)? })+) => {
        $(#[derive(Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name { $(#[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)+ })+
    };
}

#[derive(Serialize, Deserialize)]
struct Call<P> {
    jsonrpc: String,
    id: String,
    method: String,
    params: P,
}

#[derive(Serialize, Deserialize)]
struct Answer<R> {
    jsonrpc: String,
    id: String,
    result: R,
}

type Object = Map<String, Value>;

mod v1_0 {
    use super::{Deserialize, Object, Serialize, Value};
    shape! {
        Send { tenant: String, message: Message, configuration: Configuration, metadata: Object }
        Configuration { accepted_output_modes: Vec<String>, history_length: i32, return_immediately: bool }
        Message { message_id: String, context_id: String, task_id: String, role: String, parts: Vec<Part>, metadata: Object, extensions: Vec<String>, reference_task_ids: Vec<String> }
        Part { text: String, raw: String, url: String, data: Value, metadata: Object, filename: String, media_type: String }
        Artifact { artifact_id: String, name: String, description: String, parts: Vec<Part>, metadata: Object, extensions: Vec<String> }
        Status { state: String, message: Message, timestamp: String }
        Task { id: String, context_id: String, status: Status, artifacts: Vec<Artifact>, history: Vec<Message>, metadata: Object }
        StatusUpdate { task_id: String, context_id: String, status: Status, metadata: Object }
        ArtifactUpdate { task_id: String, context_id: String, artifact: Artifact, append: bool, last_chunk: bool, metadata: Object }
        Event { task: Box<Task>, message: Box<Message>, status_update: Box<StatusUpdate>, artifact_update: Box<ArtifactUpdate> }
    }
}

mod kind {
    use super::{Deserialize, Object, Serialize};
    shape! {
        Send { message: Message, configuration: Configuration, metadata: Object }
        Configuration { accepted_output_modes: Vec<String>, history_length: i32, blocking: bool }
        Message { kind: String, message_id: String, context_id: String, task_id: String, role: String, parts: Vec<Part>, metadata: Object, extensions: Vec<String>, reference_task_ids: Vec<String> }
        File { uri: String, bytes: String, name: String, mime_type: String }
        Part { kind: String, text: String, file: File, data: Object, metadata: Object }
        Artifact { artifact_id: String, name: String, description: String, parts: Vec<Part>, metadata: Object, extensions: Vec<String> }
        Update { kind: String, task_id: String, context_id: String, artifact: Artifact, append: bool, last_chunk: bool, metadata: Object }
    }
}

mod rest {
    use super::{Deserialize, Object, Serialize};
    shape! {
        Send { message: Message, configuration: Configuration, metadata: Object }
        Configuration { accepted_output_modes: Vec<String>, history_length: i32, blocking: bool }
        Message { message_id: String, context_id: String, task_id: String, role: String, content: Vec<Part>, metadata: Object, extensions: Vec<String> }
        File { file_with_uri: String, file_with_bytes: String, name: String, mime_type: String }
        Data { data: Object }
        Part { text: String, file: File, data: Data, metadata: Object }
        Artifact { artifact_id: String, name: String, description: String, parts: Vec<Part>, metadata: Object, extensions: Vec<String> }
        Update { task_id: String, context_id: String, artifact: Artifact, append: bool, last_chunk: bool, metadata: Object }
        Event { artifact_update: Box<Update> }
    }
}

mod v0_1 {
    use super::{Deserialize, Object, Serialize};
    shape! {
        Send { id: String, session_id: String, message: Message, accepted_output_modes: Vec<String>, history_length: i32, metadata: Object }
        Message { role: String, parts: Vec<Part>, metadata: Object }
        File { uri: String, bytes: String, name: String, mime_type: String }
        Part { r#type: String, text: String, file: File, data: Object, metadata: Object }
        Artifact { id: String, name: String, description: String, parts: Vec<Part>, index: u32, append: bool, last_chunk: bool, metadata: Object }
        Update { id: String, artifact: Artifact, metadata: Object }
    }
}

mod compact {
    use super::{Deserialize, Object, Serialize};
    shape! {
        Send { message: Message, configuration: Configuration, metadata: Object }
        Configuration { accepted_output_modes: Vec<String>, history_length: i32, blocking: bool }
        Message { message_id: String, context_id: String, task_id: String, role: String, parts: Vec<Part> }
        File { uri: String, bytes: String, name: String }
        Part { text: String, file: File, structured_data: Object, mime_type: String }
        Artifact { artifact_id: String, parts: Vec<Part>, mime_type: String, metadata: Object }
        Update { task_id: String, context_id: String, artifact: Artifact, append: bool, last_chunk: bool, metadata: Object }
        Event { artifact_update: Box<Update> }
    }
}
