//! `[auth]`: who may call the agents, and `[tls]`: with what the port is sealed.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use chancery::auth::{Algorithm, CertificateName, Digest, Holder, Jwt, Scheme};
use chancery_client::oauth;
use chancery_core::{Secret, SecurityRequirement, security::ApiKeyLocation};
use toml::de::{DeTable, DeValue};

use super::{
    or,
    section::{Document, Keys, Result, Section, Value, kind},
};

/// `[auth]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Auth {
    /// Each `[[auth.scheme]]`.
    schemes: Vec<Named>,
    /// The alternatives.
    require: Alternatives,
    anonymous: bool,
    read_scopes: Vec<String>,
    write_scopes: Vec<String>,
    end_streams: bool,
    /// `[auth.exchange]`.
    exchange: Option<Exchange>,
}

/// `[auth.exchange]`: where the tokens of callers are exchanged for those with which other agents are called.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Exchange {
    token_url: String,
    client_id: String,
    client_secret: Secret,
    actor_token: Option<Secret>,
    audience: Option<String>,
    scopes: Vec<String>,
}

/// Alternatives, each of schemes that are needed together.
pub(crate) type Alternatives = Vec<Vec<String>>;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    name: String,
    kind: Kind,
    holders: Vec<Holder>,
    /// Scopes that it must grant.
    scopes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    ApiKey(ApiKeyLocation, String),
    Bearer,
    Basic,
    Jwt(Tokens),
    MutualTls(CertificateName),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Tokens {
    issuer: String,
    audience: Vec<String>,
    jwks: Option<Source>,
    algorithms: Option<Vec<Algorithm>>,
    leeway: Option<Duration>,
    prefix: Option<String>,
    actors: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Url(String),
    File(PathBuf),
}

/// `[tls]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The chain of certificates.
    pub(crate) cert: PathBuf,
    /// The key of the first of them.
    pub(crate) key: PathBuf,
    /// Who issues certificates for clients.
    pub(crate) client_ca: Option<PathBuf>,
}

pub(super) const AUTH: Keys = Keys { known: &["require", "anonymous", "read_scopes", "write_scopes", "end_streams"], later: &[] };
pub(super) const EXCHANGE: Keys =
    Keys { known: &["token_url", "client_id", "client_secret", "actor_token", "audience", "scopes"], later: &[] };
pub(super) const SCHEME: Keys = Keys {
    known: &[
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
    later: &["flows", "introspection"],
};
const HOLDER: Keys = Keys { known: &["subject", "secret", "certificate", "scopes"], later: &["tenant"] };
pub(super) const TLS: Keys = Keys { known: &["cert", "key", "client_ca"], later: &["acme"] };

#[derive(Clone, Copy, PartialEq)]
enum Type {
    ApiKey,
    Bearer,
    Basic,
    Jwt,
    MutualTls,
}

const TYPES: [(&str, Type); 5] =
    [("api_key", Type::ApiKey), ("bearer", Type::Bearer), ("basic", Type::Basic), ("jwt", Type::Jwt), ("mtls", Type::MutualTls)];

impl Auth {
    /// Who may call, as the server understands it.
    pub(crate) fn rules(&self) -> chancery::Auth {
        let auth = chancery::Auth::new().anonymous(self.anonymous).keep_tokens(self.exchange.is_some()).end_streams(self.end_streams);
        let auth = auth.scopes_to_read(&self.read_scopes).scopes_to_write(&self.write_scopes);
        let auth = self.schemes.iter().fold(auth, |auth, named| auth.scheme(&named.name, named.scheme()));
        auth.requiring(self.requirements(&self.require))
    }

    /// Alternatives with the scopes that their schemes must grant.
    pub(crate) fn requirements(&self, alternatives: &[Vec<String>]) -> Vec<SecurityRequirement> {
        let scopes = |name: &String| self.schemes.iter().find(|known| known.name == *name).map_or(&[][..], |known| &known.scopes);
        let all: Alternatives = self.schemes.iter().map(|known| vec![known.name.clone()]).collect();
        let alternatives = if alternatives.is_empty() { &all } else { alternatives };
        let requirement = |schemes: &Vec<String>| {
            schemes.iter().fold(SecurityRequirement::new(), |requirement, name| requirement.and(name, scopes(name).iter().cloned()))
        };
        alternatives.iter().map(requirement).collect()
    }

    /// Who gets tokens for other agents in exchange for those of callers; `None` when nothing is exchanged.
    pub(crate) fn exchange(&self) -> chancery::Result<Option<oauth::Exchange>> {
        let Some(said) = &self.exchange else { return Ok(None) };
        let mut exchange = oauth::Exchange::at(&said.token_url, &said.client_id, said.client_secret.clone())?;
        if let Some(token) = &said.actor_token {
            exchange = exchange.actor(token.clone());
        }
        if let Some(audience) = &said.audience {
            exchange = exchange.parameter("audience", audience);
        }
        Ok(Some(said.scopes.iter().fold(exchange, oauth::Exchange::scope)))
    }

    /// Whether there is a scheme of this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.schemes.iter().any(|known| known.name == name)
    }
}

impl Named {
    fn scheme(&self) -> Scheme {
        let scheme = match &self.kind {
            Kind::ApiKey(location, field) => Scheme::api_key(*location, field),
            Kind::Bearer => Scheme::bearer(),
            Kind::Basic => Scheme::basic(),
            Kind::MutualTls(name) => Scheme::mutual_tls(*name),
            Kind::Jwt(tokens) => {
                let mut jwt = Jwt::issuer(&tokens.issuer, &tokens.audience);
                jwt = match &tokens.jwks {
                    None => jwt,
                    Some(Source::Url(url)) => jwt.keys_at(url),
                    Some(Source::File(file)) => jwt.keys_in(file),
                };
                if let Some(algorithms) = &tokens.algorithms {
                    jwt = jwt.algorithms(algorithms.iter().copied());
                }
                if let Some(leeway) = tokens.leeway {
                    jwt = jwt.leeway(leeway);
                }
                if let Some(prefix) = &tokens.prefix {
                    jwt = jwt.prefix(prefix);
                }
                if let Some(actors) = &tokens.actors {
                    jwt = jwt.actors(actors);
                }
                Scheme::jwt(jwt)
            }
        };
        self.holders.iter().cloned().fold(scheme, Scheme::holder)
    }
}

/// Reads `[auth]`; without a scheme there is nothing to be asked.
pub(super) fn auth(
    document: &Document<'_>,
    mut section: Section<'_, '_>,
    schemes: Option<Listed<'_>>,
    exchange: Option<Listed<'_>>,
    folder: &Path,
) -> Result<Option<Auth>> {
    let said = AUTH.known.iter().find_map(|key| section.key_span(key));
    let said = said.or_else(|| exchange.as_ref().map(|(span, _)| span.clone()));
    let schemes = self::schemes(document, schemes, folder)?;
    if schemes.is_empty() {
        return match said {
            Some(span) => Err(document.problem(&span, "[auth] has no scheme").hint("add [[auth.scheme]]")),
            None => Ok(None),
        };
    }
    if let Some((span, _)) = exchange.as_ref().filter(|_| !schemes.iter().any(|scheme| matches!(scheme.kind, Kind::Jwt(_)))) {
        let problem = document.problem(span, "there are no tokens to be exchanged");
        return Err(problem.hint("add [[auth.scheme]] of type = \"jwt\", or take [auth.exchange] away"));
    }
    let mut auth = Auth {
        schemes,
        exchange: exchange.map(|listed| self::exchange(document, listed)).transpose()?,
        require: Vec::new(),
        anonymous: or(section.flag("anonymous")?, || false),
        read_scopes: words(&mut section, "read_scopes")?,
        write_scopes: words(&mut section, "write_scopes")?,
        end_streams: or(section.flag("end_streams")?, || false),
    };
    auth.require = alternatives(&mut section, "require", Some(&auth), false)?.unwrap_or_default();
    Ok(Some(auth))
}

fn exchange(document: &Document<'_>, (span, value): Listed<'_>) -> Result<Exchange> {
    let DeValue::Table(table) = value else {
        return Err(document.problem(&span, format!("exchange must be a table, not {}", kind(&value))).hint("write [auth.exchange]"));
    };
    let mut section = Section::open(document, "[auth.exchange]", table, span, &EXCHANGE, false)?;
    let token_url = needed(&mut section, "token_url")?;
    let (client_id, client_secret) = (needed(&mut section, "client_id")?.value, needed(&mut section, "client_secret")?.value);
    if let Err(error) = oauth::Exchange::at(&token_url.value, &client_id, "") {
        return Err(section.wrong(&token_url, format!("tokens cannot be exchanged there: {error}")));
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

/// A list of alternatives, such as `["oidc", "key+mtls"]`. Where `["none"]` may be said, it is an empty list.
pub(super) fn alternatives(section: &mut Section<'_, '_>, key: &str, auth: Option<&Auth>, none: bool) -> Result<Option<Alternatives>> {
    let Some(texts) = section.texts(key)? else { return Ok(None) };
    if none && matches!(&texts.value[..], [only] if only.value == "none") {
        return Ok(Some(Vec::new()));
    }
    if texts.value.is_empty() {
        return Err(section.wrong(&texts, format!("{key} must not be empty")));
    }
    let mut alternatives = Vec::new();
    for text in &texts.value {
        let schemes: Vec<_> = text.value.split('+').map(|name| name.trim().to_owned()).collect();
        if let Some(strange) = schemes.iter().find(|name| !auth.is_some_and(|auth| auth.knows(name))) {
            let problem = section.wrong(text, format!("there is no scheme {strange:?} in [auth]"));
            let known = auth.iter().flat_map(|auth| &auth.schemes).map(|known| known.name.as_str());
            return Err(problem.nearest(strange, known));
        }
        alternatives.push(schemes);
    }
    Ok(Some(alternatives))
}

/// What was written under a key, and where.
pub(super) type Listed<'t> = (Range<usize>, DeValue<'t>);

fn schemes(document: &Document<'_>, listed: Option<Listed<'_>>, folder: &Path) -> Result<Vec<Named>> {
    let mut schemes: Vec<Named> = Vec::new();
    for (span, table) in tables(document, listed, "[[auth.scheme]]")? {
        let scheme = scheme(document, table, span.clone(), folder)?;
        if schemes.iter().any(|known| known.name == scheme.name) {
            return Err(document.problem(&span, format!("there is a scheme {:?} already", scheme.name)));
        }
        schemes.push(scheme);
    }
    Ok(schemes)
}

pub(super) fn tables<'t>(document: &Document<'_>, listed: Option<Listed<'t>>, title: &str) -> Result<Vec<(Range<usize>, DeTable<'t>)>> {
    let Some((span, value)) = listed else { return Ok(Vec::new()) };
    let DeValue::Array(items) = value else {
        return Err(document.problem(&span, format!("{title} must be a list of tables, not {}", kind(&value))));
    };
    let table = |item: toml::Spanned<DeValue<'t>>| match (item.span(), item.into_inner()) {
        (span, DeValue::Table(table)) => Ok((span, table)),
        (span, other) => Err(document.problem(&span, format!("{title} must be a table, not {}", kind(&other)))),
    };
    items.into_iter().map(table).collect()
}

fn scheme<'t>(document: &Document<'t>, mut table: DeTable<'t>, span: Range<usize>, folder: &Path) -> Result<Named> {
    let holders = table.remove_entry("holders").map(|(key, value)| (key.span(), value.into_inner()));
    let mut section = Section::open(document, "[[auth.scheme]]", table, span, &SCHEME, false)?;
    let name = needed(&mut section, "name")?;
    if name.value.is_empty() || name.value == "none" || name.value.contains(['+', '"']) {
        return Err(section.wrong(&name, format!("{:?} cannot be the name of a scheme", name.value)));
    }
    let Some(kind) = section.choice("type", &TYPES)? else {
        return Err(section
            .wrong_at_all("the scheme has no type")
            .hint("add type = \"api_key\", \"bearer\", \"basic\", \"jwt\" or \"mtls\""));
    };
    let kind = kind.value;
    let own: &[&str] = match kind {
        Type::ApiKey => &["in", "field"],
        Type::Jwt => &["issuer", "audience", "jwks", "algorithms", "leeway", "prefix", "actors"],
        Type::MutualTls => &["certificate_name"],
        Type::Bearer | Type::Basic => &[],
    };
    let common = ["name", "type", "scopes"];
    for key in SCHEME.known.iter().filter(|key| !own.contains(key) && !common.contains(key)) {
        if let Some(span) = section.key_span(key) {
            return Err(section.wrong_span(&span, format!("{key} is for schemes of another type")));
        }
    }
    let holders = self::holders(document, holders, kind)?;
    if holders.is_empty() && !matches!(kind, Type::Jwt | Type::MutualTls) {
        return Err(section
            .wrong_at_all("nobody could prove anything by this scheme")
            .hint("add holders = [{ subject = \"...\", secret = \"...\" }]"));
    }
    let scopes = words(&mut section, "scopes")?;
    let kind = match kind {
        Type::Bearer => Kind::Bearer,
        Type::Basic => Kind::Basic,
        Type::ApiKey => {
            let places = [("header", ApiKeyLocation::Header), ("query", ApiKeyLocation::Query), ("cookie", ApiKeyLocation::Cookie)];
            let place = or(section.choice("in", &places)?, || ApiKeyLocation::Header);
            Kind::ApiKey(place, or(section.text("field")?, || "X-API-Key".to_owned()))
        }
        Type::MutualTls => {
            let names = [
                ("common_name", CertificateName::CommonName),
                ("uri", CertificateName::Uri),
                ("dns", CertificateName::Dns),
                ("fingerprint", CertificateName::Fingerprint),
            ];
            Kind::MutualTls(or(section.choice("certificate_name", &names)?, CertificateName::default))
        }
        Type::Jwt => Kind::Jwt(tokens(&mut section, folder)?),
    };
    Ok(Named { name: name.value, kind, holders, scopes })
}

fn tokens(section: &mut Section<'_, '_>, folder: &Path) -> Result<Tokens> {
    let issuer = needed(section, "issuer")?.value;
    let audience = words(section, "audience")?;
    if audience.iter().all(String::is_empty) {
        return Err(section.wrong_at_all("the scheme has no audience").hint("add audience = [\"...\"]: whom tokens must be for"));
    }
    let jwks = section.text("jwks")?.map(|said| match said.value.contains("://") {
        true => Source::Url(said.value),
        false => Source::File(folder.join(said.value)),
    });
    Ok(Tokens {
        issuer,
        audience,
        jwks,
        algorithms: section.choices("algorithms", &Algorithm::ALL)?,
        leeway: section.duration("leeway")?.map(|leeway| leeway.value),
        prefix: section.text("prefix")?.map(|prefix| prefix.value),
        actors: section.texts("actors")?.map(|actors| actors.value.into_iter().map(|actor| actor.value).collect()),
    })
}

fn holders(document: &Document<'_>, listed: Option<Listed<'_>>, kind: Type) -> Result<Vec<Holder>> {
    let mut holders = Vec::new();
    for (span, table) in tables(document, listed, "holders")? {
        let mut section = Section::open(document, "holders", table, span, &HOLDER, false)?;
        let subject = needed(&mut section, "subject")?.value;
        let (key, other) = if kind == Type::MutualTls { ("certificate", "secret") } else { ("secret", "certificate") };
        if kind == Type::Jwt {
            return Err(section.wrong_at_all("tokens of an issuer have no holders here"));
        }
        if let Some(span) = section.key_span(other) {
            return Err(section.wrong_span(&span, format!("{other} is for schemes of another type")));
        }
        let proof = needed(&mut section, key)?;
        let mut holder = match kind {
            Type::MutualTls => Holder::certificate(subject, proof.value),
            _ => {
                // The words do not repeat what is there: it may be most of a secret.
                let digest = Digest::parse(&proof.value).ok_or_else(|| {
                    section
                        .wrong(&proof, "secret must be a text, or \"sha256:\" and 64 hexadecimal digits")
                        .hint("printf %s SECRET | sha256sum")
                })?;
                Holder::new(subject, digest)
            }
        };
        for scope in words(&mut section, "scopes")? {
            holder = holder.scope(scope);
        }
        holders.push(holder);
    }
    Ok(holders)
}

/// Reads `[tls]`.
pub(super) fn tls(mut section: Section<'_, '_>, folder: &Path) -> Result<Option<Tls>> {
    let file = |said: Value<String>| folder.join(said.value);
    let (cert, key) = (section.text("cert")?.map(file), section.text("key")?.map(file));
    let client_ca = section.text("client_ca")?.map(file);
    match (cert, key, client_ca) {
        (Some(cert), Some(key), client_ca) => Ok(Some(Tls { cert, key, client_ca })),
        (None, None, None) => Ok(None),
        _ => Err(section.wrong_at_all("[tls] needs both cert and key")),
    }
}

fn needed(section: &mut Section<'_, '_>, key: &str) -> Result<Value<String>> {
    let said = section.text(key)?.filter(|said| !said.value.is_empty());
    said.ok_or_else(|| section.wrong_at_all(format!("{key} is missing")).hint(format!("add {key} = \"...\"")))
}

fn words(section: &mut Section<'_, '_>, key: &str) -> Result<Vec<String>> {
    Ok(section.texts(key)?.map(|texts| texts.value.into_iter().map(|text| text.value).collect()).unwrap_or_default())
}
