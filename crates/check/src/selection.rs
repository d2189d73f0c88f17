//! Which checks are run: glob patterns of ids.

/// Patterns of ids; `*` stands for anything.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Those that are run; all when there are none.
    pub only: Vec<String>,
    /// Those of them that are not.
    pub skip: Vec<String>,
}

impl Selection {
    /// Whether a check is run.
    #[must_use]
    pub fn takes(&self, id: &str) -> bool {
        (self.only.is_empty() || self.only.iter().any(|pattern| fits(pattern, id))) && !self.skip.iter().any(|pattern| fits(pattern, id))
    }
}

/// Whether a text fits a pattern in which `*` stands for anything and `?` for one character.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.chars().next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = &pattern[1..];
            fits(rest, text) || text.char_indices().any(|(at, c)| fits(rest, &text[at + c.len_utf8()..]))
        }
        Some(wanted) => {
            let mut letters = text.chars();
            letters.next().is_some_and(|c| wanted == '?' || c.eq_ignore_ascii_case(&wanted))
                && fits(&pattern[wanted.len_utf8()..], letters.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, fit) in [
            ("V10-GET-*", "V10-GET-001", true),
            ("*GET*", "V10-GET-001", true),
            ("v10-get-00?", "V10-GET-001", true),
            ("V10-GET", "V10-GET-001", false),
            ("*-002", "V10-GET-001", false),
            ("", "x", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, text), fit, "{pattern} {text}");
        }
    }
}
