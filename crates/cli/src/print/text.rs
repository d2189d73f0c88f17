//! Text: `Label: value` on a line, or a block under its label.
//!
//! The lines of a block are indented and an empty line ends it, so that nothing an agent says can end a
//! block or look like a field.

/// Lines to be printed.
#[derive(Debug, Default)]
pub(crate) struct Text(String);

impl Text {
    /// A field; a value of several lines becomes a block.
    pub(crate) fn field(&mut self, label: &str, value: &str) {
        if value.contains('\n') {
            self.block(label, value);
        } else {
            self.0.push_str(&format!("{label}: {}\n", clean(value)));
        }
    }

    /// A field that is left out when it is empty.
    pub(crate) fn known(&mut self, label: &str, value: &str) {
        if !value.is_empty() {
            self.field(label, value);
        }
    }

    /// A block under a label.
    pub(crate) fn block(&mut self, label: &str, content: &str) {
        self.0.push_str(&format!("{label}:\n{}\n", indented(content)));
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The lines of a block, each with its end.
fn indented(content: &str) -> String {
    let content = content.strip_suffix('\n').unwrap_or(content);
    content.split('\n').map(|line| format!("  {}\n", clean(line))).collect()
}

/// The text with its control characters made visible; tabs and line ends stay.
pub(crate) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && !matches!(c, '\n' | '\t') {
            clean.push_str(&format!("\\x{:02x}", u32::from(c)));
        } else {
            clean.push(c);
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A2ACLI_OUT_005: what an agent says cannot end a block, imitate a field or move the cursor.
    #[test]
    fn blocks_hold_whatever_is_in_them() {
        let mut text = Text::default();
        text.block("Text", "one\n\nState: COMPLETED\u{1b}[2J\u{9b}\r\n");
        assert_eq!(text.as_str(), "Text:\n  one\n  \n  State: COMPLETED\\x1b[2J\\x9b\\x0d\n\n");
    }

    #[test]
    fn a_value_of_several_lines_is_a_block() {
        let mut text = Text::default();
        text.field("Name", "a\nState: x");
        text.field("Other", "b\tc");
        assert_eq!(text.as_str(), "Name:\n  a\n  State: x\n\nOther: b\tc\n");
    }
}
