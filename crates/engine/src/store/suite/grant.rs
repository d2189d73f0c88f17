//! Grants: who may see a task beside its owner, and until when.

use std::sync::Arc;

use chancery_core::{TaskId, TaskState};

use super::{at, made, owner, rules, strangers};
use crate::store::{Grantee, Owner, Store};

rules!(
    a_bearer_grant_opens_its_task_until_it_runs_out,
    a_subject_grant_is_for_one_task_one_tenant_and_one_agent,
    only_a_task_of_the_scope_can_be_granted,
    a_new_grant_takes_the_place_of_the_old_one,
    a_digest_is_no_subject,
    purging_forgets_grants_that_ran_out,
    a_task_that_is_deleted_takes_its_grants_with_it,
);

fn id(text: &str) -> TaskId {
    TaskId::from(text)
}

fn bearer(digest: &str) -> Grantee {
    Grantee::Bearer(digest.to_owned())
}

fn subject(subject: &str) -> Grantee {
    Grantee::Subject(subject.to_owned())
}

async fn make(store: &Arc<dyn Store>, task: &str) {
    store.commit(&owner("ada"), &made(task, TaskState::Completed, at(0))).await.unwrap();
}

async fn put(store: &Arc<dyn Store>, task: &str, grantee: &Grantee, until: i64) {
    assert!(store.put_grant(&owner("ada"), &id(task), grantee, at(until)).await.unwrap());
}

async fn a_bearer_grant_opens_its_task_until_it_runs_out(store: Arc<dyn Store>) {
    make(&store, "t").await;
    put(&store, "t", &bearer("d"), 100).await;
    let opened = Some((owner("ada"), id("t")));
    assert_eq!(store.bearer_grant("clerk", "d", at(99)).await.unwrap(), opened);
    assert_eq!(store.bearer_grant("clerk", "d", at(100)).await.unwrap(), None);
    assert_eq!(store.bearer_grant("clerk", "e", at(0)).await.unwrap(), None);
    assert_eq!(store.bearer_grant("porter", "d", at(0)).await.unwrap(), None, "of another agent");
}

async fn a_subject_grant_is_for_one_task_one_tenant_and_one_agent(store: Arc<dyn Store>) {
    make(&store, "t").await;
    make(&store, "u").await;
    put(&store, "t", &subject("bob"), 100).await;
    assert_eq!(store.subject_grant(&owner("bob"), &id("t"), at(99)).await.unwrap(), Some(owner("ada")));
    assert_eq!(store.subject_grant(&owner("bob"), &id("t"), at(100)).await.unwrap(), None);
    assert_eq!(store.subject_grant(&owner("bob"), &id("u"), at(0)).await.unwrap(), None);
    for stranger in strangers("bob") {
        assert_eq!(store.subject_grant(&stranger, &id("t"), at(0)).await.unwrap(), None);
    }
}

async fn only_a_task_of_the_scope_can_be_granted(store: Arc<dyn Store>) {
    make(&store, "t").await;
    for (owner, task) in strangers("ada").into_iter().map(|stranger| (stranger, "t")).chain([(owner("ada"), "u")]) {
        assert!(!store.put_grant(&owner, &id(task), &bearer("d"), at(100)).await.unwrap());
    }
    assert_eq!(store.bearer_grant("clerk", "d", at(0)).await.unwrap(), None);
}

async fn a_new_grant_takes_the_place_of_the_old_one(store: Arc<dyn Store>) {
    make(&store, "t").await;
    for (until, holds) in [(10, false), (100, true), (20, false)] {
        put(&store, "t", &subject("bob"), until).await;
        assert_eq!(store.subject_grant(&owner("bob"), &id("t"), at(50)).await.unwrap().is_some(), holds, "{until}");
    }
}

async fn a_digest_is_no_subject(store: Arc<dyn Store>) {
    make(&store, "t").await;
    put(&store, "t", &bearer("bob"), 100).await;
    assert_eq!(store.subject_grant(&owner("bob"), &id("t"), at(0)).await.unwrap(), None);
    make(&store, "u").await;
    put(&store, "u", &subject("d"), 100).await;
    assert_eq!(store.bearer_grant("clerk", "d", at(0)).await.unwrap(), None);
}

async fn purging_forgets_grants_that_ran_out(store: Arc<dyn Store>) {
    make(&store, "t").await;
    let porter = Owner::of("north", "porter", "ada");
    store.commit(&porter, &made("other", TaskState::Completed, at(0))).await.unwrap();
    store.put_grant(&porter, &id("other"), &bearer("other"), at(10)).await.unwrap();
    for until in [10, 20, 30] {
        put(&store, "t", &bearer(&format!("d-{until}")), until).await;
    }
    assert_eq!(store.purge("clerk", at(0), at(20), 100).await.unwrap(), 0, "grants are not counted");
    // Asked as of an earlier time, what was purged is gone and what was not is there.
    for (until, kept) in [(10, false), (20, false), (30, true)] {
        assert_eq!(store.bearer_grant("clerk", &format!("d-{until}"), at(0)).await.unwrap().is_some(), kept, "{until}");
    }
    assert!(store.bearer_grant("porter", "other", at(0)).await.unwrap().is_some(), "of another agent");
}

async fn a_task_that_is_deleted_takes_its_grants_with_it(store: Arc<dyn Store>) {
    make(&store, "t").await;
    put(&store, "t", &bearer("d"), 1_000).await;
    put(&store, "t", &subject("bob"), 1_000).await;
    assert_eq!(store.purge("clerk", at(100), at(100), 10).await.unwrap(), 1);
    store.commit(&owner("carl"), &made("t", TaskState::Working, at(200))).await.unwrap();
    assert_eq!(store.bearer_grant("clerk", "d", at(200)).await.unwrap(), None);
    assert_eq!(store.subject_grant(&owner("bob"), &id("t"), at(200)).await.unwrap(), None);
}
