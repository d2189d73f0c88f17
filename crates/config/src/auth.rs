//! `[auth]`: authentication schemes, and which of them callers must satisfy; `[tls]`: certificate and key.

use std::{
    fmt,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use chancery_core::{Secret, SecurityRequirement, security::ApiKeyLocation};
use toml::de::{DeTable, DeValue};
use url::{Host, Url};

use super::{
    or,
    section::{Document, Keys, Result, Section, Value, kind},
};

/// `[auth]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auth {
    /// Each `[[auth.scheme]]`.
    pub schemes: Vec<Scheme>,
    /// The alternatives of which a caller must satisfy one; every scheme alone when there are none.
    pub require: Alternatives,
    /// Whether callers without credentials are let in.
    pub anonymous: bool,
    /// Scopes that every call which reads needs.
    pub read_scopes: Vec<String>,
    /// Scopes that every call which writes needs.
    pub write_scopes: Vec<String>,
    /// Whether a stream ends when the credential that opened it does.
    pub end_streams: bool,
    /// `[auth.exchange]`.
    pub exchange: Option<Exchange>,
}

/// `[auth.exchange]`: token exchange (RFC 8693) of callers' tokens for those with which other agents are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The token endpoint.
    pub token_url: String,
    /// The client id there.
    pub client_id: String,
    /// The client secret there.
    pub client_secret: Secret,
    /// The token of this server itself, as the actor.
    pub actor_token: Option<Secret>,
    /// The audience to ask for, where the issuer wants one.
    pub audience: Option<String>,
    /// Scopes that are always asked for.
    pub scopes: Vec<String>,
}

/// Alternatives, each of schemes that are needed together, by name.
pub type Alternatives = Vec<Vec<String>>;

/// `[[auth.scheme]]`: one way to prove who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheme {
    /// Its name in cards and in `require`.
    pub name: String,
    /// What is shown, and where.
    pub kind: SchemeKind,
    /// Who has a credential of it.
    pub holders: Vec<Holder>,
    /// Scopes that it must grant.
    pub scopes: Vec<String>,
}

/// The types of schemes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemeKind {
    /// A key in a header, query parameter or cookie of this name.
    ApiKey(ApiKeyLocation, String),
    /// A fixed bearer token.
    Bearer,
    /// User name and password.
    Basic,
    /// A JSON web token of an issuer.
    Jwt(Jwt),
    /// A client certificate, and which of its names counts.
    MutualTls(CertificateName),
}

/// How tokens of an issuer are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwt {
    /// `iss`.
    pub issuer: String,
    /// `aud`: one of these.
    pub audience: Vec<String>,
    /// Where the keys are; `None` for those that the issuer's metadata names.
    pub jwks: Option<Jwks>,
    /// The algorithms that are taken, of [`ALGORITHMS`]; those of the server when not said.
    pub algorithms: Option<Vec<&'static str>>,
    /// How far clocks may differ.
    pub leeway: Option<Duration>,
    /// What is put before subjects.
    pub prefix: Option<String>,
    /// Who may act for others; whoever the issuer lets when not said.
    pub actors: Option<Vec<String>>,
}

/// Where a key set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Jwks {
    /// At a URL.
    Url(String),
    /// In a file.
    File(PathBuf),
}

/// Which name of a client certificate is the subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CertificateName {
    /// The common name.
    #[default]
    CommonName,
    /// A URI of the subject's alternative names.
    Uri,
    /// A DNS name of the subject's alternative names.
    Dns,
    /// SHA-256 of the certificate.
    Fingerprint,
}

/// Somebody who has a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Who it is.
    pub subject: String,
    /// What shows it.
    pub proof: Proof,
    /// Scopes that it has.
    pub scopes: Vec<String>,
}

/// What shows that somebody is a holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// A secret, of which only the digest is kept.
    Secret(SecretDigest),
    /// The name in a certificate.
    Certificate(String),
}

/// SHA-256 of a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretDigest(String);

impl SecretDigest {
    /// A secret as the file has it: `sha256:` and 64 hexadecimal digits, or the secret itself. `None` when it is empty, or a digest that is
    /// none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("sha256:") {
            Some(digits) if digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => Some(Self(text.to_owned())),
            Some(_) => None,
            None if text.is_empty() => None,
            None => {
                let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
                Some(Self(digest.as_ref().iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))))
            }
        }
    }

    /// `sha256:` and 64 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDigest")
    }
}

/// `[tls]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The chain of certificates.
    pub cert: PathBuf,
    /// The key of the first of them.
    pub key: PathBuf,
    /// Who issues certificates for clients.
    pub client_ca: Option<PathBuf>,
}

/// The signature algorithms of tokens by their names in JOSE headers.
pub const ALGORITHMS: [&str; 9] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

pub(crate) const AUTH: Keys = Keys::new(&["require", "anonymous", "read_scopes", "write_scopes", "end_streams"], &[]);
pub(crate) const EXCHANGE: Keys = Keys::new(&["token_url", "client_id", "client_secret", "actor_token", "audience", "scopes"], &[]);
pub(crate) const SCHEME: Keys = Keys::new(
    &[
        "name",
        "type",
        "in",
        "field",
        "scopes",
        "issuer",
        "audience",
        "jwks",
        "algorithms",
        "leeway",
        "prefix",
        "actors",
        "certificate_name",
    ],
    &["flows", "introspection"],
);
const HOLDER: Keys = Keys::new(&["subject", "secret", "certificate", "scopes"], &["tenant"]);
pub(crate) const TLS: Keys = Keys::new(&["cert", "key", "client_ca"], &["acme"]);

#[derive(Clone, Copy, PartialEq)]
enum SchemeType {
    ApiKey,
    Bearer,
    Basic,
    Jwt,
    MutualTls,
}

const TYPES: [(&str, SchemeType); 5] = [
    ("api_key", SchemeType::ApiKey),
    ("bearer", SchemeType::Bearer),
    ("basic", SchemeType::Basic),
    ("jwt", SchemeType::Jwt),
    ("mtls", SchemeType::MutualTls),
];

impl Auth {
    /// Alternatives with the scopes that their schemes must grant; each scheme alone when there are none.
    #[must_use]
    pub fn requirements(&self, alternatives: &[Vec<String>]) -> Vec<SecurityRequirement> {
        let scopes = |name: &String| self.schemes.iter().find(|known| known.name == *name).map_or(&[][..], |known| &known.scopes);
        let all: Alternatives = self.schemes.iter().map(|known| vec![known.name.clone()]).collect();
        let alternatives = if alternatives.is_empty() { &all } else { alternatives };
        let requirement = |schemes: &Vec<String>| {
            schemes.iter().fold(SecurityRequirement::new(), |requirement, name| requirement.and(name, scopes(name).iter().cloned()))
        };
        alternatives.iter().map(requirement).collect()
    }

    /// Whether there is a scheme of this name.
    fn knows(&self, name: &str) -> bool {
        self.schemes.iter().any(|known| known.name == name)
    }
}

/// Reads `[auth]`; without a scheme there is nothing to be asked.
pub(crate) fn auth(
    document: &Document<'_>,
    mut section: Section<'_, '_>,
    schemes: Option<Nested<'_>>,
    exchange: Option<Nested<'_>>,
    folder: &Path,
) -> Result<Option<Auth>> {
    let said = AUTH.known.iter().find_map(|key| section.key_span(key));
    let said = said.or_else(|| exchange.as_ref().map(|(span, _)| span.clone()));
    let schemes = self::schemes(document, schemes, folder)?;
    if schemes.is_empty() {
        return match said {
            Some(span) => Err(document.error_at(&span, "[auth] has no scheme").with_hint("add [[auth.scheme]]")),
            None => Ok(None),
        };
    }
    if let Some((span, _)) = exchange.as_ref().filter(|_| !schemes.iter().any(|scheme| matches!(scheme.kind, SchemeKind::Jwt(_)))) {
        let error = document.error_at(span, "there are no tokens to be exchanged");
        return Err(error.with_hint("add [[auth.scheme]] of type = \"jwt\", or take [auth.exchange] away"));
    }
    let mut auth = Auth {
        schemes,
        exchange: exchange.map(|nested| self::exchange(document, nested)).transpose()?,
        require: Vec::new(),
        anonymous: or(section.flag("anonymous")?, || false),
        read_scopes: words(&mut section, "read_scopes")?,
        write_scopes: words(&mut section, "write_scopes")?,
        end_streams: or(section.flag("end_streams")?, || false),
    };
    auth.require = alternatives(&mut section, "require", Some(&auth), false)?.unwrap_or_default();
    Ok(Some(auth))
}

fn exchange(document: &Document<'_>, (span, value): Nested<'_>) -> Result<Exchange> {
    let DeValue::Table(table) = value else {
        return Err(document.error_at(&span, format!("exchange must be a table, not {}", kind(&value))).with_hint("write [auth.exchange]"));
    };
    let mut section = Section::open(document, "[auth.exchange]", table, span, &EXCHANGE, false)?;
    let token_url = needed(&mut section, "token_url")?;
    let (client_id, client_secret) = (needed(&mut section, "client_id")?.value, needed(&mut section, "client_secret")?.value);
    if let Err(reason) = check_token_url(&token_url.value) {
        return Err(section.error(&token_url, format!("tokens cannot be exchanged there: {reason}")));
    }
    Ok(Exchange {
        token_url: token_url.value,
        client_id,
        client_secret: client_secret.into(),
        actor_token: section.text("actor_token")?.map(|token| token.value.into()),
        audience: section.text("audience")?.map(|audience| audience.value),
        scopes: words(&mut section, "scopes")?,
    })
}

/// Client secrets go over https, or over a connection that does not leave the machine.
fn check_token_url(text: &str) -> Result<(), String> {
    let url = Url::parse(text).map_err(|_| "an endpoint of the issuer is no URL")?;
    let local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" => Ok(()),
        "http" if local => Ok(()),
        _ => {
            let shown: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
            Err(format!("tokens are asked for over https only, and the endpoint is {shown}"))
        }
    }
}

/// A list of alternatives, such as `["oidc", "key+mtls"]`. Where `["none"]` may be said, it is an empty list.
pub(crate) fn alternatives(section: &mut Section<'_, '_>, key: &str, auth: Option<&Auth>, none: bool) -> Result<Option<Alternatives>> {
    let Some(texts) = section.texts(key)? else { return Ok(None) };
    if none && matches!(&texts.value[..], [only] if only.value == "none") {
        return Ok(Some(Vec::new()));
    }
    if texts.value.is_empty() {
        return Err(section.error(&texts, format!("{key} must not be empty")));
    }
    let mut alternatives = Vec::new();
    for text in &texts.value {
        let schemes: Vec<_> = text.value.split('+').map(|name| name.trim().to_owned()).collect();
        if let Some(strange) = schemes.iter().find(|name| !auth.is_some_and(|auth| auth.knows(name))) {
            let error = section.error(text, format!("there is no scheme {strange:?} in [auth]"));
            let known = auth.iter().flat_map(|auth| &auth.schemes).map(|known| known.name.as_str());
            return Err(error.suggest(strange, known));
        }
        alternatives.push(schemes);
    }
    Ok(Some(alternatives))
}

/// What was written under a key, and where.
pub(crate) type Nested<'t> = (Range<usize>, DeValue<'t>);

fn schemes(document: &Document<'_>, nested: Option<Nested<'_>>, folder: &Path) -> Result<Vec<Scheme>> {
    let mut schemes: Vec<Scheme> = Vec::new();
    for (span, table) in tables(document, nested, "[[auth.scheme]]")? {
        let scheme = scheme(document, table, span.clone(), folder)?;
        if schemes.iter().any(|known| known.name == scheme.name) {
            return Err(document.error_at(&span, format!("there is a scheme {:?} already", scheme.name)));
        }
        schemes.push(scheme);
    }
    Ok(schemes)
}

pub(crate) fn tables<'t>(document: &Document<'_>, nested: Option<Nested<'t>>, title: &str) -> Result<Vec<(Range<usize>, DeTable<'t>)>> {
    let Some((span, value)) = nested else { return Ok(Vec::new()) };
    let DeValue::Array(items) = value else {
        return Err(document.error_at(&span, format!("{title} must be a list of tables, not {}", kind(&value))));
    };
    let table = |item: toml::Spanned<DeValue<'t>>| match (item.span(), item.into_inner()) {
        (span, DeValue::Table(table)) => Ok((span, table)),
        (span, other) => Err(document.error_at(&span, format!("{title} must be a table, not {}", kind(&other)))),
    };
    items.into_iter().map(table).collect()
}

fn scheme<'t>(document: &Document<'t>, mut table: DeTable<'t>, span: Range<usize>, folder: &Path) -> Result<Scheme> {
    let holders = table.remove_entry("holders").map(|(key, value)| (key.span(), value.into_inner()));
    let mut section = Section::open(document, "[[auth.scheme]]", table, span, &SCHEME, false)?;
    let name = needed(&mut section, "name")?;
    if name.value.is_empty() || name.value == "none" || name.value.contains(['+', '"']) {
        return Err(section.error(&name, format!("{:?} cannot be the name of a scheme", name.value)));
    }
    let Some(kind) = section.choice("type", &TYPES)? else {
        return Err(section
            .table_error("the scheme has no type")
            .with_hint("add type = \"api_key\", \"bearer\", \"basic\", \"jwt\" or \"mtls\""));
    };
    let kind = kind.value;
    let own: &[&str] = match kind {
        SchemeType::ApiKey => &["in", "field"],
        SchemeType::Jwt => &["issuer", "audience", "jwks", "algorithms", "leeway", "prefix", "actors"],
        SchemeType::MutualTls => &["certificate_name"],
        SchemeType::Bearer | SchemeType::Basic => &[],
    };
    let common = ["name", "type", "scopes"];
    for key in SCHEME.known.iter().filter(|key| !own.contains(key) && !common.contains(key)) {
        if let Some(span) = section.key_span(key) {
            return Err(section.error_at(&span, format!("{key} is for schemes of another type")));
        }
    }
    let holders = self::holders(document, holders, kind)?;
    if holders.is_empty() && !matches!(kind, SchemeType::Jwt | SchemeType::MutualTls) {
        return Err(section
            .table_error("nobody could prove anything by this scheme")
            .with_hint("add holders = [{ subject = \"...\", secret = \"...\" }]"));
    }
    let scopes = words(&mut section, "scopes")?;
    let kind = match kind {
        SchemeType::Bearer => SchemeKind::Bearer,
        SchemeType::Basic => SchemeKind::Basic,
        SchemeType::ApiKey => {
            let places = [("header", ApiKeyLocation::Header), ("query", ApiKeyLocation::Query), ("cookie", ApiKeyLocation::Cookie)];
            let place = or(section.choice("in", &places)?, || ApiKeyLocation::Header);
            SchemeKind::ApiKey(place, or(section.text("field")?, || "X-API-Key".to_owned()))
        }
        SchemeType::MutualTls => {
            let names = [
                ("common_name", CertificateName::CommonName),
                ("uri", CertificateName::Uri),
                ("dns", CertificateName::Dns),
                ("fingerprint", CertificateName::Fingerprint),
            ];
            SchemeKind::MutualTls(or(section.choice("certificate_name", &names)?, CertificateName::default))
        }
        SchemeType::Jwt => SchemeKind::Jwt(jwt(&mut section, folder)?),
    };
    Ok(Scheme { name: name.value, kind, holders, scopes })
}

fn jwt(section: &mut Section<'_, '_>, folder: &Path) -> Result<Jwt> {
    let issuer = needed(section, "issuer")?.value;
    let audience = words(section, "audience")?;
    if audience.iter().all(String::is_empty) {
        return Err(section.table_error("the scheme has no audience").with_hint("add audience = [\"...\"]: whom tokens must be for"));
    }
    let jwks = section.text("jwks")?.map(|said| match said.value.contains("://") {
        true => Jwks::Url(said.value),
        false => Jwks::File(folder.join(said.value)),
    });
    Ok(Jwt {
        issuer,
        audience,
        jwks,
        algorithms: section.choices("algorithms", &ALGORITHMS.map(|name| (name, name)))?,
        leeway: section.duration("leeway")?.map(|leeway| leeway.value),
        prefix: section.text("prefix")?.map(|prefix| prefix.value),
        actors: section.texts("actors")?.map(|actors| actors.value.into_iter().map(|actor| actor.value).collect()),
    })
}

fn holders(document: &Document<'_>, nested: Option<Nested<'_>>, kind: SchemeType) -> Result<Vec<Holder>> {
    let mut holders = Vec::new();
    for (span, table) in tables(document, nested, "holders")? {
        let mut section = Section::open(document, "holders", table, span, &HOLDER, false)?;
        let subject = needed(&mut section, "subject")?.value;
        let (key, other) = if kind == SchemeType::MutualTls { ("certificate", "secret") } else { ("secret", "certificate") };
        if kind == SchemeType::Jwt {
            return Err(section.table_error("tokens of an issuer have no holders here"));
        }
        if let Some(span) = section.key_span(other) {
            return Err(section.error_at(&span, format!("{other} is for schemes of another type")));
        }
        let proof = needed(&mut section, key)?;
        let proof = match kind {
            SchemeType::MutualTls => Proof::Certificate(proof.value),
            _ => {
                // The words do not repeat what is there: it may be most of a secret.
                let digest = SecretDigest::parse(&proof.value).ok_or_else(|| {
                    section
                        .error(&proof, "secret must be a text, or \"sha256:\" and 64 hexadecimal digits")
                        .with_hint("printf %s SECRET | sha256sum")
                })?;
                Proof::Secret(digest)
            }
        };
        holders.push(Holder { subject, proof, scopes: words(&mut section, "scopes")? });
    }
    Ok(holders)
}

/// Reads `[tls]`.
pub(crate) fn tls(mut section: Section<'_, '_>, folder: &Path) -> Result<Option<Tls>> {
    let file = |said: Value<String>| folder.join(said.value);
    let (cert, key) = (section.text("cert")?.map(file), section.text("key")?.map(file));
    let client_ca = section.text("client_ca")?.map(file);
    match (cert, key, client_ca) {
        (Some(cert), Some(key), client_ca) => Ok(Some(Tls { cert, key, client_ca })),
        (None, None, None) => Ok(None),
        _ => Err(section.table_error("[tls] needs both cert and key")),
    }
}

fn needed(section: &mut Section<'_, '_>, key: &str) -> Result<Value<String>> {
    let said = section.text(key)?.filter(|said| !said.value.is_empty());
    said.ok_or_else(|| section.table_error(format!("{key} is missing")).with_hint(format!("add {key} = \"...\"")))
}

fn words(section: &mut Section<'_, '_>, key: &str) -> Result<Vec<String>> {
    Ok(section.texts(key)?.map(|texts| texts.value.into_iter().map(|text| text.value).collect()).unwrap_or_default())
}
