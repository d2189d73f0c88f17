//! What is written and read again is what it was, for all that a version can carry.

use chancery_core::{
    Capabilities, Card, Extension, Interface, Object, Provider, SecurityRequirement, SecurityScheme, Signature, Skill,
    security::{
        ApiKeyLocation, ApiKeyScheme, AuthorizationCodeFlow, ClientCredentialsFlow, DeviceCodeFlow, HttpAuthScheme, ImplicitFlow,
        MutualTlsScheme, OAuth2Scheme, OAuthFlow, OpenIdConnectScheme, PasswordFlow, Scopes,
    },
};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::select,
};
use serde_json::json;

use super::{AGENT_JSON, COMPACT, MERGED, SNAKE, V0_2, V0_3, V0_3_REST, read, value};

/// Text that may look like a member, a word of a version, or nothing.
fn text() -> BoxedStrategy<String> {
    const ODD: &[&str] = &["", "schemes", "list", "type", "0.3.0", "https://a.example/x", "grüße \"'\\/", "JSONRPC", "null"];
    prop_oneof![select(ODD).prop_map(str::to_owned), "[a-z]{1,6}"].boxed()
}

fn name() -> BoxedStrategy<String> {
    prop_oneof![Just("schemes".to_owned()), "[a-z]{1,4}"].boxed()
}

fn texts() -> BoxedStrategy<Vec<String>> {
    vec("[a-z]{1,4}/[a-z]{1,4}", 0..3).boxed()
}

fn scopes() -> BoxedStrategy<Scopes> {
    btree_map(name(), text(), 0..3).boxed()
}

fn flow() -> BoxedStrategy<OAuthFlow> {
    (0..5u8, text(), text(), text(), scopes(), any::<bool>())
        .prop_map(|(kind, address, token, refresh, scopes, pkce)| match kind {
            0 => {
                let mut flow = AuthorizationCodeFlow::default();
                (flow.authorization_url, flow.token_url, flow.refresh_url) = (address, token, refresh);
                (flow.scopes, flow.pkce_required) = (scopes, pkce);
                OAuthFlow::AuthorizationCode(flow)
            }
            1 => {
                let mut flow = ClientCredentialsFlow::default();
                (flow.token_url, flow.refresh_url, flow.scopes) = (token, refresh, scopes);
                OAuthFlow::ClientCredentials(flow)
            }
            2 => {
                let mut flow = ImplicitFlow::default();
                (flow.authorization_url, flow.refresh_url, flow.scopes) = (address, refresh, scopes);
                OAuthFlow::Implicit(flow)
            }
            3 => {
                let mut flow = PasswordFlow::default();
                (flow.token_url, flow.refresh_url, flow.scopes) = (token, refresh, scopes);
                OAuthFlow::Password(flow)
            }
            _ => {
                let mut flow = DeviceCodeFlow::default();
                (flow.device_authorization_url, flow.token_url) = (address, token);
                (flow.refresh_url, flow.scopes) = (refresh, scopes);
                OAuthFlow::DeviceCode(flow)
            }
        })
        .boxed()
}

fn scheme() -> BoxedStrategy<SecurityScheme> {
    (0..5u8, text(), text(), text(), select(ApiKeyLocation::ALL), flow())
        .prop_map(|(kind, description, one, two, location, flow)| match kind {
            0 => {
                let mut scheme = ApiKeyScheme::new(location, one);
                scheme.description = description;
                SecurityScheme::ApiKey(scheme)
            }
            1 => {
                let mut scheme = HttpAuthScheme::new(one, two);
                scheme.description = description;
                SecurityScheme::HttpAuth(scheme)
            }
            2 => {
                let mut scheme = OAuth2Scheme::new(flow);
                (scheme.description, scheme.metadata_url) = (description, one);
                SecurityScheme::OAuth2(scheme)
            }
            3 => {
                let mut scheme = OpenIdConnectScheme::new(one);
                scheme.description = description;
                SecurityScheme::OpenIdConnect(scheme)
            }
            _ => {
                let mut scheme = MutualTlsScheme::default();
                scheme.description = description;
                SecurityScheme::MutualTls(scheme)
            }
        })
        .boxed()
}

fn requirements() -> BoxedStrategy<Vec<SecurityRequirement>> {
    let requirement = btree_map(name(), texts(), 0..3)
        .prop_map(|schemes| schemes.into_iter().fold(SecurityRequirement::new(), |all, (name, scopes)| all.and(name, scopes)));
    vec(requirement, 0..3).boxed()
}

fn skill() -> BoxedStrategy<Skill> {
    ((text(), text(), text()), (texts(), texts(), texts(), texts()), requirements())
        .prop_map(|((id, name, description), (tags, examples, input, output), requirements)| {
            let mut skill = Skill::new(id, description).named(name).tags(tags);
            (skill.examples, skill.input_modes, skill.output_modes) = (examples, input, output);
            skill.security_requirements = requirements;
            skill
        })
        .boxed()
}

fn capabilities() -> BoxedStrategy<Capabilities> {
    let extension = ("[a-z]{1,8}", text(), any::<bool>(), option::of(text())).prop_map(|(uri, description, required, param)| {
        let mut extension = Extension::new(format!("urn:{uri}")).described(description);
        extension.required = required;
        extension.params = param.map(|param| Object::from_iter([("k".to_owned(), json!([param, 1, null]))]));
        extension
    });
    let flags = (option::of(any::<bool>()), option::of(any::<bool>()), option::of(any::<bool>()));
    (flags, vec(extension, 0..3))
        .prop_map(|((streaming, push, extended), mut extensions)| {
            extensions.dedup_by(|one, other| one.uri == other.uri);
            let mut capabilities = Capabilities::default();
            (capabilities.streaming, capabilities.push_notifications, capabilities.extended_agent_card) = (streaming, push, extended);
            capabilities.extensions = extensions;
            capabilities
        })
        .boxed()
}

/// A card with every member but interfaces.
fn card() -> BoxedStrategy<Card> {
    let texts_of_card = (text(), text(), text(), option::of(text()), option::of(text()), option::of((text(), text())));
    let lists = (vec("[a-z]{1,4}/x", 1..3), vec("[a-z]{1,4}/x", 1..3), vec(skill(), 0..3));
    let security = (btree_map(name(), scheme(), 0..4), requirements());
    let signatures = vec(("[A-Za-z]{4}", "[A-Za-z]{4}"), 0..2);
    (texts_of_card, lists, security, capabilities(), signatures)
        .prop_map(
            |(
                (name, description, version, documentation, icon, provider),
                (input, output, skills),
                (schemes, requirements),
                capabilities,
                signatures,
            )| {
                let mut card = Card::new(name, description).version(format!("v{version}")).takes(input).gives(output);
                (card.documentation_url, card.icon_url) = (documentation, icon);
                card.provider = provider.map(|(organization, url)| Provider::new(organization, url));
                (card.skills, card.security_schemes, card.security_requirements) = (skills, schemes, requirements);
                card.capabilities = capabilities;
                card.signatures = signatures.into_iter().map(|(protected, signature)| Signature::new(protected, signature)).collect();
                card
            },
        )
        .boxed()
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// CONV-CARD-001, CONV-CARD-010: the merged card loses nothing, for readers of v1.0 and for ours.
    #[test]
    fn merged_cards_come_back(mut card in card()) {
        card.supported_interfaces = vec![interface("https://a/rpc", "JSONRPC", "1.0").tenant("t"), interface("x", "urn:x", "1.0")];
        card.supported_interfaces.extend(v0_3_interfaces());
        let merged = MERGED(&card);
        prop_assert_eq!(&read(&merged), &card);
        prop_assert_eq!(serde_json::from_value::<Card>(merged).unwrap(), card);
    }

    /// V10-CARD-007, CONV-CARD-010: our reader takes v1.0 as core does.
    #[test]
    fn v1_0_cards_come_back(mut card in card()) {
        card.supported_interfaces = vec![interface("https://a/rpc", "JSONRPC", "1.0")];
        prop_assert_eq!(read(&value(&card)), card);
    }

    /// DIA-002-CARD-001.
    #[test]
    fn snake_case_cards_come_back(mut card in card()) {
        card.supported_interfaces = vec![interface("https://a/rpc", "JSONRPC", "1.0").tenant("t"), interface("https://a", "HTTP+JSON", "0.3")];
        prop_assert_eq!(read(&SNAKE(&card)), card);
    }

    /// DIA-003-CARD-001, DIA-003-SEC-001.
    #[test]
    fn compact_cards_come_back(mut card in card()) {
        card.supported_interfaces = vec![interface("https://a/rpc", "JSONRPC", "1.0").tenant("t")];
        prop_assert_eq!(read(&COMPACT(&card)), card);
    }

    /// V03-REST-018, V03-SEC-003: with wrapped schemes beside the flat ones not even OAuth is lost.
    #[test]
    fn v0_3_rest_cards_come_back(mut card in card()) {
        card.supported_interfaces = v0_3_interfaces();
        without_false_extended(&mut card);
        prop_assert_eq!(read(&V0_3_REST(&card)), card);
    }

    /// V03-CARD-002, V03-SEC-001.
    #[test]
    fn v0_3_cards_come_back(mut card in card()) {
        card.supported_interfaces = v0_3_interfaces();
        without_false_extended(&mut card);
        without_newer_flows(&mut card);
        prop_assert_eq!(read(&V0_3(&card)), card);
    }

    /// V02-CARD-002, V02-CARD-004, V02-CARD-005: the same with and without what v0.1 needs.
    #[test]
    fn v0_2_cards_come_back(mut card in card()) {
        card.supported_interfaces = vec![interface("https://a/rpc", "JSONRPC", "0.2")];
        let (extended, file) = (V0_2(&card), AGENT_JSON(&card));
        without_false_extended(&mut card);
        without_what_v0_2_lacks(&mut card);
        prop_assert_eq!(&read(&extended), &card);
        prop_assert_eq!(read(&file), card);
    }
}
