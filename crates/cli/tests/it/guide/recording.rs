//! `docs/recording`: the picture of the README can be made again, and is what it shows.

use super::{Guide, free_port, has};
use crate::process::untested;

#[test]
fn the_picture_of_the_readme_can_be_recorded_again() {
    if !has(&["bash", "curl", "pgrep", "python3"]) {
        return untested("bash, curl, pgrep and python3 are needed to record the picture of the README");
    }
    let guide = Guide::new("recording");
    let (record, binary) = (concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recording/record"), env!("CARGO_BIN_EXE_a2a"));
    guide.shell(&format!("python3 {record} {binary} --port {} --out picture.svg", free_port()));
    let new = std::fs::read_to_string(guide.folder.path("picture.svg")).unwrap();
    let shown = include_str!("../../../../../docs/recording/chancery.svg");
    for picture in [new.as_str(), shown] {
        assert!(picture.len() < 100_000, "{} bytes", picture.len());
        // In this order: it is killed, the client comes back, gets its answer, and then exactly the rest of the stream.
        let mut rest = picture;
        for words in
            ["kill -9 ", "State: SUBMITTED", "subscribing again", "High water at 06:12.", "State: COMPLETED", "Last-Event-ID:3", ">id: 4<"]
        {
            rest = rest.split_once(words).unwrap_or_else(|| panic!("no {words} in {picture}")).1;
        }
        assert!([">id: 1<", ">id: 2<", ">id: 3<"].iter().all(|earlier| !rest.contains(earlier)), "{picture}");
    }
}
