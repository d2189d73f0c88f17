//! JSON pointers (RFC 6901), as reports name members of a card.

use std::fmt;

/// Where a walk through a document is.
#[derive(Debug, Default)]
pub(crate) struct Path {
    text: String,
    ends: Vec<usize>,
    open: usize,
}

impl Path {
    /// Goes to a member or an element.
    pub(crate) fn push(&mut self, name: &str) {
        self.ends.push(self.text.len());
        self.text.push('/');
        self.text.push_str(&name.replace('~', "~0").replace('/', "~1"));
    }

    /// Goes back.
    pub(crate) fn pop(&mut self) {
        if let Some(end) = self.ends.pop() {
            self.text.truncate(end);
        }
    }

    /// Counts a container that opens, and says how many are open.
    pub(crate) fn enter(&mut self) -> usize {
        self.open += 1;
        self.open
    }

    /// Counts a container that closes.
    pub(crate) fn leave(&mut self) {
        self.open -= 1;
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Whether one of two pointers is, or stands in, the other.
pub(crate) fn touches(one: &str, other: &str) -> bool {
    let below = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below(one, other) || below(other, one)
}
