//! Names that stand for tasks.

use std::sync::Arc;

use chancery_core::{TaskId, TaskState};

use super::{at, made, owner, rules, strangers};
use crate::store::Store;

rules!(
    an_id_is_taken_whoever_has_it,
    a_name_belongs_to_its_scope,
    the_last_note_of_a_name_counts,
    purging_forgets_names_of_tasks_that_are_gone
);

fn id(text: &str) -> TaskId {
    TaskId::from(text)
}

async fn an_id_is_taken_whoever_has_it(store: Arc<dyn Store>) {
    assert!(!store.taken(&id("t")).await.unwrap());
    store.commit(&owner("ada"), &made("t", TaskState::Working, at(0))).await.unwrap();
    assert!(store.taken(&id("t")).await.unwrap());
    assert!(!store.taken(&id("u")).await.unwrap());
}

async fn a_name_belongs_to_its_scope(store: Arc<dyn Store>) {
    let ada = owner("ada");
    assert_eq!(store.alias(&ada, &id("n")).await.unwrap(), None);
    store.put_alias(&ada, &id("n"), &id("t"), at(0)).await.unwrap();
    assert_eq!(store.alias(&ada, &id("n")).await.unwrap(), Some(id("t")));
    assert_eq!(store.alias(&ada, &id("t")).await.unwrap(), None);
    for stranger in strangers("ada") {
        assert_eq!(store.alias(&stranger, &id("n")).await.unwrap(), None);
        store.put_alias(&stranger, &id("n"), &id("u"), at(0)).await.unwrap();
    }
    assert_eq!(store.alias(&ada, &id("n")).await.unwrap(), Some(id("t")));
}

async fn the_last_note_of_a_name_counts(store: Arc<dyn Store>) {
    let ada = owner("ada");
    for task in ["t", "u", "v"] {
        store.put_alias(&ada, &id("n"), &id(task), at(0)).await.unwrap();
        assert_eq!(store.alias(&ada, &id("n")).await.unwrap(), Some(id(task)));
    }
}

async fn purging_forgets_names_of_tasks_that_are_gone(store: Arc<dyn Store>) {
    let ada = owner("ada");
    for (task, updated) in [("old", 0), ("fresh", 500)] {
        store.commit(&ada, &made(task, TaskState::Completed, at(updated))).await.unwrap();
    }
    for (name, task, since) in [("a", "old", 0), ("b", "fresh", 0), ("c", "never made", 0), ("d", "about to be made", 500)] {
        store.put_alias(&ada, &id(name), &id(task), at(since)).await.unwrap();
    }
    store.purge("porter", at(100), at(600), 10).await.unwrap();
    assert_eq!(store.alias(&ada, &id("a")).await.unwrap(), Some(id("old")));
    assert_eq!(store.purge("clerk", at(100), at(600), 10).await.unwrap(), 1);
    for (name, task) in [("a", None), ("b", Some("fresh")), ("c", None), ("d", Some("about to be made"))] {
        assert_eq!(store.alias(&ada, &id(name)).await.unwrap(), task.map(id), "{name}");
    }
}
