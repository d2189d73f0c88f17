//! UUIDs as text and as bytes: what ids are made of, and what makes them short where they are stored.

/// How many bytes a UUID has.
pub const BYTES: usize = 16;
/// How long the text of a UUID is.
pub const LENGTH: usize = 36;

/// A UUID in the usual way, in lower case.
#[must_use]
pub fn text(bytes: [u8; 16]) -> [u8; LENGTH] {
    let mut digits = [[0; 8]; 4];
    for (digits, bytes) in digits.iter_mut().zip(bytes.as_chunks().0) {
        *digits = hexadecimal(u32::from_be_bytes(*bytes));
    }
    let [first, [i, j, k, l, m, n, o, p], [q, r, s, t, u, v, w, x], last] = digits;
    let mut text = [b'-'; LENGTH];
    text[..8].copy_from_slice(&first);
    text[9..13].copy_from_slice(&[i, j, k, l]);
    text[14..18].copy_from_slice(&[m, n, o, p]);
    text[19..23].copy_from_slice(&[q, r, s, t]);
    text[24..28].copy_from_slice(&[u, v, w, x]);
    text[28..].copy_from_slice(&last);
    text
}

/// The bytes of a UUID that is written in the usual way, in lower case; `None` for any other text.
#[must_use]
pub fn bytes(text: &[u8; LENGTH]) -> Option<[u8; 16]> {
    let [a, b, c, d, e, f, g, h, b'-', i, j, k, l, b'-', m, n, o, p, b'-', q, r, s, t, b'-', rest @ ..] = *text else { return None };
    let [u, v, w, x, rest @ ..] = rest;
    let digits = [[a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p], [q, r, s, t, u, v, w, x], rest];
    let mut bytes = [0; 16];
    for (bytes, digits) in bytes.as_chunks_mut().0.iter_mut().zip(digits) {
        *bytes = number(digits)?.to_be_bytes();
    }
    Some(bytes)
}

/// The same byte eight times: with it, digits are made and read eight bytes at a time.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The digits of numbers below sixteen, one in each byte.
fn digits(values: u64) -> u64 {
    let above_nine = (values + each(6)) >> 4 & each(1);
    values + each(b'0') + above_nine * u64::from(b'a' - b'9' - 1)
}

/// A number in eight digits.
fn hexadecimal(number: u32) -> [u8; 8] {
    let number = u64::from(number);
    let halves = (number | number << 16) & 0x0000_ffff_0000_ffff;
    let pairs = (halves | halves << 8) & 0x00ff_00ff_00ff_00ff;
    digits((pairs | pairs << 4) & each(0x0f)).to_be_bytes()
}

/// The number of eight digits.
fn number(text: [u8; 8]) -> Option<u32> {
    let text = u64::from_be_bytes(text);
    // Letters have this bit, and count from one.
    let letters = text >> 6 & each(1);
    let values = (text & each(0x0f)) + letters * 9;
    if values & each(0xf0) != 0 || digits(values) != text {
        return None;
    }
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    let halves = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    u32::try_from((halves | halves >> 16) & 0xffff_ffff).ok()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn texts_and_bytes_are_those_of_the_standard() {
        let mut state = 1_u128;
        for _ in 0..1_000 {
            state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(0x5851_f42d_4c95_7f2d);
            let uuid = Uuid::from_u128(state);
            let text = text(uuid.into_bytes());
            assert_eq!(std::str::from_utf8(&text).unwrap(), uuid.hyphenated().to_string());
            assert_eq!(bytes(&text), Some(uuid.into_bytes()));
        }
    }

    #[test]
    fn a_text_that_differs_in_one_byte_is_another_uuid_or_none() {
        let usual = text(*b"\x01\x95\x37\xc0\x7a\x3e\x7c\x11\x9e\x0a\x6a\x1d\x5f\x3f\x8b\xff");
        for (place, byte) in (0..LENGTH).flat_map(|place| (0..=0xff).map(move |byte| (place, byte))) {
            let mut other = usual;
            other[place] = byte;
            let read = std::str::from_utf8(&other).ok().and_then(|text| Uuid::parse_str(text).ok());
            let read = read.filter(|uuid| uuid.hyphenated().to_string().as_bytes() == other);
            assert_eq!(bytes(&other), read.map(Uuid::into_bytes), "{byte} at {place}");
        }
    }
}
