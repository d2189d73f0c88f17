//! `docs/guide/metrics.md`: the figures that it names are those that a server has.

use std::collections::BTreeSet;

use super::{Guide, blocks, free_port, has};
use crate::process::untested;

/// The names of metrics in a text, without the endings that parts of a histogram have.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let names = words.filter(|word| word.starts_with("a2a_"));
    let histogram = |name: &str| ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned();
    names.map(histogram).collect()
}

#[test]
fn the_guide_names_every_metric_and_no_other() {
    if !has(&["bash", "curl"]) {
        return untested("bash and curl are needed to run the guide to metrics");
    }
    let address = format!("127.0.0.1:{}", free_port());
    let port = address.rsplit_once(':').unwrap().1.to_owned();
    let mut guide = Guide::new("metrics.md").replace("localhost:8080", &address).replace("--port 8080", format!("--port {port}"));
    assert_eq!(guide.run_all(), 2, "the guide has other commands now");
    let served = names(&guide.shell(&format!("curl -s {address}/metrics")));
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/metrics.md")).unwrap();
    assert_eq!(names(&page), served);
    let alerts = blocks("docs/guide/metrics.md").pop().unwrap();
    assert_eq!(alerts.mark, "file alerts.yml");
    assert!(names(&alerts.text).is_subset(&served));
    // Whoever has Prometheus has its checker.
    if has(&["promtool"]) {
        assert!(guide.shell("promtool check config prometheus.yml").contains("SUCCESS: 5 rules found"));
    }
}
