//! The released SDKs read our cards, and we read what they make of them.

use chancery_core::{
    Card, SecurityScheme,
    security::{HttpAuthScheme, OAuth2Scheme, OAuthFlow},
};
use serde_json::Value;

use super::{
    AGENT_JSON, MERGED, V0_3, V0_3_REST, Writer, read,
    round_trip::{as_v0_2, as_v0_3, both_versions, cards, without_newer_flows},
};
use crate::{sdk::Peer, vector::normal};

const CASES: u64 = 60;

/// Passes generated cards in one form through an SDK. What comes back is the card as `expected`
/// leaves it.
fn pass(sdk: &str, kind: &str, write: Writer, fit: fn(&mut Card), expected: fn(&mut Card)) {
    let Some(mut peer) = Peer::start(sdk) else { return };
    for (case, mut card) in cards(CASES, fit) {
        let ours = write(&card);
        let theirs = peer.pass(kind, ours.clone()).unwrap_or_else(|error| panic!("{sdk} refuses case {case}: {error}\n  {ours}"));
        expected(&mut card);
        let mut understood = read(&theirs);
        expected(&mut understood);
        let (understood, expected) = (normal(&value(&understood)), normal(&value(&card)));
        assert!(understood == expected, "{sdk} case {case}\n  theirs: {understood}\n  ours:   {expected}");
    }
}

fn value(card: &Card) -> Value {
    serde_json::to_value(card).unwrap()
}

/// What an SDK of v0.3 takes out of a merged card: it knows no tenants and no newer flows.
fn seen_by_v0_3(card: &mut Card) {
    card.supported_interfaces.retain(|interface| interface.protocol_version == "0.3");
    card.supported_interfaces.sort_by_key(|interface| interface.protocol_binding != "JSONRPC");
    card.supported_interfaces.iter_mut().for_each(|interface| interface.tenant.clear());
    card.capabilities.extended_agent_card = card.capabilities.extended_agent_card.filter(|yes| *yes);
    without_newer_flows(card);
}

/// Over HTTP+JSON it goes by its protobuf messages, which have no icon, and for the device code
/// flow by the bearer token that comes of it. Requirements it reads in the wrapped form only, which
/// breaks the other SDK (V03-SEC-004): it sees that there are some.
fn seen_by_javascript(card: &mut Card) {
    seen_by_v0_3(card);
    card.icon_url = None;
    for scheme in card.security_schemes.values_mut() {
        if let SecurityScheme::OAuth2(OAuth2Scheme { flows: OAuthFlow::DeviceCode(_), description, .. }) = scheme {
            let mut bearer = HttpAuthScheme::new("Bearer", "");
            bearer.description = std::mem::take(description);
            *scheme = SecurityScheme::HttpAuth(bearer);
        }
    }
    let skills = card.skills.iter_mut().flat_map(|skill| &mut skill.security_requirements);
    card.security_requirements.iter_mut().chain(skills).for_each(|requirement| requirement.schemes.clear());
}

/// CONV-CARD-001, CONV-CARD-008: not even what v0.3 has no word for is lost.
#[test]
fn python_1_3_0_reads_the_merged_card() {
    pass("py-1.3.0", "AgentCard", MERGED, both_versions, |_| {});
}

/// CONV-CARD-001.
#[test]
fn javascript_1_3_0_reads_the_merged_card() {
    pass("js-1.3.0", "AgentCard", MERGED, both_versions, |_| {});
}

/// CONV-CARD-001, V03-CARD-010, V03-CARD-007: it takes the v0.3 members and ignores the others.
#[test]
fn python_0_3_26_reads_the_merged_card() {
    pass("py-0.3.26", "AgentCard", MERGED, both_versions, seen_by_v0_3);
}

/// V03-CARD-002, V03-SEC-004, V03-SEC-005.
#[test]
fn python_0_3_26_reads_the_v0_3_card() {
    pass("py-0.3.26", "AgentCard", V0_3, as_v0_3, seen_by_v0_3);
}

/// V03-REST-018, CONV-CARD-006.
#[test]
fn python_0_3_26_reads_the_rest_card() {
    pass("py-0.3.26", "rest/AgentCard", V0_3_REST, as_v0_3, seen_by_v0_3);
}

/// CONV-CARD-001, V03-CARD-010.
#[test]
fn javascript_0_3_14_reads_the_merged_card() {
    pass("js-0.3.14", "AgentCard", MERGED, both_versions, seen_by_v0_3);
}

/// V03-REST-018, CONV-CARD-006.
#[test]
fn javascript_0_3_14_reads_the_rest_card() {
    pass("js-0.3.14", "rest/AgentCard", V0_3_REST, as_v0_3, seen_by_javascript);
}

/// CONV-CARD-003, V02-CARD-004, V02-CARD-005.
#[test]
fn python_0_2_16_reads_the_file_for_old_clients() {
    pass("py-0.2.16", "AgentCard", AGENT_JSON, as_v0_3, as_v0_2);
}
