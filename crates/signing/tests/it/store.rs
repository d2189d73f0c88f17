//! The folder of keys.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

use chancery_signing::{Algorithm, KeyStore, StoreError};
use jiff::{Timestamp, ToSpan};

use crate::vectors::{now, read};

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("chancery-signing-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        Self(std::env::temp_dir().join(name).join("keys"))
    }

    fn store(&self) -> KeyStore {
        KeyStore::new(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that made nothing leaves nothing.
        fs::remove_dir_all(self.0.parent().unwrap()).ok();
    }
}

fn later(minutes: i64) -> Timestamp {
    now() + minutes.minutes()
}

fn kids(store: &KeyStore) -> Vec<String> {
    store.list().unwrap().into_iter().map(|key| key.kid).collect()
}

#[test]
fn a_key_is_made_once_and_found_again() {
    let folder = Folder::new();
    let store = folder.store();
    assert_eq!(store.list().unwrap(), []);
    let made = store.generate(Algorithm::Es256, "2026-11", now()).unwrap();
    let listed = store.list().unwrap().remove(0);
    assert_eq!((listed.thumbprint, listed.created), (made.public().thumbprint(), now()));
    assert!(matches!(store.generate(Algorithm::EdDsa, "2026-11", now()), Err(StoreError::Exists(_))));
    assert_eq!(store.key("2026-11").unwrap().public(), made.public());
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing else is left in the folder");
}

#[cfg(unix)]
#[test]
fn keys_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    let store = folder.store();
    store.generate(Algorithm::EdDsa, "k", now()).unwrap();
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = store.path("k").unwrap();
    assert_eq!((mode(&folder.0), mode(&file)), (0o700, 0o600));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(store.key("k"), Err(StoreError::Exposed(_))));
    assert!(matches!(store.list(), Err(StoreError::Exposed(_))));
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    let folder = Folder::new();
    for name in ["", "..", ".hidden", "../k", "a/b", "a\\b", "a b", "ä", "k\0", &"k".repeat(129)] {
        assert!(matches!(folder.store().generate(Algorithm::EdDsa, name, now()), Err(StoreError::Name(_))), "{name:?}");
    }
}

#[test]
fn keys_are_imported_from_both_formats() {
    let folder = Folder::new();
    let store = folder.store();
    assert_eq!(store.import(&read("keys/rs256-1.private.jwk.json"), None, now()).unwrap().kid(), "rs256-1");
    assert_eq!(store.import(&read("keys/es256-1.private.jwk.json"), Some("other"), later(1)).unwrap().kid(), "other");
    assert!(matches!(store.import(include_bytes!("ed25519-pkcs8.pem"), None, now()), Err(StoreError::Import(_))));
    assert_eq!(store.import(include_bytes!("ed25519-pkcs8.pem"), Some("pem"), later(2)).unwrap().algorithm(), Algorithm::EdDsa);
    assert_eq!(kids(&store), ["pem", "other", "rs256-1"]);
    assert!(matches!(store.import(&read("keys/rs256-1.private.jwk.json"), None, now()), Err(StoreError::Exists(_))));
    // The public half is no key to sign with.
    let public = store.key("other").unwrap().public().to_value().to_string();
    assert!(matches!(store.import(public.as_bytes(), Some("p"), now()), Err(StoreError::Import(_))));
    assert!(matches!(store.import(b"nonsense", Some("p"), now()), Err(StoreError::Import(_))));
}

/// The new key is published beside the old one, until that is rotated out.
#[test]
fn rotation_keeps_the_newest() {
    let folder = Folder::new();
    let store = folder.store();
    assert_eq!(store.rotate(Algorithm::EdDsa, "a", 2, now()).unwrap().1, [""; 0]);
    assert_eq!(store.rotate(Algorithm::EdDsa, "b", 2, later(1)).unwrap().1, [""; 0]);
    assert_eq!(store.rotate(Algorithm::EdDsa, "c", 2, later(2)).unwrap().1, ["a"]);
    assert_eq!(kids(&store), ["c", "b"]);
    assert!(matches!(store.rotate(Algorithm::EdDsa, "b", 1, later(3)), Err(StoreError::Exists(_))));
    assert_eq!(kids(&store), ["c", "b"], "a rotation that fails removes nothing");
    // The new one stays even when the clock went back.
    assert_eq!(store.rotate(Algorithm::EdDsa, "d", 1, later(-9)).unwrap().1, ["c", "b"]);
    assert_eq!(store.newest().unwrap().unwrap().kid(), "d");
    store.remove("d").unwrap();
    assert!(matches!(store.remove("d"), Err(StoreError::Missing(_))));
    assert!(store.newest().unwrap().is_none());
}

#[test]
fn what_is_published_holds_no_secret() {
    let folder = Folder::new();
    let store = folder.store();
    for (minute, algorithm) in [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256].into_iter().enumerate() {
        store.generate(algorithm, algorithm.as_str(), later(minute.try_into().unwrap())).unwrap();
    }
    let published = store.jwks().unwrap().to_value();
    assert_eq!(published["keys"].as_array().unwrap().len(), 3);
    for key in published["keys"].as_array().unwrap() {
        for secret in ["d", "p", "q", "dp", "dq", "qi"] {
            assert_eq!(key.get(secret), None);
        }
    }
}
