//! `docs/guide/tls.md`: an authority, a server with its certificate, a renewal, and callers with certificates of their own.

use super::{Guide, free_port, has};
use crate::process::untested;

#[test]
fn the_guide_to_tls_makes_certificates_serves_and_renews_them() {
    if !has(&["bash", "curl", "openssl"]) {
        return untested("bash, curl and openssl are needed to run the guide to TLS");
    }
    let guide = Guide::new("tls.md");
    let mut guide = guide.replace("8443", free_port().to_string()).replace("8444", free_port().to_string());
    assert_eq!(guide.run_all(), 9, "the guide has other blocks now");
}
