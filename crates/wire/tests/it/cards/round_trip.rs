//! What is written and read again is what it was, for all that a version can carry.

use chancery_core::{
    Card, Interface, SecurityScheme,
    security::{DeviceCodeFlow, OAuthFlow},
};

use super::{AGENT_JSON, COMPACT, MERGED, SNAKE, V0_2, V0_3, V0_3_REST, read, value};
use crate::generate::Generator;

const CASES: u64 = 500;

/// Generated cards, each made to fit a version.
pub(super) fn cards(cases: u64, fit: impl Fn(&mut Card)) -> impl Iterator<Item = (u64, Card)> {
    (0..cases).map(move |case| {
        let mut card = Generator::new(case).card();
        fit(&mut card);
        (case, card)
    })
}

/// Interfaces as the merged card lists them: v1.0 first, and v0.3 after it.
pub(super) fn both_versions(card: &mut Card) {
    card.supported_interfaces.sort_by_key(|interface| interface.protocol_version != "1.0");
    card.supported_interfaces.push(Interface::new("https://a.example/rpc", "JSONRPC", "0.3").tenant("t"));
}

/// What v0.3 can say beside its schemes: its own interfaces, JSON-RPC first, and an extended card.
pub(super) fn as_v0_3(card: &mut Card) {
    card.supported_interfaces = vec![
        Interface::new("https://a.example/rpc", "JSONRPC", "0.3"),
        Interface::new("a.example:443", "GRPC", "0.3").tenant("t"),
        Interface::new("https://a.example", "HTTP+JSON", "0.3"),
    ];
    // There `false` is the same as nothing.
    card.capabilities.extended_agent_card = card.capabilities.extended_agent_card.filter(|yes| *yes);
}

fn each_flow(card: &mut Card, change: impl Fn(&mut OAuthFlow)) {
    for scheme in card.security_schemes.values_mut() {
        if let SecurityScheme::OAuth2(scheme) = scheme {
            change(&mut scheme.flows);
        }
    }
}

fn without_device_code(card: &mut Card) {
    each_flow(card, |flow| {
        if let OAuthFlow::DeviceCode(flow) = flow {
            *flow = DeviceCodeFlow::default();
        }
    });
}

/// What the flat form of v0.3 can say about OAuth.
pub(super) fn without_newer_flows(card: &mut Card) {
    without_device_code(card);
    each_flow(card, |flow| {
        if let OAuthFlow::AuthorizationCode(flow) = flow {
            flow.pkce_required = false;
        }
    });
}

/// What v0.2 can say.
pub(super) fn as_v0_2(card: &mut Card) {
    as_v0_3(card);
    without_newer_flows(card);
    card.supported_interfaces = vec![Interface::new("https://a.example/rpc", "JSONRPC", "0.2")];
    let is_tls = |scheme: &SecurityScheme| matches!(scheme, SecurityScheme::MutualTls(_));
    let schemes = card.security_schemes.clone();
    card.security_requirements.retain(|requirement| !requirement.schemes.keys().any(|name| is_tls(&schemes[name])));
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
    for (case, card) in cards(CASES, both_versions) {
        let merged = MERGED(&card);
        assert_eq!(read(&merged), card, "case {case}");
        assert_eq!(serde_json::from_value::<Card>(merged).unwrap(), card, "case {case}");
    }
}

/// CONV-CARD-010: our reader takes v1.0 as it is.
#[test]
fn v1_0_cards_come_back() {
    for (case, card) in cards(CASES, |_| {}) {
        assert_eq!(read(&value(&card)), card, "case {case}");
    }
}

/// DIA-002-CARD-001.
#[test]
fn snake_case_cards_come_back() {
    for (case, card) in cards(CASES, |_| {}) {
        assert_eq!(read(&SNAKE(&card)), card, "case {case}");
    }
}

/// DIA-003-CARD-001, DIA-003-SEC-001.
#[test]
fn compact_cards_come_back() {
    for (case, card) in cards(CASES, |card| card.supported_interfaces.truncate(1)) {
        assert_eq!(read(&COMPACT(&card)), card, "case {case}");
    }
}

/// V03-REST-018, V03-SEC-003: with wrapped schemes beside the flat ones only the device code is lost.
#[test]
fn v0_3_rest_cards_come_back() {
    for (case, mut card) in cards(CASES, as_v0_3) {
        let written = V0_3_REST(&card);
        without_device_code(&mut card);
        assert_eq!(read(&written), card, "case {case}");
    }
}

/// V03-CARD-002, V03-SEC-001, V03-SEC-004: flat, and nothing but flat.
#[test]
fn v0_3_cards_come_back() {
    for (case, mut card) in cards(CASES, as_v0_3) {
        let written = V0_3(&card);
        without_newer_flows(&mut card);
        assert_eq!(read(&written), card, "case {case}");
    }
}

/// V02-CARD-002, V02-CARD-004, V02-CARD-005: the same with and without what v0.1 needs.
#[test]
fn v0_2_cards_come_back() {
    for (case, mut card) in cards(CASES, as_v0_3) {
        let (extended, file) = (V0_2(&card), AGENT_JSON(&card));
        as_v0_2(&mut card);
        assert_eq!(read(&extended), card, "case {case}");
        assert_eq!(read(&file), card, "case {case}");
    }
}
