//! `docs/guide/systemd.md` and `deploy/systemd/a2a.service`: a unit that systemd takes, that exposes little, and that stops in time.

use std::process::Command;

use super::{Guide, free_port, has};
use crate::process::untested;

const UNIT: &str = include_str!("../../../../../deploy/systemd/a2a.service");

/// The exposure that the unit may have, of 100.
const EXPOSURE: &str = "15";

/// The value of a key of the unit.
fn value(key: &str) -> &'static str {
    UNIT.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap_or_else(|| panic!("the unit has no {key}"))
}

#[test]
fn systemd_takes_the_unit_and_finds_it_little_exposed() {
    if !has(&["systemd-analyze"]) {
        return untested("systemd-analyze is needed to check the unit");
    }
    let guide = Guide::new("systemd.md");
    // The program is where the test has it; systemd looks whether it is there.
    let unit = guide.folder.write("a2a.service", &UNIT.replace("/usr/local/bin/a2a", env!("CARGO_BIN_EXE_a2a")));
    let unit = unit.to_str().unwrap();
    for arguments in [vec!["verify", unit], vec!["security", "--offline=true", "--no-pager", "--threshold", EXPOSURE, unit]] {
        let output = Command::new("systemd-analyze").args(&arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        // What is unknown is only warned of.
        assert!(!said.contains("Unknown"), "{arguments:?}: {said}");
    }
}

#[test]
fn the_command_of_the_unit_serves_and_a_stop_lets_a_task_finish() {
    if !has(&["bash"]) {
        return untested("bash is needed to run the command of the unit");
    }
    let address = format!("127.0.0.1:{}", free_port());
    let mut guide = Guide::new("systemd.md");
    let file = format!(
        "[server]\nlisten = \"{address}\"\n[[agent]]\nname = \"slow\"\ncommand = [\"sh\", \"-c\", \"echo begun; until [ -e go ]; do sleep 0.1; done\"]\ncwd = \".\"\n"
    );
    guide.folder.write("a2a.toml", &file);
    let command = value("ExecStart").replace("/usr/local/bin/", "").replace("/etc/a2a/", "").replace("/var/lib/a2a", "data");
    guide.serve(&command);
    let task = guide.shell(&format!("a2a send -a {address} --async -o json --jq .task.id go"));
    let task = task.trim().trim_matches('"');
    guide.shell(&format!("until a2a task get -a {address} {task} | grep -q begun; do sleep 0.1; done; kill -TERM {}", guide.server()));
    // It is told to stop, and the task ends afterwards.
    guide.wait_for("the log of the stop", || std::net::TcpStream::connect(&address).is_err());
    guide.folder.write("go", "");
    assert_eq!(guide.stopped().code(), Some(0));
    guide.serve(&command);
    assert!(guide.shell(&format!("a2a task get -a {address} {task}")).contains("State: COMPLETED"));
    // Otherwise systemd would cut it off.
    let seconds: u64 = value("TimeoutStopSec").trim_end_matches('s').parse().unwrap();
    assert!(seconds > 30, "drain is 30 s");
}
