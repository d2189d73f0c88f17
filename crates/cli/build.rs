//! Notes which commit the binary is made of, if that is known.

use std::process::Command;

fn main() {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    let date = git(&["log", "-1", "--format=%cs"]);
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=A2A_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    println!("cargo::rustc-env=A2A_DATE={}", date.as_deref().unwrap_or("unknown"));
    println!("cargo::rustc-env=A2A_TARGET={}", std::env::var("TARGET").as_deref().unwrap_or("unknown"));
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}
