//! Grants: keys to one task of an agent, for whoever it was handed over for (HO-54).

use aws_lc_rs::digest::{SHA256, digest};
use chancery_core::{Secret, json};
use chancery_engine::pass::Tokens;

/// Grants of 256 random bits, kept as SHA-256.
pub(crate) struct Grants;

impl Tokens for Grants {
    fn issue(&self) -> Option<Secret> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok()?;
        Some(json::to_base64(&bytes).into())
    }

    fn digest(&self, token: &Secret) -> String {
        json::to_base64(digest(&SHA256, token.expose().as_bytes()).as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HO-54: 256 random bits that are kept hashed.
    #[test]
    fn no_two_grants_are_the_same_and_none_is_stored_as_it_is() {
        let (one, other) = (Grants.issue().unwrap(), Grants.issue().unwrap());
        assert_ne!(one.expose(), other.expose());
        assert_eq!(json::from_base64(one.expose()).unwrap().len(), 32);
        assert_ne!(Grants.digest(&one), Grants.digest(&other));
        assert_eq!(Grants.digest(&one), Grants.digest(&one.expose().into()));
        assert!(!Grants.digest(&one).contains(one.expose()));
    }
}
