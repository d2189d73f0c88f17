//! Lists: order, pages, filters, totals.

use std::sync::Arc;

use chancery_core::{TaskId, TaskState, Timestamp};
use tokio::task::JoinSet;

use super::{advanced, at, made, owner, rules};
use crate::store::{Commit, Filter, Listing, Store};

rules!(
    the_newest_status_comes_first_and_ties_are_broken_by_id,
    every_nanosecond_counts_in_the_order,
    pages_join_without_gap_or_repeat,
    pages_go_on_while_tasks_arrive_and_move,
    filters_agree_with_a_plain_search,
    totals_follow_every_change,
    totals_are_right_when_they_are_asked_for_among_commits,
);

async fn list(store: &Arc<dyn Store>, filter: Filter) -> Listing {
    store.list(&owner("ada"), filter).await.unwrap()
}

fn ids(listing: &Listing) -> Vec<&str> {
    listing.tasks.iter().map(|task| task.head.id.as_str()).collect()
}

fn first(limit: usize) -> Filter {
    Filter { limit, ..Filter::default() }
}

async fn the_newest_status_comes_first_and_ties_are_broken_by_id(store: Arc<dyn Store>) {
    for (id, updated) in [("b", 5), ("a", 5), ("Z", 5), ("é", 5), ("c", 9), ("d", 1), ("ab", 5)] {
        store.commit(&owner("ada"), &made(id, TaskState::Working, at(updated))).await.unwrap();
    }
    assert_eq!(ids(&list(&store, first(100)).await), ["c", "é", "b", "ab", "a", "Z", "d"]);
    store.commit(&owner("ada"), &advanced("d", 1, TaskState::Completed, at(10))).await.unwrap();
    assert_eq!(ids(&list(&store, first(2)).await), ["d", "c"]);
    let none = list(&store, first(0)).await;
    assert_eq!((none.tasks.len(), none.total), (0, 7));
}

async fn every_nanosecond_counts_in_the_order(store: Arc<dyn Store>) {
    let moments = [(-5_000_000_000, 0), (-1, 999_999_998), (-1, 999_999_999), (0, 0), (0, 1), (1_772_442_907, 1), (9_000_000_000, 0)];
    for (place, (seconds, nanos)) in moments.into_iter().enumerate() {
        // Ids in the opposite order, so that they cannot help.
        let id = format!("t-{}", 9 - place);
        let updated = Timestamp::from_unix(seconds, nanos).unwrap();
        store.commit(&owner("ada"), &made(&id, TaskState::Working, updated)).await.unwrap();
        assert_eq!(list(&store, first(1)).await.tasks[0].head.updated, updated);
    }
    let all = list(&store, first(100)).await;
    assert_eq!(ids(&all), ["t-3", "t-4", "t-5", "t-6", "t-7", "t-8", "t-9"]);
    let from = Filter { updated_from: Timestamp::from_unix(-1, 999_999_999), ..first(100) };
    assert_eq!(list(&store, from).await.total, 5);
}

/// Reads all pages of a list.
async fn pages(store: &Arc<dyn Store>, filter: &Filter, limit: usize) -> Vec<TaskId> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = list(store, Filter { after, limit, ..filter.clone() }).await;
        found.extend(page.tasks.iter().map(|task| task.head.id.clone()));
        after = match page.tasks.last() {
            Some(last) if page.tasks.len() == limit => Some((last.head.updated, last.head.id.clone())),
            _ => return found,
        };
    }
}

async fn pages_join_without_gap_or_repeat(store: Arc<dyn Store>) {
    for place in 0..50 {
        // Ten at a time have the same time of status.
        store.commit(&owner("ada"), &made(&format!("t-{place:02}"), TaskState::Working, at(place / 10))).await.unwrap();
    }
    let expected: Vec<_> = (0..50).rev().map(|place| TaskId::from(format!("t-{place:02}"))).collect();
    for limit in [1, 3, 7, 10, 49, 50, 51] {
        assert_eq!(pages(&store, &Filter::default(), limit).await, expected, "{limit}");
    }
}

async fn pages_go_on_while_tasks_arrive_and_move(store: Arc<dyn Store>) {
    let ada = owner("ada");
    for place in 0..10 {
        store.commit(&ada, &made(&format!("t-{place}"), TaskState::Working, at(place))).await.unwrap();
    }
    let page = list(&store, first(4)).await;
    assert_eq!(ids(&page), ["t-9", "t-8", "t-7", "t-6"]);
    let last = &page.tasks[3].head;
    // One arrives, one that was seen moves up, one that was not seen moves up, the last one seen too.
    store.commit(&ada, &made("t-new", TaskState::Working, at(100))).await.unwrap();
    for (id, moment) in [("t-8", 101), ("t-4", 102), ("t-6", 103)] {
        store.commit(&ada, &advanced(id, 1, TaskState::Completed, at(moment))).await.unwrap();
    }
    let rest = list(&store, Filter { after: Some((last.updated, last.id.clone())), ..first(100) }).await;
    assert_eq!((ids(&rest), rest.total), (vec!["t-5", "t-3", "t-2", "t-1", "t-0"], 11));
}

async fn filters_agree_with_a_plain_search(store: Arc<dyn Store>) {
    let mut tasks = Vec::new();
    for place in 0..60 {
        let state = TaskState::ALL[place % TaskState::ALL.len()];
        let mut commit = made(&format!("t-{place:02}"), state, at(i64::try_from(place).unwrap() / 4));
        commit.head.context = format!("c-{}", place % 5).into();
        tasks.push(commit.head.clone());
        store.commit(&owner("ada"), &commit).await.unwrap();
    }
    tasks.sort_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
    let contexts = [None, Some("c-2"), Some("c-9")];
    let states = TaskState::ALL.iter().map(|state| Some(*state)).chain([None]);
    for (context, state) in contexts.iter().flat_map(|context| states.clone().map(move |state| (*context, state))) {
        for updated_from in [None, Some(at(5)), Some(at(99))] {
            let filter = Filter { context: context.map(Into::into), state, updated_from, ..Filter::default() };
            let fits = tasks.iter().filter(|head| {
                context.is_none_or(|context| head.context == context)
                    && state.is_none_or(|state| head.state == state)
                    && updated_from.is_none_or(|from| head.updated >= from)
            });
            let fitting: Vec<_> = fits.map(|head| head.id.clone()).collect();
            assert_eq!(pages(&store, &filter, 3).await, fitting, "{filter:?}");
            let page = list(&store, Filter { after: Some((at(7), "t-30".into())), limit: 1, ..filter.clone() }).await;
            assert_eq!(page.total, fitting.len(), "{filter:?}");
        }
    }
}

async fn totals_follow_every_change(store: Arc<dyn Store>) {
    let total = async |state| list(&store, Filter { state, ..first(0) }).await.total;
    let (working, completed) = (Some(TaskState::Working), Some(TaskState::Completed));
    assert_eq!((total(None).await, total(working).await), (0, 0));
    let commits: [(Commit, [usize; 3]); 5] = [
        (made("a", TaskState::Working, at(0)), [1, 1, 0]),
        (made("b", TaskState::Completed, at(0)), [2, 1, 1]),
        (advanced("a", 1, TaskState::Working, at(1)), [2, 1, 1]),
        (advanced("a", 2, TaskState::Completed, at(1)), [2, 0, 2]),
        (made("c", TaskState::Working, at(2)), [3, 1, 2]),
    ];
    for (commit, expected) in commits {
        store.commit(&owner("ada"), &commit).await.unwrap();
        assert_eq!([total(None).await, total(working).await, total(completed).await], expected);
        store.commit(&owner("ada"), &commit).await.unwrap_err();
        assert_eq!([total(None).await, total(working).await, total(completed).await], expected, "a refused commit counts nothing");
    }
    store.purge("clerk", at(1), at(0), 100).await.unwrap();
    assert_eq!([total(None).await, total(working).await, total(completed).await], [2, 1, 1]);
}

async fn totals_are_right_when_they_are_asked_for_among_commits(store: Arc<dyn Store>) {
    // Each owner's first list comes while tasks are made for it.
    for round in 0..20 {
        let owner = owner(&format!("owner-{round}"));
        let mut all = JoinSet::new();
        for task in 0..20 {
            let (store, owner) = (store.clone(), owner.clone());
            all.spawn(async move {
                if task % 4 == 3 {
                    assert!(store.list(&owner, first(0)).await.unwrap().total <= 15);
                } else {
                    store.commit(&owner, &made(&format!("t-{round}-{task}"), TaskState::Working, at(0))).await.unwrap();
                }
            });
        }
        all.join_all().await;
        assert_eq!(store.list(&owner, first(0)).await.unwrap().total, 15, "{round}");
    }
}
