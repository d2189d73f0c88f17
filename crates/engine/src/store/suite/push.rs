//! Webhooks and what is to be sent to them.

use std::{collections::BTreeSet, sync::Arc};

use chancery_core::{Bytes, PushConfigId, Seq, TaskId, TaskState};
use tokio::task::JoinSet;

use super::{advanced, at, made, owner, rules, strangers};
use crate::store::{Delivery, Due, Settled, Store};

rules!(
    configs_are_kept_replaced_and_deleted,
    strangers_cannot_touch_configs,
    a_later_event_waits_for_an_earlier_one,
    a_taken_delivery_comes_back_when_its_lease_ends,
    of_takers_at_once_each_delivery_goes_to_one,
    a_retry_waits_for_its_time_and_counts,
    a_dead_delivery_blocks_nobody_and_can_be_revived,
    the_next_due_time_is_that_of_a_delivery_that_can_go,
    a_deleted_config_gets_nothing_more,
    a_purged_task_sends_nothing_more,
    ids_of_deliveries_are_never_used_again,
);

/// Adds an event to a task, to be sent to these webhooks.
async fn event(store: &Arc<dyn Store>, task: &str, seq: u64, configs: &[&str]) {
    let moment = at(i64::try_from(seq).unwrap());
    let mut commit = advanced(task, seq - 1, TaskState::Working, moment);
    commit.deliveries = configs.iter().map(|config| Delivery::new((*config).into(), Seq::new(seq))).collect();
    store.commit(&owner("ada"), &commit).await.unwrap();
}

async fn take(store: &Arc<dyn Store>, now: i64, lease: i64) -> Vec<Due> {
    store.due("clerk", at(now), at(lease), 100).await.unwrap()
}

/// Deliveries as "task/config/seq".
fn names(due: &[Due]) -> Vec<String> {
    due.iter().map(|due| format!("{}/{}/{}", due.task, due.delivery.config, due.delivery.seq)).collect()
}

async fn configs_are_kept_replaced_and_deleted(store: Arc<dyn Store>) {
    let (ada, task) = (owner("ada"), TaskId::from("t"));
    let config = |id: &str, bytes: &'static str| (PushConfigId::from(id), Bytes::from(bytes));
    assert_eq!(store.configs(&ada, &task).await.unwrap(), None);
    assert!(!store.put_config(&ada, &task, &"p".into(), Bytes::new()).await.unwrap());
    assert!(!store.delete_config(&ada, &task, &"p".into()).await.unwrap());

    let mut commit = made("t", TaskState::Working, at(0));
    commit.configs = vec![config("p", "one")];
    store.commit(&ada, &commit).await.unwrap();
    for (id, bytes) in [config("q", "two"), config("a", "three"), config("p", "four")] {
        assert!(store.put_config(&ada, &task, &id, bytes).await.unwrap());
    }
    let mut commit = advanced("t", 1, TaskState::Working, at(0));
    commit.configs = vec![config("q", "five")];
    store.commit(&ada, &commit).await.unwrap();
    let all = vec![config("a", "three"), config("p", "four"), config("q", "five")];
    assert_eq!(store.configs(&ada, &task).await.unwrap(), Some(all.clone()));

    assert!(store.delete_config(&ada, &task, &"p".into()).await.unwrap());
    assert!(store.delete_config(&ada, &task, &"p".into()).await.unwrap(), "deleting twice is no error");
    assert_eq!(store.configs(&ada, &task).await.unwrap(), Some(vec![all[0].clone(), all[2].clone()]));
}

async fn strangers_cannot_touch_configs(store: Arc<dyn Store>) {
    let task = TaskId::from("t");
    event(&store, "t", 1, &["p"]).await;
    store.put_config(&owner("ada"), &task, &"p".into(), Bytes::from("one")).await.unwrap();
    store.settle(take(&store, 1, 9).await[0].id, Settled::Dead).await.unwrap();
    for stranger in strangers("ada") {
        assert_eq!(store.configs(&stranger, &task).await.unwrap(), None);
        assert!(!store.put_config(&stranger, &task, &"p".into(), Bytes::from("two")).await.unwrap());
        assert!(!store.delete_config(&stranger, &task, &"p".into()).await.unwrap());
        assert_eq!(store.dead(&stranger, 9).await.unwrap(), []);
        assert_eq!(store.revive(&stranger, &task, at(1)).await.unwrap(), 0);
    }
    let configs = store.configs(&owner("ada"), &task).await.unwrap();
    assert_eq!(configs, Some(vec![("p".into(), Bytes::from("one"))]));
    assert_eq!(store.dead(&owner("ada"), 9).await.unwrap().len(), 1);
}

async fn a_later_event_waits_for_an_earlier_one(store: Arc<dyn Store>) {
    event(&store, "t", 1, &["p", "q"]).await;
    event(&store, "t", 2, &["p", "q"]).await;
    event(&store, "t", 3, &["p"]).await;
    event(&store, "u", 1, &["p"]).await;
    assert_eq!(names(&take(&store, 0, 100).await), [""; 0], "nothing is due before its event");
    let due = take(&store, 50, 100).await;
    assert_eq!(names(&due), ["t/p/1", "t/q/1", "u/p/1"]);
    assert!(due.iter().all(|due| due.attempts == 0 && due.owner == owner("ada")));
    assert_eq!(names(&take(&store, 50, 100).await), [""; 0], "what is taken is not due, nor what waits for it");
    store.settle(due[0].id, Settled::Delivered).await.unwrap();
    let next = take(&store, 50, 100).await;
    assert_eq!(names(&next), ["t/p/2"]);
    // Newer deliveries line up behind.
    event(&store, "t", 4, &["p"]).await;
    store.settle(next[0].id, Settled::Delivered).await.unwrap();
    assert_eq!(names(&take(&store, 50, 100).await), ["t/p/3"]);
}

async fn a_taken_delivery_comes_back_when_its_lease_ends(store: Arc<dyn Store>) {
    event(&store, "t", 1, &["p"]).await;
    event(&store, "t", 2, &["p"]).await;
    let first = take(&store, 10, 20).await;
    assert_eq!(take(&store, 19, 30).await, []);
    let again = take(&store, 20, 30).await;
    assert_eq!(again, first, "the same id, and no attempt is counted that nobody reported");
    assert_eq!(take(&store, 20, 30).await, []);
}

async fn of_takers_at_once_each_delivery_goes_to_one(store: Arc<dyn Store>) {
    for task in 0..40 {
        event(&store, &format!("t-{task}"), 1, &["p"]).await;
    }
    let mut takers = JoinSet::new();
    for _ in 0..16 {
        let store = store.clone();
        takers.spawn(async move { store.due("clerk", at(1), at(99), 5).await.unwrap() });
    }
    let taken = takers.join_all().await;
    assert!(taken.iter().all(|due| due.len() <= 5));
    let taken: Vec<_> = taken.into_iter().flatten().map(|due| due.id).collect();
    let different: BTreeSet<_> = taken.iter().collect();
    assert_eq!((taken.len(), different.len()), (40, 40));
}

async fn a_retry_waits_for_its_time_and_counts(store: Arc<dyn Store>) {
    event(&store, "t", 1, &["p"]).await;
    event(&store, "t", 2, &["p"]).await;
    let id = take(&store, 1, 10).await[0].id;
    for attempts in 1..=3 {
        let moment = i64::from(attempts) * 100;
        store.settle(id, Settled::Retry(at(moment))).await.unwrap();
        assert_eq!(take(&store, moment - 1, moment).await, []);
        let due = take(&store, moment, moment + 10).await;
        assert_eq!((names(&due), due[0].id, due[0].attempts), (vec!["t/p/1".to_owned()], id, attempts));
    }
    store.settle(id, Settled::Delivered).await.unwrap();
    store.settle(id, Settled::Retry(at(0))).await.unwrap();
    assert_eq!(names(&take(&store, 500, 600).await), ["t/p/2"], "a late word about a delivered one changes nothing");
}

async fn a_dead_delivery_blocks_nobody_and_can_be_revived(store: Arc<dyn Store>) {
    let (ada, task) = (owner("ada"), TaskId::from("t"));
    for seq in 1..=4 {
        event(&store, "t", seq, &["p"]).await;
    }
    event(&store, "u", 1, &["p"]).await;
    for expected in ["t/p/1", "t/p/2"] {
        let due = take(&store, 50, 100).await;
        assert!(names(&due).contains(&expected.to_owned()), "{due:?}");
        for due in due.iter().filter(|due| due.task == "t") {
            store.settle(due.id, Settled::Dead).await.unwrap();
        }
    }
    let dead = store.dead(&ada, 9).await.unwrap();
    assert_eq!(names(&dead), ["t/p/1", "t/p/2"]);
    assert_eq!(dead[0].attempts, 1);
    assert_eq!(store.dead(&ada, 1).await.unwrap(), dead[..1]);
    let third = take(&store, 50, 100).await;
    assert_eq!(names(&third), ["t/p/3"]);

    assert_eq!(store.revive(&ada, &task, at(60)).await.unwrap(), 2);
    assert_eq!(store.dead(&ada, 9).await.unwrap(), []);
    assert_eq!(store.revive(&ada, &task, at(60)).await.unwrap(), 0);
    // They are older than the third, so they are first in line again.
    assert_eq!(take(&store, 59, 100).await, []);
    let revived = take(&store, 60, 100).await;
    assert_eq!((names(&revived), revived[0].attempts, revived[0].id), (vec!["t/p/1".to_owned()], 0, dead[0].id));
    store.settle(third[0].id, Settled::Retry(at(60))).await.unwrap();
    store.settle(revived[0].id, Settled::Delivered).await.unwrap();
    let second = take(&store, 60, 100).await;
    assert_eq!(names(&second), ["t/p/2"]);
    store.settle(second[0].id, Settled::Delivered).await.unwrap();
    assert_eq!(names(&take(&store, 60, 100).await), ["t/p/3"]);
}

async fn the_next_due_time_is_that_of_a_delivery_that_can_go(store: Arc<dyn Store>) {
    let next = async || store.next_due("clerk").await.unwrap();
    assert_eq!(next().await, None);
    event(&store, "t", 1, &["p"]).await;
    event(&store, "t", 2, &["p"]).await;
    assert_eq!(next().await, Some(at(1)));
    let due = take(&store, 1, 70).await;
    assert_eq!(next().await, Some(at(70)), "the one that waits behind does not count");
    store.settle(due[0].id, Settled::Retry(at(90))).await.unwrap();
    assert_eq!(next().await, Some(at(90)));
    store.settle(due[0].id, Settled::Dead).await.unwrap();
    assert_eq!(next().await, Some(at(2)));
    store.settle(take(&store, 2, 9).await[0].id, Settled::Delivered).await.unwrap();
    assert_eq!(next().await, None, "nobody waits for the dead");
}

async fn a_deleted_config_gets_nothing_more(store: Arc<dyn Store>) {
    let (ada, task) = (owner("ada"), TaskId::from("t"));
    event(&store, "t", 1, &["p", "q"]).await;
    event(&store, "t", 2, &["p", "q"]).await;
    event(&store, "u", 1, &["p"]).await;
    store.put_config(&ada, &task, &"p".into(), Bytes::new()).await.unwrap();
    let due = take(&store, 1, 9).await;
    store.settle(due[0].id, Settled::Dead).await.unwrap();
    assert!(store.delete_config(&ada, &task, &"p".into()).await.unwrap());
    assert_eq!(store.dead(&ada, 9).await.unwrap(), []);
    assert_eq!(names(&take(&store, 50, 100).await), ["t/q/1", "u/p/1"]);
}

async fn a_purged_task_sends_nothing_more(store: Arc<dyn Store>) {
    let (ada, task) = (owner("ada"), TaskId::from("t"));
    let mut commit = made("t", TaskState::Completed, at(0));
    commit.deliveries = vec![Delivery::new("p".into(), Seq::new(1))];
    commit.configs = vec![("p".into(), Bytes::new())];
    store.commit(&ada, &commit).await.unwrap();
    assert_eq!(store.purge("clerk", at(1), at(1), 9).await.unwrap(), 1);
    assert_eq!((take(&store, 50, 100).await, store.next_due("clerk").await.unwrap()), (vec![], None));
    assert_eq!(store.configs(&ada, &task).await.unwrap(), None);
}

async fn ids_of_deliveries_are_never_used_again(store: Arc<dyn Store>) {
    let mut seen = BTreeSet::new();
    for seq in 1..=5 {
        event(&store, "t", seq, &["p"]).await;
        let due = take(&store, 50, 100).await;
        assert!(seen.insert(due[0].id), "{due:?}");
        store.settle(due[0].id, Settled::Delivered).await.unwrap();
    }
}
