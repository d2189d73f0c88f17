//! The names in a client's certificate, which was verified before anybody reads them.

use std::sync::Arc;

use rustls_pki_types::CertificateDer;

/// Which name in a certificate says who the caller is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateName {
    /// The common name of the subject.
    #[default]
    CommonName,
    /// A URI among the alternative names, such as a SPIFFE id.
    Uri,
    /// A host name among the alternative names.
    Dns,
    /// The SHA-256 digest of the whole certificate, as hexadecimal digits.
    Fingerprint,
}

/// The certificate that the peer of a connection has shown, and TLS has verified: an extension of a request, for
/// [`Scheme::mutual_tls`](super::Scheme::mutual_tls).
#[derive(Debug, Clone)]
pub struct PeerCertificate(Arc<CertificateDer<'static>>);

impl PeerCertificate {
    /// A certificate in DER. Whoever puts it into a request has verified it.
    #[must_use]
    pub fn new(der: Vec<u8>) -> Self {
        Self(Arc::new(CertificateDer::from(der)))
    }

    /// The names of a kind; none when the certificate cannot be read.
    pub(super) fn names(&self, kind: CertificateName) -> Vec<String> {
        if kind == CertificateName::Fingerprint {
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &self.0);
            return vec![digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()];
        }
        let Ok(certificate) = webpki::EndEntityCert::try_from(&*self.0) else { return Vec::new() };
        match kind {
            CertificateName::Uri => certificate.valid_uri_names().map(str::to_owned).collect(),
            CertificateName::Dns => certificate.valid_dns_names().map(str::to_owned).collect(),
            // The most specific one is the last.
            _ => common_names(certificate.subject()).into_iter().next_back().into_iter().collect(),
        }
    }
}

/// The common names of a subject: a sequence of sets of pairs of an identifier and a text.
fn common_names(subject: &[u8]) -> Vec<String> {
    const SEQUENCE: u8 = 0x30;
    const SET: u8 = 0x31;
    const IDENTIFIER: u8 = 0x06;
    const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
    /// UTF-8, printable and IA5: what is text without a table.
    const TEXTS: [u8; 3] = [0x0c, 0x13, 0x16];
    let mut names = Vec::new();
    let mut sets = subject;
    while let Some((SET, mut pairs, rest)) = element(sets) {
        sets = rest;
        while let Some((SEQUENCE, pair, rest)) = element(pairs) {
            pairs = rest;
            if let Some((IDENTIFIER, COMMON_NAME, value)) = element(pair)
                && let Some((tag, text, _)) = element(value)
                && TEXTS.contains(&tag)
                && let Ok(text) = std::str::from_utf8(text)
                && !text.is_empty()
            {
                names.push(text.to_owned());
            }
        }
    }
    names
}

/// The first element of DER: its tag, its content, and what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 => (usize::from(*rest.first()?), &rest[1..]),
        0x82 => (usize::from(*rest.first()?) << 8 | usize::from(*rest.get(1)?), &rest[2..]),
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(name: &str, alternatives: &[&str]) -> PeerCertificate {
        let mut params = rcgen::CertificateParams::new(alternatives.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "x".repeat(200));
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.subject_alt_names.push(rcgen::SanType::URI("spiffe://harbor/ada".try_into().unwrap()));
        let key = rcgen::KeyPair::generate().unwrap();
        PeerCertificate(Arc::new(params.self_signed(&key).unwrap().der().clone()))
    }

    #[test]
    fn a_certificate_is_read_by_each_kind_of_name() {
        for name in ["ada", "Łódź and ümläuts", &"n".repeat(60)] {
            let certificate = certificate(name, &["ada.example"]);
            assert_eq!(certificate.names(CertificateName::CommonName), [name]);
            assert_eq!(certificate.names(CertificateName::Dns), ["ada.example"]);
            assert_eq!(certificate.names(CertificateName::Uri), ["spiffe://harbor/ada"]);
            assert_eq!(certificate.names(CertificateName::Fingerprint)[0].len(), 64);
        }
    }

    #[test]
    fn what_is_no_subject_has_no_names() {
        for der in [&[][..], &[0x31], &[0x31, 0x81], &[0x31, 0x82, 1], &[0x31, 5, 0x30], &[0x31, 0x84, 0, 0, 0, 1, 0], &[0xff; 40]] {
            assert!(common_names(der).is_empty());
        }
    }
}
