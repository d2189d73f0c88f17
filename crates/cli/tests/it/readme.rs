//! The README's first five minutes, exactly as they stand there.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::{
    guide::{Block, blocks, free_port, has},
    process::{Folder, untested},
};

/// The server of the README, on a port and in a folder of its own.
struct Demo {
    child: Child,
    /// The process, as it says itself.
    pid: String,
    port: u16,
    folder: PathBuf,
}

impl Demo {
    fn start(port: u16, folder: PathBuf) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_a2a"));
        command.args(["serve", "--port", &port.to_string()]).env("XDG_STATE_HOME", &folder).current_dir(&folder);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let pid = said.into_iter().find_map(|line| line.strip_prefix("Process: ").map(str::to_owned));
        Self { child, pid: pid.expect("the demo says which process it is"), port, folder }
    }

    fn run(&self, script: &str) -> String {
        let script = script.replace("localhost:8080", &format!("127.0.0.1:{}", self.port));
        let script = script.replace("target/release/a2a", env!("CARGO_BIN_EXE_a2a"));
        let output = Command::new("bash").args(["-c", &script]).env("HOME", &self.folder).current_dir(&self.folder).output().unwrap();
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Does to the server what the README says, and starts it again.
    fn killed(mut self, script: &str) -> Self {
        self.run(&script.replace("PID", &self.pid));
        let status = self.child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{status}");
        Self::start(self.port, self.folder.clone())
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn the_first_five_minutes_are_as_the_readme_says() {
    if !has(&["bash", "curl", "strings"]) {
        return untested("bash, curl and strings are needed to run the README");
    }
    let folder = Folder::new();
    let port = free_port();
    let (mut demo, mut known, mut ran) = (None, String::new(), 0);
    for Block { mark: expected, text: script } in blocks("README.md") {
        match expected.as_str() {
            "serve" => {
                assert_eq!(script, "cargo run --release -- serve");
                demo = Some(Demo::start(port, folder.root().to_owned()));
            }
            "kill" => {
                let kill = script.strip_suffix("\ncargo run --release -- serve").expect("the server is killed, and started again");
                demo = demo.map(|demo| demo.killed(kill));
            }
            _ => {
                let output = demo.as_ref().expect("the demo runs").run(&format!("{known}{script}"));
                assert!(output.contains(&expected), "{script}\nprints no {expected}, but\n{output}");
                // A terminal remembers its variables.
                known.extend(script.lines().filter(|line| line.starts_with("TASK=")).map(|line| format!("{line}\n")));
                ran += 1;
            }
        }
    }
    drop(demo);
    assert_eq!(ran, 10, "the README has other blocks now");
}
