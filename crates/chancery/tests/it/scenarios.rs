//! The scenario suite over the engine itself, and over a client through every binding and version.

use std::sync::Arc;

use chancery::{Operations, Server, Sqlite};
use chancery_client::Client;
use chancery_core::{Binding, Version};
use chancery_wire::rest::COMPACT_BASE;

use crate::{
    agent,
    receiver::Receiver,
    say,
    scenario::{self, World},
};

/// Every binding in every version that has it.
pub(crate) const WAYS: [(Binding, Version); 10] = [
    (Binding::JsonRpc, Version::V1_0),
    (Binding::HttpJson, Version::V1_0),
    (Binding::Grpc, Version::V1_0),
    (Binding::JsonRpc, Version::V0_3),
    (Binding::HttpJson, Version::V0_3),
    (Binding::Grpc, Version::V0_3),
    (Binding::JsonRpc, Version::V0_2),
    (Binding::JsonRpc, Version::V0_1),
    (Binding::JsonRpc, Version::Compact),
    (Binding::HttpJson, Version::Compact),
];

/// P1, V10-BIND-001, V10-BIND-002, V10-BIND-003: the same request gives an equivalent result in every binding and version.
#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_plays_over_every_binding_and_version() {
    let folder = std::env::temp_dir().join(format!("chancery-scenarios-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let store = Sqlite::open(folder.join("tasks.db")).await.unwrap();
    let running = Server::new(agent::card(), agent::clerk).store(store).bind("127.0.0.1:0").await.unwrap();
    let receiver = Receiver::start().await;
    let engine: Arc<dyn Operations> = Arc::new(running.engines().remove(0));
    let mut worlds = vec![("engine".to_owned(), World { operations: engine, version: Version::V1_0, receiver: receiver.clone() })];
    for (binding, version) in WAYS {
        let url = match (binding, version) {
            (Binding::Grpc, _) => running.local_addr().to_string(),
            // At the root its paths are those that v1.0 does not use.
            (Binding::HttpJson, Version::Compact) => format!("{}{COMPACT_BASE}", running.url()),
            _ => running.url().to_owned(),
        };
        let client = Client::builder().idempotent(true).over(binding, version, &url).unwrap();
        let world = World { operations: Arc::new(client), version, receiver: receiver.clone() };
        worlds.push((format!("{binding} {version}"), world));
    }
    let mut columns = Vec::new();
    for (name, world) in &worlds {
        columns.push((name, scenario::play(world).await));
    }
    say(&format!("\n{}", table(&columns)));
    let broken: Vec<_> = columns
        .iter()
        .flat_map(|(way, cells)| cells.iter().filter(|(_, cell)| cell != "ok" && cell != "-").map(move |cell| (way, cell)))
        .collect();
    running.shutdown().await;
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// A row for every scenario, a column for every way.
fn table(columns: &[(&String, Vec<(&'static str, String)>)]) -> String {
    let width = columns[0].1.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = " ".repeat(width);
    columns.iter().for_each(|(way, _)| text += &format!("  {way}"));
    for (row, (name, _)) in columns[0].1.iter().enumerate() {
        text += &format!("\n{:width$}", name.replace('_', " "));
        for (way, cells) in columns {
            let cell = if cells[row].1.len() > 2 { "BROKEN" } else { &cells[row].1 };
            text += &format!("  {cell:>width$}", width = way.len());
        }
    }
    text + "\n"
}
