//! Guides whose commands are run exactly as they stand there.
//!
//! A comment before a block says what it is: `file: NAME` and `more: NAME` are written into a folder, `serve` is a server, and `tested` is run; what it
//! prints is the block of text that follows.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::process::Folder;

/// A block of a guide, and what its comment says of it.
struct Block {
    mark: String,
    text: String,
    /// The block of text that follows.
    prints: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let marked = text.split("<!-- ").skip(1);
    let block = |rest: &str| {
        let (mark, rest) = rest.split_once(" -->\n```").expect("a block follows its mark");
        let (text, rest) = rest.split_once('\n').unwrap().1.split_once("\n```\n").expect("the block ends");
        let prints = rest.strip_prefix("\n```text\n").and_then(|rest| rest.split_once("```\n")).map_or("", |(prints, _)| prints);
        Block { mark: mark.to_owned(), text: format!("{text}\n"), prints: prints.to_owned() }
    };
    marked.map(block).collect()
}

/// A command line of a guide, in which `a2a` is the binary.
fn shell(folder: &Folder, line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {}", line.trim().replacen("a2a", env!("CARGO_BIN_EXE_a2a"), 1))]);
    command.current_dir(folder.root()).env("HOME", folder.root()).stdin(Stdio::null());
    command
}

struct Server(Child);

impl Server {
    fn start(folder: &Folder, line: &str, port: u16) -> Self {
        let mut command = shell(folder, &format!("{} --port {port} --ephemeral", line.trim()));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{line} does not listen");
            std::thread::yield_now();
        }
        Self(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Does what a guide says, in its order; how many of its commands were run.
fn follow(page: &str) -> usize {
    let folder = Folder::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let here = |text: &str| text.replace("localhost:8080", &format!("localhost:{port}"));
    let (mut servers, mut ran) = (Vec::new(), 0);
    for Block { mark, text, prints } in blocks(page) {
        match mark.split_once(": ").unwrap_or((&mark, "")) {
            ("file", name) => drop(folder.write(name, &here(&text))),
            ("more", name) => {
                let before = std::fs::read_to_string(folder.path(name)).unwrap();
                folder.write(name, &format!("{before}\n{}", here(&text)));
            }
            ("serve", _) => servers.push(Server::start(&folder, &text, port)),
            ("tested", _) => {
                let output = shell(&folder, &here(&text)).output().unwrap();
                assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
                assert_eq!(String::from_utf8_lossy(&output.stdout), here(&prints), "{text}");
                ran += 1;
            }
            other => panic!("{page} has a mark that means nothing: {other:?}"),
        }
    }
    ran
}

#[test]
fn the_guide_about_scopes_works_as_it_stands() {
    assert_eq!(follow("scope.md"), 3, "the guide has other commands now");
}
