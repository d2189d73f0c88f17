//! Files short enough to be read at once. Functions are clippy's to watch (`too_many_lines`).

use crate::{files, read};

const LONGEST: usize = 600;

/// Files that may be longer, and why.
const LONGER: &[(&str, &str)] = &[("crates/cli/src/commands/conformance/cli/check.rs", "a table of checks")];

/// What is longer by nature: generated code, and tables of tests.
fn is_table(path: &str) -> bool {
    path.contains("/src/proto/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

#[test]
fn no_source_file_has_more_than_600_lines() {
    let mut long: Vec<_> = files("crates", ".rs")
        .into_iter()
        .filter(|path| !is_table(path) && !LONGER.iter().any(|(known, _)| known == path))
        .map(|path| (read(&path).lines().count(), path))
        .filter(|(lines, _)| *lines > LONGEST)
        .collect();
    long.sort();
    assert!(long.is_empty(), "a second idea inside? {long:#?}");
}

#[test]
fn files_that_may_be_longer_still_are() {
    for (path, _) in LONGER {
        assert!(read(path).lines().count() > LONGEST, "{path} is short enough now: take it off the list");
    }
}
