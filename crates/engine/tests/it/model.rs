//! Random operations on three stores: a plain one says what the one in memory and the one in a file must answer.

mod plain;

use std::{fmt::Debug, ops::Range};

use chancery_core::{Bytes, PushConfigId, Seq, TaskId, TaskState, Timestamp};
use chancery_engine::store::{
    Commit, Delivery, Filter, Grantee, KeyAnswer, KeyRecord, Lease, Memory, Owner, Row, Settled, Sqlite, Store, TaskFacts,
    sqlite::{Durability, Options},
};

use crate::folder::Folder;
use plain::Plain;

const SEQUENCES: u64 = 10_000;
const WORKERS: u64 = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_stores_answer_as_a_plain_one_does() {
    let folder = Folder::new();
    let workers = (0..WORKERS).map(|worker| {
        let file = folder.file(&format!("{worker}.db"));
        tokio::spawn(async move {
            let sqlite = Sqlite::open_with(file, Options::new().durability(Durability::Process)).await.unwrap();
            let stores = Stores { plain: Plain::default(), memory: Memory::new(), sqlite };
            let share = SEQUENCES / WORKERS;
            cases(&stores, worker * share..(worker + 1) * share).await;
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
}

async fn cases(stores: &Stores, numbers: Range<u64>) {
    // All stores number deliveries in the order they are made.
    let mut deliveries = 0;
    for case in numbers {
        let mut random = Random(case);
        let mut done = Vec::new();
        for _ in 0..6 + random.below(10) {
            let operation = random.operation(case, stores, deliveries).await;
            let [answer, memory, sqlite] = stores.run(&operation).await;
            assert_eq!(memory, answer, "memory, case {case}, {operation:#?} after {done:#?}");
            assert_eq!(sqlite, answer, "SQLite, case {case}, {operation:#?} after {done:#?}");
            if let (Operation::Commit(_, commit), "Ok(())") = (&operation, &*answer) {
                deliveries += commit.deliveries.len() as u64;
            }
            done.push(operation);
        }
        stores.clear(case).await;
    }
}

struct Stores {
    plain: Plain,
    memory: Memory,
    sqlite: Sqlite,
}

impl Stores {
    async fn run(&self, operation: &Operation) -> [String; 3] {
        [operation.run(&self.plain).await, operation.run(&self.memory).await, operation.run(&self.sqlite).await]
    }

    /// Finishes and purges all tasks, so that the next case begins with nothing.
    async fn clear(&self, case: u64) {
        for (owner, id) in OWNERS.iter().flat_map(|subject| TASKS.map(|task| (owner(subject), id(case, task)))) {
            let Some(task) = self.plain.task(&owner, &id).await.unwrap() else { continue };
            assert_eq!(self.memory.task(&owner, &id).await.unwrap().as_ref(), Some(&task), "case {case}");
            assert_eq!(self.sqlite.task(&owner, &id).await.unwrap().as_ref(), Some(&task), "case {case}");
            let seq = task.head.seq.next();
            let head = TaskFacts::new(id, task.head.context, TaskState::Completed, at(1), seq);
            let commit = Operation::Commit(owner, Box::new(Commit::new(head, task.head.seq, Row::new(seq, seq, Bytes::new()))));
            let [answer, memory, sqlite] = self.run(&commit).await;
            assert_eq!([&memory, &sqlite], [&answer, &answer]);
        }
        let [answer, memory, sqlite] = self.run(&Operation::Purge(at(1_000), at(1_000))).await;
        assert_eq!([&memory, &sqlite], [&answer, &answer], "case {case}");
        assert_eq!(self.sqlite.next_due("clerk").await.unwrap(), None, "case {case}");
    }
}

const OWNERS: [&str; 2] = ["ada", "ben"];
const TASKS: [&str; 3] = ["a", "b", "c"];
const CONFIGS: [&str; 2] = ["p", "q"];

fn owner(subject: &str) -> Owner {
    Owner::new("clerk", subject)
}

fn id(case: u64, task: &str) -> TaskId {
    format!("{case}-{task}").into()
}

/// Few and close, so that they often meet; some finer than a millisecond.
fn at(moment: i64) -> Timestamp {
    Timestamp::from_unix(1_772_442_907 + moment.div_euclid(4), i32::try_from(moment.rem_euclid(4)).unwrap()).unwrap()
}

#[derive(Debug)]
enum Operation {
    Commit(Owner, Box<Commit>),
    Task(Owner, TaskId),
    Rows(Owner, TaskId, Seq, usize),
    List(Owner, Filter),
    Key(Owner, String, Timestamp),
    PutKey(Owner, KeyRecord, Timestamp),
    PutConfig(Owner, TaskId, PushConfigId, Bytes),
    Configs(Owner, TaskId),
    DeleteConfig(Owner, TaskId, PushConfigId),
    PutGrant(Owner, TaskId, Grantee, Timestamp),
    SubjectGrant(Owner, TaskId, Timestamp),
    Renew(String, Timestamp),
    Expired(Timestamp, usize),
    Due(Timestamp, Timestamp, usize),
    NextDue,
    Settle(u64, Settled),
    Dead(Owner, usize),
    Revive(Owner, TaskId, Timestamp),
    Purge(Timestamp, Timestamp),
}

impl Operation {
    /// The answer, as text.
    async fn run(&self, store: &dyn Store) -> String {
        fn text(answer: impl Debug) -> String {
            format!("{answer:?}")
        }
        match self {
            Self::Commit(owner, commit) => text(store.commit(owner, commit).await),
            Self::Task(owner, task) => text(store.task(owner, task).await),
            Self::Rows(owner, task, after, limit) => text(store.rows(owner, task, *after, *limit).await),
            Self::List(owner, filter) => text(store.list(owner, filter.clone()).await),
            Self::Key(owner, key, now) => text(store.key(owner, key, *now).await),
            Self::PutKey(owner, record, now) => text(store.put_key(owner, record.clone(), *now).await),
            Self::PutConfig(owner, task, id, bytes) => text(store.put_config(owner, task, id, bytes.clone()).await),
            Self::Configs(owner, task) => text(store.configs(owner, task).await),
            Self::DeleteConfig(owner, task, id) => text(store.delete_config(owner, task, id).await),
            Self::PutGrant(owner, task, grantee, until) => text(store.put_grant(owner, task, grantee, *until).await),
            Self::SubjectGrant(caller, task, now) => text(store.subject_grant(caller, task, *now).await),
            Self::Renew(holder, until) => text(store.renew(holder, *until).await),
            Self::Expired(now, limit) => text(store.expired("clerk", *now, *limit).await),
            Self::Due(now, lease, limit) => text(store.due("clerk", *now, *lease, *limit).await),
            Self::NextDue => text(store.next_due("clerk").await),
            Self::Settle(id, settled) => text(store.settle(*id, *settled).await),
            Self::Dead(owner, limit) => text(store.dead(owner, *limit).await),
            Self::Revive(owner, task, now) => text(store.revive(owner, task, *now).await),
            Self::Purge(before, now) => text(store.purge("clerk", *before, *now, 1_000).await),
        }
    }
}

/// SplitMix64: the same case makes the same operations.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.bits() % end as u64).unwrap()
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.chance(2).then(|| make(self))
    }

    fn at(&mut self) -> Timestamp {
        at(i64::try_from(self.below(24)).unwrap() - 4)
    }

    fn bytes(&mut self) -> Bytes {
        // More than a page now and then.
        let length = if self.chance(50) { 5_000 } else { self.pick(&[0, 3, 40]) };
        Bytes::from(vec![u8::try_from(self.below(256)).unwrap(); length])
    }

    fn task(&mut self, case: u64) -> TaskId {
        id(case, self.pick(&TASKS))
    }

    fn config(&mut self) -> PushConfigId {
        self.pick(&CONFIGS).into()
    }

    fn key(&mut self, case: u64) -> String {
        format!("{case}-{}", self.below(3))
    }

    async fn operation(&mut self, case: u64, stores: &Stores, deliveries: u64) -> Operation {
        let owner = owner(self.pick(&OWNERS));
        match self.below(26) {
            0..=7 => self.commit(case, owner, &stores.plain).await,
            8 => Operation::Task(owner, self.task(case)),
            9 => Operation::Rows(owner, self.task(case), Seq::new(self.bits() % 6), self.below(8)),
            10 | 11 => Operation::List(owner, self.filter(case)),
            12 => Operation::Key(owner, self.key(case), self.at()),
            13 => Operation::PutKey(owner, self.record(case), self.at()),
            14 => Operation::PutConfig(owner, self.task(case), self.config(), self.bytes()),
            15 => Operation::Configs(owner, self.task(case)),
            16 => Operation::DeleteConfig(owner, self.task(case), self.config()),
            17 => Operation::Renew(self.pick(&["host-1", "host-2"]).to_owned(), self.at()),
            18 => Operation::Expired(self.at(), 1 + self.below(4)),
            19 => self.delivery(owner, case),
            20 => Operation::Due(self.at(), self.at(), 1 + self.below(6)),
            21 | 22 => self.settle(deliveries),
            23 => Operation::PutGrant(owner, self.task(case), Grantee::Subject(self.pick(&OWNERS).to_owned()), self.at()),
            24 => Operation::SubjectGrant(owner, self.task(case), self.at()),
            _ => Operation::Purge(self.at(), self.at()),
        }
    }

    fn delivery(&mut self, owner: Owner, case: u64) -> Operation {
        match self.below(3) {
            0 => Operation::NextDue,
            1 => Operation::Dead(owner, 1 + self.below(4)),
            _ => Operation::Revive(owner, self.task(case), self.at()),
        }
    }

    /// Of one of the last deliveries, which may wait, be taken, be dead or be gone.
    fn settle(&mut self, deliveries: u64) -> Operation {
        let id = deliveries.saturating_sub(self.bits() % 6);
        let settled = match self.below(3) {
            0 => Settled::Delivered,
            1 => Settled::Retry(self.at()),
            _ => Settled::Dead,
        };
        Operation::Settle(id, settled)
    }

    /// Mostly the next commit of a task; sometimes one that comes too late, or of a stranger.
    async fn commit(&mut self, case: u64, owner: Owner, plain: &Plain) -> Operation {
        let id = self.task(case);
        let current = plain.task(&owner, &id).await.unwrap();
        let newest = current.as_ref().map_or(0, |task| task.head.seq.get());
        let expected = if self.chance(8) { self.bits() % 4 } else { newest };
        let (first, last) = (Seq::new(expected + 1), Seq::new(expected + 1 + self.bits() % 3));
        let context = current.map_or_else(|| self.pick(&["c-1", "c-2"]).into(), |task| task.head.context);
        let head = TaskFacts::new(id, context, self.pick(TaskState::ALL), self.at(), last);
        let mut commit = Commit::new(head, Seq::new(expected), Row::new(first, last, self.bytes()));
        commit.snapshot = self.maybe(Self::bytes);
        commit.lease = self.maybe(|random| Lease::new(random.pick(&["host-1", "host-2"]), random.at(), 1));
        for config in CONFIGS {
            if self.chance(2) {
                commit.deliveries.push(Delivery::new(config.into(), last));
            }
            if self.chance(4) {
                commit.configs.push((config.into(), self.bytes()));
            }
        }
        if self.chance(3) {
            commit.key = Some(self.record(case));
        }
        Operation::Commit(owner, Box::new(commit))
    }

    fn record(&mut self, case: u64) -> KeyRecord {
        let answer = if self.chance(2) { KeyAnswer::Task(self.task(case)) } else { KeyAnswer::Message(self.bytes()) };
        KeyRecord::new(self.key(case), self.bits(), answer, self.at())
    }

    fn filter(&mut self, case: u64) -> Filter {
        let mut filter = Filter::default();
        filter.context = self.maybe(|random| random.pick(&["c-1", "c-2"]).into());
        filter.state = self.maybe(|random| random.pick(TaskState::ALL));
        filter.updated_from = self.maybe(Self::at);
        filter.after = self.maybe(|random| (random.at(), random.task(case)));
        filter.limit = self.below(4);
        filter
    }
}
