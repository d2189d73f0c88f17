//! v0.2: the JSON-RPC of v0.3, but for its card and what a client must always send.

use chancery_core::{Binding, Version};

use crate::v0_3::KindShape;

/// v0.2 over JSON-RPC.
pub(crate) static JSON_RPC: KindShape = KindShape::new(Version::V0_2, Binding::JsonRpc);
