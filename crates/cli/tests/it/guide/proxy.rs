//! `docs/guide/proxy.md`: both configurations, with the real proxies.

use std::io::{BufRead as _, BufReader};

use super::{Block, Guide, blocks, free_port, has};
use crate::process::{Folder, untested};

const PAGE: &str = "proxy.md";

/// What nginx is given around the file of the page: everything in the folder of the test.
const NGINX: &str = "daemon off; pid nginx.pid; error_log stderr; events {}
http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5; include agents.conf; }
";

/// What Caddy is given before the file of the page: nothing of it leaves the folder.
const CADDY: &str = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n";

#[derive(Clone, Copy)]
enum Proxy {
    Nginx,
    Caddy,
}

impl Proxy {
    fn program(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Caddy => "caddy",
        }
    }

    /// Starts it with the files of the page.
    fn start(self, guide: &mut Guide, port: u16) {
        match self {
            Self::Nginx => {
                guide.folder.write("nginx.conf", NGINX);
                let folder = guide.folder.root().display().to_string();
                guide.background(&format!("nginx -p {folder} -c {folder}/nginx.conf -e stderr"), port);
            }
            Self::Caddy => {
                let page = std::fs::read_to_string(guide.folder.path("Caddyfile")).unwrap();
                guide.folder.write("Caddyfile", &format!("{CADDY}{page}"));
                guide.background("caddy run --config Caddyfile --adapter caddyfile", port);
            }
        }
    }
}

/// A certificate for `localhost` and the authority that it comes from.
fn certificates(folder: &Folder) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut authority = rcgen::CertificateParams::new([]).unwrap();
    // Another name than that of the certificate, which would look as if it had signed itself.
    authority.distinguished_name.push(rcgen::DnType::CommonName, "authority of a test");
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = rcgen::CertifiedIssuer::self_signed(authority, key).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    folder.write("ca.pem", &authority.pem());
    folder.write("cert.pem", &certificate.pem());
    folder.write("key.pem", &key.serialize_pem());
}

/// The page with the addresses of a test. Certificates are the test's own, and trusted.
fn guide(port: u16, backend: u16) -> Guide {
    let guide = Guide::new(PAGE);
    certificates(&guide.folder);
    let folder = guide.folder.root().display().to_string();
    guide
        .replace("agents.example.com {", format!("https://localhost:{port} {{\n\ttls cert.pem key.pem"))
        .replace("https://agents.example.com", format!("https://localhost:{port}"))
        .replace("agents.example.com", "localhost")
        .replace("listen 443 ssl", format!("listen {port} ssl"))
        .replace("/etc/ssl/agents", folder.clone())
        .replace("127.0.0.1:8080", format!("127.0.0.1:{backend}"))
        .set("A2ACLI_CA_CERT", format!("{folder}/ca.pem"))
        .set("CURL_CA_BUNDLE", format!("{folder}/ca.pem"))
}

/// Whether a block comes before the proxy is started: files, and the server.
fn is_prepared(block: &Block) -> bool {
    block.mark == "serve" || block.mark.starts_with("file ")
}

/// Whether it can be tried here.
fn can_run(proxy: Proxy) -> bool {
    let can = has(&["bash", "curl", proxy.program()]);
    if !can {
        untested(&format!("{} is needed to run the guide to proxies", proxy.program()));
    }
    can
}

/// The page as it stands.
fn runs(proxy: Proxy) {
    if !can_run(proxy) {
        return;
    }
    let (port, backend) = (free_port(), free_port());
    let mut guide = guide(port, backend);
    let (prepared, commands): (Vec<_>, Vec<_>) = blocks(&format!("docs/guide/{PAGE}")).into_iter().partition(is_prepared);
    prepared.iter().for_each(|block| guide.run(block));
    proxy.start(&mut guide, port);
    commands.iter().for_each(|block| guide.run(block));
    assert_eq!(guide.ran, 5, "the guide has other commands now");
}

/// Events come through while the agent still works, which is shown by an agent that goes on when the first one has arrived.
fn does_not_buffer(proxy: Proxy, transport: &str) {
    if !can_run(proxy) {
        return;
    }
    let (port, backend) = (free_port(), free_port());
    let mut guide = guide(port, backend).replace("sleep 2", "until [ -e go ]; do sleep 0.1; done");
    let go = guide.folder.path("go");
    blocks(&format!("docs/guide/{PAGE}")).iter().filter(|block| is_prepared(block)).for_each(|block| guide.run(block));
    proxy.start(&mut guide, port);
    let call = format!("exec a2a send -a https://localhost:{port} --transport {transport} --stream -o json hello");
    let mut client = guide.command(&call).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(client.stdout.take().unwrap()).lines();
    let mut seen = String::new();
    for line in lines {
        let line = line.unwrap();
        if line.contains("one") && !go.exists() {
            std::fs::write(&go, "").unwrap();
        }
        seen.push_str(&line);
    }
    assert!(client.wait().unwrap().success());
    assert!(go.exists() && seen.contains("two"), "{seen}");
}

#[test]
fn the_guide_runs_behind_nginx() {
    runs(Proxy::Nginx);
}

#[test]
fn the_guide_runs_behind_caddy() {
    runs(Proxy::Caddy);
}

#[test]
fn nginx_passes_events_on_while_the_agent_works() {
    does_not_buffer(Proxy::Nginx, "rest");
    does_not_buffer(Proxy::Nginx, "grpc");
}

#[test]
fn caddy_passes_events_on_while_the_agent_works() {
    does_not_buffer(Proxy::Caddy, "rest");
    does_not_buffer(Proxy::Caddy, "grpc");
}
