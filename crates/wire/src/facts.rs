//! Capabilities per version: one table of what tells the versions apart for those who serve and call them.
//!
//! Whoever would compare versions outside of this crate asks for a fact instead. A new version is a row here.

use chancery_core::{Binding, Version};

/// What a version has, wants and means, beyond how it is written.
///
/// ```
/// use chancery_core::Version;
/// use chancery_wire::facts;
///
/// assert!(facts(Version::V0_1).callers_name_tasks);
/// assert_eq!(facts(Version::V1_0).media_type, "application/a2a+json");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// The version that these are facts of.
    pub version: Version,
    /// Who serves this version, serves ours: a dialect is served with the version that it is a dialect of.
    pub served_with: Version,
    /// The bindings under which cards list interfaces of this version.
    pub interfaces: &'static [Binding],
    /// Its interfaces are left out of the cards of agents that speak this other version too: readers find what they
    /// need beside the list.
    pub listed_unless: Option<Version>,
    /// The extended card is read by a GET of its own beside JSON-RPC.
    pub gets_extended_card: bool,
    /// Its JSON is that of the canonical model.
    pub is_canonical: bool,
    /// Extended cards have a form that can be signed.
    pub signs_extended_cards: bool,
    /// The media type of HTTP+JSON.
    pub media_type: &'static str,
    /// What paths of HTTP+JSON begin with, which cards may have in their URLs already.
    pub path_prefix: &'static str,
    /// Requests can name a tenant, so that one gRPC service can stand for several agents.
    pub names_tenants: bool,
    /// The versions whose clients call its gRPC service, this one first; none where it has none.
    pub grpc_versions: &'static [Version],
    /// Over gRPC, who gets no extended card gets the public one (V03-GRPC-007).
    pub grpc_card_for_all: bool,
    /// A single JSON-RPC call without an id is refused (V03-RPC-007).
    pub needs_rpc_id: bool,
    /// Callers choose the ids of new tasks.
    pub callers_name_tasks: bool,
    /// Messages have ids, by which a repeated one is known.
    pub messages_have_ids: bool,
    /// A task's webhooks can be listed; else there is one, and asking for it fails when there is none.
    pub lists_push_configs: bool,
    /// `historyLength` of 0 means no history; else it means nothing, and the caller strips the history.
    pub has_empty_history: bool,
    /// Handoffs have members of their own, so that nobody has to ask for the extension.
    pub has_handoffs: bool,
    /// A stream shows a finished task in pieces, and says which is the last.
    pub streams_in_pieces: bool,
    /// Who subscribes again is shown what happened before.
    pub resumes_streams: bool,
    /// Over JSON-RPC, a stream that fails before its first event is still a stream, whose one event is the error: clients look for it there
    /// only (V03-STREAM-007, V02-STREAM-004, V01-STREAM-005). Else it is an ordinary answer.
    pub errors_of_streams_are_events: bool,
    /// Peers may know the header of extensions by its present name and by its old one.
    pub has_two_extension_headers: bool,
}

/// The facts of a version.
#[must_use]
pub const fn facts(version: Version) -> &'static Facts {
    match version {
        Version::V1_0 => &V1_0,
        Version::V0_3 => &V0_3,
        Version::V0_2 => &V0_2,
        Version::V0_1 => &V0_1,
        Version::Compact => &COMPACT,
        // The version is not known to this crate: what holds for the current one is the best guess.
        _ => &V1_0,
    }
}

const V1_0: Facts = Facts {
    version: Version::V1_0,
    served_with: Version::V1_0,
    interfaces: &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc],
    listed_unless: None,
    gets_extended_card: false,
    is_canonical: true,
    signs_extended_cards: true,
    media_type: "application/a2a+json",
    path_prefix: "",
    names_tenants: true,
    grpc_versions: &[Version::V1_0],
    grpc_card_for_all: false,
    needs_rpc_id: false,
    callers_name_tasks: false,
    messages_have_ids: true,
    lists_push_configs: true,
    has_empty_history: true,
    has_handoffs: false,
    streams_in_pieces: false,
    resumes_streams: true,
    errors_of_streams_are_events: false,
    has_two_extension_headers: false,
};

const COMPACT: Facts = Facts {
    version: Version::Compact,
    interfaces: &[],
    is_canonical: false,
    signs_extended_cards: false,
    media_type: JSON,
    grpc_versions: &[],
    has_empty_history: false,
    has_handoffs: true,
    ..V1_0
};

const V0_3: Facts = Facts {
    version: Version::V0_3,
    served_with: Version::V0_3,
    is_canonical: false,
    signs_extended_cards: false,
    media_type: JSON,
    path_prefix: "/v1",
    names_tenants: false,
    // V02-GRPC-001: clients of v0.2 speak the service of v0.3.
    grpc_versions: &[Version::V0_3, Version::V0_2],
    grpc_card_for_all: true,
    needs_rpc_id: true,
    has_empty_history: false,
    errors_of_streams_are_events: true,
    has_two_extension_headers: true,
    ..V1_0
};

const V0_2: Facts = Facts {
    version: Version::V0_2,
    served_with: Version::V0_2,
    interfaces: &[Binding::JsonRpc],
    listed_unless: Some(Version::V0_3),
    gets_extended_card: true,
    path_prefix: "",
    grpc_versions: &[],
    grpc_card_for_all: false,
    has_two_extension_headers: false,
    ..V0_3
};

const V0_1: Facts = Facts {
    version: Version::V0_1,
    served_with: Version::V0_1,
    gets_extended_card: false,
    needs_rpc_id: false,
    callers_name_tasks: true,
    messages_have_ids: false,
    lists_push_configs: false,
    streams_in_pieces: true,
    resumes_streams: false,
    ..V0_2
};

const JSON: &str = "application/json";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, methods};

    #[test]
    fn every_version_has_its_own_row() {
        for version in Version::ALL {
            assert_eq!(facts(version).version, version);
        }
    }

    #[test]
    fn the_rows_agree_with_what_can_be_read_and_written() {
        for version in Version::ALL {
            let facts = facts(version);
            assert_eq!(facts.grpc_versions.first().copied(), methods::grpc_service(version).map(|_| version), "{version}");
            for binding in facts.interfaces {
                assert!(Dialect::of(version, *binding).is_some(), "{version} {binding}");
            }
        }
    }
}
