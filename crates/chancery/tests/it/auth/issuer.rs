//! An issuer of tokens, with real keys and a real port, whose honesty can be chosen.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use aws_lc_rs::{
    hmac, rand,
    rsa::KeySize,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use chancery_engine::clock::{Clock as _, SystemClock};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
};

/// A key that signs tokens.
pub(super) struct Key {
    pub(super) id: String,
    pair: Pair,
}

enum Pair {
    Rsa(Box<RsaKeyPair>),
    Ec(Box<EcdsaKeyPair>),
    Ed(Box<Ed25519KeyPair>),
}

fn base64(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

pub(super) fn now() -> i64 {
    SystemClock.now().unix().0
}

impl Key {
    pub(super) fn rsa(id: &str) -> Self {
        Self { id: id.to_owned(), pair: Pair::Rsa(Box::new(RsaKeyPair::generate(KeySize::Rsa2048).unwrap())) }
    }

    pub(super) fn ec(id: &str) -> Self {
        Self { id: id.to_owned(), pair: Pair::Ec(Box::new(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())) }
    }

    pub(super) fn ed(id: &str) -> Self {
        Self { id: id.to_owned(), pair: Pair::Ed(Box::new(Ed25519KeyPair::generate().unwrap())) }
    }

    pub(super) fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Rsa(_) => "RS256",
            Pair::Ec(_) => "ES256",
            Pair::Ed(_) => "EdDSA",
        }
    }

    /// The modulus and the exponent of an RSA key, out of its DER.
    fn rsa_numbers(pair: &RsaKeyPair) -> (String, String) {
        fn number(der: &[u8]) -> (&[u8], &[u8]) {
            assert_eq!(der[0], 2);
            let (length, rest) = match der[1] {
                0x82 => (usize::from(der[2]) << 8 | usize::from(der[3]), &der[4..]),
                short => (usize::from(short), &der[2..]),
            };
            let (number, rest) = rest.split_at(length);
            (number.strip_prefix(&[0]).unwrap_or(number), rest)
        }
        let der = pair.public_key().as_ref();
        let (modulus, rest) = number(&der[4..]);
        (base64(modulus), base64(number(rest).0))
    }

    pub(super) fn public(&self) -> Value {
        let mut jwk = match &self.pair {
            Pair::Rsa(pair) => {
                let (n, e) = Self::rsa_numbers(pair);
                json!({"kty": "RSA", "n": n, "e": e})
            }
            Pair::Ec(pair) => {
                let point = pair.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "x": base64(&point[1..33]), "y": base64(&point[33..65])})
            }
            Pair::Ed(pair) => json!({"kty": "OKP", "crv": "Ed25519", "x": base64(pair.public_key())}),
        };
        jwk["kid"] = json!(self.id);
        jwk["use"] = json!("sig");
        jwk
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = rand::SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            Pair::Ec(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Pair::Ed(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    /// A token with a header of the key's own.
    pub(super) fn token(&self, claims: &Value) -> String {
        self.token_with(&json!({"alg": self.algorithm(), "typ": "JWT", "kid": self.id}), claims)
    }

    pub(super) fn token_with(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", base64(header.to_string()), base64(claims.to_string()));
        format!("{message}.{}", base64(self.sign(message.as_bytes())))
    }

    /// A token that is signed with the public key as a secret, as an attacker has it.
    pub(super) fn confused(&self, header: &Value, claims: &Value, secret: &[u8]) -> String {
        let message = format!("{}.{}", base64(header.to_string()), base64(claims.to_string()));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        format!("{message}.{}", base64(tag))
    }
}

/// A token that nobody signed.
pub(super) fn unsigned(header: &Value, claims: &Value) -> String {
    format!("{}.{}.", base64(header.to_string()), base64(claims.to_string()))
}

/// An issuer at a port of its own.
#[derive(Clone)]
pub(super) struct Issuer {
    pub(super) url: String,
    keys: Arc<Mutex<Vec<Value>>>,
    fetches: Arc<AtomicUsize>,
}

impl Issuer {
    pub(super) async fn start(keys: &[&Key]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let issuer = Self { url, keys: Arc::default(), fetches: Arc::default() };
        issuer.publish(keys);
        let own = issuer.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let own = own.clone();
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let (mut first, mut line) = (String::new(), String::new());
                    stream.read_line(&mut first).await.unwrap();
                    while stream.read_line(&mut line).await.unwrap() > 2 {
                        line.clear();
                    }
                    let body = own.answer(first.split(' ').nth(1).unwrap_or_default());
                    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                    stream.write_all((head + &body).as_bytes()).await.unwrap();
                });
            }
        });
        issuer
    }

    fn answer(&self, path: &str) -> String {
        match path {
            "/.well-known/openid-configuration" => json!({"issuer": self.url, "jwks_uri": format!("{}/keys", self.url)}).to_string(),
            "/keys" => {
                self.fetches.fetch_add(1, Ordering::SeqCst);
                json!({"keys": *self.keys.lock().unwrap()}).to_string()
            }
            _ => "{}".to_owned(),
        }
    }

    /// Publishes these keys and no others.
    pub(super) fn publish(&self, keys: &[&Key]) {
        // Keys of other kinds are no trouble.
        let strange = [json!({"kty": "oct", "kid": "secret", "k": "c2VjcmV0"}), json!({"kty": "new", "kid": "new"}), json!(7)];
        *self.keys.lock().unwrap() = keys.iter().map(|key| key.public()).chain(strange).collect();
    }

    /// How often the keys were fetched.
    pub(super) fn fetches(&self) -> usize {
        self.fetches.load(Ordering::SeqCst)
    }

    /// What a good token says.
    pub(super) fn claims(&self) -> Value {
        json!({"iss": self.url, "aud": "agents", "sub": "ada", "exp": now() + 300, "nbf": now() - 1, "scope": "a b"})
    }
}
