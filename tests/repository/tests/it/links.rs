//! Links between the pages of the repository lead somewhere.

use std::path::Path;

use crate::{files, read, root};

/// What links begin with on pages that are read elsewhere too, as the guides are in `cargo doc`, where paths of the repository lead nowhere.
const HERE: &str = "https://github.com/chancery-rs/chancery/blob/main/";

/// The targets of the links in a page, outside of code.
fn targets(page: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut in_code = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        // What is between two backticks is code too.
        let text: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let ends = text.match_indices("](").map(|(at, _)| &text[at + 2..]);
        targets
            .extend(ends.filter_map(|rest| rest.split(')').next()).map(|target| target.split(' ').next().unwrap_or_default().to_owned()));
    }
    targets
}

/// The names by which the headings of a page are linked to.
fn anchors(page: &str) -> Vec<String> {
    let heading = |line: &str| line.starts_with('#').then(|| line.trim_start_matches('#').trim().to_lowercase());
    let anchor = |heading: String| {
        let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
        heading.chars().filter(kept).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    page.lines().filter_map(heading).map(anchor).collect()
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let mut broken = Vec::new();
    let mut links = 0;
    for page in files("", ".md") {
        let text = read(&page);
        for target in targets(&text) {
            let inside = target.strip_prefix(HERE);
            let target = inside.unwrap_or(&target);
            // Paths of Rust items are for `cargo doc` to check.
            if target.contains("::") || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            links += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = Path::new(&page).parent().unwrap_or(Path::new(""));
            let folder = if inside.is_some() { Path::new("") } else { folder };
            let there = if path.is_empty() { root().join(&page) } else { root().join(folder).join(path) };
            let found = match std::fs::read_to_string(&there) {
                Ok(text) => anchor.is_empty() || anchors(&text).iter().any(|known| known == anchor),
                Err(_) => there.is_dir() && anchor.is_empty(),
            };
            if !found {
                broken.push(format!("{page}: {target}"));
            }
        }
    }
    assert!(links > 20, "there are links to look at");
    assert!(broken.is_empty(), "links that lead nowhere: {broken:#?}");
}

/// A path of the repository leads nowhere from `cargo doc`.
#[test]
fn guides_link_to_pages_by_their_address() {
    for page in files("docs/guide", ".md") {
        let paths: Vec<_> = targets(&read(&page)).into_iter().filter(|target| !target.contains("::") && !target.contains("://")).collect();
        assert!(paths.iter().all(|target| target.starts_with('#')), "{page}: {paths:?}");
    }
}

#[test]
fn links_are_found_outside_of_code_only() {
    assert_eq!(targets("[a](b.md#c) and `[d](e)`\n```\n[f](g)\n```\n[h](i.md \"title\")"), ["b.md#c", "i.md"]);
    assert_eq!(anchors("# One `two`, three\ntext\n## Four"), ["one-two-three", "four"]);
}
