//! Tokens that somebody else signs: JWTs of an OpenID Connect issuer, or of whoever holds the key of a set.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use chancery_core::clock::{Clock as _, SystemClock};
use chancery_core::{Error, Result};
use jsonwebtoken::{Algorithm as Alg, Validation};
use serde_json::{Map, Value};

use super::{
    keys::{self, Keys, Place},
    scheme::{Identity, Proven},
};
/// How many may have acted for a subject, one for the other.
const ACTORS: usize = 8;

/// The algorithms that a token may be signed with. There is no way to name `none` or one with a shared secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of RFC 7518 and RFC 8037")]
#[non_exhaustive]
pub enum Algorithm {
    RS256,
    RS384,
    RS512,
    PS256,
    PS384,
    PS512,
    ES256,
    ES384,
    EdDSA,
}

impl Algorithm {
    /// All of them by name.
    pub const ALL: [(&'static str, Self); 9] = [
        ("RS256", Self::RS256),
        ("RS384", Self::RS384),
        ("RS512", Self::RS512),
        ("PS256", Self::PS256),
        ("PS384", Self::PS384),
        ("PS512", Self::PS512),
        ("ES256", Self::ES256),
        ("ES384", Self::ES384),
        ("EdDSA", Self::EdDSA),
    ];

    const fn inner(self) -> Alg {
        match self {
            Self::RS256 => Alg::RS256,
            Self::RS384 => Alg::RS384,
            Self::RS512 => Alg::RS512,
            Self::PS256 => Alg::PS256,
            Self::PS384 => Alg::PS384,
            Self::PS512 => Alg::PS512,
            Self::ES256 => Alg::ES256,
            Self::ES384 => Alg::ES384,
            Self::EdDSA => Alg::EdDSA,
        }
    }
}

/// Whose tokens are believed, and which of them.
///
/// A token must be signed with a key of the set and an algorithm of the list, name the issuer, one of the audiences, an
/// expiry that has not passed and a subject. A caller is its issuer and its subject together, for a subject means something
/// only to the one who gave it.
///
/// ```
/// use chancery_server::auth::{Algorithm, Jwt};
/// let jwt = Jwt::issuer("https://id.example", ["agents"]).algorithms([Algorithm::ES256]);
/// ```
#[derive(Debug, Clone)]
pub struct Jwt {
    issuer: String,
    audiences: Vec<String>,
    algorithms: Vec<Algorithm>,
    leeway: Duration,
    prefix: String,
    /// Who may act for others; everybody whom the issuer lets when nothing is said.
    actors: Option<BTreeSet<String>>,
    keys: Arc<Keys>,
}

impl Jwt {
    fn new<A: Into<String>>(issuer: String, audiences: impl IntoIterator<Item = A>, keys: Keys) -> Self {
        let prefix = format!("{issuer}#");
        Self {
            audiences: audiences.into_iter().map(Into::into).collect(),
            algorithms: vec![Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA],
            leeway: Duration::from_secs(30),
            issuer,
            prefix,
            actors: None,
            keys: Arc::new(keys),
        }
    }

    /// Tokens of an OpenID Connect issuer, which says itself where its keys are.
    pub fn issuer<A: Into<String>>(issuer: impl Into<String>, audiences: impl IntoIterator<Item = A>) -> Self {
        let issuer = issuer.into();
        let keys = Keys::new(Place::Issuer(issuer.clone()));
        Self::new(issuer, audiences, keys)
    }

    /// Takes the keys from this URL instead.
    #[must_use]
    pub fn keys_at(mut self, url: impl Into<String>) -> Self {
        self.keys = Arc::new(Keys::new(Place::Url(url.into())));
        self
    }

    /// Takes the keys from this file instead. It is read again when a token names a key that is not in it.
    #[must_use]
    pub fn keys_in(mut self, file: impl Into<PathBuf>) -> Self {
        self.keys = Arc::new(Keys::new(Place::File(file.into())));
        self
    }

    /// Takes the keys of this JWK set instead.
    ///
    /// # Errors
    /// When the text is no JWK set.
    pub fn keys(mut self, jwks: &str) -> Result<Self> {
        self.keys = Arc::new(Keys::Fixed(keys::read(jwks.as_bytes()).map_err(Error::internal)?));
        Ok(self)
    }

    /// Which algorithms are taken: RS256, PS256, ES256, ES384 and `EdDSA` when not said.
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// How far the clocks may be apart; 30 s when not said.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// What stands before the subject in the name of a caller: the issuer and `#` when not said. Without a prefix whoever
    /// the issuer calls `ada` is the `ada` of the other schemes.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Who may act for others, by the names that callers have: a token with an `act` claim is taken only if the one who acts now is
    /// one of them; those who acted before are for the record. Whoever the issuer lets may act when nothing is said, and nobody when
    /// the list is empty. A subject that calls itself needs none of it.
    #[must_use]
    pub fn actors<A: Into<String>>(mut self, actors: impl IntoIterator<Item = A>) -> Self {
        self.actors = Some(actors.into_iter().map(Into::into).collect());
        self
    }

    /// How long no keys are fetched after an unknown one was looked for; a minute when not said. To be said after where the
    /// keys are.
    #[must_use]
    pub fn pause(self, pause: Duration) -> Self {
        self.keys.pause(pause);
        self
    }

    /// The discovery document, if the issuer is asked for it.
    pub(super) fn discovery(&self) -> Option<String> {
        matches!(self.keys.place(), Some(Place::Issuer(_))).then(|| keys::discovery(&self.issuer))
    }

    /// Checks what is said, and says who fetches keys.
    pub(super) fn prepare(&self, client: &chancery_net::Client) -> Result<()> {
        let wrong = |what: &str| Err(Error::internal(format!("the tokens of {:?}: {what}", self.issuer)));
        if self.issuer.is_empty() || self.audiences.iter().all(String::is_empty) {
            return wrong("an issuer and an audience must be named");
        }
        if self.algorithms.is_empty() {
            return wrong("no algorithm is taken");
        }
        if let Some(Place::Url(url) | Place::Issuer(url)) = self.keys.place()
            && let Err(error) = keys::demand_secure(url)
        {
            return wrong(&error.to_string());
        }
        // Another crate of the program may have chosen already, which is as good.
        let _ = jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER.install_default();
        self.keys.connect(client);
        Ok(())
    }

    /// Verifies a token.
    pub(super) async fn prove(&self, token: &str) -> Result<Proven> {
        let Ok(header) = jsonwebtoken::decode_header(token) else {
            return Ok(Proven::Wrong("the token is no signed JWT"));
        };
        if !self.algorithms.iter().any(|algorithm| algorithm.inner() == header.alg) {
            return Ok(Proven::Wrong("the token is signed with an algorithm that is not taken"));
        }
        if header.crit.is_some() {
            return Ok(Proven::Wrong("the token demands something that is not known here"));
        }
        let Some((set, places)) = self.keys.find(header.kid.as_deref(), header.alg).await? else {
            return Ok(Proven::Wrong("the token is signed with an unknown key"));
        };
        let mut validation = Validation::new(header.alg);
        validation.leeway = self.leeway.as_secs();
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&self.audiences);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let mut why = "the signature of the token is wrong";
        for place in places {
            match jsonwebtoken::decode::<Map<String, Value>>(token, &set[place].key, &validation) {
                Ok(data) => return Ok(self.identify(&data.claims)),
                Err(error) => why = words(error.kind()),
            }
        }
        Ok(Proven::Wrong(why))
    }

    fn identify(&self, claims: &Map<String, Value>) -> Proven {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        // A list of issuers is nobody.
        if text("iss") != Some(self.issuer.as_str()) {
            return Proven::Wrong("the token is of another issuer");
        }
        let Some(subject) = text("sub").filter(|subject| !subject.is_empty()) else {
            return Proven::Wrong("the token has no subject");
        };
        // `scope` is a list of words by RFC 8693; some issuers write an array, and some call it `scp`.
        let scopes = ["scope", "scp"].iter().filter_map(|name| claims.get(*name)).flat_map(|value| match value {
            Value::String(words) => words.split(' ').map(str::to_owned).collect::<Vec<_>>(),
            Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        });
        let scopes = scopes.filter(|scope| !scope.is_empty()).collect();
        let actors = match self.chain(claims) {
            Ok(actors) => actors,
            Err(why) => return Proven::Wrong(why),
        };
        if let (Some(allowed), Some(current)) = (&self.actors, actors.first())
            && !allowed.contains(current)
        {
            return Proven::Barred("whoever acts for the subject may not do so here");
        }
        let until = self.end(claims);
        Proven::Known(Identity { scopes, actors, until, ..Identity::new(format!("{}{subject}", self.prefix)) })
    }

    /// When a token ends, with the leeway that it has.
    fn end(&self, claims: &Map<String, Value>) -> Option<tokio::time::Instant> {
        let end = Duration::try_from_secs_f64(claims.get("exp").and_then(Value::as_f64)?).ok()?.checked_add(self.leeway)?;
        let (seconds, nanos) = SystemClock.now().unix();
        let now = Duration::new(u64::try_from(seconds).ok()?, nanos.unsigned_abs());
        // What ends later than there is time never does.
        tokio::time::Instant::now().checked_add(end.saturating_sub(now))
    }

    /// Those who act for the subject by the `act` claim (RFC 8693, section 4.1): whoever acts now, and inside of that who acted
    /// before.
    fn chain(&self, claims: &Map<String, Value>) -> Result<Vec<String>, &'static str> {
        let (mut chain, mut next) = (Vec::new(), claims.get("act"));
        while let Some(act) = next {
            if chain.len() == ACTORS {
                return Err("the token was passed on too often");
            }
            let unreadable = "the token names an actor that cannot be read";
            let subject = act.get("sub").and_then(Value::as_str).filter(|subject| !subject.is_empty()).ok_or(unreadable)?;
            chain.push(match act.get("iss") {
                None => format!("{}{subject}", self.prefix),
                Some(Value::String(issuer)) if *issuer == self.issuer => format!("{}{subject}", self.prefix),
                // Somebody whom the issuer knows from elsewhere.
                Some(Value::String(issuer)) => format!("{issuer}#{subject}"),
                Some(_) => return Err(unreadable),
            });
            next = act.get("act");
        }
        Ok(chain)
    }
}

/// Why a token is refused, without anything that stands in it.
fn words(kind: &jsonwebtoken::errors::ErrorKind) -> &'static str {
    use jsonwebtoken::errors::ErrorKind as Kind;
    match kind {
        Kind::InvalidSignature => "the signature of the token is wrong",
        Kind::ExpiredSignature => "the token has expired",
        Kind::ImmatureSignature => "the token is not valid yet",
        Kind::InvalidIssuer => "the token is of another issuer",
        Kind::InvalidAudience => "the token is for somebody else",
        Kind::MissingRequiredClaim(_) | Kind::InvalidClaimFormat(_) => "the token lacks a claim, or has one of a wrong type",
        _ => "the token cannot be read",
    }
}
