//! Settings files: `A2ACLI_NAME=value` per line.

use std::path::{Path, PathBuf};

/// What every name begins with; other lines of a project's `.env` are none of our business.
const PREFIX: &str = "A2ACLI_";

/// A settings file that was looked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    /// Whether it was there.
    pub(crate) read: bool,
    values: Vec<(String, String)>,
}

impl File {
    /// Reads a file; one that is not there says nothing.
    pub(crate) fn read(path: PathBuf) -> std::io::Result<Self> {
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Self { path, read: true, values: parse(&text) }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self { path, ..Self::default() }),
            Err(error) => Err(error),
        }
    }

    /// The value of a variable; the last line wins.
    pub(crate) fn value(&self, variable: &str) -> Option<&str> {
        self.values.iter().rev().find(|(name, _)| name == variable).map(|(_, value)| value.as_str())
    }

    /// Whether others than the owner can read it.
    #[cfg(unix)]
    pub(crate) fn is_readable_by_others(&self) -> bool {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
    }

    /// Whether others than the owner can read it, which only Unix says in numbers.
    #[cfg(not(unix))]
    pub(crate) fn is_readable_by_others(&self) -> bool {
        false
    }
}

/// The nearest `.env`, from a folder upward; the home folder and the root are the last ones.
pub(crate) fn nearest(from: &Path, home: Option<&Path>) -> Option<PathBuf> {
    for folder in from.ancestors() {
        let file = folder.join(".env");
        if file.is_file() {
            return Some(file);
        }
        if Some(folder) == home {
            return None;
        }
    }
    None
}

fn parse(text: &str) -> Vec<(String, String)> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    name.starts_with(PREFIX).then(|| (name.to_owned(), unquoted(value.trim()).to_owned()))
}

/// The text without one pair of quotes around it.
fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_names_are_read_and_one_pair_of_quotes_goes() {
        let text = "# A2ACLI_OUTPUT=json\nDATABASE_URL=x\nexport A2ACLI_OUTPUT = \"json\"\nA2ACLI_BEARER='a\"b'\nA2ACLI_JQ=\nnonsense\n";
        let expected = [("A2ACLI_OUTPUT", "json"), ("A2ACLI_BEARER", "a\"b"), ("A2ACLI_JQ", "")];
        assert_eq!(parse(text), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn the_search_for_a_file_stops_at_home() {
        let folder = crate::folder::Folder::new();
        let deep = folder.path("home/project/deep");
        std::fs::create_dir_all(&deep).unwrap();
        let file = folder.write(".env", "");
        assert_eq!(nearest(&deep, Some(&folder.path("home"))), None);
        assert_eq!(nearest(&deep, Some(&folder.path("elsewhere"))), Some(file));
        let near = folder.write("home/project/.env", "");
        assert_eq!(nearest(&deep, Some(&folder.path("home"))), Some(near));
    }
}
