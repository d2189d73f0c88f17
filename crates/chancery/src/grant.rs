//! Task grants: makes the tokens that open one task (HO-54).

use aws_lc_rs::digest::{SHA256, digest};
use chancery_core::{Secret, json};
use chancery_engine::delegation::Tokens;

/// RandomGrants of 256 random bits, kept as SHA-256.
pub(crate) struct RandomGrants;

impl Tokens for RandomGrants {
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
        let (one, other) = (RandomGrants.issue().unwrap(), RandomGrants.issue().unwrap());
        assert_ne!(one.expose(), other.expose());
        assert_eq!(json::from_base64(one.expose()).unwrap().len(), 32);
        assert_ne!(RandomGrants.digest(&one), RandomGrants.digest(&other));
        assert_eq!(RandomGrants.digest(&one), RandomGrants.digest(&one.expose().into()));
        assert!(!RandomGrants.digest(&one).contains(one.expose()));
    }
}
