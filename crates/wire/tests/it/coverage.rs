//! Which test proves which rule: collects the rule ids that tests name in their doc comments and
//! keeps `docs/coverage.md` in step. `docs/rules.txt` lists all rules, and for those that no test
//! names yet, why.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Rules whose proof is the business of the words alone: no excuse counts.
fn must_be_proven(id: &str) -> bool {
    ["V10-DM-", "V10-JSON-"].iter().any(|prefix| id.starts_with(prefix))
}

#[test]
fn every_rule_is_proven_by_a_test_or_says_why_not() {
    let rules = fs::read_to_string(root().join("docs/rules.txt")).unwrap();
    let rules: Vec<(&str, &str)> = rules
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(' ').map_or((line, ""), |(id, reason)| (id, reason.trim())))
        .collect();
    let proofs = proofs();

    let unknown: Vec<_> = proofs.keys().filter(|id| !rules.iter().any(|(rule, _)| rule == id)).collect();
    assert!(unknown.is_empty(), "tests name rules that do not exist: {unknown:?}");
    let unproven = |id: &str| !proofs.contains_key(id);
    let open: Vec<_> =
        rules.iter().filter(|(id, reason)| unproven(id) && (reason.is_empty() || must_be_proven(id))).map(|(id, _)| *id).collect();
    assert!(open.is_empty(), "no test names these rules and docs/rules.txt does not say why: {open:?}");

    let page = page(&rules, &proofs);
    let path = root().join("docs/coverage.md");
    if env::var_os("CHANCERY_BLESS").is_some() {
        fs::write(&path, page).unwrap();
    } else {
        let current = fs::read_to_string(&path).unwrap_or_default();
        assert!(current == page, "docs/coverage.md is out of date: CHANCERY_BLESS=1 cargo test -p chancery-wire --test it coverage");
    }
}

fn page(rules: &[(&str, &str)], proofs: &BTreeMap<String, Vec<String>>) -> String {
    let proven = rules.iter().filter(|(id, _)| proofs.contains_key(*id)).count();
    let mut page = format!(
        "# Which test proves which rule\n\nWritten by the test `coverage`; do not edit. {proven} of {} rules are named by a test. \
         The others say which part of Chancery they wait for.\n\n| rule | proven by |\n|---|---|\n",
        rules.len()
    );
    for (id, _) in rules.iter().filter(|(id, _)| proofs.contains_key(*id)) {
        page += &format!("| {id} | {} |\n", proofs[*id].iter().map(|test| format!("`{test}`")).collect::<Vec<_>>().join(", "));
    }
    page += "\n## Not yet\n\n| rule | waits for |\n|---|---|\n";
    for (id, reason) in rules.iter().filter(|(id, _)| !proofs.contains_key(*id)) {
        page += &format!("| {id} | {reason} |\n");
    }
    page
}

/// Rule id to the tests that name it.
fn proofs() -> BTreeMap<String, Vec<String>> {
    let mut proofs = BTreeMap::new();
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        collect(&text, &stem, &mut proofs);
    }
    proofs
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// The ids in the doc comment right above each `#[test]` function.
fn collect(text: &str, file: &str, proofs: &mut BTreeMap<String, Vec<String>>) {
    let (mut named, mut test) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("///") {
            named.extend(ids(comment));
        } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            test = true;
        } else if line.starts_with("#[") {
        } else if let (true, Some(name)) =
            (test, line.trim_start_matches("async ").strip_prefix("fn ").and_then(|rest| rest.split('(').next()))
        {
            for id in named.drain(..) {
                let tests: &mut Vec<String> = proofs.entry(id).or_default();
                let name = format!("{file}::{name}");
                if !tests.contains(&name) {
                    tests.push(name);
                }
            }
            test = false;
        } else {
            named.clear();
            test = false;
        }
    }
}

/// Words such as V03-PART-001 or DIA-003-MSG-001, and those of signed cards: SC-7, SC-10a.
fn ids(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
        .filter(|word| {
            let three_digits = |number: &str| number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit());
            let known = ["V10-", "V03-", "V02-", "V01-", "CONV-", "DIA-"].iter().any(|prefix| word.starts_with(prefix));
            let signed = word.strip_prefix("SC-").is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()));
            signed || known && word.rsplit('-').next().is_some_and(three_digits)
        })
        .map(str::to_owned)
        .collect()
}
