//! Ways to authenticate, in the words of each version.

use chancery_core::{
    Card, SecurityRequirement, SecurityScheme,
    security::{ApiKeyLocation, ApiKeyScheme, HttpAuthScheme, MutualTlsScheme, OAuth2Scheme, OAuthFlow, OpenIdConnectScheme},
};
use serde_json::{Value, json};

use super::{AGENT_JSON, COMPACT, MERGED, SNAKE, V0_2, V0_3, V0_3_REST, read};

/// One scheme, read from a v0.3 card.
#[track_caller]
fn scheme(json: Value) -> Option<SecurityScheme> {
    let card = read(&json!({"url": "https://a", "protocolVersion": "0.3.0", "securitySchemes": {"s": json}}));
    card.security_schemes.into_values().next()
}

fn card(name: &str, scheme: SecurityScheme) -> Card {
    Card::new("n", "d").security_scheme(name, scheme).require(SecurityRequirement::new().and(name, ["a"]))
}

fn flow(json: Value) -> SecurityScheme {
    SecurityScheme::OAuth2(OAuth2Scheme::new(serde_json::from_value(json).unwrap()))
}

fn device() -> SecurityScheme {
    flow(json!({"deviceCode": {"deviceAuthorizationUrl": "https://i/d", "tokenUrl": "https://i/t", "scopes": {"a": "A"}}}))
}

/// V03-SEC-001, V03-SEC-002, DIA-003-SEC-001: every kind in every form.
#[test]
fn flat_and_wrapped_schemes_mean_the_same() {
    let key = SecurityScheme::ApiKey(ApiKeyScheme::new(ApiKeyLocation::Cookie, "sid"));
    let http = SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", "JWT"));
    let oidc = SecurityScheme::OpenIdConnect(OpenIdConnectScheme::new("https://i"));
    let tls = SecurityScheme::MutualTls(MutualTlsScheme::default());
    let client = flow(json!({"clientCredentials": {"tokenUrl": "https://i/t", "scopes": {"a": "A"}}}));
    for (json, expected) in [
        (json!({"type": "apiKey", "in": "cookie", "name": "sid"}), &key),
        (json!({"type": "APIKey", "in": "cookie", "name": "sid"}), &key),
        (json!({"apiKeySecurityScheme": {"location": "cookie", "name": "sid"}}), &key),
        (json!({"api_key_security_scheme": {"location": "cookie", "name": "sid"}}), &key),
        (json!({"type": "http", "scheme": "Bearer", "bearerFormat": "JWT", "description": null}), &http),
        (json!({"type": "HTTPAuth", "scheme": "Bearer", "bearer_format": "JWT"}), &http),
        (json!({"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}}), &http),
        (json!({"type": "openIdConnect", "openIdConnectUrl": "https://i"}), &oidc),
        (json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://i"}}), &oidc),
        (json!({"type": "mutualTLS"}), &tls),
        (json!({"mtlsSecurityScheme": {}}), &tls),
        (json!({"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://i/t", "scopes": {"a": "A"}}}}), &client),
        (json!({"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "https://i/t", "scopes": {"a": "A"}}}}}), &client),
        (json!({"type": "OAuth2", "tokenUrl": "https://i/t", "scopes": {"a": "A"}}), &client),
    ] {
        assert_eq!(scheme(json.clone()).as_ref(), Some(expected), "{json}");
    }
    let code = json!({"authorizationCode": {"authorizationUrl": "https://i/a", "tokenUrl": "https://i/t", "refreshUrl": "https://i/r", "scopes": {"a": ""}}});
    let direct = json!({"type": "oauth2", "authorizationUrl": "https://i/a", "tokenUrl": "https://i/t", "refreshUrl": "https://i/r", "scopes": ["a"]});
    assert_eq!(scheme(direct), Some(flow(code)));
}

/// V03-SEC-002: descriptions and the other optional members, in both forms.
#[test]
fn descriptions_are_kept() {
    for json in [
        json!({"type": "apiKey", "in": "query", "name": "k", "description": "d"}),
        json!({"type": "http", "scheme": "Basic", "description": "d"}),
        json!({"type": "oauth2", "flows": {"password": {"tokenUrl": "https://i/t", "scopes": {}}}, "oauth2MetadataUrl": "https://i/m", "description": "d"}),
        json!({"type": "openIdConnect", "openIdConnectUrl": "https://i", "description": "d"}),
        json!({"type": "mutualTLS", "description": "d"}),
    ] {
        let read = scheme(json.clone()).unwrap();
        let written = V0_3_REST(&card("s", read.clone()));
        let mut both = written["securitySchemes"]["s"].as_object().unwrap().clone();
        assert_eq!(V0_3(&card("s", read.clone()))["securitySchemes"]["s"], json);
        both.retain(|name, _| name.ends_with("SecurityScheme"));
        assert_eq!(serde_json::to_value(&read).unwrap(), Value::Object(both));
    }
}

/// V03-SEC-003: in an old card the flat members are right, in a new one the wrapped ones. What the
/// flat form cannot say is taken from the other.
#[test]
fn the_form_of_the_cards_own_version_wins() {
    let both = json!({"type": "http", "scheme": "Basic", "httpAuthSecurityScheme": {"scheme": "Bearer"}});
    assert_eq!(scheme(both.clone()), Some(SecurityScheme::HttpAuth(HttpAuthScheme::new("Basic", ""))));
    let interfaces = json!([{"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]);
    let newer = read(&json!({"supportedInterfaces": interfaces, "url": "https://a", "securitySchemes": {"s": both}}));
    assert_eq!(newer.security_schemes["s"], SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", "")));
    let code = flow(
        json!({"authorizationCode": {"authorizationUrl": "https://i/a", "tokenUrl": "https://i/t", "scopes": {}, "pkceRequired": true}}),
    );
    let written = V0_3_REST(&card("s", code.clone()));
    assert_eq!(scheme(written["securitySchemes"]["s"].clone()), Some(code));
    let mut both = serde_json::to_value(device()).unwrap();
    (both["type"], both["flows"]) = (json!("oauth2"), json!({}));
    assert_eq!(scheme(both), Some(device()));
}

/// V03-REST-018: a flow that v0.3 does not know makes one SDK refuse the whole card, so the wrapped
/// form tells what comes of it.
#[test]
fn the_rest_card_tells_the_device_code_flow_as_a_bearer_token() {
    let written = V0_3_REST(&card("s", device()));
    let expected = json!({"type": "oauth2", "flows": {}, "httpAuthSecurityScheme": {"scheme": "Bearer"}});
    assert_eq!(written["securitySchemes"]["s"], expected);
}

/// V03-SEC-003: a kind that nobody knows takes nothing else away, and what demands it still does.
#[test]
fn a_scheme_of_an_unknown_kind_is_left_out() {
    assert_eq!(scheme(json!({"type": "quantum"})), None);
    assert_eq!(scheme(json!({})), None);
    let card = read(&json!({
        "url": "https://a", "securitySchemes": {"q": {"type": "quantum"}, "n": null, "b": {"type": "http", "scheme": "Basic"}},
        "security": [{"q": []}, {"b": []}],
    }));
    assert_eq!(card.security_schemes.keys().collect::<Vec<_>>(), ["b"]);
    assert_eq!(card.security_requirements.len(), 2);
}

/// V03-SEC-001, V03-SEC-002: the alternatives in each form, of the card and of a skill.
#[test]
fn requirements_are_read_in_each_form() {
    let expected = vec![SecurityRequirement::new().and("a", ["x"]).and("b", [""; 0]), SecurityRequirement::new()];
    for json in [
        json!([{"a": ["x"], "b": []}, {}]),
        json!([{"schemes": {"a": {"list": ["x"]}, "b": {}}}, {"schemes": {}}]),
        json!([{"schemes": {"a": ["x"], "b": {"list": null}}}, {}]),
        json!([{"a": {"list": ["x"]}, "b": null}, {}]),
    ] {
        for name in ["security", "securityRequirements", "security_requirements"] {
            let card = read(&json!({"url": "https://a", name: json, "skills": [{"id": "s", name: json}]}));
            assert_eq!(card.security_requirements, expected, "{name} {json}");
            assert_eq!(card.skills[0].security_requirements, expected, "{name} {json}");
        }
    }
    let odd = read(&json!({"url": "https://a", "security": [{"schemes": ["x"]}]}));
    assert_eq!(odd.security_requirements, [SecurityRequirement::new().and("schemes", ["x"])]);
}

/// CONV-CARD-007: one scheme with several flows becomes several schemes and several alternatives.
#[test]
fn several_flows_become_several_schemes() {
    let token = |url: &str| json!({"tokenUrl": url, "scopes": {}});
    let card = read(&json!({
        "url": "https://a", "protocolVersion": "0.3.0",
        "securitySchemes": {
            "oauth": {"type": "oauth2", "flows": {"password": token("p"), "clientCredentials": token("c"), "implicit": {"authorizationUrl": "i", "scopes": {}}}},
            "oauth-password": {"type": "http", "scheme": "Basic"},
            "key": {"type": "apiKey", "in": "header", "name": "K"},
        },
        "security": [{"oauth": ["r"], "key": []}, {"key": []}],
        "skills": [{"id": "s", "security": [{"oauth": ["w"]}]}],
    }));
    let kind = |name: &str| match &card.security_schemes[name] {
        SecurityScheme::OAuth2(scheme) => match &scheme.flows {
            OAuthFlow::ClientCredentials(_) => "clientCredentials",
            OAuthFlow::Password(_) => "password",
            OAuthFlow::Implicit(_) => "implicit",
            other => panic!("{other:?}"),
        },
        _ => "other",
    };
    let names = ["oauth", "oauth-password-2", "oauth-implicit"];
    assert_eq!(names.map(kind), ["clientCredentials", "password", "implicit"]);
    assert_eq!(kind("oauth-password"), "other");
    assert_eq!(card.security_schemes.len(), 5);
    let expected: Vec<_> = names.iter().map(|name| SecurityRequirement::new().and(*name, ["r"]).and("key", [""; 0])).collect();
    assert_eq!(card.security_requirements[..3], expected);
    assert_eq!(card.security_requirements[3..], [SecurityRequirement::new().and("key", [""; 0])]);
    let expected: Vec<_> = names.iter().map(|name| SecurityRequirement::new().and(*name, ["w"])).collect();
    assert_eq!(card.skills[0].security_requirements, expected);
}

/// CONV-CARD-007: the order in which a flow may keep the name.
#[test]
fn the_first_flow_keeps_the_name() {
    let order = ["authorizationCode", "clientCredentials", "deviceCode", "password", "implicit"];
    for (at, first) in order.iter().enumerate() {
        let flows: Value = order[at..].iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let card = read(&json!({"url": "https://a", "securitySchemes": {"s": {"type": "oauth2", "flows": flows}}}));
        let SecurityScheme::OAuth2(scheme) = &card.security_schemes["s"] else { panic!("{card:?}") };
        assert!(serde_json::to_value(&scheme.flows).unwrap().get(first).is_some(), "{first}");
        assert_eq!(card.security_schemes.len(), order.len() - at);
    }
}

/// CONV-CARD-007: alternatives multiply, but a card cannot make them explode.
#[test]
fn the_number_of_alternatives_is_bounded() {
    let flows = json!({"type": "oauth2", "flows": {"clientCredentials": {}, "password": {}, "implicit": {}, "authorizationCode": {}}});
    let names: Vec<_> = (0..20).map(|n| format!("s{n:02}")).collect();
    let schemes: Value = names.iter().map(|name| (name.clone(), flows.clone())).collect();
    let demand: Value = names.iter().map(|name| (name.clone(), json!([]))).collect();
    let card = read(&json!({"url": "https://a", "securitySchemes": schemes, "security": [demand]}));
    assert_eq!(card.security_requirements.len(), 64);
    assert_eq!(card.security_schemes.len(), 80);
}

/// V03-SEC-005, CONV-CARD-007, CONV-CARD-008: a flow that v0.3 does not know is no flow, but still
/// OAuth; the PKCE flag is left out.
#[test]
fn what_v0_3_does_not_know_of_oauth_is_left_out() {
    let card = card("s", device());
    for written in [V0_3(&card), V0_2(&card), AGENT_JSON(&card)] {
        assert_eq!(written["securitySchemes"]["s"], json!({"type": "oauth2", "flows": {}}));
    }
    let again = read(&V0_3(&card)).security_schemes.remove("s").unwrap();
    assert!(matches!(&again, SecurityScheme::OAuth2(scheme) if matches!(scheme.flows, OAuthFlow::DeviceCode(_))), "{again:?}");
    let code = json!({"authorizationUrl": "https://i/a", "tokenUrl": "https://i/t", "scopes": {}, "pkceRequired": true});
    let card = self::card("s", flow(json!({"authorizationCode": code})));
    let written = V0_3(&card);
    assert_eq!(
        written["securitySchemes"]["s"]["flows"]["authorizationCode"],
        json!({"authorizationUrl": "https://i/a", "tokenUrl": "https://i/t", "scopes": {}})
    );
    // The dialects are of v1.0 and know both.
    assert_eq!(COMPACT(&card)["securitySchemes"]["s"]["flows"]["authorizationCode"]["pkceRequired"], true);
    assert_eq!(SNAKE(&card)["security_schemes"]["s"]["flows"]["authorizationCode"]["pkceRequired"], true);
}

/// V03-SEC-001: v0.3 demands `scopes` and the addresses of a flow, even when they are empty.
#[test]
fn deprecated_flows_are_written_in_full() {
    for (name, address) in [("implicit", "authorizationUrl"), ("password", "tokenUrl")] {
        let written = V0_3(&card("s", flow(json!({name: {}}))));
        assert_eq!(written["securitySchemes"]["s"]["flows"][name], json!({address: "", "scopes": {}}));
    }
}

/// V02-CARD-004: no mutual TLS, nothing that needs it, no metadata address.
#[test]
fn v0_2_never_hears_of_mutual_tls() {
    let mut oauth = OAuth2Scheme::new(serde_json::from_value(json!({"clientCredentials": {"tokenUrl": "https://i/t"}})).unwrap());
    oauth.metadata_url = "https://i/m".to_owned();
    let card = Card::new("n", "d")
        .security_scheme("tls", SecurityScheme::MutualTls(MutualTlsScheme::default()))
        .security_scheme("oauth", SecurityScheme::OAuth2(oauth))
        .require(SecurityRequirement::new().and("tls", [""; 0]))
        .require(SecurityRequirement::new().and("tls", [""; 0]).and("oauth", [""; 0]));
    for written in [V0_2(&card), AGENT_JSON(&card)] {
        assert_eq!(
            written["securitySchemes"],
            json!({"oauth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://i/t", "scopes": {}}}}})
        );
        assert_eq!(written.get("security"), None);
        assert_eq!(written.get("authentication"), None);
    }
    let some = card.require(SecurityRequirement::new().and("oauth", ["a"]));
    assert_eq!(AGENT_JSON(&some)["security"], json!([{"oauth": ["a"]}]));
}

/// CONV-CARD-005, V01-CARD-005: what v0.1 says about authentication, and what it means.
#[test]
fn the_authentication_of_v0_1_is_understood() {
    let discovery = "https://i/.well-known/openid-configuration";
    let bearer = SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", ""));
    let code = flow(json!({"authorizationCode": {"authorizationUrl": "https://i/a", "tokenUrl": "https://i/t", "scopes": {"r": "R"}}}));
    let oidc = SecurityScheme::OpenIdConnect(OpenIdConnectScheme::new(discovery));
    for (authentication, name, expected) in [
        (json!({"schemes": ["Bearer"]}), "bearer", &bearer),
        (json!({"schemes": "Bearer"}), "bearer", &bearer),
        (json!({"schemes": ["BEARER"], "credentials": "see the manual"}), "bearer", &bearer),
        (json!({"schemes": ["jwt"], "credentials": null}), "jwt", &SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", "JWT"))),
        (json!({"schemes": ["basic"]}), "basic", &SecurityScheme::HttpAuth(HttpAuthScheme::new("Basic", ""))),
        (json!({"schemes": ["Digest"]}), "digest", &SecurityScheme::HttpAuth(HttpAuthScheme::new("Digest", ""))),
        (json!({"schemes": ["ApiKey"]}), "apikey", &SecurityScheme::ApiKey(ApiKeyScheme::new(ApiKeyLocation::Header, "X-API-Key"))),
        (
            json!({"schemes": ["apikey"], "credentials": r#"{"in":"query","name":"k"}"#}),
            "apikey",
            &SecurityScheme::ApiKey(ApiKeyScheme::new(ApiKeyLocation::Query, "k")),
        ),
        (
            json!({"schemes": ["OAuth2"], "credentials": r#"{"authorizationUrl":"https://i/a","tokenUrl":"https://i/t","scopes":{"r":"R"}}"#}),
            "oauth2",
            &code,
        ),
        (
            json!({"schemes": ["oauth2"], "credentials": {"tokenUrl": "https://i/t"}}),
            "oauth2",
            &flow(json!({"clientCredentials": {"tokenUrl": "https://i/t"}})),
        ),
        (json!({"schemes": ["oauth2"], "credentials": discovery}), "oauth2", &oidc),
        (json!({"schemes": ["oauth2"], "credentials": json!({"openIdConnectUrl": discovery}).to_string()}), "oauth2", &oidc),
    ] {
        let card = read(&json!({"url": "https://a", "authentication": authentication}));
        assert_eq!(card.security_schemes.get(name), Some(expected), "{authentication}");
        assert_eq!(card.security_requirements, [SecurityRequirement::new().and(name, [""; 0])], "{authentication}");
    }
    let both = read(&json!({"url": "https://a", "authentication": {"schemes": ["Basic", "Bearer"]}}));
    assert_eq!(both.security_requirements.len(), 2, "each name is an alternative");
    let none = read(&json!({"url": "https://a", "authentication": {"schemes": null}}));
    assert_eq!((none.security_requirements.len(), none.security_schemes.len()), (0, 0));
}

/// CONV-CARD-005: what v0.1 is told, of the first alternative and with public addresses only.
#[test]
fn v0_1_is_told_the_first_alternative() {
    let secret = |scheme: SecurityScheme| AGENT_JSON(&card("s", scheme))["authentication"].clone();
    let code = flow(json!({"authorizationCode": {"authorizationUrl": "https://i/a", "tokenUrl": "https://i/t", "scopes": {"r": "R"}}}));
    for (scheme, expected) in [
        (SecurityScheme::HttpAuth(HttpAuthScheme::new("Basic", "")), json!({"schemes": ["Basic"]})),
        (
            SecurityScheme::ApiKey(ApiKeyScheme::new(ApiKeyLocation::Header, "K")),
            json!({"schemes": ["apiKey"], "credentials": r#"{"in":"header","name":"K"}"#}),
        ),
        (code, json!({"schemes": ["oauth2"], "credentials": r#"{"authorizationUrl":"https://i/a","tokenUrl":"https://i/t"}"#})),
        (device(), json!({"schemes": ["oauth2"], "credentials": r#"{"tokenUrl":"https://i/t"}"#})),
        (
            flow(json!({"implicit": {"authorizationUrl": "https://i/a"}})),
            json!({"schemes": ["oauth2"], "credentials": r#"{"authorizationUrl":"https://i/a"}"#}),
        ),
        (flow(json!({"password": {}})), json!({"schemes": ["oauth2"]})),
        (
            SecurityScheme::OpenIdConnect(OpenIdConnectScheme::new("https://i/x")),
            json!({"schemes": ["oauth2"], "credentials": r#"{"openIdConnectUrl":"https://i/x"}"#}),
        ),
        (
            SecurityScheme::OpenIdConnect(OpenIdConnectScheme::new("https://i/openid-configuration")),
            json!({"schemes": ["oauth2"], "credentials": "https://i/openid-configuration"}),
        ),
    ] {
        assert_eq!(secret(scheme), expected);
    }
    assert_eq!(AGENT_JSON(&Card::new("n", "d")).get("authentication"), None);
}

/// V02-CARD-006: beside schemes, `authentication` says nothing more.
#[test]
fn schemes_win_over_authentication() {
    let card = read(&json!({
        "url": "https://a", "protocolVersion": "0.2.6", "authentication": {"schemes": ["Basic"]},
        "securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "K"}}, "security": [{"k": []}],
    }));
    assert_eq!(card.security_schemes.keys().collect::<Vec<_>>(), ["k"]);
}

/// DIA-003-SEC-001: the compact form writes the type of the flat form, and an OAuth flow also as
/// direct members.
#[test]
fn the_compact_form_repeats_the_members_of_a_flow() {
    let written = COMPACT(&card("s", flow(json!({"clientCredentials": {"tokenUrl": "https://i/t", "scopes": {"a": "A"}}}))));
    let members = json!({"tokenUrl": "https://i/t", "scopes": {"a": "A"}});
    assert_eq!(
        written["securitySchemes"]["s"],
        json!({"type": "oauth2", "flows": {"clientCredentials": members}, "tokenUrl": "https://i/t", "scopes": {"a": "A"}})
    );
    assert_eq!(MERGED(&card("s", device())).pointer("/securitySchemes/s/type"), None, "without v0.3 the merged card is pure v1.0");
}

/// The well-known card of the JavaScript SDK 1.3.0 shows its memory instead of the protocol's form.
#[test]
fn schemes_are_read_as_one_sdk_keeps_them_in_memory() {
    let ours = json!({"name": "x", "supportedInterfaces": [{"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "securitySchemes": {"o": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "https://t", "scopes": {"a": "b"}}}}}}});
    let theirs = json!({"name": "x", "supportedInterfaces": [{"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "securitySchemes": {"o": {"scheme": {"$case": "oauth2SecurityScheme", "value":
            {"flows": {"flow": {"$case": "clientCredentials", "value": {"tokenUrl": "https://t", "scopes": {"a": "b"}}}}}}}}});
    assert_eq!(read(&theirs), read(&ours));
    assert_eq!(read(&ours).security_schemes.len(), 1);
}
