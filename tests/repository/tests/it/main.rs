//! Checks of the repository itself.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking and says why")]

mod api;
mod files;
mod links;
mod outline;

use std::{fs, path::PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file below a folder of the repository whose name ends so, as paths from the root, in their order.
fn files(folder: &str, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap_or_else(|error| panic!("{folder}: {error}")) {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if entry.file_type().unwrap().is_dir() {
                if !name.starts_with('.') && !["target", "node_modules"].contains(&&*name) {
                    folders.push(path);
                }
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folder} has no files that end with {ending}");
    found
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
