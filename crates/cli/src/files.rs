//! Files that cannot be read or written: what is said of them, and what to try.

use std::{
    io::{Error, ErrorKind},
    path::Path,
};

use crate::{resume::quoted, trouble::Trouble};

/// What is said of a file that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &Error) -> String {
    let name = path.display();
    match error.kind() {
        ErrorKind::NotFound => format!("there is no file {name}"),
        ErrorKind::IsADirectory => format!("{name} is a folder"),
        ErrorKind::PermissionDenied => format!("{name} may not be read"),
        _ => format!("{name} cannot be read: {error}"),
    }
}

/// What to try then: the file of nearly the same name, or a look at what is there.
pub(crate) fn hint(path: &Path, error: &Error) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let shown = |path: &Path| quoted(&path.display().to_string());
    if error.kind() != ErrorKind::NotFound {
        return format!("ls -ld {}", shown(path));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // A folder that cannot be read either has no names to suggest.
    let others: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    match chancery_config::nearest(&name, others.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {}?", shown(&path.with_file_name(near))),
        None => format!("ls {}", shown(folder)),
    }
}

/// Writes a file that the user has named.
pub(crate) fn write(path: &Path, option: &str, content: impl AsRef<[u8]>) -> Result<(), Trouble> {
    std::fs::write(path, content).map_err(|error| unwritable(path, option, &error))
}

/// A file that cannot be written.
pub(crate) fn unwritable(path: &Path, option: &str, error: &Error) -> Trouble {
    let name = path.display();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let before = if option.is_empty() { String::new() } else { format!("{option}: ") };
    match error.kind() {
        ErrorKind::NotFound => Trouble::usage(format!("{before}there is no folder {}", folder.display()))
            .hint(format!("mkdir -p {}", quoted(&folder.display().to_string()))),
        _ => Trouble::usage(format!("{before}{name} cannot be written: {error}"))
            .hint(format!("ls -ld {}", quoted(&folder.display().to_string()))),
    }
}
