//! Reports as files: the ending of the name says which form.

use std::path::Path;

use chancery_check::Report;

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
        "xml" => Ok(report.junit()),
        "html" => Ok(report.html()),
        _ => Ok(report.markdown()),
    };
    let text = text.map_err(|error| Trouble::internal(format!("the report cannot be written: {error}")))?;
    crate::files::write(path, "--report", text)
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
