//! `docs/guide/install.md`: its commands. The installation itself takes minutes: `tests/install` makes it.

use super::{Guide, blocks, has};
use crate::process::untested;

#[test]
fn the_guide_to_the_installation_runs() {
    if !has(&["bash"]) {
        return untested("bash is needed to run the guide to the installation");
    }
    let mut guide = Guide::new("install.md");
    for block in blocks("docs/guide/install.md") {
        if block.mark == "install" {
            let script = include_str!("../../../../../tests/install");
            let command = block.text.replace("cargo install ", "");
            assert!(script.contains(&command), "tests/install installs otherwise than the guide says: {command}");
        } else {
            guide.run(&block);
        }
    }
    assert_eq!(guide.ran, 4, "the guide has other commands now");
}
