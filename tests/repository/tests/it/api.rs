//! The public API of every library, written down in `docs/api/`, so that a change of it shows in the diff of whoever makes it.
//!
//! `CHANCERY_BLESS=1 cargo test -p chancery-repository` writes the files anew.

use std::{collections::BTreeSet, env, fs};

use crate::{
    files,
    outline::{outline, private_types},
    read, root,
};

#[test]
fn the_public_api_is_the_one_that_is_written_down() {
    let bless = env::var_os("CHANCERY_BLESS").is_some();
    let mut expected = BTreeSet::new();
    let mut changed = Vec::new();
    for library in files("crates", "lib.rs") {
        let Some(folder) = library.strip_suffix("/src/lib.rs") else { continue };
        let name = folder.rsplit('/').next().unwrap_or(folder);
        let page = format!("docs/api/{name}.rs");
        let text = api(folder);
        expected.insert(format!("{name}.rs"));
        if bless {
            fs::create_dir_all(root().join("docs/api")).unwrap();
            fs::write(root().join(&page), text).unwrap();
        } else if fs::read_to_string(root().join(&page)).unwrap_or_default() != text {
            changed.push(page);
        }
    }
    assert!(changed.is_empty(), "the public API changed; CHANCERY_BLESS=1 cargo test -p chancery-repository writes it down: {changed:?}");
    let written: BTreeSet<_> =
        fs::read_dir(root().join("docs/api")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(written, expected, "each library has one file");
}

/// All that is public in a crate, module by module. The lint `unreachable_pub` holds that whatever is `pub` can be reached from outside.
fn api(folder: &str) -> String {
    let mut text = format!("// The public API of {folder}. Written by a test (tests/repository); do not edit.\n");
    let modules: Vec<_> = files(&format!("{folder}/src"), ".rs").into_iter().filter(|path| !path.contains("tests")).collect();
    let private = modules.iter().flat_map(|path| private_types(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))).collect();
    for path in modules {
        let module = path.trim_start_matches(folder).trim_start_matches("/src/");
        let items = outline(&read(&path), &private).unwrap_or_else(|error| panic!("{path}: {error}"));
        if !items.is_empty() {
            text += &format!("\n// {module}\n{items}");
        }
    }
    text
}
