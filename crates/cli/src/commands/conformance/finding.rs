//! What a check found.

use std::{fmt, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};

/// How much a rule weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Must,
    Should,
    May,
}

/// What came out of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Status {
    Passed,
    Failed,
    /// It could not be provoked, or does not concern this agent: no pass, and no failure.
    NotTested,
}

/// One check, done in one place.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    /// The rule.
    pub(super) id: String,
    /// What the official test kit calls it.
    pub(super) tck: Vec<String>,
    pub(super) level: Level,
    /// The clause of the specification.
    pub(super) clause: String,
    /// The rule in a sentence.
    pub(super) title: String,
    /// Where it was checked: an interface, or nothing for the card and the program.
    pub(super) place: String,
    pub(super) status: Status,
    /// Why, unless it passed.
    pub(super) note: String,
    /// What was done.
    pub(super) evidence: Vec<String>,
}

impl Finding {
    /// The id, its level and where it was seen, as it stands at the beginning of a line.
    pub(super) fn heading(&self) -> String {
        let tck = if self.tck.is_empty() { String::new() } else { format!(" (TCK {})", self.tck.join(", ")) };
        let place = if self.place.is_empty() { String::new() } else { format!(" {}", self.place) };
        format!("{} {}{tck}{place}", self.id, self.level)
    }

    /// The word for it: a failed advice is a warning.
    pub(super) fn word(&self) -> &'static str {
        match (self.status, self.level) {
            (Status::Passed, _) => "Passed",
            (Status::Failed, Level::Must) => "Failed",
            (Status::Failed, _) => "Warning",
            (Status::NotTested, _) => "Not tested",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
        })
    }
}

/// Everything that was found.
#[derive(Debug, Clone)]
pub(super) struct Report {
    /// What was checked, in a line.
    pub(super) subject: String,
    /// Its interfaces.
    pub(super) interfaces: Vec<String>,
    pub(super) suite: String,
    pub(super) findings: Vec<Finding>,
    pub(super) took: Duration,
    /// The verdict in words, and whether it is good.
    pub(super) verdict: (String, bool),
}

impl Report {
    /// How many findings there are of a word.
    pub(super) fn count(&self, word: &str) -> usize {
        self.findings.iter().filter(|finding| finding.word() == word).count()
    }

    /// The figures in a line.
    pub(super) fn result(&self) -> String {
        let count = |word| self.count(word);
        let warnings = count("Warning");
        format!(
            "{} passed, {} failed, {warnings} {}, {} not tested, {:.1} s",
            count("Passed"),
            count("Failed"),
            if warnings == 1 { "warning" } else { "warnings" },
            count("Not tested"),
            self.took.as_secs_f64()
        )
    }

    /// The report as a document.
    pub(super) fn document(&self) -> Value {
        json!({
            "subject": self.subject,
            "interfaces": self.interfaces,
            "suite": self.suite,
            "tool": format!("a2a {}", env!("CARGO_PKG_VERSION")),
            "passed": self.count("Passed"),
            "failed": self.count("Failed"),
            "warnings": self.count("Warning"),
            "notTested": self.count("Not tested"),
            "seconds": (self.took.as_secs_f64() * 1_000.0).round() / 1_000.0,
            "verdict": self.verdict.0,
            "conformant": self.verdict.1,
            "findings": self.findings,
        })
    }
}
