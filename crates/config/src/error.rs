//! The error of a configuration file: where it is, what is wrong, and what was probably meant.

use std::{fmt, ops::Range};

/// One thing that is wrong: where, what, and what to try. As text it shows the line and marks the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    place: Place,
    what: String,
    hint: Option<String>,
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// In a file, with the line as it is written; `marks` are columns of it.
    Line { file: String, line: usize, text: String, marks: Range<usize> },
    /// In an environment variable.
    Variable(String),
    /// The file as a whole.
    File(String),
}

impl Error {
    /// The file; `None` when an environment variable is wrong.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        match &self.place {
            Place::Line { file, .. } | Place::File(file) => Some(file),
            Place::Variable(_) => None,
        }
    }

    /// The line, from 1, if it is one line.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match &self.place {
            Place::Line { line, .. } => Some(*line),
            _ => None,
        }
    }

    /// What is wrong, in one sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.what
    }

    /// What to try.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// An error at these bytes of a file.
    pub(crate) fn at(file: &str, text: &str, span: &Range<usize>, what: impl Into<String>) -> Self {
        let start = (0..=span.start.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let written = text[begin..end].trim_end_matches('\r');
        let column = text[begin..start].chars().count();
        let stop = (start..=span.end.min(end)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(start);
        let width = text[start..stop].trim_end().chars().count().max(1);
        let line = text[..begin].matches('\n').count() + 1;
        let place = Place::Line { file: file.to_owned(), line, text: hidden(written), marks: column..column + width };
        Self { place, what: what.into(), hint: None }
    }

    /// An error of an environment variable.
    pub(crate) fn of_variable(name: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: Place::Variable(name.into()), what: what.into(), hint: None }
    }

    /// An error of a whole file.
    pub(crate) fn of_file(file: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: Place::File(file.into()), what: what.into(), hint: None }
    }

    /// Says what to try.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Suggests the nearest of the words that would have been right, if one is near.
    #[must_use]
    pub(crate) fn suggest<'a>(self, word: &str, right: impl IntoIterator<Item = &'a str>) -> Self {
        match nearest(word, right) {
            Some(near) => self.with_hint(format!("did you mean {near:?}?")),
            None => self,
        }
    }
}

/// A line of a file without the secret in it: problems are logged. It is as long as before, so that marks stay right.
fn hidden(line: &str) -> String {
    let Some((before, value)) = line.split_once("secret").filter(|(_, after)| after.trim_start().starts_with('=')) else {
        return line.to_owned();
    };
    let mut quote = None;
    let masked = value.chars().map(|c| match quote {
        None if matches!(c, '"' | '\'') => {
            quote = Some(Some(c));
            c
        }
        Some(Some(open)) if c == open => {
            // What comes after the value is shown again.
            quote = Some(None);
            c
        }
        Some(Some(_)) => '*',
        _ => c,
    });
    let masked: String = masked.collect();
    // One line may hold several.
    match masked.split_once("secret") {
        Some((first, rest)) => format!("{before}secret{first}{}", hidden(&format!("secret{rest}"))),
        None => format!("{before}secret{masked}"),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Variable(name) => write!(f, "{name}: {}", self.what)?,
            Place::File(file) => write!(f, "{file}: {}", self.what)?,
            Place::Line { file, line, text, marks } => {
                let gutter = " ".repeat(line.to_string().len());
                // Tabs stay tabs, so that the marks stand under what they mark.
                let lead: String = text.chars().take(marks.start).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
                writeln!(f, "{file}:{line}:{}: {}", marks.start + 1, self.what)?;
                writeln!(f, "{gutter} |")?;
                writeln!(f, "{line} | {text}")?;
                write!(f, "{gutter} | {lead}{}", "^".repeat(marks.len()))?;
            }
        }
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// The nearest word by edit distance: at most two edits away, one for words under five letters.
pub fn nearest<'a>(word: &str, right: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = if word.chars().count() < 5 { 1 } else { 2 };
    let near = right.into_iter().map(|candidate| (distance(word, candidate), candidate));
    near.filter(|(edits, _)| *edits <= most).min_by_key(|(edits, _)| *edits).map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbors that make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<_>, Vec<_>) = (one.to_lowercase().chars().collect(), other.to_lowercase().chars().collect());
    let mut rows = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
                let swapped = if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                    rows[i - 2][j - 2] + 1
                } else {
                    usize::MAX
                };
                replaced.min(swapped).min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1)
            };
        }
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let right = ["command", "echo", "cwd", "card"];
        for (word, expected) in [
            ("comand", Some("command")),
            ("comnd", Some("command")),
            ("comd", None),
            ("ecoh", Some("echo")),
            ("xy", None),
            ("cwdd", Some("cwd")),
            ("Card", Some("card")),
        ] {
            assert_eq!(nearest(word, right), expected, "{word}");
        }
    }

    #[test]
    fn the_marks_stand_under_what_is_wrong() {
        let text = "a = 1\n\tü = \"x\"\n";
        let at = text.find("\"x").unwrap();
        let problem = Error::at("f.toml", text, &(at..at + 3), "no");
        assert_eq!(problem.to_string(), "f.toml:2:6: no\n  |\n2 | \tü = \"x\"\n  | \t    ^^^");
    }

    #[test]
    fn secrets_are_not_shown() {
        for (line, shown) in [
            ("secret = \"CANARY\"", "secret = \"******\""),
            (
                "holders = [{ subject = \"a\", secret = 'CAN' }, { secret=\"ARY\", x = \"y\" }]",
                "holders = [{ subject = \"a\", secret = '***' }, { secret=\"***\", x = \"y\" }]",
            ),
            ("secret = \"CANARY", "secret = \"******"),
            ("name = \"secret\"", "name = \"secret\""),
        ] {
            assert_eq!(hidden(line), shown);
        }
    }
}
