//! `a2a auth`: signing in at the demo's issuer, and everything that comes of it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    process::{Child, Stdio},
};

use serde_json::Value;

use super::{Ran, Sandbox, ended, field};

/// A page of the demo's issuer, as a browser asks for it: status, head and body. Redirects are given back.
pub(crate) fn browse(url: &str, form: Option<&str>) -> (u16, String, String) {
    let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("{url} is no address of this machine"));
    let (host, path) = rest.split_at(rest.find('/').unwrap());
    let mut stream = TcpStream::connect(host).unwrap();
    let request = match form {
        None => format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"),
        Some(form) => format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
            form.len()
        ),
    };
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
}

/// A sign-in that waits for a person.
struct Waiting {
    child: Child,
    err: BufReader<std::process::ChildStderr>,
}

impl Waiting {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut child = sandbox.command(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        Self { child, err }
    }

    /// The link that the person is shown.
    fn link(&mut self) -> String {
        let mut line = String::new();
        while !line.starts_with("Open: ") {
            line.clear();
            assert!(self.err.read_line(&mut line).unwrap() > 0, "no link was shown");
        }
        line["Open: ".len()..].trim().to_owned()
    }

    fn end(mut self) -> Ran {
        let mut err = String::new();
        self.err.read_to_string(&mut err).unwrap();
        let output = self.child.wait_with_output().unwrap();
        Ran { code: output.status.code().unwrap_or(-1), out: String::from_utf8(output.stdout).unwrap(), err }
    }
}

/// The fields of the page's form, as a browser would send them, with a decision.
fn filled(page: &str, decision: &str) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    for input in page.split("<input").skip(1) {
        let name = input.split_once("name=").unwrap().1.split([' ', '>']).next().unwrap();
        let value = input.split_once("value=\"").unwrap().1.split('"').next().unwrap();
        form.append_pair(name, &value.replace("&amp;", "&"));
    }
    form.append_pair("decision", decision).finish()
}

fn login_as_client(sandbox: &Sandbox) -> Ran {
    let agent = sandbox.at("/secure");
    let arguments = ["auth", "login", "-a", &agent, "--flow", "client-credentials", "--client-id", "ci", "-o", "json"];
    let mut command = sandbox.command(&arguments);
    command.env("A2ACLI_CLIENT_SECRET", "demo").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ended(command.spawn().unwrap())
}

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A2ACLI_AUTH_006, A2ACLI_AUTH_007, A2ACLI_CONFIG_001: a client signs in, its token lies in a file of its owner alone, goes
/// with later calls over every transport, is shown nowhere, and can be forgotten.
#[test]
fn a_client_signs_in_and_calls_without_a_word() {
    let sandbox = Sandbox::new();
    let agent = sandbox.at("/secure");
    let ran = sandbox.run(&["send", "-a", &agent, "hi", "-o", "json"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    let error: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(error["error"]["hint"].as_str().unwrap().starts_with(&format!("a2a auth login -a {agent}")), "{error}");

    let ran = login_as_client(&sandbox);
    assert_eq!(ran.code, 0, "{ran:?}");
    let made: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&made["scheme"], &made["scopes"][0]), (&"client".into(), &"demo".into()), "{made}");
    assert_eq!(made["store"], "~/.config/a2a-cli/credentials.json");
    assert!(made["expiresAt"].as_str().unwrap().ends_with('Z'), "{made}");
    let file = sandbox.home.path(".config/a2a-cli/credentials.json");
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));

    let kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let token = kept["tokens"][0]["access"].as_str().unwrap().to_owned();
    for transport in ["jsonrpc", "rest", "grpc"] {
        let ran = sandbox.run(&["send", "-a", &agent, "--transport", transport, "--debug", "--verbose", "request"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.out.contains("Subject: ci") && ran.out.contains("header Authorization"), "{}", ran.out);
        assert!(!format!("{ran:?}").contains(&token[..40]), "{transport}: the token is shown");
    }
    // Another agent gets nothing of it, also when it is on the same server.
    assert!(sandbox.ok(&["send", "request"]).contains("Credential: none"));

    let status = sandbox.ok(&["auth", "status"]);
    assert_eq!((field(&status, "Scheme"), field(&status, "Client"), field(&status, "Total")), ("client", "ci", "1"), "{status}");
    let shown = sandbox.ok(&["config", "show"]);
    assert!(shown.contains("credentials: 1 set, hidden (file ~/.config/a2a-cli/credentials.json)"), "{shown}");
    let document = sandbox.json(&["config", "show"]);
    assert_eq!(document["credentials"]["tokens"], 1);
    for text in [&status, &shown, &document.to_string(), &sandbox.json(&["auth", "status"]).to_string()] {
        assert!(!text.contains(&token[..40]), "{text}");
    }

    assert_eq!(sandbox.json(&["auth", "logout", "-a", "elsewhere.example"])["removed"], 0);
    assert_eq!(sandbox.json(&["auth", "logout", "-a", &agent])["removed"], 1);
    assert_eq!(sandbox.run(&["send", "-a", &agent, "hi"]).code, 4);
    assert!(!std::fs::read_to_string(&file).unwrap().contains(&token));
}

/// A2ACLI_AUTH_005: the code is shown, confirmed in a browser, and asked for until it is.
#[test]
fn a_person_signs_in_with_a_code() {
    let sandbox = Sandbox::new();
    let agent = sandbox.at("/secure");
    let mut waiting = Waiting::start(&sandbox, &["auth", "login", "-a", &agent, "--flow", "device", "-o", "json"]);
    let link = waiting.link();
    let (status, _, page) = browse(&link, None);
    assert_eq!(status, 200);
    let (status, ..) = browse(&link, Some(&filled(&page, "allow")));
    assert_eq!(status, 200);
    let ran = waiting.end();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("Code: "), "{ran:?}");
    assert!(sandbox.ok(&["send", "-a", &agent, "request"]).contains("Subject: demo"));

    let mut waiting = Waiting::start(&sandbox, &["auth", "login", "-a", &agent, "--flow", "device"]);
    let link = waiting.link();
    let (_, _, page) = browse(&link, None);
    browse(&link, Some(&filled(&page, "deny")));
    let ran = waiting.end();
    assert!(ran.code == 4 && ran.err.contains("access_denied"), "{ran:?}");
}

/// A2ACLI_AUTH_010: the endpoints come from the discovery document; a browser goes there and comes back with a code (PKCE),
/// and a stranger who comes instead changes nothing.
#[test]
fn a_person_signs_in_with_a_browser() {
    let sandbox = Sandbox::new();
    let agent = sandbox.at("/secure");
    let arguments = ["auth", "login", "-a", &agent, "--scheme", "oidc", "--flow", "code", "--no-browser", "--client-id", "sandbox"];
    let mut waiting = Waiting::start(&sandbox, &arguments);
    let link = waiting.link();
    assert!(link.contains("code_challenge_method=S256") && link.contains("state="), "{link}");
    let (_, _, page) = browse(&link, None);
    let back = url::Url::parse(&link).unwrap().query_pairs().find(|(name, _)| name == "redirect_uri").unwrap().1.into_owned();
    let (status, ..) = browse(&format!("{back}?code=evil&state=guessed"), None);
    assert_eq!(status, 400);
    let (status, head, _) = browse(link.split('?').next().unwrap(), Some(&filled(&page, "allow")));
    assert_eq!(status, 302, "{head}");
    let place = head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    assert!(place.starts_with(&back), "{place}");
    let (status, head, page) = browse(place, None);
    assert!(status == 200 && page.contains("You are signed in") && head.contains("no-store"), "{head} {page}");
    let ran = waiting.end();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!((field(&ran.out, "Scheme"), field(&ran.out, "Flow")), ("oidc", "code"));
    // Only the schemes that come before in the card have no token.
    assert!(sandbox.ok(&["send", "-a", &agent, "request"]).contains("Subject: demo"));
    let kept = sandbox.json(&["auth", "status"]);
    assert_eq!((&kept["tokens"][0]["client"], &kept["tokens"][0]["renewable"]), (&"sandbox".into(), &true.into()), "{kept}");
}

/// What was given for a run wins over what is stored; a token that has run out is renewed, and one that cannot be is no
/// credential; a file that others can read is refused, and so is a card that has moved.
#[test]
fn stored_tokens_are_renewed_and_stay_where_they_belong() {
    let sandbox = Sandbox::new();
    let agent = sandbox.at("/secure");
    let mut waiting = Waiting::start(&sandbox, &["auth", "login", "-a", &agent, "--scheme", "oidc", "--flow", "device"]);
    let link = waiting.link();
    let (_, _, page) = browse(&link, None);
    browse(&link, Some(&filled(&page, "allow")));
    assert_eq!(waiting.end().code, 0);
    assert!(sandbox.ok(&["send", "-a", &agent, "--api-key", "demo-key", "request"]).contains("Credential: key"));

    let file = sandbox.home.path(".config/a2a-cli/credentials.json");
    let change = |change: &dyn Fn(&mut Value)| {
        let mut kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        kept["tokens"].as_array_mut().unwrap().iter_mut().for_each(change);
        std::fs::write(&file, kept.to_string()).unwrap();
        kept["tokens"][0].clone()
    };
    let before = change(&|token| token["expiresAt"] = 1.into());
    assert!(sandbox.ok(&["send", "-a", &agent, "request"]).contains("Subject: demo"));
    let after = change(&|_| ());
    assert!(before["access"] != after["access"] && before["refresh"] != after["refresh"], "it was not renewed");

    // The agent refuses it: it is renewed once, and the call goes on.
    change(&|token| token["access"] = "broken".into());
    assert!(sandbox.ok(&["send", "-a", &agent, "request"]).contains("Subject: demo"));

    // Nothing to renew with.
    change(&|token| {
        token["expiresAt"] = 1.into();
        token["refresh"] = "unknown".into();
    });
    let ran = sandbox.run(&["send", "-a", &agent, "hi"]);
    assert!(ran.code == 4 && ran.err.contains("A2ACLI_ERR_CREDENTIALS_MISSING"), "{ran:?}");

    assert_eq!(login_as_client(&sandbox).code, 0);
    sandbox.ok(&["send", "-a", &agent, "hi"]);
    // The card names other places than those that were seen when somebody signed in.
    change(&|token| token["origins"] = serde_json::json!(["http://elsewhere.example"]));
    let ran = sandbox.run(&["send", "-a", &agent, "hi"]);
    assert!(ran.code == 4 && ran.err.contains("A2ACLI_ERR_CREDENTIALS_MISSING"), "{ran:?}");

    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ran = sandbox.run(&["send", "-a", &agent, "hi"]);
    assert!(ran.code == 1 && ran.err.contains("A2AX_ERR_CONFIG") && ran.err.contains("chmod 600"), "{ran:?}");
}

/// What cannot be done is said before anybody is asked anything.
#[test]
fn a_sign_in_that_cannot_be_is_a_usage_error() {
    let sandbox = Sandbox::new();
    let secure = sandbox.at("/secure");
    for (arguments, words) in [
        (&["-a", &secure, "--flow", "client-credentials"][..], "A2ACLI_CLIENT_SECRET"),
        (&["-a", &secure, "--scheme", "bearer"], "no scheme"),
        (&["--flow", "device"], "no scheme by which one signs in"),
        (&["-a", &secure, "--store", "keyring"], "keyring"),
        (&["-a", &secure, "--parameter", "audience"], "NAME=VALUE"),
    ] {
        let ran = sandbox.run(&[&["auth", "login"], arguments].concat());
        assert!(ran.code == 2 && ran.err.contains(words), "{arguments:?} {ran:?}");
    }
    let mut command = sandbox.command(&["auth", "login", "-a", &secure, "--flow", "client-credentials", "--client-id", "ci", "--debug"]);
    command.env("A2ACLI_CLIENT_SECRET", "S3CRET-guess").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = ended(command.spawn().unwrap());
    assert!(ran.code == 4 && ran.err.contains("invalid_client") && !ran.err.contains("S3CRET"), "{ran:?}");
}

/// The commands of the guide, as they stand there; where a person is sent to a page, the person agrees.
#[test]
fn the_guide_signs_in() {
    let sandbox = Sandbox::new();
    let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/security.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let commands = guide.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0;
    let (mut ran, mut agreed) = (0, 0);
    for line in commands.lines().filter(|line| !line.starts_with('#')) {
        let line = line.replace("a2a ", &format!("{} ", env!("CARGO_BIN_EXE_a2a"))).replace("localhost:8080", &sandbox.at(""));
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("exec env {line}")]).env("HOME", sandbox.home.root()).current_dir(sandbox.home.path("work"));
        let mut child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        let mut waiting = Waiting { child, err };
        if line.contains("--flow device") || line.contains("--flow code") {
            let link = waiting.link();
            let (_, _, page) = browse(&link, None);
            let (_, head, _) = browse(link.split('?').next().unwrap(), Some(&filled(&page, "allow")));
            if let Some(place) = head.lines().find_map(|line| line.strip_prefix("location: ")) {
                assert_eq!(browse(place, None).0, 200);
            }
            agreed += 1;
        }
        let result = waiting.end();
        assert_eq!(result.code, 0, "{line}\n{result:?}");
        ran += 1;
    }
    assert_eq!((ran, agreed), (7, 2));
    assert_eq!(sandbox.run(&["send", "-a", &sandbox.at("/secure"), "hi"]).code, 4);
}
