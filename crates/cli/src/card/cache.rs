//! Cards on disk, for as long as their HTTP headers allow.

use std::path::PathBuf;

use chancery_client::CardText;
use chancery_engine::clock::{Clock as _, SystemClock};
use serde::{Deserialize, Serialize};

use crate::context::Context;

/// A card as it was answered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    /// What was asked for.
    asked: String,
    /// Where it was.
    url: String,
    body: String,
    etag: Option<String>,
    last_modified: Option<String>,
    cache_control: Option<String>,
    /// Seconds since 1970.
    fresh_until: i64,
}

impl Kept {
    /// A card that has just been answered.
    pub(super) fn of(asked: &str, text: &CardText) -> Self {
        Self {
            asked: asked.to_owned(),
            url: text.url.clone(),
            body: String::from_utf8_lossy(&text.body).into_owned(),
            etag: text.etag.clone(),
            last_modified: text.last_modified.clone(),
            cache_control: text.cache_control.clone(),
            fresh_until: now() + i64::try_from(text.fresh_for().as_secs()).unwrap_or(0),
        }
    }

    /// The card of a reference that was kept, fresh or not.
    pub(super) fn load(context: &Context, asked: &str) -> Option<Self> {
        let text = std::fs::read(path(context, asked)?).ok()?;
        let kept: Self = serde_json::from_slice(&text).ok()?;
        (kept.asked == asked).then_some(kept)
    }

    /// The card, if it can still be read.
    pub(super) fn text(&self) -> Option<CardText> {
        let mut text = CardText::new(&self.url, self.body.clone()).ok()?;
        text.etag.clone_from(&self.etag);
        text.last_modified.clone_from(&self.last_modified);
        text.cache_control.clone_from(&self.cache_control);
        Some(text)
    }

    /// Keeps the card. A cache that cannot be written is only slower.
    pub(super) fn save(&self, context: &Context) {
        let forbidden = self.cache_control.as_deref().is_some_and(|control| control.to_ascii_lowercase().contains("no-store"));
        let Some(path) = path(context, &self.asked).filter(|_| !forbidden) else { return };
        let written = serde_json::to_vec(self).map_err(std::io::Error::other).and_then(|text| {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            // A reader never sees half a card.
            let part = path.with_extension(format!("{}.part", std::process::id()));
            std::fs::write(&part, text)?;
            std::fs::rename(part, &path)
        });
        if let Err(error) = written {
            context.notes.debug(&format!("the card could not be kept: {error}"));
        }
    }

    /// Whether it may be used without asking.
    pub(super) fn is_fresh(&self) -> bool {
        now() < self.fresh_until
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    SystemClock.now().unix().0
}

/// `…/cards/localhost_8080-1f2e….json`
fn path(context: &Context, url: &str) -> Option<PathBuf> {
    if context.settings.no_cache {
        return None;
    }
    let host: String =
        url::Url::parse(url).ok()?.host_str()?.chars().map(|c| if c.is_alphanumeric() || c == '.' { c } else { '_' }).collect();
    let folder = context.settings.layers.around.cache.as_ref()?.join("cards");
    Some(folder.join(format!("{host}-{:016x}.json", fingerprint(url))))
}

/// FNV-1a: the same in every build, which the standard hasher does not promise.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
