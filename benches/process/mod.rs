//! Servers that are measured: processes of their own, on a core of their own.

#![allow(dead_code, reason = "not every benchmark asks for everything")]

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

/// A command on one core, where the machine has so many.
fn pinned(core: usize) -> Command {
    let cores = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default().matches("processor\t").count();
    let mut command = Command::new("taskset");
    command.arg("-c").arg(core.min(cores.saturating_sub(1)).to_string());
    command
}

/// Runs this program again, on the second core if there is one.
pub(crate) fn pin_to_one_core(arguments: &[String]) {
    let mut command = pinned(1);
    command.arg(&arguments[0]).args(&arguments[1..]).args(["--pinned", "yes"]);
    std::process::exit(command.status().unwrap().code().unwrap_or(1));
}

/// This program again, as a server.
pub(crate) struct Process {
    child: Child,
    /// What it said first: where it can be reached.
    pub(crate) place: String,
}

impl Process {
    pub(crate) fn start(kind: &str, folder: &Path) -> Self {
        Self::start_under(&[], kind, folder)
    }

    /// Starts it as an argument of another program.
    pub(crate) fn start_under(program: &[&str], kind: &str, folder: &Path) -> Self {
        let mut command = pinned(0);
        command.args(program).arg(std::env::current_exe().unwrap()).args(["--serve", kind, "--folder"]).arg(folder);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, place: line.trim().to_owned() }
    }

    /// Lets it end in its own way.
    pub(crate) fn stop(mut self) {
        let sent = Command::new("kill").arg(self.id().to_string()).status().unwrap();
        assert!(sent.success(), "the server had gone");
        self.child.wait().unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.place.parse().expect("an address")
    }

    /// Its processor time in seconds.
    pub(crate) fn processor(&self) -> f64 {
        processor(self.id())
    }

    /// Its memory in bytes.
    pub(crate) fn resident(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1_024.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The processor time of all threads of a process, in seconds.
pub(crate) fn processor(id: u32) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let stats = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok());
    stats.filter_map(|stat| stat.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e9
}
