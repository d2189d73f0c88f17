//! A command at a terminal, with somebody who types.

use std::{
    io::{Read as _, Write as _},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use super::Sandbox;

const PATIENCE: Duration = Duration::from_secs(30);

/// A command that believes to be at a terminal of 80 columns.
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    pieces: Receiver<String>,
    /// Everything that was on the screen.
    pub(crate) seen: String,
    /// How far it was looked at.
    at: usize,
}

impl Terminal {
    /// Runs a line of a shell, in which `a2a` is the binary.
    pub(crate) fn new(sandbox: &Sandbox, line: &str, variables: &[(&str, &str)]) -> Self {
        let line = format!("a2a() {{ '{}' \"$@\"; }}; {line}", env!("CARGO_BIN_EXE_a2a"));
        let like = sandbox.command(&[]);
        let mut command = std::process::Command::new("script");
        command.args(["-qfec", &line, "/dev/null"]).env_remove("NO_COLOR").env("SHELL", "/bin/sh").env("TERM", "xterm");
        for (name, value) in like.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.envs(variables.iter().copied()).current_dir(like.get_current_dir().unwrap());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                if sender.send(String::from_utf8_lossy(&buffer[..count]).into_owned()).is_err() {
                    return;
                }
            }
        });
        Self { child, keys, pieces, seen: String::new(), at: 0 }
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Types a line.
    pub(crate) fn say(&mut self, line: &str) {
        self.press(&format!("{line}\n"));
    }

    /// Waits until something stands on the screen, after what was waited for before, and gives what came up to it.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = self.seen[self.at..].find(what) {
                let (from, to) = (self.at, self.at + found + what.len());
                self.at = to;
                return self.seen[from..to].to_owned();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(piece) => self.seen.push_str(&piece),
                Err(_) => panic!("{what:?} is not on the screen:\n{}", self.seen),
            }
        }
    }

    /// Waits for the end, and gives the exit code.
    pub(crate) fn end(mut self) -> (i32, String) {
        while let Ok(piece) = self.pieces.recv_timeout(PATIENCE) {
            self.seen.push_str(&piece);
        }
        (self.child.wait().unwrap().code().unwrap_or(-1), std::mem::take(&mut self.seen))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that ended needs no end.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
