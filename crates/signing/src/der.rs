//! As much DER as keys and certificates need here.

/// A position in DER.
#[derive(Clone, Copy)]
pub(crate) struct Der<'a>(&'a [u8]);

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OBJECT: u8 = 0x06;
pub(crate) const SEQUENCE: u8 = 0x30;

impl<'a> Der<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The next element: its tag and its content.
    pub(crate) fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = if first < 0x80 {
            (usize::from(first), rest)
        } else {
            // Four bytes of length are more than any certificate has.
            let count = usize::from(first & 0x7f);
            if count == 0 || count > 4 || rest.len() < count {
                return None;
            }
            let (length, rest) = rest.split_at(count);
            (length.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte)), rest)
        };
        if rest.len() < length {
            return None;
        }
        let (content, rest) = rest.split_at(length);
        self.0 = rest;
        Some((tag, content))
    }

    /// The content of the next element, if it has this tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }

    /// The inside of the next element, if it has this tag.
    pub(crate) fn open(&mut self, tag: u8) -> Option<Self> {
        self.expect(tag).map(Self)
    }

    /// The next integer, without the zero byte that keeps it positive.
    pub(crate) fn unsigned(&mut self) -> Option<&'a [u8]> {
        let bytes = self.expect(INTEGER)?;
        Some(if let [0, rest @ ..] = bytes { rest } else { bytes })
    }
}
