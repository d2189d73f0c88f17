//! A store that counts what is asked of another one, and what a task costs in commits.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use chancery_core::{Artifact, Bytes, Caller, Operations, PushConfigId, SendMessage, SendReply, Seq, Task, TaskId, TaskState, Timestamp};
use chancery_engine::{
    Engine, Failure, Outcome, Turn,
    store::{Commit, Due, Error, Filter, Grantee, KeyRecord, Lease, Listing, Memory, Owner, Result, Row, Settled, Store, Stored},
};

pub struct Counting {
    inner: Arc<dyn Store>,
    commits: AtomicUsize,
    row_reads: AtomicUsize,
    away: AtomicBool,
}

impl Counting {
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, commits: AtomicUsize::new(0), row_reads: AtomicUsize::new(0), away: AtomicBool::new(false) }
    }

    /// How many commits there were.
    pub fn commits(&self) -> usize {
        self.commits.load(Ordering::Relaxed)
    }

    /// From now on nothing can be committed, or everything again.
    pub fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    /// How often rows of a log were read.
    pub fn row_reads(&self) -> usize {
        self.row_reads.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Store for Counting {
    async fn commit(&self, owner: &Owner, commit: &Commit) -> Result<()> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        if self.away.load(Ordering::SeqCst) {
            return Err(Error::Unavailable("the test took the store away".into()));
        }
        self.inner.commit(owner, commit).await
    }

    async fn task(&self, owner: &Owner, id: &TaskId) -> Result<Option<Stored>> {
        self.inner.task(owner, id).await
    }

    async fn rows(&self, owner: &Owner, id: &TaskId, after: Seq, limit: usize) -> Result<Vec<Row>> {
        self.row_reads.fetch_add(1, Ordering::Relaxed);
        self.inner.rows(owner, id, after, limit).await
    }

    async fn list(&self, owner: &Owner, filter: Filter) -> Result<Listing> {
        self.inner.list(owner, filter).await
    }

    async fn key(&self, owner: &Owner, key: &str, now: Timestamp) -> Result<Option<KeyRecord>> {
        self.inner.key(owner, key, now).await
    }

    async fn put_key(&self, owner: &Owner, record: KeyRecord, now: Timestamp) -> Result<()> {
        self.inner.put_key(owner, record, now).await
    }

    async fn put_config(&self, owner: &Owner, task: &TaskId, id: &PushConfigId, config: Bytes) -> Result<bool> {
        self.inner.put_config(owner, task, id, config).await
    }

    async fn configs(&self, owner: &Owner, task: &TaskId) -> Result<Option<Vec<(PushConfigId, Bytes)>>> {
        self.inner.configs(owner, task).await
    }

    async fn delete_config(&self, owner: &Owner, task: &TaskId, id: &PushConfigId) -> Result<bool> {
        self.inner.delete_config(owner, task, id).await
    }

    async fn taken(&self, id: &TaskId) -> Result<bool> {
        self.inner.taken(id).await
    }

    async fn alias(&self, owner: &Owner, name: &TaskId) -> Result<Option<TaskId>> {
        self.inner.alias(owner, name).await
    }

    async fn put_alias(&self, owner: &Owner, name: &TaskId, task: &TaskId, now: Timestamp) -> Result<()> {
        self.inner.put_alias(owner, name, task, now).await
    }

    async fn put_grant(&self, owner: &Owner, task: &TaskId, grantee: &Grantee, until: Timestamp) -> Result<bool> {
        self.inner.put_grant(owner, task, grantee, until).await
    }

    async fn bearer_grant(&self, agent: &str, digest: &str, now: Timestamp) -> Result<Option<(Owner, TaskId)>> {
        self.inner.bearer_grant(agent, digest, now).await
    }

    async fn subject_grant(&self, caller: &Owner, task: &TaskId, now: Timestamp) -> Result<Option<Owner>> {
        self.inner.subject_grant(caller, task, now).await
    }

    async fn renew(&self, holder: &str, until: Timestamp) -> Result<()> {
        self.inner.renew(holder, until).await
    }

    async fn lease(&self, owner: &Owner, id: &TaskId) -> Result<Option<Lease>> {
        self.inner.lease(owner, id).await
    }

    async fn expired(&self, agent: &str, now: Timestamp, limit: usize) -> Result<Vec<(Owner, TaskId)>> {
        self.inner.expired(agent, now, limit).await
    }

    async fn due(&self, agent: &str, now: Timestamp, lease: Timestamp, limit: usize) -> Result<Vec<Due>> {
        self.inner.due(agent, now, lease, limit).await
    }

    async fn next_due(&self, agent: &str) -> Result<Option<Timestamp>> {
        self.inner.next_due(agent).await
    }

    async fn settle(&self, id: u64, settled: Settled) -> Result<()> {
        self.inner.settle(id, settled).await
    }

    async fn dead(&self, owner: &Owner, limit: usize) -> Result<Vec<Due>> {
        self.inner.dead(owner, limit).await
    }

    async fn revive(&self, owner: &Owner, task: &TaskId, now: Timestamp) -> Result<usize> {
        self.inner.revive(owner, task, now).await
    }

    async fn purge(&self, agent: &str, before: Timestamp, now: Timestamp, limit: usize) -> Result<usize> {
        self.inner.purge(agent, before, now, limit).await
    }
}

/// Writes as many chunks as the message says, without ever waiting for anything else.
async fn writer(turn: Turn) -> std::result::Result<Outcome, Failure> {
    turn.status("Working on it").await?;
    let mut chunks = turn.artifact("numbers");
    for number in 0..turn.text().parse::<u32>()? {
        chunks.push(number.to_string()).await?;
    }
    Ok(Outcome::complete_with(Artifact::new("done")))
}

/// Makes a task, and says what it cost.
async fn commits_of(text: &str, at_once: bool) -> (Task, usize) {
    let store = Arc::new(Counting::new(Arc::new(Memory::new())));
    let engine = Engine::new(crate::operations::card(), writer).shared_store(store.clone()).start();
    let mut request = SendMessage::new(text);
    request.configuration.return_immediately = at_once;
    let SendReply::Task(task) = engine.send_message(&Caller::anonymous(), request).await.unwrap() else { panic!("a message") };
    (*task, store.commits())
}

/// Made, working, an artifact, completed: one transaction.
#[tokio::test]
async fn a_short_task_is_one_commit() {
    for at_once in [false, true] {
        let (task, commits) = commits_of("0", at_once).await;
        assert_eq!((task.status.state, task.artifacts.len(), commits), (TaskState::Completed, 1, 1));
    }
}

/// An agent that says more than it may be ahead waits for the driver, not for the store.
#[tokio::test]
async fn a_burst_of_events_shares_commits() {
    let (task, commits) = commits_of("1000", false).await;
    assert_eq!((task.status.state, task.artifacts[0].parts.len()), (TaskState::Completed, 1_000));
    // The runtime makes the driver give way after about 64 events; then it commits.
    assert!(commits <= 20, "{commits} commits");
}

/// Guarantee G5: a task whose store went away is not left working for ever.
#[tokio::test]
async fn a_task_whose_commits_failed_is_taken_up_when_the_store_is_back() {
    let begun = Arc::new(tokio::sync::Notify::new());
    let go = begun.clone();
    let agent = move |turn: Turn| {
        let go = go.clone();
        async move {
            turn.status("Begun").await?;
            go.notified().await;
            turn.status("Nobody will read this").await?;
            std::future::pending::<std::result::Result<Outcome, Failure>>().await
        }
    };
    let store = Arc::new(Counting::new(Arc::new(Memory::new())));
    let engine = Engine::new(crate::operations::card(), agent).shared_store(store.clone()).by_hand().start();
    let mut request = SendMessage::new("go");
    request.configuration.return_immediately = true;
    let SendReply::Task(task) = engine.send_message(&Caller::anonymous(), request).await.unwrap() else { panic!("a message") };
    let mut stream = engine.subscribe(&Caller::anonymous(), chancery_core::Subscribe::new(task.id.clone())).await.unwrap();
    store.set_away(true);
    begun.notify_one();
    let cut = tokio::time::timeout(std::time::Duration::from_secs(20), async {
        loop {
            match std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
                Some(Ok(_)) => {}
                end => return end,
            }
        }
    });
    assert_eq!(cut.await.unwrap().unwrap().unwrap_err().kind(), chancery_core::ErrorKind::Unavailable);
    store.set_away(false);
    engine.look_after().await.unwrap();
    let ended = async {
        loop {
            let now =
                engine.get_task(&Caller::anonymous(), chancery_core::GetTask::new(task.id.clone())).await.unwrap().into_task().unwrap();
            if now.state().is_terminal() {
                return now;
            }
            tokio::task::yield_now().await;
        }
    };
    let ended = tokio::time::timeout(std::time::Duration::from_secs(20), ended).await.unwrap();
    assert_eq!(ended.state(), TaskState::Failed);
}
