//! Text on a terminal: how wide it is, and where its lines end.

/// Breaks text that comes in pieces into lines of a terminal. What follows the first line is indented, so that
/// nothing in it looks as if somebody else had said it.
#[derive(Debug)]
pub(crate) struct Wrap {
    width: usize,
    indent: usize,
    /// How much of the line is taken.
    column: usize,
    /// Line ends and then spaces that came, and are written when a word follows.
    breaks: usize,
    spaces: usize,
}

impl Wrap {
    /// Lines of this width, the first of which begins at `column`.
    pub(crate) fn new(width: usize, indent: usize, column: usize) -> Self {
        Self { width: width.max(indent + 20), indent, column, breaks: 0, spaces: 0 }
    }

    /// How much of the last line is taken.
    pub(crate) fn column(&self) -> usize {
        self.column
    }

    /// More of the text, with line ends where they belong.
    pub(crate) fn more(&mut self, text: &str) -> String {
        let mut lines = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            match first {
                '\n' => {
                    (self.breaks, self.spaces) = (self.breaks + 1, 0);
                    rest = &rest[1..];
                }
                ' ' | '\t' => {
                    self.spaces += if first == '\t' { 4 } else { 1 };
                    rest = &rest[1..];
                }
                _ => {
                    let (word, others) = rest.split_at(word(rest));
                    self.word(&mut lines, word);
                    rest = others;
                }
            }
        }
        lines
    }

    fn word(&mut self, lines: &mut String, word: &str) {
        let (wide, spaces) = (width(word), self.spaces);
        for _ in 0..std::mem::take(&mut self.breaks) {
            self.end_line(lines);
            self.spaces = spaces;
        }
        if self.column > self.indent && self.column + self.spaces + wide > self.width {
            self.end_line(lines);
        }
        self.column += self.spaces;
        lines.extend(std::iter::repeat_n(' ', std::mem::take(&mut self.spaces)));
        for c in word.chars() {
            // A word that is longer than a line is broken.
            if self.column + char_width(c) > self.width {
                self.end_line(lines);
            }
            lines.push(c);
            self.column += char_width(c);
        }
    }

    fn end_line(&mut self, lines: &mut String) {
        lines.push('\n');
        lines.extend(std::iter::repeat_n(' ', self.indent));
        (self.column, self.spaces) = (self.indent, 0);
    }
}

/// How many bytes belong to the first word. A wide character is a word of its own: in scripts that have them,
/// a line may end anywhere.
fn word(text: &str) -> usize {
    let mut indices = text.char_indices();
    let Some((_, first)) = indices.next() else { return 0 };
    let ends = |c: char| c.is_whitespace() || char_width(c) == 2 || char_width(first) == 2 && char_width(c) > 0;
    indices.find(|(_, c)| ends(*c)).map_or(text.len(), |(at, _)| at)
}

/// How many cells of a terminal a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// The cells of one character: none for what is drawn over another, two for the scripts of East Asia and for
/// pictures.
fn char_width(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f
        | 0x0483..=0x0489
        | 0x0591..=0x05bd
        | 0x0610..=0x061a
        | 0x064b..=0x065f
        | 0x0900..=0x0902
        | 0x093a
        | 0x093c
        | 0x0941..=0x0948
        | 0x094d
        | 0x0e31
        | 0x0e34..=0x0e3a
        | 0x0e47..=0x0e4e
        | 0x1ab0..=0x1aff
        | 0x1dc0..=0x1dff
        | 0x200b..=0x200f
        | 0x20d0..=0x20ff
        | 0x2060..=0x2064
        | 0xfe00..=0xfe0f
        | 0xfe20..=0xfe2f
        | 0x1f3fb..=0x1f3ff
        | 0xe0100..=0xe01ef => 0,
        0x1100..=0x115f
        | 0x231a..=0x231b
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xa960..=0xa97f
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f900..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(width: usize, pieces: &[&str]) -> String {
        let mut wrap = Wrap::new(width, 2, 0);
        pieces.iter().map(|piece| wrap.more(piece)).collect()
    }

    #[test]
    fn lines_end_between_words_whatever_the_pieces() {
        let text = "the tide comes in at six and leaves at noon";
        let expected = "the tide comes in at\n  six and leaves at\n  noon";
        assert_eq!(wrapped(22, &[text]), expected);
        assert_eq!(wrapped(22, &["the ", "tide ", "comes in", " at six and leaves", " at", " noon"]), expected);
        assert_eq!(wrapped(22, &["one\n\ntwo\n"]), "one\n  \n  two");
        assert_eq!(wrapped(22, &["if x:\n    y\n", "\n"]), "if x:\n      y");
    }

    #[test]
    fn long_words_are_broken_and_wide_ones_anywhere() {
        assert_eq!(wrapped(22, &["a".repeat(30).as_str()]), format!("{}\n  {}", "a".repeat(22), "a".repeat(8)));
        assert_eq!(wrapped(22, &["港口的潮水早上六点涨中午退"]), "港口的潮水早上六点涨中\n  午退");
        assert_eq!((width("港口"), width("порт"), width("ميناء"), width("e\u{301}")), (4, 4, 5, 1));
    }
}
