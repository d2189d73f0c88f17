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
        let mut frame = Vec::with_capacity(data.len() + 32);
        self.write_sse_frame(&mut frame, seq, [b"", data, b""]);
        frame
    }

    /// Writes the frame of a stream element into a buffer, with text around its data: see
    /// [`sse_frame`](Self::sse_frame).
    pub fn write_sse_frame(self, out: &mut Vec<u8>, seq: Option<Seq>, data: [&[u8]; 3]) {
        if let Some(seq) = seq.filter(|_| self.version() != Version::V0_1) {
            out.extend_from_slice(format!("id: {seq}\n").as_bytes());
        }
        out.extend_from_slice(b"data: ");
        data.iter().for_each(|piece| out.extend_from_slice(piece));
        out.extend_from_slice(b"\n\n");
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
        for dialect in Dialect::JSON {
            let expected = if dialect == Dialect::V0_1 { "data: {}\n\n" } else { "id: 7\ndata: {}\n\n" };
            assert_eq!(frame(dialect), expected, "{dialect:?}");
        }
        assert_eq!(Dialect::V1_0.sse_error_frame(b"{}"), b"event: error\ndata: {}\n\n");
        assert_eq!(Dialect::V0_3.sse_error_frame(b"{}"), b"data: {}\n\n");
    }
}
