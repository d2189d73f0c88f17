//! File watcher by polling: tells when the content of files changed.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tokio::time::{Instant, MissedTickBehavior};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Some files that are watched. They are looked at once a second: that works on every file system, also
/// on those that tell nobody of changes.
#[derive(Debug)]
pub struct Watch {
    files: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    path: PathBuf,
    /// When it was last written, and how long it is; `None` while it is missing.
    stamp: Option<(SystemTime, u64)>,
    content: u64,
}

impl Watch {
    /// Watches files from now on.
    pub async fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut files = Vec::new();
        for path in paths {
            files.push(Watched { stamp: stamp(&path).await, content: content(&path).await, path });
        }
        Self { files }
    }

    /// Waits until the content of a file is another one, and says which. An editor that writes the same
    /// again changed nothing; a file that was there and is gone has not changed until it is back.
    pub async fn changed(&mut self) -> PathBuf {
        let mut ticks = tokio::time::interval_at(Instant::now() + LOOK, LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            for file in &mut self.files {
                let stamp = stamp(&file.path).await;
                if stamp.is_none() || stamp == file.stamp {
                    continue;
                }
                file.stamp = stamp;
                let content = content(&file.path).await;
                if std::mem::replace(&mut file.content, content) != content {
                    return file.path.clone();
                }
            }
        }
    }
}

async fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let facts = tokio::fs::metadata(path).await.ok()?;
    Some((facts.modified().ok()?, facts.len()))
}

async fn content(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    // A file that cannot be read is as good as empty; whoever loads it says what is wrong.
    tokio::fs::read(path).await.unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}
