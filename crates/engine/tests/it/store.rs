//! Every store keeps the contract.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use chancery_engine::store::{
    Memory, Sqlite, Store,
    sqlite::{Durability, Options},
    suite,
};

use crate::folder::Folder;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_keeps_the_contract() {
    suite::run(async || Arc::new(Memory::new()) as Arc<dyn Store>).await;
}

async fn sqlite_keeps_the_contract_with(durability: Durability) {
    let (folder, number) = (Folder::new(), AtomicUsize::new(0));
    let make = async || {
        let file = folder.file(&format!("{}.db", number.fetch_add(1, Ordering::Relaxed)));
        let store = Sqlite::open_with(file, Options::new().durability(durability)).await.unwrap();
        Arc::new(store) as Arc<dyn Store>
    };
    suite::run(make).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_keeps_the_contract() {
    sqlite_keeps_the_contract_with(Durability::Power).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_without_fsync_keeps_the_contract() {
    sqlite_keeps_the_contract_with(Durability::Process).await;
}
