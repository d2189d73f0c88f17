//! Findings and reports: what checks found.

use std::{fmt, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};

/// How much a rule weighs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// What is required.
    Must,
    /// What is advised.
    Should,
    /// What is allowed.
    #[default]
    May,
}

/// What came out of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// The rule was seen to be kept.
    Passed,
    /// The rule was seen to be broken.
    Failed,
    /// It could not be provoked, or does not concern this agent: no pass, and no failure.
    NotTested,
}

/// One check, done in one place.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule.
    pub id: String,
    /// What the official test kit calls it.
    pub tck: Vec<String>,
    /// How much it weighs.
    pub level: Level,
    /// The clause of the specification.
    pub clause: String,
    /// The rule in a sentence.
    pub title: String,
    /// Where it was checked: an interface, or nothing for the card and the program.
    pub place: String,
    /// What came out of it.
    pub status: Status,
    /// Why, unless it passed.
    pub note: String,
    /// What was done.
    pub evidence: Vec<String>,
}

impl Finding {
    /// The id, its level and where it was seen, as it stands at the beginning of a line.
    #[must_use]
    pub fn heading(&self) -> String {
        let tck = if self.tck.is_empty() { String::new() } else { format!(" (TCK {})", self.tck.join(", ")) };
        let place = if self.place.is_empty() { String::new() } else { format!(" {}", self.place) };
        format!("{} {}{tck}{place}", self.id, self.level)
    }

    /// The word for it: a failed advice is a warning.
    #[must_use]
    pub fn word(&self) -> &'static str {
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
pub struct Report {
    /// What was checked, in a line.
    pub subject: String,
    /// Its interfaces.
    pub interfaces: Vec<String>,
    /// Which checks were chosen, in a word.
    pub suite: String,
    /// Who checked.
    pub tool: String,
    /// What each check found.
    pub findings: Vec<Finding>,
    /// How long it took.
    pub took: Duration,
    /// How many checks were not tested because something did not come in time.
    pub late: usize,
    /// Whether it was run to its end.
    pub complete: bool,
    /// The verdict in words, and whether it is good.
    pub verdict: (String, bool),
}

impl Default for Report {
    fn default() -> Self {
        Self {
            subject: String::new(),
            interfaces: Vec::new(),
            suite: String::new(),
            tool: format!("chancery-check {}", env!("CARGO_PKG_VERSION")),
            findings: Vec::new(),
            took: Duration::ZERO,
            late: 0,
            complete: true,
            verdict: (String::new(), true),
        }
    }
}

impl Report {
    /// How many findings there are of a word.
    #[must_use]
    pub fn count(&self, word: &str) -> usize {
        self.findings.iter().filter(|finding| finding.word() == word).count()
    }

    /// The figures in a line.
    #[must_use]
    pub fn result(&self) -> String {
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
    #[must_use]
    pub fn document(&self) -> Value {
        json!({
            "subject": self.subject,
            "interfaces": self.interfaces,
            "suite": self.suite,
            "tool": self.tool,
            "passed": self.count("Passed"),
            "failed": self.count("Failed"),
            "warnings": self.count("Warning"),
            "notTested": self.count("Not tested"),
            "late": self.late,
            "complete": self.complete,
            "seconds": (self.took.as_secs_f64() * 1_000.0).round() / 1_000.0,
            "verdict": self.verdict.0,
            "conformant": self.verdict.1,
            "findings": self.findings,
        })
    }
}
