//! Which test proves which requirement: `docs/cli-rules.txt` lists them all, and for those that no test names
//! yet, what they wait for.

use std::{collections::BTreeSet, fs, path::Path};

/// The requirements that a source names in the comments above its tests.
fn named(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            named(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        for comment in text.lines().filter_map(|line| line.trim_start().strip_prefix("///")) {
            let words = comment.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            found.extend(
                words.filter(|word| word.starts_with("A2ACLI_") && word.ends_with(|c: char| c.is_ascii_digit())).map(str::to_owned),
            );
        }
    }
}

#[test]
fn every_requirement_is_named_by_a_test_or_says_why_not() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut proofs = BTreeSet::new();
    named(&root.join("src"), &mut proofs);
    named(&root.join("tests"), &mut proofs);
    let rules = fs::read_to_string(root.join("../../docs/cli-rules.txt")).unwrap();
    let rules: Vec<_> =
        rules.lines().filter(|line| line.starts_with("A2ACLI_")).map(|line| line.split_once(' ').unwrap_or((line, ""))).collect();
    assert_eq!(rules.len(), 66);
    let unknown: Vec<_> = proofs.iter().filter(|id| !rules.iter().any(|(rule, _)| rule == id)).collect();
    assert!(unknown.is_empty(), "tests name requirements that do not exist: {unknown:?}");
    let open: Vec<_> = rules.iter().filter(|(id, reason)| reason.is_empty() && !proofs.contains(*id)).collect();
    assert!(open.is_empty(), "no test names these requirements, and nothing says why: {open:?}");
    let settled: Vec<_> = rules.iter().filter(|(id, reason)| !reason.is_empty() && proofs.contains(*id)).collect();
    assert!(settled.is_empty(), "these are named by a test, and wait for nothing: {settled:?}");
}
