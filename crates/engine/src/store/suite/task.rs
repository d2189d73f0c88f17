//! Commits, reads, and what purging leaves.

use std::sync::Arc;

use chancery_core::{Bytes, Seq, TaskId, TaskState};
use tokio::task::JoinSet;

use super::{advanced, at, made, owner, payload, read, rules, strangers};
use crate::store::{Error, Filter, Lease, Row, Store};

rules!(
    a_commit_is_read_as_it_was_written,
    a_snapshot_hides_the_rows_before_it,
    a_commit_needs_the_newest_sequence,
    of_commits_at_once_exactly_one_wins,
    commits_to_many_tasks_at_once_all_happen,
    rows_are_read_after_a_cursor,
    an_id_is_unique_over_all_scopes,
    strangers_see_nothing,
    any_bytes_and_any_text_are_kept,
    purging_takes_old_finished_tasks_only,
);

async fn a_commit_is_read_as_it_was_written(store: Arc<dyn Store>) {
    let ada = owner("ada");
    let mut commit = made("t", TaskState::Working, at(0));
    commit.lease = Some(Lease::new("host-1", at(15_000), 1));
    store.commit(&ada, &commit).await.unwrap();
    let stored = read(&store, &ada, "t").await.unwrap();
    assert_eq!(stored.head, commit.head);
    assert_eq!((stored.snapshot, stored.rows, stored.lease), (None, vec![commit.row], commit.lease));

    let done = advanced("t", 1, TaskState::Completed, at(7));
    store.commit(&ada, &done).await.unwrap();
    let stored = read(&store, &ada, "t").await.unwrap();
    assert_eq!((stored.head, stored.rows.len(), stored.lease), (done.head, 2, None));
    assert_eq!(read(&store, &ada, "another").await, None);
}

async fn a_snapshot_hides_the_rows_before_it(store: Arc<dyn Store>) {
    let ada = owner("ada");
    for (expected, snapshot) in [(0, None), (1, Some("two")), (2, None), (3, Some("four")), (4, None)] {
        let mut commit = advanced("t", expected, TaskState::Working, at(0));
        commit.snapshot = snapshot.map(Bytes::from);
        store.commit(&ada, &commit).await.unwrap();
    }
    let stored = read(&store, &ada, "t").await.unwrap();
    assert_eq!(stored.snapshot, Some((Seq::new(4), Bytes::from("four"))));
    assert_eq!(stored.rows, [Row::new(Seq::new(5), Seq::new(5), payload("t", 5))]);
    // The log itself stays whole.
    assert_eq!(store.rows(&ada, &TaskId::from("t"), Seq::START, 100).await.unwrap().len(), 5);
}

async fn a_commit_needs_the_newest_sequence(store: Arc<dyn Store>) {
    let ada = owner("ada");
    let refused = async |expected| store.commit(&ada, &advanced("t", expected, TaskState::Completed, at(9))).await;
    assert!(matches!(refused(1).await, Err(Error::Conflict(id)) if id == "t"), "there is no such task yet");
    store.commit(&ada, &made("t", TaskState::Working, at(0))).await.unwrap();
    store.commit(&ada, &advanced("t", 1, TaskState::Working, at(1))).await.unwrap();
    let before = read(&store, &ada, "t").await;
    for expected in [0, 1, 3] {
        assert!(matches!(refused(expected).await, Err(Error::Conflict(id)) if id == "t"), "{expected}");
    }
    assert_eq!(read(&store, &ada, "t").await, before, "a refused commit leaves no trace");
    let total = store.list(&ada, Filter { limit: 9, ..Filter::default() }).await.unwrap().total;
    assert_eq!(total, 1);
}

async fn of_commits_at_once_exactly_one_wins(store: Arc<dyn Store>) {
    for expected in 0..8 {
        let mut writers = JoinSet::new();
        for writer in 0..16 {
            let store = store.clone();
            writers.spawn(async move {
                let mut commit = advanced("t", expected, TaskState::Working, at(0));
                commit.row.payload = format!("event {} by {writer}", expected + 1).into();
                store.commit(&owner("ada"), &commit).await.map(|()| commit.row)
            });
        }
        let results = writers.join_all().await;
        assert!(results.iter().all(|result| matches!(result, Ok(_) | Err(Error::Conflict(_)))), "{results:?}");
        let won: Vec<_> = results.into_iter().filter_map(Result::ok).collect();
        assert_eq!(won.len(), 1, "{won:?}");
        let rows = store.rows(&owner("ada"), &TaskId::from("t"), Seq::new(expected), 9).await.unwrap();
        assert_eq!(rows, won);
    }
}

async fn commits_to_many_tasks_at_once_all_happen(store: Arc<dyn Store>) {
    let mut writers = JoinSet::new();
    for writer in 0..64 {
        let store = store.clone();
        writers.spawn(async move {
            let (ada, id) = (owner("ada"), format!("t-{writer}"));
            for expected in 0..4 {
                store.commit(&ada, &advanced(&id, expected, TaskState::Working, at(0))).await.unwrap();
                // Whoever was answered finds what was written.
                assert_eq!(read(&store, &ada, &id).await.unwrap().head.seq, Seq::new(expected + 1));
            }
        });
    }
    writers.join_all().await;
    let listing = store.list(&owner("ada"), Filter { limit: 100, ..Filter::default() }).await.unwrap();
    assert_eq!((listing.total, listing.tasks.len()), (64, 64));
}

async fn rows_are_read_after_a_cursor(store: Arc<dyn Store>) {
    let (ada, id) = (owner("ada"), TaskId::from("t"));
    // Rows of events 1, 2-4, 5, 6-8, 9.
    let mut rows = Vec::new();
    for (first, last) in [(1, 1), (2, 4), (5, 5), (6, 8), (9, 9)] {
        let mut commit = advanced("t", first - 1, TaskState::Working, at(0));
        commit.head.seq = Seq::new(last);
        commit.row.last = Seq::new(last);
        rows.push(commit.row.clone());
        store.commit(&ada, &commit).await.unwrap();
    }
    let get = async |after, limit| store.rows(&ada, &id, Seq::new(after), limit).await.unwrap();
    assert_eq!(get(0, 100).await, rows);
    assert_eq!(get(0, 1).await, rows[..1]);
    assert_eq!(get(1, 3).await, rows[1..2]);
    assert_eq!(get(2, 2).await, rows[1..2], "a row that holds the next event comes whole");
    assert_eq!(get(4, 2).await, rows[2..4]);
    assert_eq!(get(8, usize::MAX).await, rows[4..]);
    assert_eq!(get(9, 100).await, []);
    assert_eq!(get(u64::MAX, 100).await, []);
}

async fn an_id_is_unique_over_all_scopes(store: Arc<dyn Store>) {
    store.commit(&owner("ada"), &made("t", TaskState::Working, at(0))).await.unwrap();
    for stranger in strangers("ada") {
        for expected in [0, 1] {
            let refused = store.commit(&stranger, &advanced("t", expected, TaskState::Failed, at(1))).await;
            assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
        }
    }
    assert_eq!(read(&store, &owner("ada"), "t").await.unwrap().head.state, TaskState::Working);
}

async fn strangers_see_nothing(store: Arc<dyn Store>) {
    store.commit(&owner("ada"), &made("t", TaskState::Working, at(0))).await.unwrap();
    store.commit(&owner("somebody"), &made("u", TaskState::Working, at(0))).await.unwrap();
    for stranger in strangers("ada") {
        assert_eq!(read(&store, &stranger, "t").await, None);
        assert_eq!(store.rows(&stranger, &TaskId::from("t"), Seq::START, 9).await.unwrap(), []);
        let listing = store.list(&stranger, Filter { limit: 9, ..Filter::default() }).await.unwrap();
        assert!(listing.tasks.iter().all(|task| task.head.id != "t"));
        assert!(listing.total < 2);
    }
}

async fn any_bytes_and_any_text_are_kept(store: Arc<dyn Store>) {
    let odd = ["", "'; DROP TABLE task; --", "港\u{0}\u{2028}🚢", "%_*?", "a\nb"];
    for (place, id) in odd.into_iter().enumerate() {
        let ada = crate::store::Owner::of(id, "clerk", id);
        let mut commit = made(id, TaskState::Working, at(0));
        commit.head.context = id.into();
        commit.row.payload = Bytes::from((0..=255).cycle().take(place * 5_000).collect::<Vec<u8>>());
        commit.snapshot = Some(commit.row.payload.clone());
        store.commit(&ada, &commit).await.unwrap();
        let stored = read(&store, &ada, id).await.unwrap();
        assert_eq!((stored.head, stored.snapshot), (commit.head, Some((Seq::new(1), commit.row.payload))), "{id:?}");
        let found = store.list(&ada, Filter { context: Some(id.into()), limit: 9, ..Filter::default() }).await.unwrap();
        assert_eq!(found.total, 1, "{id:?}");
    }
}

async fn purging_takes_old_finished_tasks_only(store: Arc<dyn Store>) {
    let (ada, ben) = (owner("ada"), owner("ben"));
    for (place, state) in TaskState::ALL.iter().enumerate() {
        store.commit(&ada, &made(&format!("old-{place}"), *state, at(0))).await.unwrap();
        store.commit(&ben, &made(&format!("new-{place}"), *state, at(1_000))).await.unwrap();
    }
    let total = async |owner| store.list(owner, Filter { limit: 0, ..Filter::default() }).await.unwrap().total;
    let (all, over) = (TaskState::ALL.len(), TaskState::ALL.iter().filter(|state| state.is_terminal()).count());
    assert_eq!((total(&ada).await, total(&ben).await), (all, all));
    assert_eq!(store.purge("clerk", at(0), at(0), 100).await.unwrap(), 0, "only what is older");
    assert_eq!(store.purge("clerk", at(1), at(0), over - 1).await.unwrap(), over - 1, "no more than asked for");
    assert_eq!(store.purge("clerk", at(1), at(0), 100).await.unwrap(), 1);
    assert_eq!((total(&ada).await, total(&ben).await), (all - over, all));
    for (place, state) in TaskState::ALL.iter().enumerate() {
        let id = format!("old-{place}");
        assert_eq!(read(&store, &ada, &id).await.is_none(), state.is_terminal(), "{state}");
        let rows = store.rows(&ada, &TaskId::from(id), Seq::START, 9).await.unwrap();
        assert_eq!(rows.is_empty(), state.is_terminal(), "{state}");
    }
    // The id is free again, and nothing of the old task comes back.
    let again = made(&format!("old-{}", TaskState::Completed as usize), TaskState::Working, at(5));
    store.commit(&ada, &again).await.unwrap();
    assert_eq!(read(&store, &ada, again.head.id.as_str()).await.unwrap().rows, [again.row]);
}
