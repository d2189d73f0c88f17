//! The names of our own extensions. They are names; nothing is fetched from them.

/// A task that was handed over to another agent, and the context that goes with it.
pub const HANDOFF: &str = "urn:chancery:ext/handoff/v1";

/// Calls to other agents on the way to a result.
pub const DELEGATION: &str = "urn:chancery:ext/delegation/v1";

/// How far a task may reach.
pub const SCOPE: &str = "urn:chancery:ext/scope/v1";

/// JSON schemas of a skill's input and output.
pub const SKILL_SCHEMA: &str = "urn:chancery:ext/skill-schema/v1";

/// The place of every event in its task's log, under this key in the event's metadata: what `id:` is on
/// server-sent events, for bindings that have no room beside the event.
pub const SEQUENCE: &str = "urn:chancery:ext/sequence/v1";
