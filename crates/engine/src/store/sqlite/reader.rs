//! Read side of SQLite: a pool of a few threads with a connection each, which never wait for the writer.
//!
//! As with the writer, a thread takes what has queued up: waking a thread costs more than a read.

use std::path::{Path, PathBuf};

use chancery_core::{Bytes, PushConfigId, Seq, TaskId, TaskState, Timestamp};
use rusqlite::{Connection, OptionalExtension, ToSql, params};
use tokio::sync::oneshot;

use super::{
    change::due,
    queue::{Jobs, Queue, closed},
    schema,
    tally::Tally,
    value::{BEARER, SEQ_BITS, SUBJECT, count, limit, log_key, nanos, owner as owner_of, seq, standing, timestamp, unreadable},
};
use crate::store::{Due, Filter, KeyAnswer, KeyRecord, Lease, Owner, Result, Row, Standing, Stored, TaskFacts};

/// Few, so that a slow read holds up few others.
const BATCH: usize = 16;

/// A read that sends its answer to whoever waits for it.
type Job = Box<dyn FnOnce(Result<View<'_>>) + Send>;

/// The way to the reading threads.
#[derive(Debug)]
pub(super) struct Readers(Queue<Job>);

impl Readers {
    pub(super) fn start(path: &Path, count: usize) -> Result<Self> {
        let queue = Queue::new();
        for _ in 0..count.max(1) {
            let worker = Worker { path: path.to_owned(), connection: None };
            queue.spawn("chancery-read", move |jobs| worker.run(jobs))?;
        }
        Ok(Self(queue))
    }

    /// Reads what was committed when this was called, or later. All of one read sees the same state.
    pub(super) async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&View<'_>) -> Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.0.push(Box::new(move |view| {
            // Whoever asked may have gone.
            if !reply.is_closed() {
                drop(reply.send(view.and_then(|view| work(&view))));
            }
        }))?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Takes no more reads, and waits until those that were queued are done.
    pub(super) fn close(&self) {
        self.0.close();
    }
}

struct Worker {
    path: PathBuf,
    connection: Option<Connection>,
}

impl Worker {
    fn run(mut self, queue: &Jobs<Job>) {
        let mut jobs = Vec::with_capacity(BATCH);
        while queue.take(&mut jobs, BATCH) {
            for job in jobs.drain(..) {
                job(self.view());
            }
            self.end();
        }
    }

    /// The file as it is now, or as it was for the job before.
    fn view(&mut self) -> Result<View<'_>> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => schema::reader(&self.path)?,
        };
        if connection.is_autocommit() {
            connection.prepare_cached("BEGIN")?.execute([])?;
        }
        Ok(View { connection: self.connection.insert(connection) })
    }

    /// Lets go of that state of the file, so that the log need not be kept for it.
    fn end(&mut self) {
        let Some(connection) = &self.connection else { return };
        let ended = connection.prepare_cached("COMMIT").and_then(|mut end| end.execute([]));
        if let Err(error) = ended {
            tracing::warn!(%error, "a read could not be ended");
            self.connection = None;
        }
    }
}

/// The file as it is at one moment.
pub(super) struct View<'a> {
    connection: &'a Connection,
}

/// A page of a list.
pub(super) struct Page {
    pub(super) tasks: Vec<Stored>,
    pub(super) total: Total,
}

/// How many tasks match a filter.
pub(super) enum Total {
    Counted(usize),
    /// To be looked up in the tallies.
    Tallied {
        owner: i64,
        among: Vec<Standing>,
    },
}

/// The columns that [`View::stored`] reads.
const STORED: &str = "SELECT key, id, context, state, updated, seq, document FROM task";

impl View<'_> {
    pub(super) fn task(&self, owner: &Owner, id: &TaskId) -> Result<Option<Stored>> {
        let sql = format!("{STORED} WHERE id = ?1 AND owner = ?2");
        let Some(owner_key) = self.owner(owner)? else { return Ok(None) };
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![id.as_str(), owner_key])?;
        rows.next()?.map(|row| self.stored(row)).transpose()
    }

    fn stored(&self, row: &rusqlite::Row<'_>) -> Result<Stored> {
        let (key, head) = (row.get(0)?, head(row)?);
        if let Some(document) = row.get_ref(6)?.as_blob_or_null().map_err(unreadable)? {
            // Nobody runs a finished task.
            return Ok(Stored { snapshot: Some((head.seq, Bytes::copy_from_slice(document))), head, rows: Vec::new(), lease: None });
        }
        let snapshot = self.snapshot(key)?;
        let lease = self.lease_of(key)?;
        let after = snapshot.as_ref().map_or(Seq::START, |(seq, _)| *seq);
        let rows = if after < head.seq { self.log(key, after, head.seq)? } else { Vec::new() };
        Ok(Stored { head, snapshot, rows, lease })
    }

    fn snapshot(&self, task: i64) -> Result<Option<(Seq, Bytes)>> {
        let mut statement = self.connection.prepare_cached("SELECT seq, payload FROM snapshot WHERE task = ?1")?;
        let mut rows = statement.query([task])?;
        rows.next()?.map(|row| Ok((seq(row.get(0)?)?, bytes(row, 1)?))).transpose()
    }

    fn lease_of(&self, task: i64) -> Result<Option<Lease>> {
        let mut statement = self.connection.prepare_cached("SELECT holder, until, attempt FROM lease WHERE task = ?1")?;
        let mut rows = statement.query([task])?;
        rows.next()?.map(|row| lease(row.get(0)?, row, 1)).transpose()
    }

    pub(super) fn rows(&self, owner: &Owner, id: &TaskId, after: Seq, at_most: usize) -> Result<Vec<Row>> {
        match self.task_key(owner, id)? {
            Some(task) => self.log(task, after, Seq::new(after.get().saturating_add(at_most as u64))),
            None => Ok(Vec::new()),
        }
    }

    /// The rows of a task that hold events after `after` and up to `end`.
    fn log(&self, task: i64, after: Seq, end: Seq) -> Result<Vec<Row>> {
        let last = ((task + 1) << SEQ_BITS) - 1;
        let Ok(from) = log_key(task, after) else { return Ok(Vec::new()) };
        let mut statement =
            self.connection.prepare_cached("SELECT key, first, payload FROM log WHERE key > ?1 AND key <= ?2 ORDER BY key")?;
        let mut rows = statement.query([from, last])?;
        let mut log = Vec::new();
        while let Some(row) = rows.next()? {
            let first = seq(row.get(1)?)?;
            if first > end {
                break;
            }
            let last = seq(row.get::<_, i64>(0)? & ((1 << SEQ_BITS) - 1))?;
            log.push(Row::new(first, last, bytes(row, 2)?));
        }
        Ok(log)
    }

    pub(super) fn list(&self, owner: &Owner, filter: &Filter) -> Result<Page> {
        let Some(owner_key) = self.owner(owner)? else { return Ok(Page { tasks: Vec::new(), total: Total::Counted(0) }) };
        let mut query = Query::new(owner_key, filter);
        let tallied = filter.context.is_none() && filter.updated_from.is_none();
        let counting = query.count();
        let conditions = query.arguments.len();
        if let Some((updated, id)) = &filter.after {
            query.after(*updated, id);
        }
        query.arguments.push(Box::new(limit(filter.limit)));
        let mut statement = self.connection.prepare_cached(&query.page())?;
        let mut rows = statement.query(&*query.arguments())?;
        let mut tasks = Vec::new();
        while let Some(row) = rows.next()? {
            tasks.push(self.stored(row)?);
        }
        let total = if tallied {
            Total::Tallied { owner: owner_key, among: among(filter) }
        } else if filter.after.is_none() && tasks.len() < filter.limit {
            // That was all of them.
            Total::Counted(tasks.len())
        } else {
            let arguments = &query.arguments()[..conditions];
            Total::Counted(count(self.connection.prepare_cached(&counting)?.query_row(arguments, |row| row.get(0))?)?)
        };
        Ok(Page { tasks, total })
    }

    pub(super) fn key(&self, owner: &Owner, key: &str, now: Timestamp) -> Result<Option<KeyRecord>> {
        let Some(owner_key) = self.owner(owner)? else { return Ok(None) };
        let mut statement = self
            .connection
            .prepare_cached("SELECT digest, task, message, until FROM idempotency WHERE owner = ?1 AND key = ?2 AND until > ?3")?;
        let mut rows = statement.query(params![owner_key, key, nanos(now)])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let answer = match row.get::<_, Option<String>>(1)? {
            Some(task) => KeyAnswer::Task(task.into()),
            None => KeyAnswer::Message(bytes(row, 2)?),
        };
        let digest = row.get::<_, i64>(0)?.cast_unsigned();
        Ok(Some(KeyRecord { key: key.to_owned(), digest, answer, until: timestamp(row.get(3)?)? }))
    }

    pub(super) fn taken(&self, id: &TaskId) -> Result<bool> {
        Ok(self.connection.prepare_cached("SELECT 1 FROM task WHERE id = ?1")?.exists([id.as_str()])?)
    }

    pub(super) fn alias(&self, owner: &Owner, name: &TaskId) -> Result<Option<TaskId>> {
        let Some(owner_key) = self.owner(owner)? else { return Ok(None) };
        let mut statement = self.connection.prepare_cached("SELECT task FROM alias WHERE owner = ?1 AND name = ?2")?;
        let mut rows = statement.query(params![owner_key, name.as_str()])?;
        Ok(rows.next()?.map(|row| row.get::<_, String>(0)).transpose()?.map(TaskId::from))
    }

    pub(super) fn bearer_grant(&self, agent: &str, digest: &str, now: Timestamp) -> Result<Option<(Owner, TaskId)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT tenant, agent, subject, id
             FROM task_grant JOIN task ON task.key = task_grant.task JOIN owner ON owner.key = task.owner
             WHERE kind = ?1 AND grantee = ?2 AND until > ?3 AND agent = ?4",
        )?;
        let mut rows = statement.query(params![BEARER, digest, nanos(now), agent])?;
        rows.next()?.map(|row| Ok((owner_of(row, 0)?, row.get::<_, String>(3)?.into()))).transpose()
    }

    pub(super) fn subject_grant(&self, caller: &Owner, task: &TaskId, now: Timestamp) -> Result<Option<Owner>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT tenant, agent, subject
             FROM task JOIN task_grant ON task.key = task_grant.task JOIN owner ON owner.key = task.owner
             WHERE id = ?1 AND kind = ?2 AND grantee = ?3 AND until > ?4 AND tenant = ?5 AND agent = ?6",
        )?;
        let mut rows = statement.query(params![task.as_str(), SUBJECT, caller.subject(), nanos(now), caller.tenant(), caller.agent()])?;
        rows.next()?.map(|row| owner_of(row, 0)).transpose()
    }

    pub(super) fn configs(&self, owner: &Owner, task: &TaskId) -> Result<Option<Vec<(PushConfigId, Bytes)>>> {
        let Some(task) = self.task_key(owner, task)? else { return Ok(None) };
        let mut statement = self.connection.prepare_cached("SELECT id, payload FROM push_config WHERE task = ?1 ORDER BY id")?;
        let mut rows = statement.query([task])?;
        let mut configs = Vec::new();
        while let Some(row) = rows.next()? {
            configs.push((row.get::<_, String>(0)?.into(), bytes(row, 1)?));
        }
        Ok(Some(configs))
    }

    pub(super) fn lease(&self, owner: &Owner, id: &TaskId) -> Result<Option<Lease>> {
        self.task_key(owner, id)?.map_or(Ok(None), |task| self.lease_of(task))
    }

    pub(super) fn expired(&self, agent: &str, now: Timestamp, at_most: usize) -> Result<Vec<(Owner, TaskId)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT tenant, agent, subject, task.id
             FROM lease JOIN task ON task.key = lease.task JOIN owner ON owner.key = task.owner
             WHERE until < ?1 AND agent = ?3 ORDER BY tenant, agent, subject, task.id LIMIT ?2",
        )?;
        let mut rows = statement.query(params![nanos(now), limit(at_most), agent])?;
        let mut gone = Vec::new();
        while let Some(row) = rows.next()? {
            gone.push((owner_of(row, 0)?, row.get::<_, String>(3)?.into()));
        }
        Ok(gone)
    }

    pub(super) fn next_due(&self, agent: &str) -> Result<Option<Timestamp>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT at FROM outbox CROSS JOIN task ON task.key = outbox.task CROSS JOIN owner ON owner.key = task.owner
             WHERE place = 0 AND agent = ?1 ORDER BY at LIMIT 1",
        )?;
        statement.query_row([agent], |row| row.get::<_, i64>(0)).optional()?.map(timestamp).transpose()
    }

    pub(super) fn dead(&self, owner: &Owner, at_most: usize) -> Result<Vec<Due>> {
        let Some(owner_key) = self.owner(owner)? else { return Ok(Vec::new()) };
        let mut statement = self.connection.prepare_cached(
            "SELECT outbox.id, tenant, agent, subject, task.id, config, outbox.seq, attempts
             FROM outbox JOIN task ON task.key = outbox.task JOIN owner ON owner.key = task.owner
             WHERE place = 2 AND task.owner = ?1 ORDER BY outbox.id LIMIT ?2",
        )?;
        let mut rows = statement.query(params![owner_key, limit(at_most)])?;
        let mut dead = Vec::new();
        while let Some(row) = rows.next()? {
            dead.push(due(row)?);
        }
        Ok(dead)
    }

    /// Moves on to the newest state of the file, and stays there.
    pub(super) fn renew(&self) -> Result<()> {
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        self.connection.prepare_cached("BEGIN")?.execute([])?;
        // Only a read takes the snapshot.
        self.connection.prepare_cached("SELECT 1 FROM owner LIMIT 1")?.exists([])?;
        Ok(())
    }

    /// Counts the tasks of an owner by state.
    pub(super) fn tally(&self, owner: i64) -> Result<Tally> {
        let mut statement =
            self.connection.prepare_cached("SELECT state, count(*) FROM task INDEXED BY task_newest WHERE owner = ?1 GROUP BY state")?;
        let mut rows = statement.query([owner])?;
        let mut tally = Tally::default();
        while let Some(row) = rows.next()? {
            tally.set(standing(row.get(0)?)?, row.get(1)?);
        }
        Ok(tally)
    }

    /// All owners.
    pub(super) fn owners(&self) -> Result<Vec<Owner>> {
        let mut statement = self.connection.prepare_cached("SELECT tenant, agent, subject FROM owner ORDER BY tenant, agent, subject")?;
        let mut rows = statement.query([])?;
        let mut owners = Vec::new();
        while let Some(row) = rows.next()? {
            owners.push(owner_of(row, 0)?);
        }
        Ok(owners)
    }

    fn owner(&self, owner: &Owner) -> Result<Option<i64>> {
        let mut statement = self.connection.prepare_cached("SELECT key FROM owner WHERE tenant = ?1 AND agent = ?2 AND subject = ?3")?;
        Ok(statement.query_row(params![owner.tenant(), owner.agent(), owner.subject()], |row| row.get(0)).optional()?)
    }

    fn task_key(&self, owner: &Owner, id: &TaskId) -> Result<Option<i64>> {
        let Some(owner_key) = self.owner(owner)? else { return Ok(None) };
        let mut statement = self.connection.prepare_cached("SELECT key FROM task WHERE id = ?1 AND owner = ?2")?;
        Ok(statement.query_row(params![id.as_str(), owner_key], |row| row.get(0)).optional()?)
    }
}

/// A list's conditions as SQL, the index that answers them if it is not the table, and the arguments.
struct Query<'a> {
    index: &'static str,
    conditions: String,
    arguments: Vec<Box<dyn ToSql + 'a>>,
}

impl<'a> Query<'a> {
    fn new(owner: i64, filter: &'a Filter) -> Self {
        let mut query = Self { index: "INDEXED BY task_newest", conditions: "owner = ?".to_owned(), arguments: vec![Box::new(owner)] };
        if let Some(context) = &filter.context {
            // The table itself is in this order.
            query.index = "";
            query.and("context = ?", context.as_str());
        }
        if let Some(state) = filter.state {
            query.and("state = ?", state.number());
            // The index of states has all states but one; the condition says so to SQLite.
            if filter.context.is_none() && state != TaskState::Completed {
                query.index = "INDEXED BY task_state";
                query.conditions += " AND state <> 3";
            }
        }
        if filter.state.is_none() && !filter.among.is_empty() {
            let numbers: Vec<_> = filter.among.iter().map(|standing| standing.number().to_string()).collect();
            // Those that are asked for together are few, or they are most tasks: the index of all is in the right order.
            query.conditions += &format!(" AND state IN ({})", numbers.join(", "));
        }
        if let Some(from) = filter.updated_from {
            query.and("updated >= ?", nanos(from));
        }
        query
    }

    /// The tasks after a place in the list only.
    fn after(&mut self, updated: Timestamp, id: &'a TaskId) {
        self.and("(updated, id) < (?, ?)", nanos(updated));
        self.arguments.push(Box::new(id.as_str()));
    }

    fn and(&mut self, condition: &str, argument: impl ToSql + 'a) {
        self.conditions += " AND ";
        self.conditions += condition;
        self.arguments.push(Box::new(argument));
    }

    fn count(&self) -> String {
        format!("SELECT count(*) FROM task {} WHERE {}", self.index, self.conditions)
    }

    fn page(&self) -> String {
        let Self { index, conditions, .. } = self;
        format!("{STORED} {index} WHERE {conditions} ORDER BY updated DESC, id DESC LIMIT ?")
    }

    fn arguments(&self) -> Vec<&dyn ToSql> {
        self.arguments.iter().map(|argument| &**argument).collect()
    }
}

/// In which ways the tasks of a list stand; in any when there is none.
fn among(filter: &Filter) -> Vec<Standing> {
    filter.state.map_or_else(|| filter.among.clone(), |state| vec![state.into()])
}

/// A lease, of which `from` is the column of the end and the next that of the attempt.
fn lease(holder: String, row: &rusqlite::Row<'_>, from: usize) -> Result<Lease> {
    Ok(Lease { holder: holder.into(), until: timestamp(row.get(from)?)?, attempt: row.get(from + 1)? })
}

/// Where the task of a row stands.
fn head(row: &rusqlite::Row<'_>) -> Result<TaskFacts> {
    let Standing { state, passed } = standing(row.get(3)?)?;
    Ok(TaskFacts {
        id: row.get_ref(1)?.as_str().map_err(unreadable)?.into(),
        context: row.get_ref(2)?.as_str().map_err(unreadable)?.into(),
        state,
        updated: timestamp(row.get(4)?)?,
        seq: seq(row.get(5)?)?,
        passed,
    })
}

fn bytes(row: &rusqlite::Row<'_>, at: usize) -> Result<Bytes> {
    row.get_ref(at)?.as_blob().map(Bytes::copy_from_slice).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of SQLite's plan for a statement.
    fn plan(connection: &Connection, sql: &str) -> Vec<String> {
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let nothing = rusqlite::params_from_iter(vec![0; plan.parameter_count()]);
        plan.query_map(nothing, |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn every_list_is_a_stretch_of_an_index_in_its_order() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("migrations/1.sql")).unwrap();
        let states = [None, Some(TaskState::Working), Some(TaskState::Completed)];
        for case in 0..24 {
            let mut filter = Filter { state: states[case % 3], ..Filter::default() };
            filter.context = (case / 3 % 2 == 0).then(|| "c".into());
            filter.updated_from = (case / 6 % 2 == 0).then_some(Timestamp::EPOCH);
            filter.after = (case / 12 % 2 == 0).then(|| (Timestamp::EPOCH, "t".into()));
            let mut query = Query::new(1, &filter);
            let counted = plan(&connection, &query.count());
            let index = if filter.context.is_some() { "PRIMARY KEY" } else { "COVERING INDEX" };
            assert!(counted.len() == 1 && counted[0].starts_with(&format!("SEARCH task USING {index}")), "{filter:?}: {counted:?}");
            if let Some((updated, id)) = &filter.after {
                query.after(*updated, id);
            }
            let paged = plan(&connection, &query.page());
            assert!(paged.len() == 1 && paged[0].starts_with("SEARCH task USING"), "{filter:?}: {paged:?}");
            assert_eq!(paged[0].contains("PRIMARY KEY"), filter.context.is_some(), "{filter:?}: {paged:?}");
            // The range goes into the index, too: no page costs more than its own rows.
            let ranged = filter.after.is_some() || filter.updated_from.is_some();
            assert_eq!(paged[0].contains("(updated,id)<(?,?)") || paged[0].contains("updated"), ranged, "{paged:?}");
        }
    }
}
