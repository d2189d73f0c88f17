//! `a2a version`.

use serde_json::json;

use crate::{context::Context, trouble::Trouble};

pub(crate) fn run(context: &Context) -> Result<(), Trouble> {
    let facts = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("commit", env!("A2A_COMMIT")),
        ("date", env!("A2A_DATE")),
        ("target", env!("A2A_TARGET")),
    ];
    let document: serde_json::Map<_, _> = facts.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    context.printer.result(&document, |text| {
        for (name, value) in facts {
            text.field(&capitalized(name), value);
        }
    })
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
