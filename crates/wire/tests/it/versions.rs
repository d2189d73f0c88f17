//! Versions stop at the wire: no other crate names one, except where a line below says why.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Crates that may know versions: the one that labels them, and this one.
const FREE: [&str; 2] = ["core", "wire"];

/// What names a version. A form of one is no better.
const NAMES: [&str; 6] = ["Version::V", "Version::Compact", "Version::{", "Dialect::V", "Dialect::Compact", "Dialect::{"];

/// Files that may, and why.
const ALLOWED: [(&str, &str); 5] = [
    ("cli/src/commands/conformance/", "the checks are those of one version"),
    ("check/src/", "the checks are those of one version"),
    ("cli/src/commands/card_init.rs", "users name the versions that a card is for"),
    ("cli/src/agents/demo/cards.rs", "the demo has agents of one version"),
    ("agents/src/demo/cards.rs", "the demo has agents of one version"),
];

#[test]
fn no_crate_but_wire_names_a_version() {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let mut found = Vec::new();
    for folder in fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().path()) {
        if !FREE.contains(&folder.file_name().unwrap().to_str().unwrap()) {
            visit(&crates, &folder.join("src"), &mut found);
        }
    }
    assert!(
        found.is_empty(),
        "these lines name a version; ask `chancery_wire::facts` instead, or say why not in {}:\n{}",
        file!(),
        found.join("\n")
    );
}

fn visit(crates: &Path, path: &Path, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(path) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            visit(crates, &path, found);
            continue;
        }
        let name = path.strip_prefix(crates).unwrap().to_str().unwrap();
        let is_source = name.ends_with(".rs") && !name.ends_with("/tests.rs") && !name.contains("/tests/");
        if is_source && !ALLOWED.iter().any(|(allowed, _)| name.starts_with(allowed)) {
            found.extend(lines(&fs::read_to_string(&path).unwrap()).map(|(number, line)| format!("{name}:{number}: {}", line.trim())));
        }
    }
}

/// The lines of a file that name a version: of its code, not of its documentation and tests.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = text.split_once("\n#[cfg(test)]\n").map_or(text, |(code, _)| code);
    let names = |line: &str| NAMES.iter().any(|name| line.contains(name));
    code.lines().zip(1..).filter(move |(line, _)| !line.trim_start().starts_with("//") && names(line)).map(|(line, number)| (number, line))
}

#[test]
fn a_version_is_found_in_code_only() {
    let text = "//! Version::V1_0\nlet old = version == Version::V0_3;\n#[cfg(test)]\nmod tests { Version::V0_1 }";
    assert_eq!(lines(text).collect::<Vec<_>>(), [(2, "let old = version == Version::V0_3;")]);
}
