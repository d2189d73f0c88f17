//! What the v1.0 card schema says of each member: names, presence and kind (specification 8.4.1 and the proto file).

/// A member of a message.
pub(crate) struct Field {
    pub(crate) json: &'static str,
    /// The name in the proto file, which readers accept as well.
    pub(crate) proto: &'static str,
    pub(crate) presence: Presence,
    pub(crate) kind: Kind,
}

/// When a member counts as set.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Presence {
    /// Flagged REQUIRED: whenever it is there.
    Required,
    /// The keyword `optional`: whenever it is there.
    Optional,
    /// When it is not the default of its type.
    Implicit,
}

/// What a member holds.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// A string or a flag.
    Scalar,
    /// Any JSON object.
    Free,
    Message(&'static [Field]),
    List(&'static Kind),
    Map(&'static Kind),
}

use Kind::{Free, List, Map, Message, Scalar};
use Presence::{Implicit, Optional, Required};

const fn field(json: &'static str, proto: &'static str, presence: Presence, kind: Kind) -> Field {
    Field { json, proto, presence, kind }
}

/// A member whose two names are the same.
const fn plain(name: &'static str, presence: Presence, kind: Kind) -> Field {
    field(name, name, presence, kind)
}

/// The card without its signatures.
pub(crate) static CARD: &[Field] = &[
    plain("name", Required, Scalar),
    plain("description", Required, Scalar),
    field("supportedInterfaces", "supported_interfaces", Required, List(&Message(INTERFACE))),
    plain("provider", Implicit, Message(PROVIDER)),
    plain("version", Required, Scalar),
    field("documentationUrl", "documentation_url", Optional, Scalar),
    plain("capabilities", Required, Message(CAPABILITIES)),
    field("securitySchemes", "security_schemes", Implicit, Map(&Message(SCHEME))),
    field("securityRequirements", "security_requirements", Implicit, List(&Message(REQUIREMENT))),
    field("defaultInputModes", "default_input_modes", Required, List(&Scalar)),
    field("defaultOutputModes", "default_output_modes", Required, List(&Scalar)),
    plain("skills", Required, List(&Message(SKILL))),
    field("iconUrl", "icon_url", Optional, Scalar),
];

static INTERFACE: &[Field] = &[
    plain("url", Required, Scalar),
    field("protocolBinding", "protocol_binding", Required, Scalar),
    plain("tenant", Implicit, Scalar),
    field("protocolVersion", "protocol_version", Required, Scalar),
];

static PROVIDER: &[Field] = &[plain("url", Required, Scalar), plain("organization", Required, Scalar)];

static CAPABILITIES: &[Field] = &[
    plain("streaming", Optional, Scalar),
    field("pushNotifications", "push_notifications", Optional, Scalar),
    plain("extensions", Implicit, List(&Message(EXTENSION))),
    field("extendedAgentCard", "extended_agent_card", Optional, Scalar),
];

static EXTENSION: &[Field] = &[
    plain("uri", Implicit, Scalar),
    plain("description", Implicit, Scalar),
    plain("required", Implicit, Scalar),
    plain("params", Implicit, Free),
];

static SKILL: &[Field] = &[
    plain("id", Required, Scalar),
    plain("name", Required, Scalar),
    plain("description", Required, Scalar),
    plain("tags", Required, List(&Scalar)),
    plain("examples", Implicit, List(&Scalar)),
    field("inputModes", "input_modes", Implicit, List(&Scalar)),
    field("outputModes", "output_modes", Implicit, List(&Scalar)),
    field("securityRequirements", "security_requirements", Implicit, List(&Message(REQUIREMENT))),
];

static REQUIREMENT: &[Field] = &[plain("schemes", Implicit, Map(&Message(SCOPES)))];

static SCOPES: &[Field] = &[plain("list", Implicit, List(&Scalar))];

static SCHEME: &[Field] = &[
    field("apiKeySecurityScheme", "api_key_security_scheme", Implicit, Message(API_KEY)),
    field("httpAuthSecurityScheme", "http_auth_security_scheme", Implicit, Message(HTTP_AUTH)),
    field("oauth2SecurityScheme", "oauth2_security_scheme", Implicit, Message(OAUTH2)),
    field("openIdConnectSecurityScheme", "open_id_connect_security_scheme", Implicit, Message(OPEN_ID)),
    field("mtlsSecurityScheme", "mtls_security_scheme", Implicit, Message(MTLS)),
];

static API_KEY: &[Field] = &[plain("description", Implicit, Scalar), plain("location", Required, Scalar), plain("name", Required, Scalar)];

static HTTP_AUTH: &[Field] =
    &[plain("description", Implicit, Scalar), plain("scheme", Required, Scalar), field("bearerFormat", "bearer_format", Implicit, Scalar)];

static OAUTH2: &[Field] = &[
    plain("description", Implicit, Scalar),
    plain("flows", Required, Message(FLOWS)),
    field("oauth2MetadataUrl", "oauth2_metadata_url", Implicit, Scalar),
];

static OPEN_ID: &[Field] = &[plain("description", Implicit, Scalar), field("openIdConnectUrl", "open_id_connect_url", Required, Scalar)];

static MTLS: &[Field] = &[plain("description", Implicit, Scalar)];

static FLOWS: &[Field] = &[
    field("authorizationCode", "authorization_code", Implicit, Message(AUTHORIZATION_CODE)),
    field("clientCredentials", "client_credentials", Implicit, Message(CLIENT_CREDENTIALS)),
    plain("implicit", Implicit, Message(IMPLICIT)),
    plain("password", Implicit, Message(PASSWORD)),
    field("deviceCode", "device_code", Implicit, Message(DEVICE_CODE)),
];

static AUTHORIZATION_CODE: &[Field] = &[
    field("authorizationUrl", "authorization_url", Required, Scalar),
    field("tokenUrl", "token_url", Required, Scalar),
    field("refreshUrl", "refresh_url", Implicit, Scalar),
    plain("scopes", Required, Map(&Scalar)),
    field("pkceRequired", "pkce_required", Implicit, Scalar),
];

static CLIENT_CREDENTIALS: &[Field] = &[
    field("tokenUrl", "token_url", Required, Scalar),
    field("refreshUrl", "refresh_url", Implicit, Scalar),
    plain("scopes", Required, Map(&Scalar)),
];

static DEVICE_CODE: &[Field] = &[
    field("deviceAuthorizationUrl", "device_authorization_url", Required, Scalar),
    field("tokenUrl", "token_url", Required, Scalar),
    field("refreshUrl", "refresh_url", Implicit, Scalar),
    plain("scopes", Required, Map(&Scalar)),
];

static IMPLICIT: &[Field] = &[
    field("authorizationUrl", "authorization_url", Implicit, Scalar),
    field("refreshUrl", "refresh_url", Implicit, Scalar),
    plain("scopes", Implicit, Map(&Scalar)),
];

static PASSWORD: &[Field] = &[
    field("tokenUrl", "token_url", Implicit, Scalar),
    field("refreshUrl", "refresh_url", Implicit, Scalar),
    plain("scopes", Implicit, Map(&Scalar)),
];
