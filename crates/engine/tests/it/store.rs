//! Every store keeps the contract.

use std::sync::Arc;

use chancery_engine::store::{Memory, Store, suite};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_keeps_the_contract() {
    suite::run(async || Arc::new(Memory::new()) as Arc<dyn Store>).await;
}
