//! Cards on disk, for as long as their HTTP headers allow.

use std::path::PathBuf;

use chancery_engine::clock::{Clock as _, SystemClock};
use serde::{Deserialize, Serialize};

use crate::context::Context;

/// A card as it was answered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) url: String,
    pub(super) body: String,
    pub(super) tag: Option<String>,
    pub(super) modified: Option<String>,
    /// Seconds since 1970.
    pub(super) fresh_until: i64,
}

impl Kept {
    /// The card of a URL that was kept, fresh or not.
    pub(super) fn load(context: &Context, url: &str) -> Option<Self> {
        let text = std::fs::read(path(context, url)?).ok()?;
        let kept: Self = serde_json::from_slice(&text).ok()?;
        (kept.url == url).then_some(kept)
    }

    /// Keeps the card. A cache that cannot be written is only slower.
    pub(super) fn save(&self, context: &Context) {
        let Some(path) = path(context, &self.url) else { return };
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

/// When an answer with this `Cache-Control` stops being fresh; `None` if it must not be kept.
pub(super) fn fresh_until(cache_control: &str) -> Option<i64> {
    let mut seconds = 0;
    for directive in cache_control.split(',').map(|directive| directive.trim().to_ascii_lowercase()) {
        match directive.split_once('=').unwrap_or((&directive, "")) {
            ("no-store", _) => return None,
            ("no-cache", _) => return Some(0),
            ("max-age", value) => seconds = value.trim_matches('"').parse::<i64>().unwrap_or(0),
            _ => {}
        }
    }
    // A day at most: a card that was wrong once must not stay for ever.
    Some(now() + seconds.clamp(0, 86_400))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_control_says_how_long_a_card_is_fresh() {
        let lasts = |header: &str| fresh_until(header).map(|until| (until - now()).max(0));
        assert_eq!(lasts("no-store"), None);
        for (header, seconds) in [("", 0), ("no-cache, max-age=60", 0), ("max-age=99999999", 86_400), ("max-age=soon", 0)] {
            assert_eq!(lasts(header), Some(seconds), "{header}");
        }
    }
}
