//! When a certificate ends: the only thing of it that is read here.

use chancery_core::Timestamp;

const SEQUENCE: u8 = 0x30;
const EXPLICIT_VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The second until which a certificate in DER is valid, since 1970.
///
/// ```text
/// Certificate { TBS { [version] serial algorithm issuer Validity { notBefore notAfter } … } … }
/// ```
pub(super) fn end(der: &[u8]) -> Option<i64> {
    let (tag, certificate, _) = element(der)?;
    let (inner, signed, _) = element(certificate).filter(|_| tag == SEQUENCE)?;
    let mut rest = Some(signed).filter(|_| inner == SEQUENCE)?;
    if element(rest)?.0 == EXPLICIT_VERSION {
        rest = element(rest)?.2;
    }
    for _ in ["serial", "algorithm", "issuer"] {
        rest = element(rest)?.2;
    }
    let (tag, validity, _) = element(rest)?;
    let (_, _, after) = element(validity).filter(|_| tag == SEQUENCE)?;
    let (tag, text, _) = element(after)?;
    moment(tag, std::str::from_utf8(text).ok()?)
}

/// The first element: its tag, what is in it, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        ..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0_usize, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`.
fn moment(tag: u8, text: &str) -> Option<i64> {
    let text = match tag {
        // Two digits stand for the years 1950 to 2049.
        UTC_TIME if text.get(..2)? < "50" => format!("20{text}"),
        UTC_TIME => format!("19{text}"),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let digits = |from: usize, to: usize| text.get(from..to);
    let date = format!("{}-{}-{}", digits(0, 4)?, digits(4, 6)?, digits(6, 8)?);
    let time = format!("{date}T{}:{}:{}Z", digits(8, 10)?, digits(10, 12)?, digits(12, 14)?);
    Timestamp::parse(&time).ok().map(|at| at.unix().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_certificate_is_read() {
        let mut params = rcgen::CertificateParams::new(vec!["harbor.example".to_owned()]).unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        for (year, expected) in [(2030, 1_893_456_000), (2060, 2_840_140_800)] {
            params.not_after = rcgen::date_time_ymd(year, 1, 1);
            let certificate = params.self_signed(&key).unwrap();
            assert_eq!(end(certificate.der()), Some(expected), "{year}");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_end() {
        for der in [&b""[..], b"\x30", b"\x30\x82\xff", b"\x30\x03\x30\x01\x00", b"hello, world", &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]] {
            assert_eq!(end(der), None, "{der:?}");
        }
    }
}
