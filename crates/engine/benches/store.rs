//! What the SQLite store costs: lists that must not feel how much is stored, and commits against
//! the same rows written by a bare loop.
//!
//! `cargo bench -p chancery-engine --bench store`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and fails by panicking")]

use std::{
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use chancery_core::{Bytes, Seq, TaskId, TaskState, Timestamp};
use chancery_engine::store::{Commit, Filter, Owner, Row, Sqlite, Store, TaskFacts};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

const IN_FLIGHT: u64 = 64;
const PAYLOAD: usize = 600;

fn main() {
    let folder = std::env::temp_dir().join(format!("chancery-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        lists(&folder).await;
        commits(&folder).await;
        streams(&folder).await;
    });
    std::fs::remove_dir_all(&folder).unwrap();
}

fn owner() -> Owner {
    Owner::new("clerk", "ada")
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_unix_millis(1_772_442_907_000 + i64::try_from(millis).unwrap()).unwrap()
}

/// A task that is made and finished in one commit.
fn short(id: &TaskId, number: u64) -> Commit {
    // One in a thousand is still at work; a hundred share a conversation.
    let state = if number.is_multiple_of(1_000) { TaskState::Working } else { TaskState::Completed };
    let head = TaskFacts::new(id.clone(), format!("context-{:08}", number / 100), state, at(number), Seq::new(3));
    Commit::new(head, Seq::START, Row::new(Seq::new(1), Seq::new(3), Bytes::from(vec![b'x'; PAYLOAD])))
}

/// The processor time that this process has used.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(") ").next().unwrap_or_default().to_owned();
    let ticks: u64 = after.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Runs `work` many times, and gives the median of its duration.
async fn median<F: Future<Output = ()>>(times: usize, work: impl Fn(usize) -> F) -> Duration {
    let mut durations = Vec::with_capacity(times);
    for number in 0..times {
        let begun = Instant::now();
        work(number).await;
        durations.push(begun.elapsed());
    }
    durations.sort_unstable();
    durations[times / 2]
}

async fn fill(store: &Arc<Sqlite>, count: u64) -> Vec<TaskId> {
    let ids: Arc<Vec<TaskId>> = Arc::new((0..count).map(|_| TaskId::generate()).collect());
    let mut writers = JoinSet::new();
    for writer in 0..IN_FLIGHT * 8 {
        let (store, ids) = (store.clone(), ids.clone());
        writers.spawn(async move {
            for number in (writer..count).step_by(usize::try_from(IN_FLIGHT * 8).unwrap()) {
                let id = &ids[usize::try_from(number).unwrap()];
                store.commit(&owner(), &short(id, number)).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    Arc::unwrap_or_clone(ids)
}

async fn lists(folder: &Path) {
    println!("lists of 50 and single reads, median in µs");
    println!("{:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>12}", "tasks", "newest", "page 10", "working", "context", "read", "first total");
    let mut newest = Vec::new();
    for count in [1_000, 100_000] {
        let store = Arc::new(Sqlite::open(folder.join(format!("list-{count}.db"))).await.unwrap());
        let ids = fill(&store, count).await;
        let list = async |change: &dyn Fn(&mut Filter)| {
            let mut filter = Filter::default();
            filter.limit = 50;
            change(&mut filter);
            store.list(&owner(), filter).await.unwrap()
        };
        let begun = Instant::now();
        assert_eq!(list(&|_| ()).await.total, usize::try_from(count).unwrap());
        let counted = begun.elapsed();
        let after = (at(count / 2), ids[0].clone());
        let figures = [
            median(500, async |_| assert_eq!(list(&|_| ()).await.tasks.len(), 50)).await,
            median(500, async |_| assert_eq!(list(&|filter| filter.after = Some(after.clone())).await.tasks.len(), 50)).await,
            median(500, async |_| drop(list(&|filter| filter.state = Some(TaskState::Working)).await)).await,
            median(500, async |_| drop(list(&|filter| filter.context = Some("context-00000005".into())).await)).await,
            median(5_000, async |number| drop(store.task(&owner(), &ids[number * 7_919 % ids.len()]).await.unwrap().unwrap())).await,
        ];
        let text: Vec<_> = figures.iter().map(|figure| format!("{:>8}", figure.as_micros())).collect();
        println!("{count:>9} {} {:>12}", text.join(" "), counted.as_micros());
        newest.push(figures[0].as_secs_f64());
        reads(&store, ids).await;
    }
    println!("newest 50 of 100,000 against 1,000: {:.2} times\n", newest[1] / newest[0]);
}

/// Many reads at a time.
async fn reads(store: &Arc<Sqlite>, ids: Vec<TaskId>) {
    const READS: usize = 1_000;
    let (begun, before, ids) = (Instant::now(), processor(), Arc::new(ids));
    let mut readers = JoinSet::new();
    for reader in 0..64 {
        let (store, ids) = (store.clone(), ids.clone());
        readers.spawn(async move {
            for number in 0..READS {
                let id = &ids[(number * 64 + reader) * 7_919 % ids.len()];
                assert!(store.task(&owner(), id).await.unwrap().is_some());
            }
        });
    }
    readers.join_all().await;
    let (each, cost) = (begun.elapsed() / 64_000, (processor() - before) / 64_000);
    println!("{:>9} 64 readers at a time: {each:?} a read, {cost:?} CPU", "");
}

/// What keeps a task, and answers when it is durable.
trait Keeper: Send + Sync + 'static {
    fn keep(&self, id: TaskId, number: u64) -> impl Future<Output = ()> + Send;
}

impl Keeper for Sqlite {
    async fn keep(&self, id: TaskId, number: u64) {
        self.commit(&owner(), &short(&id, number)).await.unwrap();
    }
}

/// The least that could do it: a thread that writes the same two rows and nothing else.
struct Bare(mpsc::Sender<(TaskId, u64, oneshot::Sender<()>)>);

impl Bare {
    fn new(file: PathBuf) -> Self {
        let (jobs, mut queue) = mpsc::channel::<(TaskId, u64, oneshot::Sender<()>)>(4_096);
        std::thread::spawn(move || {
            let connection = rusqlite::Connection::open(file).unwrap();
            connection.pragma_update(None, "synchronous", "full").unwrap();
            connection.pragma_update(None, "cache_size", -65_536).unwrap();
            let mut task =
                connection.prepare("INSERT INTO task (id, owner, context, state, updated, seq) VALUES (?, 1, ?, ?, ?, 3)").unwrap();
            let mut log = connection.prepare("INSERT INTO log (key, first, payload) VALUES (?, 1, ?)").unwrap();
            let mut jobs = Vec::new();
            while queue.blocking_recv_many(&mut jobs, 256) > 0 {
                connection.execute_batch("BEGIN IMMEDIATE").unwrap();
                for (id, number, _) in &jobs {
                    let Commit { head, row, .. } = short(id, *number);
                    let updated = head.updated.unix_millis() * 1_000_000;
                    task.execute(rusqlite::params![id.as_str(), head.context.as_str(), head.state.number(), updated]).unwrap();
                    log.execute(rusqlite::params![connection.last_insert_rowid() << 24 | 3, &*row.payload]).unwrap();
                }
                connection.execute_batch("COMMIT").unwrap();
                jobs.drain(..).for_each(|(_, _, reply)| reply.send(()).unwrap());
            }
        });
        Self(jobs)
    }
}

impl Keeper for Bare {
    async fn keep(&self, id: TaskId, number: u64) {
        let (reply, answer) = oneshot::channel();
        self.0.send((id, number, reply)).await.unwrap();
        answer.await.unwrap();
    }
}

/// Commits for a while, and gives tasks per second and processor time per task.
async fn measure(keeper: Arc<impl Keeper>) -> (f64, f64) {
    let (begun, before) = (Instant::now(), processor());
    let mut writers = JoinSet::new();
    for writer in 0..IN_FLIGHT {
        let keeper = keeper.clone();
        writers.spawn(async move {
            let mut done = 0;
            while begun.elapsed() < Duration::from_secs(4) {
                keeper.keep(TaskId::generate(), done * IN_FLIGHT + writer).await;
                done += 1;
            }
            done
        });
    }
    #[allow(clippy::cast_precision_loss, reason = "a count of a few seconds")]
    let done = writers.join_all().await.into_iter().sum::<u64>() as f64;
    (done / begun.elapsed().as_secs_f64(), (processor() - before).as_secs_f64() * 1e6 / done)
}

async fn commits(folder: &Path) {
    println!("short tasks, one commit each, {IN_FLIGHT} in flight, safe from a loss of power");
    println!("{:>6} {:>9} {:>12}", "", "tasks/s", "CPU µs/task");
    for round in 0..3 {
        let file = folder.join(format!("store-{round}.db"));
        let (rate, cost) = measure(Arc::new(Sqlite::open(file).await.unwrap())).await;
        println!("{:>6} {rate:>9.0} {cost:>12.1}", "store");
        let file = folder.join(format!("bare-{round}.db"));
        let store = Sqlite::open(&file).await.unwrap();
        store.commit(&owner(), &short(&TaskId::generate(), 0)).await.unwrap();
        store.close().await;
        let (rate, cost) = measure(Arc::new(Bare::new(file))).await;
        println!("{:>6} {rate:>9.0} {cost:>12.1}", "bare");
    }
    println!();
}

/// Streams of chunks: each event its own commit, on a task that has a large snapshot.
async fn streams(folder: &Path) {
    let store = Arc::new(Sqlite::open(folder.join("stream.db")).await.unwrap());
    let (begun, before) = (Instant::now(), processor());
    let mut writers = JoinSet::new();
    for _ in 0..16 {
        let store = store.clone();
        writers.spawn(async move {
            let id = TaskId::generate();
            let mut seq = 0;
            while begun.elapsed() < Duration::from_secs(4) {
                let head = TaskFacts::new(id.clone(), "c", TaskState::Working, at(0), Seq::new(seq + 1));
                let row = Row::new(head.seq, head.seq, Bytes::from(vec![b'x'; 200]));
                let mut commit = Commit::new(head, Seq::new(seq), row);
                commit.snapshot = (seq == 0).then(|| Bytes::from(vec![b'x'; 200_000]));
                store.commit(&owner(), &commit).await.unwrap();
                seq += 1;
            }
            seq
        });
    }
    #[allow(clippy::cast_precision_loss, reason = "a count of a few seconds")]
    let done = writers.join_all().await.into_iter().sum::<u64>() as f64;
    let cost = (processor() - before).as_secs_f64() * 1e6 / done;
    println!("16 streams, one commit per event: {:.0} events/s, {cost:.1} µs CPU each", done / begun.elapsed().as_secs_f64());
}
