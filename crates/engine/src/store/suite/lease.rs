//! Who runs a task.

use std::sync::Arc;

use chancery_core::{Seq, TaskId, TaskState};

use super::{advanced, at, made, owner, read, rules};
use crate::store::{Delivery, KeyAnswer, KeyRecord, Lease, Owner, Store};

rules!(
    the_lease_of_a_task_is_that_of_its_last_commit_and_its_owners_to_see,
    leases_run_out_unless_their_holder_renews_them,
    expired_tasks_come_in_order_and_no_more_than_asked_for,
    each_agent_looks_after_its_own,
);

async fn run_by(store: &Arc<dyn Store>, owner: &Owner, id: &str, holder: &str, until: i64) {
    let mut commit = made(id, TaskState::Working, at(0));
    commit.lease = Some(Lease::new(holder, at(until), 3));
    store.commit(owner, &commit).await.unwrap();
}

async fn expired(store: &Arc<dyn Store>, now: i64) -> Vec<String> {
    store.expired("clerk", at(now), 100).await.unwrap().into_iter().map(|(_, id)| id.into_string()).collect()
}

async fn the_lease_of_a_task_is_that_of_its_last_commit_and_its_owners_to_see(store: Arc<dyn Store>) {
    let (ada, a) = (owner("ada"), TaskId::from("a"));
    assert_eq!(store.lease(&ada, &a).await.unwrap(), None, "there is no such task");
    run_by(&store, &ada, "a", "host-1", 10).await;
    assert_eq!(store.lease(&ada, &a).await.unwrap(), Some(Lease::new("host-1", at(10), 3)));
    assert_eq!(store.lease(&owner("ben"), &a).await.unwrap(), None);
    store.commit(&ada, &advanced("a", 1, TaskState::InputRequired, at(1))).await.unwrap();
    assert_eq!(store.lease(&ada, &a).await.unwrap(), None, "nobody works on it");
}

async fn leases_run_out_unless_their_holder_renews_them(store: Arc<dyn Store>) {
    let (ada, ben) = (owner("ada"), owner("ben"));
    run_by(&store, &ada, "a", "host-1", 10).await;
    run_by(&store, &ben, "b", "host-2", 10).await;
    run_by(&store, &ada, "c", "host-1", 20).await;
    store.commit(&ada, &made("d", TaskState::Working, at(0))).await.unwrap();
    assert_eq!(expired(&store, 10).await, [""; 0], "a lease holds until its end");
    assert_eq!(store.expired("clerk", at(11), 9).await.unwrap(), [(ada.clone(), TaskId::from("a")), (ben, TaskId::from("b"))]);
    assert_eq!(expired(&store, 21).await, ["a", "c", "b"]);

    store.renew("host-1", at(30)).await.unwrap();
    assert_eq!(expired(&store, 30).await, ["b"]);
    assert_eq!(read(&store, &ada, "c").await.unwrap().lease, Some(Lease::new("host-1", at(30), 3)));
    assert_eq!(expired(&store, 31).await, ["a", "c", "b"]);

    // Taken over, handed back, finished.
    let mut taken = advanced("a", 1, TaskState::Working, at(1));
    taken.lease = Some(Lease::new("host-3", at(50), 4));
    store.commit(&ada, &taken).await.unwrap();
    store.commit(&ada, &advanced("c", 1, TaskState::Completed, at(1))).await.unwrap();
    store.renew("host-1", at(90)).await.unwrap();
    assert_eq!(read(&store, &ada, "a").await.unwrap().lease, taken.lease);
    assert_eq!(read(&store, &ada, "c").await.unwrap().lease, None);
    assert_eq!(expired(&store, 51).await, ["a", "b"]);
}

async fn expired_tasks_come_in_order_and_no_more_than_asked_for(store: Arc<dyn Store>) {
    for id in ["c", "a", "b"] {
        run_by(&store, &owner("ada"), id, "host-1", 1).await;
    }
    let two = store.expired("clerk", at(2), 2).await.unwrap();
    assert_eq!(two, [(owner("ada"), TaskId::from("a")), (owner("ada"), TaskId::from("b"))]);
}

async fn each_agent_looks_after_its_own(store: Arc<dyn Store>) {
    let porter = Owner::of("north", "porter", "ada");
    for (owner, name, moment) in [(&owner("ada"), "c", 1), (&porter, "p", 2)] {
        run_by(&store, owner, &format!("{name}-running"), "host-1", moment).await;
        let mut finished = made(&format!("{name}-finished"), TaskState::Completed, at(moment));
        finished.deliveries = vec![Delivery::new("hook".into(), Seq::new(1))];
        finished.key = Some(KeyRecord::new("key", 7, KeyAnswer::Task(finished.head.id.clone()), at(30)));
        store.commit(owner, &finished).await.unwrap();
    }
    let names = |agent: &'static str| {
        let store = store.clone();
        async move {
            let running = store.expired(agent, at(9), 9).await.unwrap().into_iter().map(|(_, id)| id);
            let next = store.next_due(agent).await.unwrap();
            let due = store.due(agent, at(9), at(20), 9).await.unwrap().into_iter().map(|due| due.task);
            (running.chain(due).map(TaskId::into_string).collect::<Vec<_>>(), next)
        }
    };
    assert_eq!(names("porter").await, (vec!["p-running".to_owned(), "p-finished".to_owned()], Some(at(2))));
    assert_eq!(names("clerk").await, (vec!["c-running".to_owned(), "c-finished".to_owned()], Some(at(1))));
    assert_eq!(names("nobody").await, (Vec::new(), None));

    assert_eq!(store.purge("nobody", at(9), at(40), 9).await.unwrap(), 0);
    assert_eq!(store.purge("porter", at(9), at(40), 9).await.unwrap(), 1);
    assert!(read(&store, &porter, "p-finished").await.is_none());
    assert!(read(&store, &owner("ada"), "c-finished").await.is_some());
    assert!(store.key(&owner("ada"), "key", at(20)).await.unwrap().is_some());
    assert!(store.key(&porter, "key", at(20)).await.unwrap().is_none());
}
