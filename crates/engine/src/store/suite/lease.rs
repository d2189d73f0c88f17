//! Who runs a task.

use std::sync::Arc;

use chancery_core::{TaskId, TaskState};

use super::{advanced, at, made, read, rules, scope};
use crate::store::{Lease, Scope, Store};

rules!(leases_run_out_unless_their_holder_renews_them, expired_tasks_come_in_order_and_no_more_than_asked_for);

async fn run_by(store: &Arc<dyn Store>, scope: &Scope, id: &str, holder: &str, until: i64) {
    let mut commit = made(id, TaskState::Working, at(0));
    commit.lease = Some(Lease::new(holder, at(until), 3));
    store.commit(scope, commit).await.unwrap();
}

async fn expired(store: &Arc<dyn Store>, now: i64) -> Vec<String> {
    store.expired(at(now), 100).await.unwrap().into_iter().map(|(_, id)| id.into_string()).collect()
}

async fn leases_run_out_unless_their_holder_renews_them(store: Arc<dyn Store>) {
    let (ada, ben) = (scope("ada"), scope("ben"));
    run_by(&store, &ada, "a", "host-1", 10).await;
    run_by(&store, &ben, "b", "host-2", 10).await;
    run_by(&store, &ada, "c", "host-1", 20).await;
    store.commit(&ada, made("d", TaskState::Working, at(0))).await.unwrap();
    assert_eq!(expired(&store, 10).await, [""; 0], "a lease holds until its end");
    assert_eq!(store.expired(at(11), 9).await.unwrap(), [(ada.clone(), TaskId::from("a")), (ben, TaskId::from("b"))]);
    assert_eq!(expired(&store, 21).await, ["a", "c", "b"]);

    store.renew("host-1", at(30)).await.unwrap();
    assert_eq!(expired(&store, 30).await, ["b"]);
    assert_eq!(read(&store, &ada, "c").await.unwrap().lease, Some(Lease::new("host-1", at(30), 3)));
    assert_eq!(expired(&store, 31).await, ["a", "c", "b"]);

    // Taken over, handed back, finished.
    let mut taken = advanced("a", 1, TaskState::Working, at(1));
    taken.lease = Some(Lease::new("host-3", at(50), 4));
    store.commit(&ada, taken.clone()).await.unwrap();
    store.commit(&ada, advanced("c", 1, TaskState::Completed, at(1))).await.unwrap();
    store.renew("host-1", at(90)).await.unwrap();
    assert_eq!(read(&store, &ada, "a").await.unwrap().lease, taken.lease);
    assert_eq!(read(&store, &ada, "c").await.unwrap().lease, None);
    assert_eq!(expired(&store, 51).await, ["a", "b"]);
}

async fn expired_tasks_come_in_order_and_no_more_than_asked_for(store: Arc<dyn Store>) {
    for id in ["c", "a", "b"] {
        run_by(&store, &scope("ada"), id, "host-1", 1).await;
    }
    let two = store.expired(at(2), 2).await.unwrap();
    assert_eq!(two, [(scope("ada"), TaskId::from("a")), (scope("ada"), TaskId::from("b"))]);
}
