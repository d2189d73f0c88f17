//! Security requirements, which are the same message in both versions.
//!
//! They are a map from scheme names to scopes. prost leaves an entry's value out when it is the
//! empty message, and JavaScript peers leave out entries without a value: a scheme without scopes
//! would be lost, and with it the requirement. On the wire a map is a list of entries, so this is
//! the list, with values that are always written.

use prost::Message;

/// Schemes that are needed together: `a2a.v1.Security` and `lf.a2a.v1.SecurityRequirement`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct SecurityRequirement {
    /// The entries of the map.
    #[prost(message, repeated, tag = "1")]
    pub schemes: Vec<SchemeScopes>,
}

/// One entry of the map.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct SchemeScopes {
    /// The name of the scheme.
    #[prost(string, tag = "1")]
    pub scheme: String,
    /// The scopes it must grant; some peers leave an empty list out.
    #[prost(message, optional, tag = "2")]
    pub scopes: Option<Scopes>,
}

/// Scopes: `StringList` of both packages.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Scopes {
    /// Their names.
    #[prost(string, repeated, tag = "1")]
    pub list: Vec<String>,
}

impl From<&chancery_core::SecurityRequirement> for SecurityRequirement {
    fn from(requirement: &chancery_core::SecurityRequirement) -> Self {
        let entry = |(scheme, scopes): (&String, &Vec<String>)| SchemeScopes {
            scheme: scheme.clone(),
            scopes: Some(Scopes { list: scopes.clone() }),
        };
        Self { schemes: requirement.schemes.iter().map(entry).collect() }
    }
}

impl From<SecurityRequirement> for chancery_core::SecurityRequirement {
    fn from(wire: SecurityRequirement) -> Self {
        let add = |requirement: Self, entry: SchemeScopes| requirement.and(entry.scheme, entry.scopes.unwrap_or_default().list);
        wire.schemes.into_iter().fold(Self::new(), add)
    }
}
