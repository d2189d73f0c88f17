//! The card as the clients of others read it: who refuses it, and why.
//!
//! What each reader demands was read in its sources; the Go SDK is not to be had where this was written, and is told
//! as the notes on the specification have it. Where a card keeps the specification and a reader still refuses it, the
//! finding is a note: the card is right, and whoever wants that reader can do something about it.

use std::collections::BTreeSet;

use serde_json::Value;
use url::Url;

use super::{Findings, Level};

/// A reader, and what it demands of a card.
struct Reader {
    name: &'static str,
    demands: fn(&Card<'_>) -> Vec<Complaint>,
}

/// Why a reader refuses a card, or reads something else in it.
struct Complaint {
    level: Level,
    message: String,
    remedy: String,
}

/// A card as it came, and the address that it came from.
struct Card<'a> {
    body: &'a Value,
    from: Option<Url>,
}

const READERS: [Reader; 8] = [
    Reader { name: "google-adk 2.13 (RemoteA2aAgent)", demands: adk },
    Reader { name: "a2a-sdk 1.3 (Python)", demands: python_1 },
    Reader { name: "a2a-sdk 0.3 (Python)", demands: python_0_3 },
    Reader { name: "@a2a-js/sdk 1.3 (JavaScript)", demands: javascript_1 },
    Reader { name: "@a2a-js/sdk 0.3 (JavaScript)", demands: javascript_0_3 },
    Reader { name: "a2a-go 2.3 (Go)", demands: go },
    Reader { name: "a2a-lf 0.4 (Rust)", demands: rust },
    Reader { name: "fasta2a 2.1 (Python)", demands: fasta },
];

/// The bindings as the card spells them.
const BINDINGS: [&str; 3] = ["JSONRPC", "HTTP+JSON", "GRPC"];

const PUBLIC_URL: &str = "let the card name the address that it is asked for at: set public_url, or hosts, in [server] and restart";

/// Looks at a card with the eyes of everybody.
pub(super) fn look(body: &[u8], from: Option<&str>, findings: &mut Findings) {
    // A card that is no JSON was told already.
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return };
    let card = Card { body: &body, from: from.and_then(|from| Url::parse(from).ok()) };
    let mut content = Vec::new();
    for reader in &READERS {
        let complaints = (reader.demands)(&card);
        if complaints.is_empty() {
            content.push(reader.name);
        }
        for Complaint { level, message, remedy } in complaints {
            findings.add(level, "reader", format!("{} {message}", reader.name), remedy);
        }
    }
    if !content.is_empty() {
        findings.ok("reader", format!("the card is read by {}", content.join(", ")));
    }
}

impl Card<'_> {
    fn list(&self, name: &str) -> &[Value] {
        self.body[name].as_array().map_or(&[], Vec::as_slice)
    }

    /// The interfaces as readers of v1.0 find them: those of v0.3 count where there are no others.
    fn interfaces(&self) -> Vec<Interface<'_>> {
        if self.body.get("supportedInterfaces").is_some() {
            let of =
                |one| Interface { url: text(one, "url"), binding: text(one, "protocolBinding"), version: text(one, "protocolVersion") };
            return self.list("supportedInterfaces").iter().map(of).collect();
        }
        self.old_interfaces()
    }

    /// The interfaces as readers of v0.3 find them.
    fn old_interfaces(&self) -> Vec<Interface<'_>> {
        let version = self.body["protocolVersion"].as_str().unwrap_or("0.3.0");
        let binding = self.body["preferredTransport"].as_str().unwrap_or("JSONRPC");
        let first = self.body["url"].as_str().map(|url| Interface { url, binding, version });
        let of = |one| Interface { url: text(one, "url"), binding: text(one, "transport"), version };
        first.into_iter().chain(self.list("additionalInterfaces").iter().map(of)).collect()
    }

    /// The required members that are not there, or not of their type.
    fn lacks(&self, strings: &[&str], lists: &[&str], objects: &[&str]) -> Vec<String> {
        let missing = |names: &[&str], is: fn(&Value) -> bool| {
            names.iter().filter(|name| !is(&self.body[**name])).map(|name| (*name).to_owned()).collect::<Vec<_>>()
        };
        let mut lacks = [missing(strings, Value::is_string), missing(lists, Value::is_array), missing(objects, Value::is_object)].concat();
        for (at, skill) in self.list("skills").iter().enumerate() {
            let of_skill = ["id", "name", "description"].into_iter().filter(|name| !skill[*name].is_string());
            lacks.extend(of_skill.map(|name| format!("skills[{at}].{name}")));
            if !skill["tags"].is_array() {
                lacks.push(format!("skills[{at}].tags"));
            }
        }
        lacks
    }
}

struct Interface<'a> {
    url: &'a str,
    binding: &'a str,
    version: &'a str,
}

impl Interface<'_> {
    /// Whether this is how v1.0 writes an address of gRPC: `host:port`.
    fn is_bare_grpc(&self) -> bool {
        self.binding == "GRPC" && !self.url.contains("://")
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn refuses(why: String, remedy: &str) -> Complaint {
    Complaint { level: Level::Warning, message: format!("refuses the card: {why}"), remedy: remedy.to_owned() }
}

/// It is the reader's fault, and the card is as it should be.
fn alone(message: String, remedy: &str) -> Complaint {
    Complaint { level: Level::Note, message, remedy: remedy.to_owned() }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost") || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// `_validate_agent_card` and `_validate_card_rpc_targets`: every URL is of the origin that the card came from, and https or local.
fn adk(card: &Card<'_>) -> Vec<Complaint> {
    let interfaces = card.interfaces();
    if interfaces.is_empty() {
        return vec![refuses("it names no interface".to_owned(), "add one to supportedInterfaces")];
    }
    // A file is believed whatever it names.
    let Some(from) = &card.from else { return Vec::new() };
    if from.scheme() != "https" && !is_loopback(from) {
        let why = format!("{from} is neither https nor of this machine");
        return vec![refuses(why, "serve the card over https")];
    }
    let of_interface = |one: &Interface<'_>| {
        if one.is_bare_grpc() {
            let message = format!("refuses the card: {} of GRPC is no http URL, although it is written as v1.0 has it", one.url);
            return Some(alone(message, "leave gRPC out where its users are to call: a2a serve --bindings jsonrpc,rest"));
        }
        let Ok(url) = Url::parse(one.url) else {
            return Some(refuses(format!("{:?} of {} is no URL", one.url, one.binding), "write a whole URL, with https://"));
        };
        if url.scheme() != "https" && !is_loopback(&url) {
            return Some(refuses(format!("{url} is neither https nor of this machine"), "serve it over https, and say so in the card"));
        }
        let same =
            (url.scheme(), url.host_str(), url.port_or_known_default()) == (from.scheme(), from.host_str(), from.port_or_known_default());
        let message = || format!("refuses the card: {url} is not of the origin of the card, {}", from.origin().ascii_serialization());
        (!same).then(|| alone(message(), PUBLIC_URL))
    };
    let mut complaints: Vec<_> = interfaces.iter().filter(|one| !one.url.is_empty()).filter_map(of_interface).collect();
    // One interface of each kind is enough to know what to do.
    let mut told = BTreeSet::new();
    complaints.retain(|complaint| told.insert(complaint.remedy.clone()));
    complaints
}

/// `parse_agent_card` and `ClientFactory.create`: bindings are compared as they are spelled, versions below 0.3 are passed over.
fn python_1(card: &Card<'_>) -> Vec<Complaint> {
    let mut complaints = of_types(card);
    let interfaces = card.interfaces();
    complaints.extend(misspelled(&interfaces));
    let usable = |one: &&Interface<'_>| BINDINGS.contains(&one.binding) && (one.version.is_empty() || number(one.version) >= Some((0, 3)));
    if interfaces.iter().all(|one| !usable(&one)) {
        complaints.push(refuses(
            "no compatible transports found".to_owned(),
            "name an interface of JSONRPC, HTTP+JSON or GRPC of version 0.3 or later",
        ));
    } else if !interfaces.iter().any(|one| one.binding == "JSONRPC") {
        let message = "finds no interface unless it is told of another binding: by itself it knows JSONRPC alone".to_owned();
        complaints.push(alone(message, "name an interface of JSONRPC as well"));
    }
    complaints
}

/// Protobuf's JSON: a member of another type than it should be is an error.
fn of_types(card: &Card<'_>) -> Vec<Complaint> {
    let wrong = |names: &[&'static str], is: fn(&Value) -> bool, what: &str| {
        let bad: Vec<_> = names.iter().filter(|name| card.body.get(**name).is_some_and(|value| !value.is_null() && !is(value))).collect();
        bad.into_iter().map(|name| refuses(format!("{name} is no {what}"), "correct its type")).collect::<Vec<_>>()
    };
    let mut complaints = wrong(&["name", "description", "version", "documentationUrl", "iconUrl"], Value::is_string, "text");
    complaints.extend(wrong(&["supportedInterfaces", "skills", "defaultInputModes", "defaultOutputModes"], Value::is_array, "list"));
    complaints.extend(wrong(&["capabilities", "provider", "securitySchemes"], Value::is_object, "object"));
    complaints
}

/// Bindings that are known, but not in this spelling.
fn misspelled(interfaces: &[Interface<'_>]) -> Vec<Complaint> {
    let known =
        |one: &&Interface<'_>| !BINDINGS.contains(&one.binding) && BINDINGS.iter().any(|name| name.eq_ignore_ascii_case(one.binding));
    let of = |one: &Interface<'_>| Complaint {
        level: Level::Warning,
        message: format!("passes over the binding {:?}, which it does not know in this spelling", one.binding),
        remedy: format!("write {}", one.binding.to_ascii_uppercase()),
    };
    interfaces.iter().filter(known).map(of).collect()
}

/// Major and minor number of a version.
fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(str::parse::<u32>);
    Some((parts.next()?.ok()?, parts.next().unwrap_or(Ok(0)).ok()?))
}

/// The model `AgentCard` of v0.3, whose members are required.
fn python_0_3(card: &Card<'_>) -> Vec<Complaint> {
    if card.body.get("url").is_none() {
        return only_1_0(card);
    }
    let lists = ["defaultInputModes", "defaultOutputModes", "skills"];
    let lacks = card.lacks(&["name", "description", "url", "version"], &lists, &["capabilities"]);
    let mut complaints: Vec<_> =
        (!lacks.is_empty()).then(|| refuses(format!("it lacks {}", lacks.join(", ")), "add them")).into_iter().collect();
    complaints.extend(misspelled(&card.old_interfaces()));
    complaints
}

/// A card of v1.0 alone is a choice, not a flaw.
fn only_1_0(card: &Card<'_>) -> Vec<Complaint> {
    if card.interfaces().iter().any(|one| number(one.version) < Some((1, 0))) {
        let remedy = "add url, preferredTransport and protocolVersion beside supportedInterfaces";
        return vec![refuses("it has no url, which v0.3 finds an interface by".to_owned(), remedy)];
    }
    vec![alone("cannot read the card, which is of v1.0 alone".to_owned(), "serve v0.3 too, if its users are to call")]
}

/// `createFromAgentCard`: bindings in any spelling, and of several interfaces of one binding the one whose version is exactly `1.0`.
fn javascript_1(card: &Card<'_>) -> Vec<Complaint> {
    let interfaces = card.interfaces();
    let known = |one: &Interface<'_>| ["JSONRPC", "HTTP+JSON"].iter().any(|name| name.eq_ignore_ascii_case(one.binding));
    if !interfaces.iter().any(known) {
        return vec![refuses(
            "no compatible transport found: by itself it knows JSONRPC and HTTP+JSON".to_owned(),
            "name an interface of one of them",
        )];
    }
    let patched = interfaces.iter().find(|one| one.version != "1.0" && number(one.version) == Some((1, 0)));
    let complaint = |one: &Interface<'_>| Complaint {
        level: Level::Warning,
        message: format!("takes {:?} for another version than 1.0", one.version),
        remedy: "write protocolVersion as 1.0".to_owned(),
    };
    patched.map(complaint).into_iter().collect()
}

fn javascript_0_3(card: &Card<'_>) -> Vec<Complaint> {
    if card.body.get("url").is_none() {
        return only_1_0(card);
    }
    let known =
        |one: &Interface<'_>| !one.url.is_empty() && ["JSONRPC", "HTTP+JSON"].iter().any(|name| name.eq_ignore_ascii_case(one.binding));
    if card.old_interfaces().iter().any(known) {
        return Vec::new();
    }
    vec![refuses(
        "no compatible transport found: by itself it knows JSONRPC and HTTP+JSON".to_owned(),
        "name one of them in preferredTransport or additionalInterfaces",
    )]
}

/// As the notes on the specification have it (AMB-12, the rule of one member): requirements are read in another form, schemes have one member.
fn go(card: &Card<'_>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let normative = |one: &Value| one["schemes"].as_object().is_some_and(|all| all.values().any(Value::is_object));
    if card.list("securityRequirements").iter().any(normative) {
        let message = "cannot read securityRequirements, although they are written as v1.0 has them".to_owned();
        complaints.push(alone(message, "tell its users to take a release that can, or to be given the card otherwise"));
    }
    for (name, scheme) in card.body["securitySchemes"].as_object().into_iter().flatten() {
        let members = scheme.as_object().map_or(0, |scheme| scheme.keys().filter(|key| key.ends_with("SecurityScheme")).count());
        if members != 1 && scheme.get("type").is_none() {
            complaints.push(refuses(
                format!("securitySchemes.{name} has {members} kinds"),
                "give it exactly one, such as httpAuthSecurityScheme",
            ));
        }
    }
    let interfaces = card.interfaces();
    if !interfaces.iter().any(|one| matches!(one.binding, "JSONRPC" | "HTTP+JSON") && number(one.version) >= Some((1, 0))) {
        let message = "finds no interface by itself: it knows JSONRPC and HTTP+JSON of v1.0".to_owned();
        complaints.push(alone(message, "name an interface of one of them"));
    }
    complaints
}

/// The types of `a2a-lf`, whose members are required.
fn rust(card: &Card<'_>) -> Vec<Complaint> {
    let lacks = card.lacks(&["name", "version"], &["supportedInterfaces"], &["capabilities"]);
    (!lacks.is_empty()).then(|| refuses(format!("it lacks {}", lacks.join(", ")), "add them")).into_iter().collect()
}

/// `A2AClient(fetch_card=True)`: modes of every skill, and the first interface, whatever it is.
fn fasta(card: &Card<'_>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if card.list("skills").iter().any(|skill| !skill["inputModes"].is_array() || !skill["outputModes"].is_array()) {
        let message = "refuses the card: a skill has no inputModes or outputModes, although they are optional".to_owned();
        complaints.push(alone(message, "name them in every skill, if its users are to call"));
    }
    if let Some(first) = card.interfaces().first().filter(|one| one.binding != "JSONRPC") {
        let message = format!("calls {} over JSON-RPC, because it is named first", first.url);
        complaints.push(alone(message, "name JSONRPC first"));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn card() -> Value {
        let url = "https://agent.example/";
        json!({
            "name": "A", "description": "d", "version": "1", "url": url, "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0",
            "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["s"], "inputModes": ["a/b"], "outputModes": ["a/b"]}],
        })
    }

    /// What is found about a card that was changed: level, message and remedy of each, without what is well.
    fn found(change: impl FnOnce(&mut Value)) -> Vec<(Level, String, String)> {
        let mut card = card();
        change(&mut card);
        let mut findings = Findings::default();
        look(card.to_string().as_bytes(), Some("https://agent.example/.well-known/agent-card.json"), &mut findings);
        let all = findings.all.into_iter().filter(|finding| finding.level != Level::Ok);
        all.map(|finding| (finding.level, finding.message, finding.next.unwrap_or_default())).collect()
    }

    #[test]
    fn a_card_that_everybody_reads_is_told_in_one_line() {
        assert!(found(|_| {}).is_empty());
        let mut findings = Findings::default();
        look(card().to_string().as_bytes(), None, &mut findings);
        assert_eq!(findings.all.len(), 1);
        assert!(READERS.iter().all(|reader| findings.all[0].message.contains(reader.name)));
    }

    #[test]
    fn every_reader_is_named_with_what_it_refuses_and_what_to_do() {
        type Change = fn(&mut Value);
        let breaks: [(&str, Level, &str, Change); 14] = [
            ("google-adk", Level::Note, "is not of the origin", |card| {
                card["supportedInterfaces"][0]["url"] = json!("https://other.example/")
            }),
            ("google-adk", Level::Warning, "neither https nor of this machine", |card| {
                card["supportedInterfaces"][0]["url"] = json!("http://agent.example/");
            }),
            ("google-adk", Level::Note, "agent.example:443 of GRPC is no http URL", |card| {
                let grpc = json!({"url": "agent.example:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"});
                card["supportedInterfaces"].as_array_mut().unwrap().push(grpc);
            }),
            ("a2a-sdk 1.3", Level::Warning, "passes over the binding \"jsonrpc\"", |card| {
                card["supportedInterfaces"][0]["protocolBinding"] = json!("jsonrpc");
            }),
            ("a2a-sdk 1.3", Level::Warning, "version is no text", |card| card["version"] = json!(1)),
            ("a2a-sdk 1.3", Level::Warning, "no compatible transports found", |card| {
                card["supportedInterfaces"][0]["protocolVersion"] = json!("0.2.6");
            }),
            ("a2a-sdk 0.3", Level::Warning, "it lacks defaultInputModes, skills[0].tags", |card| {
                card["defaultInputModes"] = json!(null);
                card["skills"][0]["tags"] = json!(null);
            }),
            ("@a2a-js/sdk 1.3", Level::Warning, "takes \"1.0.0\" for another version", |card| {
                card["supportedInterfaces"][0]["protocolVersion"] = json!("1.0.0");
            }),
            ("@a2a-js/sdk 0.3", Level::Warning, "no compatible transport found", |card| card["preferredTransport"] = json!("GRPC")),
            ("@a2a-js/sdk 0.3", Level::Note, "of v1.0 alone", |card| drop(card.as_object_mut().unwrap().remove("url"))),
            ("a2a-go", Level::Note, "cannot read securityRequirements", |card| {
                card["securityRequirements"] = json!([{"schemes": {"s": {"list": []}}}]);
            }),
            ("a2a-go", Level::Warning, "securitySchemes.s has 0 kinds", |card| card["securitySchemes"] = json!({"s": {}})),
            ("a2a-lf", Level::Warning, "it lacks capabilities", |card| drop(card.as_object_mut().unwrap().remove("capabilities"))),
            ("fasta2a", Level::Note, "a skill has no inputModes", |card| card["skills"][0]["inputModes"] = json!(null)),
        ];
        for (reader, level, part, change) in breaks {
            let all = found(change);
            let one = all.iter().find(|one| one.1.starts_with(reader) && one.1.contains(part));
            let (seen, message, remedy) = one.unwrap_or_else(|| panic!("{reader} does not say {part:?}: {all:?}"));
            assert_eq!(*seen, level, "{message}");
            assert!(!remedy.is_empty(), "{message}");
        }
    }
}
