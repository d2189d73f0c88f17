//! Temporary folders of a turn: what came with the message, and what a program leaves behind.

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use chancery_core::{Artifact, Content, Part};
use chancery_engine::Failure;

/// The size up to which a file becomes an artifact.
const LARGEST: u64 = 16 << 20;

/// Two private folders, gone when this is.
#[derive(Debug)]
pub(crate) struct Folders {
    root: PathBuf,
}

impl Folders {
    /// Makes the folders and writes the parts that are no text into the first.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(crate) async fn new(parts: &[Part]) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let unique = format!("a2a-{}-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed), chancery_core::TaskId::generate());
        let folders = Self { root: std::env::temp_dir().join(unique) };
        let mut maker = tokio::fs::DirBuilder::new();
        // Nobody else may look into it, and a folder that is there already is not ours.
        maker.mode(0o700);
        maker.create(&folders.root).await?;
        maker.create(folders.given()).await?;
        maker.create(folders.left()).await?;
        let mut names = HashSet::new();
        for (at, part) in parts.iter().enumerate() {
            if let Some((name, bytes)) = file(part, at + 1) {
                tokio::fs::write(folders.given().join(unused(&mut names, name)), bytes).await?;
            }
        }
        Ok(folders)
    }

    /// Where the parts of the message are.
    #[must_use]
    pub(crate) fn given(&self) -> PathBuf {
        self.root.join("files")
    }

    /// Where a program leaves its results.
    #[must_use]
    pub(crate) fn left(&self) -> PathBuf {
        self.root.join("out")
    }

    /// What was left, as artifacts, sorted by name.
    ///
    /// # Errors
    /// When a file cannot be read, or is too large.
    pub(crate) async fn results(&self) -> Result<Vec<Artifact>, Failure> {
        let mut entries = tokio::fs::read_dir(self.left()).await?;
        let mut found = Vec::new();
        while let Some(entry) = entries.next_entry().await? {
            let name = entry.file_name().to_string_lossy().into_owned();
            let facts = entry.path().symlink_metadata()?;
            if !facts.is_file() {
                tracing::warn!(name, "only files become artifacts; this is none");
                continue;
            }
            if facts.len() > LARGEST {
                return Err(Failure::new(format!("The file {name} is larger than {} MiB.", LARGEST >> 20)));
            }
            found.push((name, entry.path()));
        }
        found.sort();
        let mut artifacts = Vec::new();
        for (name, path) in found {
            let bytes = tokio::fs::read(&path).await?;
            artifacts.push(Artifact::new(Part::raw(bytes).media_type(media_type(&name)).filename(&name)).named(&name));
        }
        Ok(artifacts)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.root) {
            tracing::warn!(%error, "the folder of a turn could not be removed");
        }
    }
}

/// The name and the content of the file that a part becomes; text is no file.
fn file(part: &Part, number: usize) -> Option<(String, Vec<u8>)> {
    // Only the last piece of the name: it comes from the client, and must not lead out of the folder.
    let name = part.filename.rsplit(['/', '\\']).next().unwrap_or_default().trim_start_matches('.').replace('\0', "");
    let named = |suffix: &str| if name.is_empty() { format!("part-{number}{suffix}") } else { name.clone() };
    match &part.content {
        Content::Text(_) => None,
        Content::Raw(bytes) => Some((named(""), bytes.to_vec())),
        Content::Url(url) => Some((format!("{}.url", named("")), format!("{url}\n").into_bytes())),
        Content::Data(value) => Some((named(".json"), value.to_string().into_bytes())),
    }
}

/// A name that no other file has.
fn unused(names: &mut HashSet<String>, name: String) -> String {
    // File systems take 255 bytes. The end of the name says what it is, so that the end is kept.
    let begin = (name.len().saturating_sub(200)..name.len()).find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    let name = name[begin..].to_owned();
    let free = (1..).map(|number| if number == 1 { name.clone() } else { format!("{number}-{name}") }).find(|name| !names.contains(name));
    let name = free.unwrap_or(name);
    names.insert(name.clone());
    name
}

/// The type of a file by its name.
fn media_type(name: &str) -> &'static str {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    match extension.as_str() {
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "htm" | "html" => "text/html",
        "css" => "text/css",
        "js" => "text/javascript",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_a_client_stays_in_its_folder_and_is_used_once() {
        let mut names = HashSet::new();
        let mut name = |part: Part| unused(&mut names, file(&part, 3).unwrap().0);
        assert_eq!(name(Part::raw("x").filename("../../etc/passwd")), "passwd");
        assert_eq!(name(Part::raw("x").filename("C:\\passwd")), "2-passwd");
        assert_eq!(name(Part::raw("x").filename("..")), "part-3");
        assert_eq!(name(Part::raw("x").filename(".bashrc")), "bashrc");
        assert_eq!(name(Part::data(1)), "part-3.json");
        assert_eq!(name(Part::url("https://a.example/x").filename("x.png")), "x.png.url");
        let long = name(Part::raw("x").filename(format!("{}.txt", "ü".repeat(300))));
        assert!(long.len() <= 200 && long.ends_with("ü.txt"), "{long}");
        assert!(file(&Part::text("x"), 1).is_none());
    }
}
