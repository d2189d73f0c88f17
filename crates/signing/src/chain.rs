//! Certificate chains in a signature's header (`x5c`).

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use rustls_pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime, pem::PemObject};
use serde_json::Value;
use url::Url;
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, ExtendedKeyUsageValidator, KeyPurposeIdIter, anchor_from_trusted_cert};

use crate::{
    Jwk, Outcome,
    der::{BIT_STRING, Der, OBJECT, OCTET_STRING, SEQUENCE},
};

/// A chain with more certificates is not looked at.
const MAX_CERTIFICATES: usize = 10;

/// Certificates that chains may end in.
#[derive(Debug, Clone, Default)]
pub struct Roots {
    anchors: Vec<TrustAnchor<'static>>,
}

/// A certificate that cannot be a root.
#[derive(Debug, thiserror::Error)]
#[error("a root certificate cannot be read")]
pub struct RootError;

/// The certificates in a PEM file, in DER and in their order, as [`Signer::chain`](crate::Signer::chain) takes them; `None` when it has none
/// or a broken one.
pub fn certificates(pem: &[u8]) -> Option<Vec<Vec<u8>>> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).map(|one| one.map(|one| one.to_vec())).collect();
    certificates.ok().filter(|certificates| !certificates.is_empty())
}

impl Roots {
    /// The certificates in a PEM file.
    ///
    /// # Errors
    /// When it has none, or one that is broken.
    pub fn from_pem(text: &[u8]) -> Result<Self, RootError> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(text).collect::<Result<_, _>>().map_err(|_| RootError)?;
        if certificates.is_empty() {
            return Err(RootError);
        }
        Self::from_der(certificates.iter().map(AsRef::as_ref))
    }

    /// Certificates in DER, for example those that the system trusts.
    ///
    /// # Errors
    /// When one is broken.
    pub fn from_der<'a>(certificates: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, RootError> {
        let anchor = |der: &[u8]| anchor_from_trusted_cert(&CertificateDer::from(der)).map(|anchor| anchor.to_owned());
        Ok(Self { anchors: certificates.into_iter().map(anchor).collect::<Result<_, _>>().map_err(|_| RootError)? })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// The key of a chain's first certificate, if the chain may be trusted to speak for this address.
    pub(crate) fn leaf(
        &self,
        chain: &Value,
        kid: &str,
        origin: Option<&Url>,
        revoked: &[String],
        now: Timestamp,
    ) -> Result<Jwk, (Outcome, String)> {
        let untrusted = |reason: &str| (Outcome::ChainUntrusted, reason.to_owned());
        let chain = decode(chain).ok_or((Outcome::BadHeader, "x5c is no list of certificates".to_owned()))?;
        if let Some(revoked) = chain.iter().map(fingerprint).find(|found| revoked.iter().any(|one| one.eq_ignore_ascii_case(found))) {
            return Err(untrusted(&format!("the certificate {revoked} is revoked")));
        }
        let Some((leaf, others)) = chain.split_first() else { return Err(untrusted("the chain is empty")) };
        let certificate = EndEntityCert::try_from(leaf).map_err(|e| untrusted(&format!("the first certificate: {e}")))?;
        let now = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(now.as_second()).unwrap_or_default()));
        certificate
            .verify_for_usage(ALL_VERIFICATION_ALGS, &self.anchors, others, now, AnyPurpose, None, None)
            .map_err(|e| (outcome(&e), format!("the chain: {e}")))?;
        if !signs(leaf).unwrap_or(false) {
            return Err(untrusted("the first certificate is not for digital signatures"));
        }
        if !origin.is_some_and(|origin| speaks_for(&certificate, origin)) {
            return Err((Outcome::NameMismatch, "the first certificate does not name the host of the card".to_owned()));
        }
        Jwk::from_spki(&certificate.subject_public_key_info(), kid)
            .ok_or_else(|| (Outcome::BadAlg, "the key of the first certificate is of another kind".to_owned()))
    }
}

/// The SHA-256 of a certificate, in hexadecimal.
fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    digest(&SHA256, certificate).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Standard base64 of DER (RFC 7515 section 4.1.6), unlike everything else in a header.
fn decode(chain: &Value) -> Option<Vec<CertificateDer<'static>>> {
    let chain = chain.as_array().filter(|chain| chain.len() <= MAX_CERTIFICATES)?;
    chain.iter().map(|text| Some(CertificateDer::from(BASE64_STANDARD.decode(text.as_str()?).ok()?))).collect()
}

/// No extended purpose exists for signing cards, so none is asked for.
struct AnyPurpose;

impl ExtendedKeyUsageValidator for AnyPurpose {
    fn validate(&self, _purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        Ok(())
    }
}

fn outcome(error: &webpki::Error) -> Outcome {
    match error {
        webpki::Error::CertExpired { .. } | webpki::Error::CertNotValidYet { .. } => Outcome::ChainExpired,
        _ => Outcome::ChainUntrusted,
    }
}

fn speaks_for(certificate: &EndEntityCert<'_>, origin: &Url) -> bool {
    let host = origin.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let named = ServerName::try_from(host).is_ok_and(|host| certificate.verify_is_valid_for_subject_name(&host).is_ok());
    named || certificate.valid_uri_names().any(|uri| uri == origin.as_str())
}

/// Whether the key usage of a certificate includes digital signatures; `None` when it says nothing.
fn signs(certificate: &[u8]) -> Option<bool> {
    const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
    const EXTENSIONS: u8 = 0xa3;

    let mut fields = Der::new(certificate).open(SEQUENCE)?.open(SEQUENCE)?;
    let extensions = loop {
        let (tag, content) = fields.next()?;
        if tag == EXTENSIONS {
            break content;
        }
    };
    let mut extensions = Der::new(extensions).open(SEQUENCE)?;
    while !extensions.is_empty() {
        let mut extension = extensions.open(SEQUENCE)?;
        if extension.expect(OBJECT)? != KEY_USAGE {
            continue;
        }
        // Between the name and the value stands whether it is critical, or nothing.
        let value = loop {
            let (tag, content) = extension.next()?;
            if tag == OCTET_STRING {
                break content;
            }
        };
        // The first bit of all, after the byte that counts the unused ones.
        return Some(Der::new(value).expect(BIT_STRING)?.get(1)? & 0x80 != 0);
    }
    None
}
