//! What is written and read again is what it was, for all that a version can carry.

use chancery_core::{
    Card, Interface, SecurityScheme,
    security::{DeviceCodeFlow, OAuthFlow},
};

use super::{AGENT_JSON, COMPACT, MERGED, SNAKE, V0_2, V0_3, V0_3_REST, read, value};
use crate::generate::Generator;

/// Ten thousand cards, the same on every machine.
fn cards() -> impl Iterator<Item = Card> {
    (0..10_000).map(|case| Generator::new(case).card())
}

fn interface(url: &str, binding: &str, version: &str) -> Interface {
    Interface::new(url, binding, version)
}

/// Interfaces as `read` would give them for v0.3 alone: JSON-RPC first.
fn v0_3_interfaces() -> Vec<Interface> {
    vec![
        interface("https://a/rpc", "JSONRPC", "0.3"),
        interface("a:443", "GRPC", "0.3").tenant("t"),
        interface("https://a", "HTTP+JSON", "0.3"),
    ]
}

/// `false` is as good as nothing where a version has only `true` to say.
fn without_false_extended(card: &mut Card) {
    card.capabilities.extended_agent_card = card.capabilities.extended_agent_card.filter(|yes| *yes);
}

fn without_newer_flows(card: &mut Card) {
    for scheme in card.security_schemes.values_mut() {
        let SecurityScheme::OAuth2(scheme) = scheme else { continue };
        match &mut scheme.flows {
            OAuthFlow::AuthorizationCode(flow) => flow.pkce_required = false,
            OAuthFlow::DeviceCode(flow) => *flow = DeviceCodeFlow::default(),
            _ => {}
        }
    }
}

fn without_what_v0_2_lacks(card: &mut Card) {
    without_newer_flows(card);
    let is_tls = |scheme: &SecurityScheme| matches!(scheme, SecurityScheme::MutualTls(_));
    let schemes = card.security_schemes.clone();
    card.security_requirements.retain(|requirement| !requirement.schemes.keys().any(|name| schemes.get(name).is_some_and(is_tls)));
    card.security_schemes.retain(|_, scheme| !is_tls(scheme));
    for scheme in card.security_schemes.values_mut() {
        if let SecurityScheme::OAuth2(scheme) = scheme {
            scheme.metadata_url.clear();
        }
    }
    card.skills.iter_mut().for_each(|skill| skill.security_requirements.clear());
    card.signatures.clear();
}

/// CONV-CARD-001, CONV-CARD-010: the merged card loses nothing, for readers of v1.0 and for ours.
#[test]
fn merged_cards_come_back() {
    for mut card in cards() {
        card.supported_interfaces = vec![interface("https://a/rpc", "JSONRPC", "1.0").tenant("t"), interface("x", "urn:x", "1.0")];
        card.supported_interfaces.extend(v0_3_interfaces());
        let merged = MERGED(&card);
        assert_eq!(&read(&merged), &card);
        assert_eq!(serde_json::from_value::<Card>(merged).unwrap(), card);
    }
}

/// V10-CARD-007, CONV-CARD-010: our reader takes v1.0 as core does.
#[test]
fn v1_0_cards_come_back() {
    for mut card in cards() {
        card.supported_interfaces = vec![interface("https://a/rpc", "JSONRPC", "1.0")];
        assert_eq!(read(&value(&card)), card);
    }
}

/// DIA-002-CARD-001.
#[test]
fn snake_case_cards_come_back() {
    for mut card in cards() {
        card.supported_interfaces =
            vec![interface("https://a/rpc", "JSONRPC", "1.0").tenant("t"), interface("https://a", "HTTP+JSON", "0.3")];
        assert_eq!(read(&SNAKE(&card)), card);
    }
}

/// DIA-003-CARD-001, DIA-003-SEC-001.
#[test]
fn compact_cards_come_back() {
    for mut card in cards() {
        card.supported_interfaces = vec![interface("https://a/rpc", "JSONRPC", "1.0").tenant("t")];
        assert_eq!(read(&COMPACT(&card)), card);
    }
}

/// V03-REST-018, V03-SEC-003: with wrapped schemes beside the flat ones not even OAuth is lost.
#[test]
fn v0_3_rest_cards_come_back() {
    for mut card in cards() {
        card.supported_interfaces = v0_3_interfaces();
        without_false_extended(&mut card);
        assert_eq!(read(&V0_3_REST(&card)), card);
    }
}

/// V03-CARD-002, V03-SEC-001, V03-SEC-004: flat, and nothing but flat.
#[test]
fn v0_3_cards_come_back() {
    for mut card in cards() {
        card.supported_interfaces = v0_3_interfaces();
        without_false_extended(&mut card);
        without_newer_flows(&mut card);
        assert_eq!(read(&V0_3(&card)), card);
    }
}

/// V02-CARD-002, V02-CARD-004, V02-CARD-005: the same with and without what v0.1 needs.
#[test]
fn v0_2_cards_come_back() {
    for mut card in cards() {
        card.supported_interfaces = vec![interface("https://a/rpc", "JSONRPC", "0.2")];
        let (extended, file) = (V0_2(&card), AGENT_JSON(&card));
        without_false_extended(&mut card);
        without_what_v0_2_lacks(&mut card);
        assert_eq!(&read(&extended), &card);
        assert_eq!(read(&file), card);
    }
}
