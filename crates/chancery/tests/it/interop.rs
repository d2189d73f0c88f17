//! `docs/interop.md`: what the tests with the released peers gave, as tables that they write themselves.
//!
//! `CHANCERY_BLESS=1 CHANCERY_SDKS=<folder> cargo test -p chancery --test it sdk` writes them anew.

use std::{fmt::Write as _, path::PathBuf, sync::Mutex};

use crate::{say, sdk::root};

/// A defect of a peer: where it shows, by which words, and why it is the peer's and not ours.
pub(crate) struct Defect {
    pub(crate) peer: &'static str,
    pub(crate) bindings: &'static [&'static str],
    pub(crate) steps: &'static [&'static str],
    /// What the step says when it fails of this.
    pub(crate) shows: &'static str,
    pub(crate) why: &'static str,
}

/// How a step with a peer went.
pub(crate) enum Cell {
    Ok,
    /// Nobody can do it with this peer: it has no such call.
    NoCall,
    /// It failed of the defect with this number.
    Defect(usize),
    Wrong,
}

impl Cell {
    /// How a step that was tried went, by what is known of the peer. What is wrong is told in words.
    pub(crate) fn of(defects: &[Defect], (peer, binding, step): (&str, &str, &str), done: Result<(), &str>) -> (Self, Option<String>) {
        let known = defects.iter().position(|one| one.peer == peer && one.bindings.contains(&binding) && one.steps.contains(&step));
        let flaw = match (done, known) {
            (Ok(()), None) => return (Self::Ok, None),
            (Err(words), Some(number)) if words.contains(defects[number].shows) => return (Self::Defect(number), None),
            (Ok(()), Some(_)) => "goes well, against what the table of defects says",
            (Err(words), _) => words,
        };
        (Self::Wrong, Some(format!("{peer} {binding}, {step}: {flaw}")))
    }

    fn text(&self) -> String {
        match self {
            Self::Ok => "ok".to_owned(),
            Self::NoCall => "-".to_owned(),
            Self::Defect(number) => format!("({})", number + 1),
            Self::Wrong => "WRONG".to_owned(),
        }
    }
}

/// A table with a row for every step and a column for every peer, and the defects that it shows.
pub(crate) fn page(peers: &[String], rows: &[(&str, Vec<Cell>)], defects: &[Defect]) -> String {
    let mut lines = vec![vec!["step".to_owned()]];
    lines[0].extend(peers.iter().cloned());
    lines.extend(rows.iter().map(|(step, cells)| std::iter::once((*step).to_owned()).chain(cells.iter().map(Cell::text)).collect()));
    let widths: Vec<usize> = (0..=peers.len()).map(|column| lines.iter().map(|line| line[column].len()).max().unwrap_or(0)).collect();
    let mut page = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (cell, width) in line.iter().zip(&widths) {
            write!(page, "| {cell:width$} ").unwrap();
        }
        page += "|\n";
        if number == 0 {
            page += &widths.iter().map(|width| format!("|{}", "-".repeat(width + 2))).collect::<String>();
            page += "|\n";
        }
    }
    page += "\n";
    for (number, Defect { peer, bindings, steps, shows, why }) in defects.iter().enumerate() {
        writeln!(page, "{}. {peer} ({}), {}: {why} Seen: `{shows}`.", number + 1, bindings.join(", "), steps.join(", ")).unwrap();
    }
    page
}

/// Shows a page, and compares it with the one in the file, or writes that anew.
pub(crate) fn keep(region: &str, page: &str) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap();
    say(&format!("\n{page}"));
    let path: PathBuf = root().join("docs/interop.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {region}: written by a test -->\n"), format!("<!-- end of {region} -->"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("docs/interop.md has no {begin}"));
    let (kept, after) = rest.split_once(&end).unwrap_or_else(|| panic!("docs/interop.md has no {end}"));
    if std::env::var_os("CHANCERY_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{page}{end}{after}")).unwrap();
    } else {
        assert!(
            kept == page,
            "docs/interop.md is out of date: CHANCERY_BLESS=1 CHANCERY_SDKS=<folder> cargo test -p chancery --test it sdk"
        );
    }
}
