//! Which checks are run: `--only` and `--skip`.

/// Patterns of ids; `*` stands for anything.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice {
    pub(super) only: Vec<String>,
    pub(super) skip: Vec<String>,
}

impl Choice {
    /// Whether a check is run.
    pub(super) fn takes(&self, id: &str) -> bool {
        (self.only.is_empty() || self.only.iter().any(|pattern| fits(pattern, id))) && !self.skip.iter().any(|pattern| fits(pattern, id))
    }
}

/// Whether a text fits a pattern in which `*` stands for anything and `?` for one character.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
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
