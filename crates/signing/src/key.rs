//! Private keys.

use std::fmt;

use aws_lc_rs::{
    encoding::{AsBigEndian, AsDer, EcPrivateKeyBin, Pkcs8V1Der},
    rand::SystemRandom,
    rsa::{KeyPairComponents, KeySize, PublicKeyComponents},
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use rustls_pki_types::{PrivateKeyDer, pem::PemObject};
use serde_json::Value;

use crate::{
    Algorithm, Document, Jwk, JwkError,
    der::{Der, OCTET_STRING, SEQUENCE},
    jwk::{Material, bytes},
};

/// A private key with a name. Its `Debug` shows the name only.
pub struct SigningKey {
    public: Jwk,
    kid: String,
    pair: Pair,
}

enum Pair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

/// Why there is no private key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It is no JWK.
    #[error(transparent)]
    Jwk(#[from] JwkError),
    /// It has no private part, or one that does not fit.
    #[error("it is no complete private key for ES256, EdDSA or RS256")]
    Invalid,
    /// It has no name, and names are how keys are found.
    #[error("the key has no kid")]
    NoKid,
    /// It is no PEM file of a private key.
    #[error("it is no PEM file with a private key")]
    Pem,
    /// Keys for this algorithm are checked with, not signed with.
    #[error("{0} keys are not made here")]
    Unsupported(Algorithm),
    /// The system gives no random numbers, or the key cannot be used.
    #[error("the key cannot be made or used")]
    Failed,
}

impl SigningKey {
    /// A new key. RSA keys have 2048 bits and take a while.
    ///
    /// # Errors
    /// For [`Algorithm::Es384`], which is not signed with.
    pub fn generate(algorithm: Algorithm, kid: impl Into<String>) -> Result<Self, KeyError> {
        let pair = match algorithm {
            Algorithm::Es256 => Pair::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(|_| KeyError::Failed)?),
            Algorithm::EdDsa => Pair::EdDsa(Ed25519KeyPair::generate().map_err(|_| KeyError::Failed)?),
            Algorithm::Rs256 => Pair::Rs256(RsaKeyPair::generate(KeySize::Rsa2048).map_err(|_| KeyError::Failed)?),
            other => return Err(KeyError::Unsupported(other)),
        };
        Self::new(kid.into(), pair)
    }

    /// Reads a private JWK.
    ///
    /// # Errors
    /// When it is none, has no `kid`, or its parts do not fit.
    pub fn from_jwk(text: &[u8]) -> Result<Self, KeyError> {
        let document = Document::parse(text).map_err(JwkError::from)?;
        let members = document.members();
        let public = Jwk::read(members)?;
        let kid = public.kid().ok_or(KeyError::NoKid)?.to_owned();
        let part = |name| bytes(members, name).map_err(|_| KeyError::Invalid);
        let pair = match public.material() {
            Material::P256(point) => {
                let point = [&[4], point.as_slice()].concat();
                EcdsaKeyPair::from_private_key_and_public_key(&ECDSA_P256_SHA256_FIXED_SIGNING, &part("d")?, &point).map(Pair::Es256)
            }
            Material::Ed25519(public) => Ed25519KeyPair::from_seed_and_public_key(&part("d")?, public).map(Pair::EdDsa),
            Material::Rsa { n, e } => RsaKeyPair::from_components(&KeyPairComponents {
                public_key: PublicKeyComponents { n: n.clone(), e: e.clone() },
                d: part("d")?,
                p: part("p")?,
                q: part("q")?,
                dP: part("dp")?,
                dQ: part("dq")?,
                qInv: part("qi")?,
            })
            .map(Pair::Rs256),
            Material::P384(_) => return Err(KeyError::Unsupported(Algorithm::Es384)),
        };
        Self::new(kid, pair.map_err(|_| KeyError::Invalid)?)
    }

    /// Reads a PEM file as OpenSSL writes it: PKCS#8, or the older forms for EC and RSA.
    ///
    /// # Errors
    /// When it holds no private key of a known kind.
    pub fn from_pem(text: &[u8], kid: impl Into<String>) -> Result<Self, KeyError> {
        let key = PrivateKeyDer::from_pem_slice(text).map_err(|_| KeyError::Pem)?;
        let der = key.secret_der();
        let ecdsa = || EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, der).ok().map(Pair::Es256);
        let ed25519 = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok().map(Pair::EdDsa);
        let rsa = || RsaKeyPair::from_pkcs8(der).or_else(|_| RsaKeyPair::from_der(der)).ok().map(Pair::Rs256);
        let pair = ecdsa().or_else(ed25519).or_else(rsa).ok_or(KeyError::Invalid)?;
        Self::new(kid.into(), pair)
    }

    fn new(kid: String, pair: Pair) -> Result<Self, KeyError> {
        let material = pair.material().ok_or(KeyError::Invalid)?;
        Ok(Self { public: Jwk::new(Some(kid.clone()), material), kid, pair })
    }

    /// The name.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        match self.pair {
            Pair::Es256(_) => Algorithm::Es256,
            Pair::EdDsa(_) => Algorithm::EdDsa,
            Pair::Rs256(_) => Algorithm::Rs256,
        }
    }

    /// The public half, to be published.
    pub fn public(&self) -> Jwk {
        self.public.clone()
    }

    /// The private JWK. It is a secret: write it to a file that only its owner reads, and nowhere else.
    ///
    /// # Errors
    /// When the key cannot be exported.
    pub fn to_private_jwk(&self) -> Result<String, KeyError> {
        let text = |bytes: &[u8]| Value::String(BASE64_URL_SAFE_NO_PAD.encode(bytes));
        let Value::Object(mut members) = self.public().to_value() else { return Err(KeyError::Failed) };
        match &self.pair {
            Pair::Es256(pair) => {
                let d = AsBigEndian::<EcPrivateKeyBin<'_>>::as_be_bytes(&pair.private_key()).map_err(|_| KeyError::Failed)?;
                members.insert("d".to_owned(), text(d.as_ref()));
            }
            Pair::EdDsa(pair) => {
                let seed = pair.seed().map_err(|_| KeyError::Failed)?;
                let d = seed.as_be_bytes().map_err(|_| KeyError::Failed)?;
                members.insert("d".to_owned(), text(d.as_ref()));
            }
            Pair::Rs256(pair) => {
                let der = AsDer::<Pkcs8V1Der<'_>>::as_der(pair).map_err(|_| KeyError::Failed)?;
                let parts = rsa_parts(der.as_ref()).ok_or(KeyError::Failed)?;
                members.extend(["d", "p", "q", "dp", "dq", "qi"].into_iter().zip(parts).map(|(name, part)| (name.to_owned(), text(part))));
            }
        }
        Ok(Value::Object(members).to_string())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Es256(pair) => Ok(pair.sign(&random, message).map_err(|_| KeyError::Failed)?.as_ref().to_vec()),
            Pair::EdDsa(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Rs256(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map_err(|_| KeyError::Failed)?;
                Ok(signature)
            }
        }
    }
}

impl Pair {
    fn material(&self) -> Option<Material> {
        Some(match self {
            // Four, then x and y: the uncompressed form.
            Self::Es256(pair) => Material::P256(pair.public_key().as_ref().strip_prefix(&[4])?.try_into().ok()?),
            Self::EdDsa(pair) => Material::Ed25519(pair.public_key().as_ref().try_into().ok()?),
            Self::Rs256(pair) => {
                let mut numbers = Der::new(pair.public_key().as_ref()).open(SEQUENCE)?;
                Material::Rsa { n: numbers.unsigned()?.to_vec(), e: numbers.unsigned()?.to_vec() }
            }
        })
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SigningKey").field("kid", &self.kid).field("alg", &self.algorithm()).finish_non_exhaustive()
    }
}

/// d, p, q, dp, dq and qi of an RSA key in PKCS#8.
fn rsa_parts(pkcs8: &[u8]) -> Option<[&[u8]; 6]> {
    let mut info = Der::new(pkcs8).open(SEQUENCE)?;
    let (_version, _algorithm) = (info.unsigned()?, info.expect(SEQUENCE)?);
    let mut key = Der::new(info.expect(OCTET_STRING)?).open(SEQUENCE)?;
    let (_version, _n, _e) = (key.unsigned()?, key.unsigned()?, key.unsigned()?);
    let mut parts = [&[][..]; 6];
    for part in &mut parts {
        *part = key.unsigned()?;
    }
    Some(parts)
}
