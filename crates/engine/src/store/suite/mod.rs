//! The contract of a store, as a program: what every implementation must do, in the same way.
//!
//! ```no_run
//! # async fn example() {
//! use std::sync::Arc;
//! use chancery_engine::store::{Memory, Store, suite};
//! suite::run(async || Arc::new(Memory::new()) as Arc<dyn Store>).await;
//! # }
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a broken rule ends the suite with a panic that says which")]

mod grant;
mod key;
mod lease;
mod list;
mod name;
mod push;
mod task;

use std::{pin::Pin, sync::Arc};

use chancery_core::{Bytes, Seq, TaskId, TaskState, Timestamp};

use super::{Commit, Owner, Row, Store, Stored, TaskFacts};

/// Checks every rule, each with a new and empty store from `make`.
///
/// # Panics
/// When a rule is broken.
pub async fn run(make: impl AsyncFn() -> Arc<dyn Store>) {
    for group in [task::RULES, list::RULES, key::RULES, grant::RULES, name::RULES, lease::RULES, push::RULES] {
        for (name, rule) in group {
            tracing::debug!(name, "rule");
            rule(make().await).await;
        }
    }
}

/// A named rule.
type Rule = (&'static str, fn(Arc<dyn Store>) -> Pin<Box<dyn Future<Output = ()>>>);

/// The rules by their names.
macro_rules! rules {
    ($($name:ident),* $(,)?) => {
        pub(super) const RULES: &[super::Rule] = &[$((stringify!($name), |store| Box::pin($name(store)))),*];
    };
}
use rules;

/// Milliseconds after a certain moment.
fn at(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(1_772_442_907_000 + millis).unwrap()
}

fn owner(subject: &str) -> Owner {
    Owner::of("north", "clerk", subject)
}

/// Owners that differ from `owner(subject)` in one part each.
fn strangers(subject: &str) -> [Owner; 3] {
    [owner("somebody"), Owner::of("north", "porter", subject), Owner::new("clerk", subject)]
}

/// A commit that makes a task with one event.
fn made(id: &str, state: TaskState, updated: Timestamp) -> Commit {
    advanced(id, 0, state, updated)
}

/// A commit of one event after `expected`.
fn advanced(id: &str, expected: u64, state: TaskState, updated: Timestamp) -> Commit {
    let seq = Seq::new(expected + 1);
    let head = TaskFacts::new(id, format!("context of {id}"), state, updated, seq);
    Commit::new(head, Seq::new(expected), Row::new(seq, seq, payload(id, expected + 1)))
}

fn payload(id: &str, seq: u64) -> Bytes {
    format!("event {seq} of {id}").into()
}

async fn read(store: &Arc<dyn Store>, owner: &Owner, id: &str) -> Option<Stored> {
    store.task(owner, &TaskId::from(id)).await.unwrap()
}
