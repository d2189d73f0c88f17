//! Certificates for the demo (X.509): a small authority, made at the first start, that vouches for this machine and for one client.
//!
//! Nothing here is worth stealing: whoever reads the demo's folder can be the demo's client.

use std::{
    io::Write as _,
    net::{Ipv4Addr, Ipv6Addr},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use aws_lc_rs::{
    rand::{SecureRandom as _, SystemRandom},
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use chancery_engine::clock::{Clock as _, SystemClock};
use jiff::Timestamp;

use crate::Error;

/// What making certificates comes to; [`Error::Certificates`] says where.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How long certificates are good.
const GOOD: Duration = Duration::from_secs(365 * 86_400);
/// When they are made anew.
const OLD: Duration = Duration::from_secs(300 * 86_400);

/// The files, all in one folder.
#[derive(Debug, Clone)]
pub struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// The certificates in the data folder; they are made when there are none, or when they are old.
    pub(crate) fn open(data: &Path) -> crate::Result<Self> {
        let own = Self { folder: data.join("tls") };
        if !own.are_good() {
            own.make().map_err(|source| Error::Certificates { folder: own.folder.clone(), source })?;
        }
        Ok(own)
    }

    /// Whom clients have to trust.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// What the server shows, and its key.
    #[must_use]
    pub fn server(&self) -> (PathBuf, PathBuf) {
        (self.folder.join("server.pem"), self.folder.join("server-key.pem"))
    }

    /// What a client shows, and its key.
    #[must_use]
    pub fn client(&self) -> (PathBuf, PathBuf) {
        (self.folder.join("client.pem"), self.folder.join("client-key.pem"))
    }

    fn are_good(&self) -> bool {
        let ((server, server_key), (client, client_key)) = (self.server(), self.client());
        let young = |file: &PathBuf| {
            let made = std::fs::metadata(file).and_then(|file| file.modified());
            made.is_ok_and(|made| made.elapsed().unwrap_or_default() < OLD)
        };
        [self.authority(), server, server_key, client, client_key].iter().all(young)
    }

    fn make(&self) -> Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let seconds = u64::try_from(SystemClock.now().unix().0)?;
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let authority = Identity::new("Chancery demo authority")?;
        let own = authority.certificate(&authority, &[BASIC_CA, USAGE_CA].concat(), now)?;
        self.write("ca.pem", "CERTIFICATE", &own, false)?;
        let addresses = [element(0x87, &Ipv4Addr::LOCALHOST.octets()), element(0x87, &Ipv6Addr::LOCALHOST.octets())];
        let localhost = [element(0x82, b"localhost"), addresses.concat()];
        let names = extension(SUBJECT_NAMES, &element(SEQUENCE, &localhost.concat()));
        for (file, name, purpose, extra) in [("server", "localhost", SERVER, names), ("client", "demo", CLIENT, Vec::new())] {
            let identity = Identity::new(name)?;
            let extensions = [USAGE_LEAF, &extension(PURPOSES, &element(SEQUENCE, &element(OBJECT, purpose))), &extra].concat();
            let certificate = authority.certificate(&identity, &extensions, now)?;
            self.write(&format!("{file}.pem"), "CERTIFICATE", &certificate, false)?;
            let key = identity.pair.to_pkcs8v1().map_err(|_| "the key cannot be written")?;
            self.write(&format!("{file}-key.pem"), "PRIVATE KEY", key.as_ref(), true)?;
        }
        Ok(())
    }

    fn write(&self, name: &str, label: &str, der: &[u8], secret: bool) -> Result<()> {
        let path = self.folder.join(name);
        let lines: Vec<_> =
            BASE64_STANDARD.encode(der).into_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, if secret { 0o600 } else { 0o644 });
        let mut file = options.open(&path)?;
        writeln!(file, "-----BEGIN {label}-----\n{}\n-----END {label}-----", lines.join("\n"))?;
        Ok(())
    }
}

/// A name and its key.
struct Identity {
    name: &'static str,
    pair: EcdsaKeyPair,
}

impl Identity {
    fn new(name: &'static str) -> Result<Self> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).map_err(|_| "no key can be made")?;
        Ok(Self { name, pair })
    }

    /// A certificate for somebody, or for itself (RFC 5280).
    fn certificate(&self, subject: &Self, extensions: &[u8], now: SystemTime) -> Result<Vec<u8>> {
        let mut serial = [0; 16];
        SystemRandom::new().fill(&mut serial).map_err(|_| "there are no random numbers")?;
        // Positive, and without a zero that nobody needs.
        serial[0] = serial[0] & 0x7f | 0x40;
        let validity = [time(now - Duration::from_secs(3_600))?, time(now + GOOD)?].concat();
        let key = [element(SEQUENCE, KEY_TYPE), bits(subject.pair.public_key().as_ref())].concat();
        let body = [
            element(0xa0, &element(INTEGER, &[2])),
            element(INTEGER, &serial),
            element(SEQUENCE, SIGNATURE_TYPE),
            distinguished(self.name),
            element(SEQUENCE, &validity),
            distinguished(subject.name),
            element(SEQUENCE, &key),
            element(0xa3, &element(SEQUENCE, extensions)),
        ];
        let body = element(SEQUENCE, &body.concat());
        let signature = self.pair.sign(&SystemRandom::new(), &body).map_err(|_| "the certificate cannot be signed")?;
        Ok(element(SEQUENCE, &[body, element(SEQUENCE, SIGNATURE_TYPE), bits(signature.as_ref())].concat()))
    }
}

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTF8: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

/// ecdsa-with-SHA256.
const SIGNATURE_TYPE: &[u8] = &[OBJECT, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
/// id-ecPublicKey on prime256v1.
const KEY_TYPE: &[u8] = &[OBJECT, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, OBJECT, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
/// commonName.
const COMMON_NAME: &[u8] = &[OBJECT, 3, 0x55, 4, 3];
/// Critical basic constraints: an authority.
const BASIC_CA: &[u8] = &[SEQUENCE, 15, OBJECT, 3, 0x55, 0x1d, 0x13, 1, 1, 0xff, OCTET_STRING, 5, SEQUENCE, 3, 1, 1, 0xff];
/// Critical key usage: signs certificates and lists of revoked ones.
const USAGE_CA: &[u8] = &[SEQUENCE, 14, OBJECT, 3, 0x55, 0x1d, 0x0f, 1, 1, 0xff, OCTET_STRING, 4, BIT_STRING, 2, 1, 0x06];
/// Critical key usage: signs.
const USAGE_LEAF: &[u8] = &[SEQUENCE, 14, OBJECT, 3, 0x55, 0x1d, 0x0f, 1, 1, 0xff, OCTET_STRING, 4, BIT_STRING, 2, 7, 0x80];
/// subjectAltName and extKeyUsage.
const SUBJECT_NAMES: &[u8] = &[0x55, 0x1d, 0x11];
const PURPOSES: &[u8] = &[0x55, 0x1d, 0x25];
/// serverAuth and clientAuth.
const SERVER: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
const CLIENT: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];

/// An element of DER.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut bytes = vec![tag];
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => bytes.push(short),
        _ => {
            let length = length.to_be_bytes();
            let length: Vec<_> = length.iter().copied().skip_while(|byte| *byte == 0).collect();
            bytes.push(0x80 | u8::try_from(length.len()).unwrap_or(8));
            bytes.extend(length);
        }
    }
    bytes.extend_from_slice(content);
    bytes
}

fn bits(content: &[u8]) -> Vec<u8> {
    element(BIT_STRING, &[&[0], content].concat())
}

fn extension(object: &[u8], content: &[u8]) -> Vec<u8> {
    element(SEQUENCE, &[element(OBJECT, object), element(OCTET_STRING, content)].concat())
}

/// A name that is a common name alone.
fn distinguished(name: &str) -> Vec<u8> {
    element(SEQUENCE, &element(SET, &element(SEQUENCE, &[COMMON_NAME, &element(UTF8, name.as_bytes())].concat())))
}

fn time(time: SystemTime) -> Result<Vec<u8>> {
    let time = Timestamp::try_from(time)?.strftime("%y%m%d%H%M%SZ").to_string();
    Ok(element(UTC_TIME, time.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files are a chain that TLS believes, are kept while they are young, and the keys are their owner's alone.
    #[test]
    fn certificates_are_made_once() {
        let data = crate::folder::Folder::new();
        let made = Certificates::open(&data.path("data")).unwrap();
        let text = |path: &Path| std::fs::read_to_string(path).unwrap();
        let before = text(&made.authority());
        assert_eq!(text(&Certificates::open(&data.path("data")).unwrap().authority()), before);
        std::fs::remove_file(made.client().0).unwrap();
        assert_ne!(text(&Certificates::open(&data.path("data")).unwrap().authority()), before);
        #[cfg(unix)]
        for key in [made.server().1, made.client().1] {
            assert_eq!(std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(key).unwrap()) & 0o777, 0o600);
        }
    }
}
