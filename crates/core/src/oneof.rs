//! JSON of protobuf oneofs: an object with exactly one of several members.

/// Gives an enum of one-field variants the JSON form of a oneof. Unknown members are ignored,
/// `null` members are absent, two members or none are an error (v1.0 §4.1.6, ProtoJSON).
macro_rules! oneof {
    ($name:ident, $what:literal { $($variant:ident($type:ty) = $member:literal $(| $alias:literal)?;)+ }) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct as _;
                let mut object = serializer.serialize_struct(stringify!($name), 1)?;
                match self { $(Self::$variant(value) => object.serialize_field($member, value)?,)+ }
                object.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[allow(non_snake_case, reason = "the fields are named for the variants they fill")]
                struct Members {
                    $(#[serde(rename = $member $(, alias = $alias)?)] $variant: Option<$type>,)+
                }
                const RULE: &str = concat!($what, " holds exactly one of", $(" ", $member),+);
                let members = Members::deserialize(deserializer)?;
                let mut found = None;
                $(if let Some(value) = members.$variant {
                    if found.is_some() {
                        return Err(serde::de::Error::custom(RULE));
                    }
                    found = Some(Self::$variant(value.into()));
                })+
                found.ok_or_else(|| serde::de::Error::custom(RULE))
            }
        }
    };
}

pub(crate) use oneof;
