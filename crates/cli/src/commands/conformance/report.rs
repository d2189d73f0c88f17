//! Reports as files: the ending of the name says which form.

use std::path::Path;

use super::finding::{Report, Status};
use crate::trouble::Trouble;

/// The endings that are understood.
pub(super) const ENDINGS: [&str; 5] = ["json", "xml", "html", "md", "yaml"];

/// The ending of a report's name, which must be one that is understood.
pub(super) fn ending(path: &Path) -> Result<&'static str, Trouble> {
    let found = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    let found = found.map(|ending| if ending == "yml" { "yaml".to_owned() } else { ending });
    ENDINGS.into_iter().find(|known| found.as_deref() == Some(known)).ok_or_else(|| {
        Trouble::usage(format!("--report {}: its ending says no form", path.display())).hint("end it with .json, .xml, .html, .md or .yaml")
    })
}

/// Writes a report; `yaml` is the form of its own that the document has as YAML.
pub(super) fn write(path: &Path, report: &Report, yaml: &serde_json::Value) -> Result<(), Trouble> {
    let text = match ending(path)? {
        "json" => serde_json::to_string_pretty(&report.document()).map(|text| text + "\n").map_err(|error| error.to_string()),
        "yaml" => serde_saphyr::to_string(yaml).map_err(|error| error.to_string()),
        "xml" => Ok(junit(report)),
        "html" => Ok(html(report)),
        _ => Ok(markdown(report)),
    };
    let text = text.map_err(|error| Trouble::internal(format!("the report cannot be written: {error}")))?;
    std::fs::write(path, text).map_err(|error| Trouble::usage(format!("--report {} cannot be written: {error}", path.display())))
}

/// JUnit, as build servers read it. What was not tested is skipped, and a warning is no failure.
fn junit(report: &Report) -> String {
    let name = escaped(&format!("a2a conformance {}", report.suite));
    let skipped = report.count("Not tested");
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\" \
         skipped=\"{skipped}\" time=\"{:.3}\">\n",
        report.findings.len(),
        report.count("Failed"),
        report.took.as_secs_f64()
    );
    for finding in &report.findings {
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

fn html(report: &Report) -> String {
    let mut rows = String::new();
    for finding in &report.findings {
        let class = match finding.status {
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::NotTested => "not-tested",
        };
        let cells = [&finding.id, &finding.level.to_string(), &finding.place, &finding.title, finding.word(), &finding.note];
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        rows.push_str(&format!("<tr class=\"{class}\">{cells}</tr>\n"));
    }
    let (subject, result, verdict) = (escaped(&report.subject), escaped(&report.result()), escaped(&report.verdict.0));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Conformance of {subject}</title>\n<style>body{{font:15px/1.4 \
         sans-serif;margin:2em}}table{{border-collapse:collapse}}td,th{{border:1px solid #bbb;padding:.2em .5em;text-align:left;\
         vertical-align:top}}.failed{{background:#fdd}}.not-tested{{color:#666}}</style>\n<h1>Conformance of {subject}</h1>\n<p>Suite: \
         {}</p>\n<p>Result: {result}</p>\n<p>Verdict: {verdict}</p>\n<table>\n<tr><th>Rule<th>Level<th>Where<th>What<th>Status<th>Note</tr>\n\
         {rows}</table>\n</html>\n",
        escaped(&report.suite)
    )
}

fn markdown(report: &Report) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let mut page = format!(
        "# Conformance of {}\n\nSuite: {}\n\nResult: {}\n\nVerdict: {}\n",
        report.subject,
        report.suite,
        report.result(),
        report.verdict.0
    );
    page.push_str("\n| Rule | Level | Where | What | Status | Note |\n| --- | --- | --- | --- | --- | --- |\n");
    for finding in &report.findings {
        let cells = [&finding.id, &finding.level.to_string(), &finding.place, &finding.title, finding.word(), &finding.note];
        page.push_str(&format!("| {} |\n", cells.map(cell).join(" | ")));
    }
    page
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What is written can be read back, whatever the texts hold.
    #[test]
    fn yaml_is_read_back_as_it_was_written() {
        let odd = [
            "yes",
            "no",
            "~",
            "1",
            "1.0",
            "a: b",
            "# x",
            "- x",
            "\"q\"",
            "it's",
            "line\nline",
            " lead",
            "",
            "{x}",
            "@x",
            "0x1F",
            "é\u{1b}",
        ];
        let document = json!({"report": {"empty": {}, "list": odd, "none": null, "flag": true, "number": 3}, "a b": [{"x": 1}, {"y": []}]});
        let text = serde_saphyr::to_string(&document).unwrap();
        let again: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(again, document, "{text}");
    }

    #[test]
    fn an_unknown_ending_is_a_usage_error() {
        assert_eq!(ending(Path::new("a.yml")).unwrap(), "yaml");
        assert_eq!(ending(Path::new("a.pdf")).unwrap_err().exit, 2);
    }
}
