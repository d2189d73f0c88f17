//! Public keys as JSON: JWK and JWK set (RFC 7517), thumbprints (RFC 7638).

use std::fmt;

use aws_lc_rs::{
    digest::{SHA256, digest},
    rsa::PublicKeyComponents,
    signature::{ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    Document, DocumentError, canonical,
    der::{BIT_STRING, Der, OBJECT, SEQUENCE},
};

/// A set with more keys is refused.
const MAX_KEYS: usize = 100;

/// How a signature is made. Others are never accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA with P-256 and SHA-256.
    #[serde(rename = "ES256")]
    Es256,
    /// ECDSA with P-384 and SHA-384; checked, never made.
    #[serde(rename = "ES384")]
    Es384,
    /// RSA PKCS#1 v1.5 with SHA-256, 2048 bits or more.
    #[serde(rename = "RS256")]
    Rs256,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

impl Algorithm {
    /// Its name in a header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The algorithm by its name in a header. `none` and the symmetric ones are not among them.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Es256, Self::Es384, Self::Rs256, Self::EdDsa].into_iter().find(|algorithm| algorithm.as_str() == name)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwk {
    kid: Option<String>,
    material: Material,
    /// `use` and `key_ops` allow to check signatures with it.
    verifies: bool,
    not_before: Option<i64>,
    expires: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Material {
    /// x and y of a point on P-256.
    P256([u8; 64]),
    /// x and y of a point on P-384.
    P384([u8; 96]),
    Ed25519([u8; 32]),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

/// Why a text is no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JwkError {
    /// It is no JSON object, or has a member twice.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A member is missing or wrong.
    #[error("the member {0} of the key is missing or wrong")]
    Member(&'static str),
    /// It is a key of another kind.
    #[error("it is a key of a kind that cards are not signed with")]
    Kind,
    /// It has no list of keys.
    #[error("it is no set of keys")]
    NoSet,
    /// There are too many.
    #[error("it has more than {MAX_KEYS} keys")]
    TooMany,
}

impl Jwk {
    /// Reads a key. Private members are not looked at.
    ///
    /// ```
    /// use chancery_signing::{Algorithm, Jwk};
    /// let key = Jwk::parse(br#"{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#)?;
    /// assert_eq!(key.algorithm(), Algorithm::EdDsa);
    /// assert_eq!(key.thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    /// # Ok::<(), chancery_signing::JwkError>(())
    /// ```
    ///
    /// # Errors
    /// When it is no JSON or no key of a known kind, or says that it is for another algorithm than it can be.
    pub fn parse(text: &[u8]) -> Result<Self, JwkError> {
        Self::read(Document::parse(text)?.members())
    }

    /// Reads a key that is JSON already.
    ///
    /// # Errors
    /// As for [`Jwk::parse`].
    pub fn read(members: &Map<String, Value>) -> Result<Self, JwkError> {
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        let material = match (text("kty"), text("crv")) {
            (Some("EC"), Some("P-256")) => Material::P256(point(members)?),
            (Some("EC"), Some("P-384")) => Material::P384(point(members)?),
            (Some("OKP"), Some("Ed25519")) => Material::Ed25519(fixed(members, "x")?),
            (Some("RSA"), _) => Material::Rsa { n: positive(members, "n")?, e: positive(members, "e")? },
            _ => return Err(JwkError::Kind),
        };
        let key = Self {
            kid: text("kid").map(str::to_owned),
            verifies: may_verify(members),
            not_before: time(members, "nbf")?,
            expires: time(members, "exp")?,
            material,
        };
        if members.get("alg").is_some_and(|name| name != key.algorithm().as_str()) {
            return Err(JwkError::Member("alg"));
        }
        Ok(key)
    }

    pub(crate) fn new(kid: Option<String>, material: Material) -> Self {
        Self { kid, material, verifies: true, not_before: None, expires: None }
    }

    /// The key in a certificate's SubjectPublicKeyInfo, without the outer sequence.
    pub(crate) fn from_spki(spki: &[u8], kid: &str) -> Option<Self> {
        const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
        const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
        const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
        const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
        const ED25519_ID: &[u8] = &[0x2b, 0x65, 0x70];

        let mut spki = Der::new(spki).open(SEQUENCE)?;
        let mut algorithm = spki.open(SEQUENCE)?;
        let id = algorithm.expect(OBJECT)?;
        let key = spki.expect(BIT_STRING)?.strip_prefix(&[0])?;
        let material = if id == EC {
            let point = key.strip_prefix(&[4])?;
            match algorithm.expect(OBJECT)? {
                P256 => Material::P256(point.try_into().ok()?),
                P384 => Material::P384(point.try_into().ok()?),
                _ => return None,
            }
        } else if id == ED25519_ID {
            Material::Ed25519(key.try_into().ok()?)
        } else if id == RSA {
            let mut numbers = Der::new(key).open(SEQUENCE)?;
            Material::Rsa { n: numbers.unsigned()?.to_vec(), e: numbers.unsigned()?.to_vec() }
        } else {
            return None;
        };
        Some(Self::new(Some(kid.to_owned()), material))
    }

    /// Its name.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// The one algorithm it is for.
    pub fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::P256(_) => Algorithm::Es256,
            Material::P384(_) => Algorithm::Es384,
            Material::Ed25519(_) => Algorithm::EdDsa,
            Material::Rsa { .. } => Algorithm::Rs256,
        }
    }

    /// Whether it is meant for checking signatures.
    pub fn verifies(&self) -> bool {
        self.verifies
    }

    /// Whether its `nbf` and `exp` members, if any, allow to use it now.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        let now = now.as_second();
        self.not_before.is_none_or(|time| time <= now) && self.expires.is_none_or(|time| now < time)
    }

    /// Its RFC 7638 thumbprint: base64url of a SHA-256.
    pub fn thumbprint(&self) -> String {
        let bytes = canonical::rfc8785(&self.required());
        BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, &bytes))
    }

    /// The key as JSON, to be published.
    pub fn to_value(&self) -> Value {
        let mut members = self.required();
        if let Some(kid) = &self.kid {
            members.insert("kid".to_owned(), json!(kid));
        }
        members.insert("alg".to_owned(), json!(self.algorithm()));
        members.insert("use".to_owned(), json!("sig"));
        for (name, time) in [("nbf", self.not_before), ("exp", self.expires)] {
            members.extend(time.map(|time| (name.to_owned(), json!(time))));
        }
        Value::Object(members)
    }

    /// Whether this key made the signature: raw `r` and `s` for ECDSA, never DER.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let sec1 = |point: &[u8]| [&[4], point].concat();
        match &self.material {
            Material::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, sec1(point)).verify(message, signature),
            Material::P384(point) => UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, sec1(point)).verify(message, signature),
            Material::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
            Material::Rsa { n, e } => PublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature),
        }
        .is_ok()
    }

    pub(crate) fn material(&self) -> &Material {
        &self.material
    }

    /// The members that a thumbprint is over, which are those that make the key.
    fn required(&self) -> Map<String, Value> {
        let text = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let value = match &self.material {
            Material::P256(point) => json!({"kty": "EC", "crv": "P-256", "x": text(&point[..32]), "y": text(&point[32..])}),
            Material::P384(point) => json!({"kty": "EC", "crv": "P-384", "x": text(&point[..48]), "y": text(&point[48..])}),
            Material::Ed25519(key) => json!({"kty": "OKP", "crv": "Ed25519", "x": text(key)}),
            Material::Rsa { n, e } => json!({"kty": "RSA", "n": text(n), "e": text(e)}),
        };
        if let Value::Object(members) = value { members } else { Map::new() }
    }
}

/// Several public keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JwkSet {
    keys: Vec<Jwk>,
}

impl JwkSet {
    /// Reads a set. Keys of kinds that nobody here knows are left out.
    ///
    /// # Errors
    /// When it is no JSON, has no list of keys, or has more than 100.
    pub fn parse(text: &[u8]) -> Result<Self, JwkError> {
        let document = Document::parse(text)?;
        let keys = document.member("keys").and_then(Value::as_array).ok_or(JwkError::NoSet)?;
        if keys.len() > MAX_KEYS {
            return Err(JwkError::TooMany);
        }
        Ok(keys.iter().filter_map(Value::as_object).filter_map(|key| Jwk::read(key).ok()).collect())
    }

    /// Its keys.
    pub fn keys(&self) -> &[Jwk] {
        &self.keys
    }

    /// The key of this name that is meant for checking signatures. Names are compared as they are; a key without one is never found.
    pub fn key(&self, kid: &str) -> Option<&Jwk> {
        self.keys.iter().find(|key| key.verifies && key.kid() == Some(kid))
    }

    /// The set as JSON, to be published.
    pub fn to_value(&self) -> Value {
        json!({"keys": self.keys.iter().map(Jwk::to_value).collect::<Vec<_>>()})
    }
}

impl FromIterator<Jwk> for JwkSet {
    fn from_iter<I: IntoIterator<Item = Jwk>>(keys: I) -> Self {
        Self { keys: keys.into_iter().collect() }
    }
}

impl From<Jwk> for JwkSet {
    fn from(key: Jwk) -> Self {
        Self { keys: vec![key] }
    }
}

fn may_verify(members: &Map<String, Value>) -> bool {
    members.get("use").is_none_or(|purpose| purpose == "sig")
        && members.get("key_ops").is_none_or(|allowed| allowed.as_array().is_some_and(|allowed| allowed.iter().any(|it| it == "verify")))
}

pub(crate) fn bytes(members: &Map<String, Value>, name: &'static str) -> Result<Vec<u8>, JwkError> {
    let text = members.get(name).and_then(Value::as_str);
    text.and_then(|text| BASE64_URL_SAFE_NO_PAD.decode(text).ok()).ok_or(JwkError::Member(name))
}

fn fixed<const N: usize>(members: &Map<String, Value>, name: &'static str) -> Result<[u8; N], JwkError> {
    bytes(members, name)?.try_into().map_err(|_| JwkError::Member(name))
}

/// x and y, each with the full length of the curve.
fn point<const N: usize>(members: &Map<String, Value>) -> Result<[u8; N], JwkError> {
    let (x, y) = (bytes(members, "x")?, bytes(members, "y")?);
    if x.len() != N / 2 {
        return Err(JwkError::Member("x"));
    }
    [x, y].concat().try_into().map_err(|_| JwkError::Member("y"))
}

/// A number in its shortest form: some writers keep a leading zero byte, which would change the thumbprint.
fn positive(members: &Map<String, Value>, name: &'static str) -> Result<Vec<u8>, JwkError> {
    let bytes = bytes(members, name)?;
    let start = bytes.iter().position(|byte| *byte != 0).ok_or(JwkError::Member(name))?;
    Ok(bytes[start..].to_vec())
}

#[expect(clippy::cast_possible_truncation, reason = "a float saturates, and no key lives that long")]
fn time(members: &Map<String, Value>, name: &'static str) -> Result<Option<i64>, JwkError> {
    members.get(name).map(|time| time.as_f64().map(|time| time as i64).ok_or(JwkError::Member(name))).transpose()
}
