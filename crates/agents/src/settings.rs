//! Server settings from a configuration: authentication, signing of cards, authorization of work that is passed on.

use std::sync::Arc;

use chancery::{
    Signing,
    auth::{Algorithm, CertificateName, Digest, Holder, Jwt, Scheme},
};
use chancery_client::oauth;
use chancery_config::{
    self as config,
    auth::{Jwks, Proof, SchemeKind},
};
use chancery_engine::delegation::Lattice;
use chancery_lattice::{Gate, Roots};

/// Who may call, as the server understands it.
#[must_use]
pub fn auth(said: &config::Auth) -> chancery::Auth {
    let auth = chancery::Auth::new().anonymous(said.anonymous).keep_tokens(said.exchange.is_some()).end_streams(said.end_streams);
    let auth = auth.scopes_to_read(&said.read_scopes).scopes_to_write(&said.write_scopes);
    let auth = said.schemes.iter().fold(auth, |auth, named| auth.scheme(&named.name, scheme(named)));
    auth.requiring(said.requirements(&said.require))
}

fn scheme(said: &config::auth::Scheme) -> Scheme {
    let scheme = match &said.kind {
        SchemeKind::ApiKey(location, field) => Scheme::api_key(*location, field),
        SchemeKind::Bearer => Scheme::bearer(),
        SchemeKind::Basic => Scheme::basic(),
        SchemeKind::MutualTls(name) => Scheme::mutual_tls(match name {
            config::auth::CertificateName::CommonName => CertificateName::CommonName,
            config::auth::CertificateName::Uri => CertificateName::Uri,
            config::auth::CertificateName::Dns => CertificateName::Dns,
            config::auth::CertificateName::Fingerprint => CertificateName::Fingerprint,
        }),
        SchemeKind::Jwt(said) => Scheme::jwt(jwt(said)),
    };
    said.holders.iter().filter_map(holder).fold(scheme, Scheme::holder)
}

fn jwt(said: &config::auth::Jwt) -> Jwt {
    let mut jwt = Jwt::issuer(&said.issuer, &said.audience);
    jwt = match &said.jwks {
        None => jwt,
        Some(Jwks::Url(url)) => jwt.keys_at(url),
        Some(Jwks::File(file)) => jwt.keys_in(file),
    };
    if let Some(names) = &said.algorithms {
        jwt = jwt.algorithms(Algorithm::ALL.iter().filter(|(name, _)| names.contains(name)).map(|(_, algorithm)| *algorithm));
    }
    if let Some(leeway) = said.leeway {
        jwt = jwt.leeway(leeway);
    }
    if let Some(prefix) = &said.prefix {
        jwt = jwt.prefix(prefix);
    }
    if let Some(actors) = &said.actors {
        jwt = jwt.actors(actors);
    }
    jwt
}

/// Nobody when the digest is none, which was refused when the file was read.
fn holder(said: &config::auth::Holder) -> Option<Holder> {
    let holder = match &said.proof {
        Proof::Certificate(name) => Holder::certificate(&said.subject, name),
        Proof::Secret(digest) => Holder::new(&said.subject, Digest::parse(digest.as_str())?),
    };
    Some(said.scopes.iter().fold(holder, Holder::scope))
}

/// Who gets tokens for other agents in exchange for those of callers; `None` when nothing is exchanged.
///
/// # Errors
/// The token endpoint is no place for secrets.
pub fn exchange(said: &config::Auth) -> chancery::Result<Option<oauth::Exchange>> {
    let Some(said) = &said.exchange else { return Ok(None) };
    let mut exchange = oauth::Exchange::at(&said.token_url, &said.client_id, said.client_secret.clone())?;
    if let Some(token) = &said.actor_token {
        exchange = exchange.actor(token.clone());
    }
    if let Some(audience) = &said.audience {
        exchange = exchange.parameter("audience", audience);
    }
    Ok(Some(said.scopes.iter().fold(exchange, oauth::Exchange::scope)))
}

/// What cards are signed with; `None` without a key.
#[must_use]
pub fn signing(said: &config::Signing) -> Option<Signing> {
    let (first, others) = said.keys.split_first()?;
    let mut signing = Signing::new(first.key.clone()).chain(first.chain.iter().cloned());
    for other in others {
        signing = match other.also_sign {
            true => signing.also(other.key.clone()).chain(other.chain.iter().cloned()),
            false => signing.published(other.key.public()),
        };
    }
    Some(match &said.jku {
        Some(url) => signing.keys_at(url),
        None => signing,
    })
}

/// The gate of an agent, if anything is said about what it may pass on. In the workflows it has its own name.
#[must_use]
pub fn lattice(said: &config::Lattice, agent: &str) -> Option<Lattice> {
    if said.workflows.is_empty() && said.mode.is_none() && said.roots.is_empty() {
        return None;
    }
    let gate = Gate::new(agent).least_privilege(said.least_privilege).on_violation(said.on_violation).approvers(&said.approvers);
    let gate = said.workflows.iter().fold(gate, |gate, (_, workflow)| gate.workflow(workflow.clone()));
    Some(Lattice::new(match said.mode {
        Some(mode) => gate.strictness(mode),
        None => gate,
    }))
}

/// Who verifies scope tokens, if any are believed.
#[must_use]
pub fn token_roots(said: &config::Lattice) -> Option<Arc<Roots>> {
    // What is no key was refused when it was read.
    let add = |roots: Roots, (kid, key): &(u32, String)| roots.clone().root(*kid, key).unwrap_or(roots);
    (!said.roots.is_empty()).then(|| Arc::new(said.roots.iter().fold(Roots::new(), add)))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path};

    use chancery_config::Config;

    use super::*;

    /// What a file may name is what the server knows.
    #[test]
    fn the_algorithms_of_files_are_those_of_the_server() {
        assert_eq!(Algorithm::ALL.map(|(name, _)| name), config::auth::ALGORITHMS);
    }

    /// A digest of a file is one that the server takes, whether it was written as the secret or as the digest.
    #[test]
    fn secrets_are_those_that_the_server_compares() {
        for text in ["key of ada", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"] {
            let digest = config::auth::SecretDigest::parse(text).unwrap();
            assert!(Digest::parse(digest.as_str()) == Digest::parse(text));
        }
        assert!(config::auth::SecretDigest::parse("sha256:9f86").is_none());
    }

    #[test]
    fn a_file_that_says_nothing_about_workflows_has_no_gate() {
        let read = |text: &str| Config::parse(Path::new("a2a.toml"), text, &BTreeMap::new()).unwrap().lattice;
        let bare = read("");
        assert!(token_roots(&bare).is_none() && lattice(&bare, "triage").is_none());
        let key = "ed25519/acdd6d5b53bfee478bf689f8e012fe7988bf755e3d7c5152947abc149bc20189";
        let said = read(&format!("[lattice]\nmode = \"warn\"\n[[scope.roots]]\nkid = 7\npublic_key = \"{key}\"\n"));
        assert!(token_roots(&said).is_some() && lattice(&said, "triage").is_some());
    }
}
