//! `docs/guide/backup.md`: a backup of a server that others write to, and a server on what was saved.

use std::process::Stdio;

use super::{Guide, blocks, free_port, has};
use crate::process::untested;

#[test]
fn a_backup_under_load_has_every_task_that_was_answered_before_it() {
    if !has(&["bash", "sqlite3"]) {
        return untested("bash and sqlite3 are needed to run the guide to backups");
    }
    let address = format!("127.0.0.1:{}", free_port());
    let mut guide = Guide::new("backup.md").replace("localhost:8080", &address).replace("127.0.0.1:8080", &address);
    let mut load = None;
    for block in blocks("docs/guide/backup.md") {
        if block.text.contains("VACUUM INTO") {
            // Tasks that are there before the backup, and users who make more of them while it is made.
            guide.shell(&format!("a2a bench -a {address} --users 2 --warmup 0s --requests 300"));
            let bench = format!("exec a2a bench -a {address} --users 2 --warmup 0s --duration 60s");
            load = Some(guide.command(&bench).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
            let count = format!("a2a task list -a {address} -o json --jq .totalSize");
            guide.wait_for("tasks of the load", || guide.shell(&count).trim().parse::<u64>().unwrap() > 301);
        }
        if block.text.contains("mv .a2a lost") {
            // Not even a proper end: whatever is not in the backup is lost.
            guide.kill();
            let mut load = load.take().expect("there is load during the backup");
            load.kill().unwrap();
            load.wait().unwrap();
        }
        guide.run(&block);
    }
    assert_eq!(guide.ran, 4, "the guide has other commands now");
    let saved: u64 = guide.shell("sqlite3 backup/tasks.db 'SELECT count(*) FROM task'").trim().parse().unwrap();
    let listed: u64 = guide.shell(&format!("a2a task list -a {address} -o json --jq .totalSize")).trim().parse().unwrap();
    assert!(saved > 301, "{saved} tasks were saved");
    assert_eq!(listed, saved, "every task of the backup is served");
}
