//! Server-sent events: one frame per stream element.

use chancery_core::{Seq, Version};

use crate::Dialect;

impl Dialect {
    /// Writes the frame of a stream element: one `data:` line, and the place in the log as `id:` for
    /// readers that know it.
    ///
    /// The first JavaScript client reads only frames that begin with `data: `, so v0.1 gets nothing else
    /// in a frame.
    #[must_use]
    pub fn sse_frame(self, seq: Option<Seq>, data: &[u8]) -> Vec<u8> {
        let id = match seq {
            Some(seq) if self.version() != Version::V0_1 => format!("id: {seq}\n"),
            _ => String::new(),
        };
        [id.as_bytes(), b"data: ", data, b"\n\n"].concat()
    }

    /// Writes the frame of an error that ends a stream; `data` is the error in its envelope.
    #[must_use]
    pub fn sse_error_frame(self, data: &[u8]) -> Vec<u8> {
        let event: &[u8] = match self {
            // v1.0 SDKs mark errors so, and so does v0.3 over HTTP+JSON; others must not see the line.
            Self::V1_0 | Self::V1_0Strict | Self::V0_3Rest | Self::V0_3RestKind => b"event: error\n",
            _ => b"",
        };
        [event, b"data: ", data, b"\n\n"].concat()
    }
}

/// A comment that keeps a connection alive, in a frame of its own.
pub const SSE_KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

#[cfg(test)]
mod tests {
    use super::*;

    /// CONV-EVENT-006, CONV-EVENT-007, V01-STREAM-002, V03-STREAM-002, V03-STREAM-007, V03-STREAM-009, V03-REST-010, V03-REST-023.
    #[test]
    fn frames_carry_the_place_in_the_log_except_for_v0_1() {
        let frame = |dialect: Dialect| String::from_utf8(dialect.sse_frame(Some(Seq::new(7)), b"{}")).unwrap();
        for dialect in Dialect::ALL {
            let expected = if dialect == Dialect::V0_1 { "data: {}\n\n" } else { "id: 7\ndata: {}\n\n" };
            assert_eq!(frame(dialect), expected, "{dialect:?}");
        }
        assert_eq!(Dialect::V1_0.sse_error_frame(b"{}"), b"event: error\ndata: {}\n\n");
        assert_eq!(Dialect::V0_3.sse_error_frame(b"{}"), b"data: {}\n\n");
    }
}
