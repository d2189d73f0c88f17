//! Reports as documents: JUnit XML, HTML and Markdown.

use crate::finding::{Report, Status};

impl Report {
    /// JUnit, as build servers read it. What was not tested is skipped, and a warning is no failure.
    #[must_use]
    pub fn junit(&self) -> String {
        let name = escaped(&format!("a2a conformance {}", self.suite));
        let skipped = self.count("Not tested");
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\" \
         skipped=\"{skipped}\" time=\"{:.3}\">\n",
            self.findings.len(),
            self.count("Failed"),
            self.took.as_secs_f64()
        );
        for finding in &self.findings {
            let class = escaped(if finding.place.is_empty() { "agent" } else { &finding.place });
            let title = escaped(&format!("{} {}", finding.id, finding.title));
            let note = escaped(&finding.note);
            let inner = match finding.word() {
                "Failed" => format!("<failure message=\"{note}\">{}</failure>", escaped(&finding.evidence.join("\n"))),
                "Warning" => format!("<system-out>warning: {note}</system-out>"),
                "Not tested" => format!("<skipped message=\"{note}\"/>"),
                _ => String::new(),
            };
            xml.push_str(&format!("<testcase classname=\"{class}\" name=\"{title}\">{inner}</testcase>\n"));
        }
        xml + "</testsuite>\n</testsuites>\n"
    }

    /// A page for browsers.
    #[must_use]
    pub fn html(&self) -> String {
        let mut rows = String::new();
        for finding in &self.findings {
            let class = match finding.status {
                Status::Passed => "passed",
                Status::Failed => "failed",
                Status::NotTested => "not-tested",
            };
            let cells = [&finding.id, &finding.level.to_string(), &finding.place, &finding.title, finding.word(), &finding.note];
            let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
            rows.push_str(&format!("<tr class=\"{class}\">{cells}</tr>\n"));
        }
        let (subject, result, verdict) = (escaped(&self.subject), escaped(&self.result()), escaped(&self.verdict.0));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Conformance of {subject}</title>\n<style>body{{font:15px/1.4 \
         sans-serif;margin:2em}}table{{border-collapse:collapse}}td,th{{border:1px solid #bbb;padding:.2em .5em;text-align:left;\
         vertical-align:top}}.failed{{background:#fdd}}.not-tested{{color:#666}}</style>\n<h1>Conformance of {subject}</h1>\n<p>Suite: \
         {}</p>\n<p>Result: {result}</p>\n<p>Verdict: {verdict}</p>\n<table>\n<tr><th>Rule<th>Level<th>Where<th>What<th>Status<th>Note</tr>\n\
         {rows}</table>\n</html>\n",
            escaped(&self.suite)
        )
    }

    /// A page of Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let mut page = format!(
            "# Conformance of {}\n\nSuite: {}\n\nResult: {}\n\nVerdict: {}\n",
            self.subject,
            self.suite,
            self.result(),
            self.verdict.0
        );
        page.push_str("\n| Rule | Level | Where | What | Status | Note |\n| --- | --- | --- | --- | --- | --- |\n");
        for finding in &self.findings {
            let cells = [&finding.id, &finding.level.to_string(), &finding.place, &finding.title, finding.word(), &finding.note];
            page.push_str(&format!("| {} |\n", cells.map(cell).join(" | ")));
        }
        page
    }
}

/// Text for XML and HTML; what XML cannot hold at all is left out.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            c => safe.push(c),
        }
    }
    safe
}
