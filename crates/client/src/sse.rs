//! Server-sent events, read from bytes that come in pieces of any size.
//!
//! Pure: bytes go in, frames come out. Lines end with LF, CR or CRLF; several `data:` lines are joined by
//! LF; comments and unknown fields are passed over. What has been read of a frame that is not finished is
//! bounded.

use std::time::Duration;

/// One event, as far as it matters here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The type; empty when the frame names none.
    pub(crate) event: String,
    /// The id that the frame itself names, if it does.
    pub(crate) id: Option<String>,
    pub(crate) data: Vec<u8>,
}

/// A frame is larger than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Reads frames from bytes.
#[derive(Debug)]
pub(crate) struct Parser {
    limit: usize,
    /// The line that is not finished.
    line: Vec<u8>,
    /// The last byte was a CR: an LF right after it belongs to the same line end.
    after_cr: bool,
    /// Nothing has been read: a byte order mark may come.
    at_start: bool,
    frame: Frame,
    has_data: bool,
    retry: Option<Duration>,
}

impl Parser {
    /// A parser that takes frames of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), after_cr: false, at_start: true, frame: Frame::default(), has_data: false, retry: None }
    }

    /// After how long the peer wants its reader back, if it said so.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Takes in bytes, and hands each frame that they finish to `found`. What comes after a frame that
    /// is too large is not read.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut found: impl FnMut(Frame)) -> Result<(), TooLarge> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() + self.frame.data.len() > self.limit {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { return Ok(()) };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if let Some(frame) = self.end_line() {
                found(frame);
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Option<Frame> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.at_start) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            let frame = std::mem::take(&mut self.frame);
            // A frame without data is none.
            return std::mem::take(&mut self.has_data).then_some(frame);
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line.as_slice(), &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.frame.data.push(b'\n');
                }
                self.frame.data.extend_from_slice(value);
            }
            b"event" => self.frame.event = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => self.frame.id = Some(String::from_utf8_lossy(value).into_owned()),
            b"retry" => self.retry = number(value).map(Duration::from_millis).or(self.retry),
            _ => {}
        }
        None
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a stream that comes in these pieces.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Frame>, Option<Duration>) {
        let mut parser = Parser::new(1_000);
        let mut frames = Vec::new();
        for piece in pieces {
            parser.feed(piece, |frame| frames.push(frame)).unwrap();
        }
        (frames, parser.retry())
    }

    fn frame(event: &str, id: Option<&str>, data: &str) -> Frame {
        Frame { event: event.to_owned(), id: id.map(str::to_owned), data: data.as_bytes().to_vec() }
    }

    const STREAM: &str = "\u{feff}: hello\r\n\r\nid: 1\ndata: {\"a\":\"ä\"}\n\ndata:x\rdata: y\r\rdata\n\nevent: error\r\nid:2\r\ndata:  z\r\n\r\nretry: 500\nunknown: 1\n\nid: 9\n\ndata: cut off";

    fn expected() -> Vec<Frame> {
        vec![frame("", Some("1"), "{\"a\":\"ä\"}"), frame("", None, "x\ny"), frame("", None, ""), frame("error", Some("2"), " z")]
    }

    /// In every way that a connection can cut a stream into two or three pieces.
    #[test]
    fn frames_do_not_depend_on_where_the_bytes_are_split() {
        let bytes = STREAM.as_bytes();
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let (frames, retry) = read([&bytes[..first], &bytes[first..second], &bytes[second..]]);
                assert_eq!(frames, expected(), "{first} {second}");
                assert_eq!(retry, Some(Duration::from_millis(500)));
            }
        }
        assert_eq!(read(bytes.chunks(1)).0, expected());
    }

    /// Streams made of random fields and line ends, in random pieces, against the same stream in one piece
    /// and against what was written.
    #[test]
    fn random_streams_in_random_pieces_are_read_as_written() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |below: usize| {
            // xorshift: the same cases on every run.
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed % below as u64).unwrap()
        };
        for case in 0..2_000 {
            let (mut stream, mut written) = (String::new(), Vec::new());
            for _ in 0..random(6) {
                let end = ["\n", "\r", "\r\n"][random(3)];
                let mut expected = Frame::default();
                if random(2) == 0 {
                    let id = random(1_000).to_string();
                    stream += &format!("id: {id}{end}");
                    expected.id = Some(id);
                }
                if random(4) == 0 {
                    stream += &format!(": comment{end}");
                }
                let lines: Vec<String> = (0..=random(3)).map(|_| "né \":{}".repeat(random(4))).collect();
                for line in &lines {
                    stream += &format!("data: {line}{end}");
                }
                expected.data = lines.join("\n").into_bytes();
                stream += end;
                written.push(expected);
            }
            let bytes = stream.as_bytes();
            let mut pieces = Vec::new();
            let mut at = 0;
            while at < bytes.len() {
                let next = (at + 1 + random(7)).min(bytes.len());
                pieces.push(&bytes[at..next]);
                at = next;
            }
            assert_eq!(read([bytes]).0, written, "case {case}");
            assert_eq!(read(pieces).0, written, "case {case}");
        }
    }

    #[test]
    fn a_frame_that_does_not_end_is_refused() {
        let mut parser = Parser::new(100);
        let line = [b"data: ".as_slice(), &[b'x'; 60], b"\n"].concat();
        assert_eq!(parser.feed(&line, |_| panic!("not finished")), Ok(()));
        assert_eq!(parser.feed(&line, |_| panic!("not finished")), Err(TooLarge));
        let mut parser = Parser::new(100);
        assert_eq!(parser.feed(&[b':'; 101], |_| panic!("no frame")), Err(TooLarge), "comments count too");
    }
}
