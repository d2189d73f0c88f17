//! `--jq`: a filter for JSON on stdout.

use std::fmt;

use jaq_core::{
    Compiler, Ctx, Native, Vars, data,
    load::{Arena, File, Loader},
    unwrap_valr,
};
use jaq_json::{Val, read};

use crate::trouble::Trouble;

/// A compiled filter.
pub(crate) struct Filter {
    expression: String,
    compiled: jaq_core::compile::Filter<Native<data::JustLut<Val>>>,
}

impl Filter {
    /// Compiles a filter.
    pub(crate) fn new(expression: &str) -> Result<Self, Trouble> {
        let wrong = |what: &str| Trouble::usage(format!("--jq: {expression:?} {what}")).hint("try --jq . first");
        let loader = Loader::new(jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()));
        let arena = Arena::default();
        let modules = loader.load(&arena, File { code: expression, path: () }).map_err(|_| wrong("is no filter"))?;
        let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let compiled = Compiler::default().with_funs(funs).compile(modules);
        let compiled = compiled.map_err(|_| wrong("uses a name that does not exist"))?;
        Ok(Self { expression: expression.to_owned(), compiled })
    }

    /// What the filter makes of a document, a line for each result; texts are written as they are.
    pub(crate) fn apply(&self, json: &str, compact: bool) -> Result<String, Trouble> {
        let failed = |what: String| Trouble::usage(format!("--jq: {}: {what}", self.expression));
        let input = read::parse_single(json.as_bytes()).map_err(|error| failed(error.to_string()))?;
        let ctx = Ctx::<data::JustLut<Val>>::new(&self.compiled.lut, Vars::new([]));
        let mut lines = String::new();
        for value in self.compiled.id.run((ctx, input)).map(unwrap_valr) {
            let value = value.map_err(|error| failed(error.to_string()))?;
            lines.push_str(&written(&value, compact));
            lines.push('\n');
        }
        Ok(lines)
    }
}

fn written(value: &Val, compact: bool) -> String {
    let json = value.to_string();
    match serde_json::from_str(&json) {
        Ok(serde_json::Value::String(text)) => super::text::clean(&text),
        Ok(value) if !compact => serde_json::to_string_pretty(&value).unwrap_or(json),
        _ => json,
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_raw_and_the_rest_as_json() {
        let apply = |expression: &str, json: &str| Filter::new(expression).unwrap().apply(json, true).unwrap();
        assert_eq!(apply(".task.id", r#"{"task":{"id":"t-1"}}"#), "t-1\n");
        assert_eq!(apply(".[] | select(. > 1)", "[1,2,3]"), "2\n3\n");
        assert_eq!(apply(".", r#"{"a":[1]}"#), "{\"a\":[1]}\n");
        assert_eq!(apply(".", r#""\u001b[2J""#), "\\x1b[2J\n");
    }

    #[test]
    fn a_filter_that_is_none_is_a_usage_error() {
        for expression in [".[", "nothing_like_it"] {
            assert_eq!(Filter::new(expression).unwrap_err().exit, 2, "{expression}");
        }
        assert!(Filter::new(".a.b").unwrap().apply("[1]", true).is_err());
    }
}
