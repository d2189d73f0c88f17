//! Idempotency keys.

use std::sync::Arc;

use chancery_core::{Bytes, TaskState};
use tokio::task::JoinSet;

use super::{advanced, at, made, owner, read, rules, strangers};
use crate::store::{Error, KeyAnswer, KeyRecord, Store};

rules!(
    a_key_is_kept_until_it_runs_out,
    a_key_belongs_to_its_scope,
    a_taken_key_stops_the_commit,
    of_64_requests_with_one_key_one_makes_the_task,
    purging_forgets_keys_that_ran_out,
);

fn record(key: &str, answer: KeyAnswer, until: i64) -> KeyRecord {
    KeyRecord { key: key.to_owned(), digest: u64::MAX - 7, answer, until: at(until) }
}

fn message(text: &'static str) -> KeyAnswer {
    KeyAnswer::Message(Bytes::from(text))
}

async fn a_key_is_kept_until_it_runs_out(store: Arc<dyn Store>) {
    let ada = owner("ada");
    assert_eq!(store.key(&ada, "k", at(0)).await.unwrap(), None);
    let first = record("k", message("hello"), 100);
    store.put_key(&ada, first.clone(), at(0)).await.unwrap();
    assert_eq!(store.key(&ada, "k", at(99)).await.unwrap(), Some(first.clone()));
    let second = record("k", KeyAnswer::Task("t".into()), 300);
    assert!(matches!(store.put_key(&ada, second.clone(), at(99)).await, Err(Error::KeyTaken)));
    assert_eq!(store.key(&ada, "k", at(0)).await.unwrap(), Some(first));
    assert_eq!(store.key(&ada, "k", at(100)).await.unwrap(), None);
    store.put_key(&ada, second.clone(), at(100)).await.unwrap();
    assert_eq!(store.key(&ada, "k", at(100)).await.unwrap(), Some(second));
}

async fn a_key_belongs_to_its_scope(store: Arc<dyn Store>) {
    store.put_key(&owner("ada"), record("k", message("hello"), 100), at(0)).await.unwrap();
    for stranger in strangers("ada") {
        assert_eq!(store.key(&stranger, "k", at(0)).await.unwrap(), None);
        let own = record("k", message("mine"), 100);
        store.put_key(&stranger, own.clone(), at(0)).await.unwrap();
        assert_eq!(store.key(&stranger, "k", at(0)).await.unwrap(), Some(own));
    }
}

async fn a_taken_key_stops_the_commit(store: Arc<dyn Store>) {
    let ada = owner("ada");
    let mut commit = made("t", TaskState::Working, at(0));
    let kept = record("k", KeyAnswer::Task("t".into()), 100);
    commit.key = Some(kept.clone());
    store.commit(&ada, &commit).await.unwrap();
    assert_eq!(store.key(&ada, "k", at(0)).await.unwrap(), Some(kept.clone()));

    for (expected, id) in [(0, "u"), (1, "t")] {
        let mut again = advanced(id, expected, TaskState::Completed, at(1));
        again.key = Some(record("k", KeyAnswer::Task(id.into()), 200));
        assert!(matches!(store.commit(&ada, &again).await, Err(Error::KeyTaken)), "{id}");
    }
    assert_eq!(read(&store, &ada, "u").await, None);
    assert_eq!(read(&store, &ada, "t").await.unwrap().head.state, TaskState::Working);

    // A conflict is said before a taken key, and takes no key.
    let mut late = made("t", TaskState::Working, at(0));
    late.key = Some(record("k", message(""), 100));
    assert!(matches!(store.commit(&ada, &late).await, Err(Error::Conflict(_))));
    late.key = Some(record("k-2", message(""), 100));
    assert!(matches!(store.commit(&ada, &late).await, Err(Error::Conflict(_))));
    assert_eq!(store.key(&ada, "k-2", at(0)).await.unwrap(), None);
}

async fn of_64_requests_with_one_key_one_makes_the_task(store: Arc<dyn Store>) {
    for round in 0..4 {
        let mut requests = JoinSet::new();
        for request in 0..64 {
            let store = store.clone();
            requests.spawn(async move {
                let id = format!("t-{round}-{request}");
                let mut commit = made(&id, TaskState::Working, at(0));
                commit.key = Some(record(&format!("k-{round}"), KeyAnswer::Task(id.as_str().into()), 100));
                store.commit(&owner("ada"), &commit).await.map(|()| id)
            });
        }
        let results = requests.join_all().await;
        assert!(results.iter().all(|result| matches!(result, Ok(_) | Err(Error::KeyTaken))), "{results:?}");
        let made: Vec<_> = results.into_iter().filter_map(Result::ok).collect();
        assert_eq!(made.len(), 1);
        let kept = store.key(&owner("ada"), &format!("k-{round}"), at(0)).await.unwrap().unwrap();
        assert_eq!(kept.answer, KeyAnswer::Task(made[0].as_str().into()));
        for request in 0..64 {
            let id = format!("t-{round}-{request}");
            assert_eq!(read(&store, &owner("ada"), &id).await.is_some(), id == made[0]);
        }
    }
}

async fn purging_forgets_keys_that_ran_out(store: Arc<dyn Store>) {
    let ada = owner("ada");
    for until in [10, 20, 30] {
        store.put_key(&ada, record(&format!("k-{until}"), message("hello"), until), at(0)).await.unwrap();
    }
    assert_eq!(store.purge("clerk", at(0), at(20), 100).await.unwrap(), 0, "keys are not counted");
    // Asked as of an earlier time, what was purged is gone and what was not is there.
    for (until, kept) in [(10, false), (20, false), (30, true)] {
        assert_eq!(store.key(&ada, &format!("k-{until}"), at(0)).await.unwrap().is_some(), kept, "{until}");
    }
}
