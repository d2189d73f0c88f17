//! One table: how each version names the eleven operations in JSON-RPC and gRPC.
//!
//! The paths of HTTP+JSON are in [`rest`](crate::rest).

use chancery_core::{Operation, Version};

/// Which version a JSON-RPC method name belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Named {
    /// The name exists in this version only. v0.2 and v0.3 share their names and count as v0.3.
    In(Version),
    /// The name exists in v0.1 and in v0.2/v0.3 with different answers.
    InOlder,
}

#[rustfmt::skip]
const RPC: &[(&str, Named, Operation)] = {
    use Named::{In, InOlder};
    use Operation as O;
    use Version::{Compact, V0_1, V0_3, V1_0};
    &[
        ("SendMessage", In(V1_0), O::SendMessage),
        ("SendStreamingMessage", In(V1_0), O::StreamMessage),
        ("GetTask", In(V1_0), O::GetTask),
        ("ListTasks", In(V1_0), O::ListTasks),
        ("CancelTask", In(V1_0), O::CancelTask),
        ("SubscribeToTask", In(V1_0), O::Subscribe),
        ("CreateTaskPushNotificationConfig", In(V1_0), O::CreatePushConfig),
        ("GetTaskPushNotificationConfig", In(V1_0), O::GetPushConfig),
        ("ListTaskPushNotificationConfigs", In(V1_0), O::ListPushConfigs),
        ("DeleteTaskPushNotificationConfig", In(V1_0), O::DeletePushConfig),
        ("GetExtendedAgentCard", In(V1_0), O::GetExtendedCard),
        ("message/send", In(V0_3), O::SendMessage),
        ("message/stream", In(V0_3), O::StreamMessage),
        ("tasks/list", In(V0_3), O::ListTasks),
        ("tasks/pushNotificationConfig/set", In(V0_3), O::CreatePushConfig),
        ("tasks/pushNotificationConfig/get", In(V0_3), O::GetPushConfig),
        ("tasks/pushNotificationConfig/list", In(V0_3), O::ListPushConfigs),
        ("tasks/pushNotificationConfig/delete", In(V0_3), O::DeletePushConfig),
        ("agent/getAuthenticatedExtendedCard", In(V0_3), O::GetExtendedCard),
        ("tasks/get", InOlder, O::GetTask),
        ("tasks/cancel", InOlder, O::CancelTask),
        ("tasks/resubscribe", InOlder, O::Subscribe),
        ("tasks/send", In(V0_1), O::SendMessage),
        ("tasks/sendSubscribe", In(V0_1), O::StreamMessage),
        ("tasks/pushNotification/set", In(V0_1), O::CreatePushConfig),
        ("tasks/pushNotification/get", In(V0_1), O::GetPushConfig),
        ("A2A.SendMessage", In(Compact), O::SendMessage),
        ("A2A.SendStreamingMessage", In(Compact), O::StreamMessage),
        ("A2A.GetTask", In(Compact), O::GetTask),
        ("A2A.ListTasks", In(Compact), O::ListTasks),
        ("A2A.CancelTask", In(Compact), O::CancelTask),
        ("A2A.SubscribeToTask", In(Compact), O::Subscribe),
        ("A2A.CreateTaskPushNotificationConfig", In(Compact), O::CreatePushConfig),
        ("A2A.GetTaskPushNotificationConfig", In(Compact), O::GetPushConfig),
        ("A2A.ListTaskPushNotificationConfig", In(Compact), O::ListPushConfigs),
        // The plural of v1.0 is read, the singular is written: the first fit wins.
        ("A2A.ListTaskPushNotificationConfigs", In(Compact), O::ListPushConfigs),
        ("A2A.DeleteTaskPushNotificationConfig", In(Compact), O::DeletePushConfig),
        ("A2A.GetExtendedAgentCard", In(Compact), O::GetExtendedCard),
    ]
};

/// What a JSON-RPC method name means.
#[must_use]
pub fn rpc_method(name: &str) -> Option<(Named, Operation)> {
    RPC.iter().find(|(method, ..)| *method == name).map(|(_, named, operation)| (*named, *operation))
}

/// The JSON-RPC method of an operation; `None` when the version has none.
#[must_use]
pub fn rpc_name(version: Version, operation: Operation) -> Option<&'static str> {
    // v0.1 knows one webhook for a task: listing is reading it, removing it is setting none.
    let operation = match (version, operation) {
        (Version::V0_1, Operation::ListPushConfigs) => Operation::GetPushConfig,
        (Version::V0_1, Operation::DeletePushConfig) => Operation::CreatePushConfig,
        (_, operation) => operation,
    };
    let speaks = |named: Named| match named {
        Named::In(Version::V0_3) => {
            // v0.2 reads its extended card by a GET of its own.
            version == Version::V0_3 || version == Version::V0_2 && operation != Operation::GetExtendedCard
        }
        Named::In(other) => other == version,
        Named::InOlder => matches!(version, Version::V0_1 | Version::V0_2 | Version::V0_3),
    };
    RPC.iter().find(|(_, named, meant)| *meant == operation && speaks(*named)).map(|(name, ..)| *name)
}

/// The gRPC service of v1.0.
pub const GRPC_V1_0: &str = "lf.a2a.v1.A2AService";
/// The gRPC service of v0.3, which v0.2.5 and later speak too.
pub const GRPC_V0_3: &str = "a2a.v1.A2AService";

/// The gRPC service of a version; `None` when it has none of its own.
#[must_use]
pub const fn grpc_service(version: Version) -> Option<&'static str> {
    match version {
        Version::V1_0 => Some(GRPC_V1_0),
        Version::V0_3 => Some(GRPC_V0_3),
        _ => None,
    }
}

/// What a gRPC path such as `/lf.a2a.v1.A2AService/GetTask` means.
#[must_use]
pub fn grpc_method(path: &str) -> Option<(Version, Operation)> {
    let (service, call) = path.strip_prefix('/')?.split_once('/')?;
    let version = [Version::V1_0, Version::V0_3].into_iter().find(|version| grpc_service(*version) == Some(service))?;
    Operation::ALL.into_iter().find(|operation| grpc_name(version, *operation) == Some(call)).map(|operation| (version, operation))
}

/// The gRPC call of an operation; `None` when the version has none.
#[must_use]
pub fn grpc_name(version: Version, operation: Operation) -> Option<&'static str> {
    match (version, operation) {
        (Version::V1_0, operation) => Some(operation.name()),
        (Version::V0_3, Operation::Subscribe) => Some("TaskSubscription"),
        (Version::V0_3, Operation::ListPushConfigs) => Some("ListTaskPushNotificationConfig"),
        (Version::V0_3, Operation::GetExtendedCard) => Some("GetAgentCard"),
        (Version::V0_3, operation) => Some(operation.name()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_written_is_read_as_the_same_operation() {
        for version in [Version::V1_0, Version::V0_3, Version::V0_2, Version::V0_1, Version::Compact] {
            let stands_in = [Operation::ListPushConfigs, Operation::DeletePushConfig];
            for operation in Operation::ALL.into_iter().filter(|operation| version != Version::V0_1 || !stands_in.contains(operation)) {
                if let Some(name) = rpc_name(version, operation) {
                    assert_eq!(rpc_method(name).map(|(_, operation)| operation), Some(operation), "{name}");
                }
            }
        }
    }

    #[test]
    fn v1_and_compact_name_every_operation() {
        assert!(Operation::ALL.iter().all(|operation| rpc_name(Version::V1_0, *operation).is_some()));
        assert!(Operation::ALL.iter().all(|operation| rpc_name(Version::Compact, *operation).is_some()));
    }
}
