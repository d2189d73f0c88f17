//! Write side of SQLite: statements within a transaction of the writing thread.
//!
//! Whatever can refuse comes before whatever writes, so a refused job needs no rollback.

use std::collections::HashMap;

use chancery_core::{Bytes, PushConfigId, Seq, TaskId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    tally::Moved,
    value::{SEQ_BITS, grantee as grantee_columns, limit, log_key, nanos, owner as owner_of, seq, standing},
};
use crate::store::{Commit, Delivery, Due, Error, Grantee, KeyAnswer, KeyRecord, Lease, Owner, Result, Settled, Standing};

/// Owners whose numbers are remembered; all are forgotten when there are more.
const OWNERS: usize = 16 * 1024;

/// The numbers of the owners that were written to.
#[derive(Debug, Default)]
pub(super) struct OwnerKeys(HashMap<Owner, i64>);

impl OwnerKeys {
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

/// A transaction of the writing thread.
pub(super) struct Changes<'a> {
    connection: &'a Connection,
    owners: &'a mut OwnerKeys,
    moved: Vec<Moved>,
}

/// What a commit must know of a task.
struct Known {
    key: i64,
    standing: Standing,
    updated: i64,
    seq: Seq,
}

impl<'a> Changes<'a> {
    pub(super) fn new(connection: &'a Connection, owners: &'a mut OwnerKeys) -> Self {
        Self { connection, owners, moved: Vec::new() }
    }

    /// What the tallies must hear of, once the transaction is committed.
    pub(super) fn into_moved(self) -> Vec<Moved> {
        self.moved
    }

    pub(super) fn commit(&mut self, owner: &Owner, commit: &Commit) -> Result<()> {
        let id = &commit.head.id;
        let owner_key = self.owner_made(owner)?;
        if let Some(record) = &commit.key
            && self.key_taken(owner_key, &record.key, commit.head.updated)?
        {
            // A conflict is said first, as it would be without a key.
            self.known_at(owner_key, id, commit.expected)?;
            return Err(Error::KeyTaken);
        }
        // The snapshot of a finished task stands in its row, where lists and readers find it at once.
        let document = commit.snapshot.as_ref().filter(|_| commit.head.state.is_terminal() && commit.lease.is_none());
        let task = if commit.expected == Seq::START {
            self.make(owner_key, commit, document)?
        } else {
            let known = self.known_at(owner_key, id, commit.expected)?.ok_or_else(|| Error::Conflict(id.clone()))?;
            self.advance(owner_key, &known, commit, document)?;
            known.key
        };
        self.run(
            "INSERT INTO log (key, first, payload) VALUES (?1, ?2, ?3)",
            params![log_key(task, commit.row.last)?, number(commit.row.first), &*commit.row.payload],
        )?;
        if let Some(snapshot) = commit.snapshot.as_ref().filter(|_| document.is_none()) {
            self.run(
                "INSERT INTO snapshot (task, seq, payload) VALUES (?1, ?2, ?3)
                 ON CONFLICT (task) DO UPDATE SET seq = excluded.seq, payload = excluded.payload",
                params![task, number(commit.head.seq), &**snapshot],
            )?;
        }
        for (config, payload) in &commit.configs {
            self.config(task, config, payload)?;
        }
        for delivery in &commit.deliveries {
            self.deliver(task, delivery, commit.head.updated)?;
        }
        if let Some(record) = &commit.key {
            self.write_key(owner_key, record)?;
        }
        Ok(())
    }

    fn make(&mut self, owner_key: i64, commit: &Commit, document: Option<&Bytes>) -> Result<i64> {
        let head = &commit.head;
        let task = self.connection.prepare_cached("SELECT coalesce(max(key), 0) + 1 FROM task")?.query_row([], |row| row.get(0))?;
        log_key(task, commit.row.last)?;
        let made = self.run(
            "INSERT INTO task (owner, context, updated, id, key, state, seq, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (id) DO NOTHING",
            params![
                owner_key,
                head.context.as_str(),
                nanos(head.updated),
                head.id.as_str(),
                task,
                head.standing().number(),
                number(head.seq),
                document.map(|document| &**document)
            ],
        )?;
        if made == 0 {
            return Err(Error::Conflict(head.id.clone()));
        }
        if let Some(lease) = &commit.lease {
            self.lease(task, lease)?;
        }
        self.moved.push(Moved { owner: owner_key, from: None, to: Some(head.standing()) });
        Ok(task)
    }

    fn advance(&mut self, owner_key: i64, known: &Known, commit: &Commit, document: Option<&Bytes>) -> Result<()> {
        let head = &commit.head;
        log_key(known.key, commit.row.last)?;
        let place = (head.context.as_str(), head.id.as_str());
        if known.standing.state.is_terminal() && document.is_none() {
            self.run(
                "INSERT OR REPLACE INTO snapshot (task, seq, payload)
                 SELECT key, seq, document FROM task WHERE key = ?1 AND document IS NOT NULL",
                [known.key],
            )?;
        }
        // Naming the indexed columns would move the task in its indexes even if they stay the same.
        if (known.standing, known.updated) == (head.standing(), nanos(head.updated)) {
            self.run(
                "UPDATE task SET seq = ?5, document = ?6 WHERE owner = ?1 AND context = ?2 AND updated = ?3 AND id = ?4",
                params![owner_key, place.0, known.updated, place.1, number(head.seq), document.map(|document| &**document)],
            )?;
        } else {
            self.run(
                "UPDATE task SET seq = ?5, document = ?6, state = ?7, updated = ?8
                 WHERE owner = ?1 AND context = ?2 AND updated = ?3 AND id = ?4",
                params![
                    owner_key,
                    place.0,
                    known.updated,
                    place.1,
                    number(head.seq),
                    document.map(|document| &**document),
                    head.standing().number(),
                    nanos(head.updated)
                ],
            )?;
            self.moved.push(Moved { owner: owner_key, from: Some(known.standing), to: Some(head.standing()) });
        }
        if document.is_some() {
            self.run("DELETE FROM snapshot WHERE task = ?1", [known.key])?;
        }
        match &commit.lease {
            Some(lease) => self.lease(known.key, lease),
            None => self.run("DELETE FROM lease WHERE task = ?1", [known.key]).map(drop),
        }
    }

    fn lease(&mut self, task: i64, lease: &Lease) -> Result<()> {
        self.run(
            "INSERT INTO lease (task, holder, until, attempt) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (task) DO UPDATE SET holder = excluded.holder, until = excluded.until, attempt = excluded.attempt",
            params![task, lease.holder, nanos(lease.until), lease.attempt],
        )?;
        Ok(())
    }

    fn config(&mut self, task: i64, id: &PushConfigId, payload: &[u8]) -> Result<()> {
        self.run(
            "INSERT INTO push_config (task, id, payload) VALUES (?1, ?2, ?3)
             ON CONFLICT (task, id) DO UPDATE SET payload = excluded.payload",
            params![task, id.as_str(), payload],
        )?;
        Ok(())
    }

    pub(super) fn put_key(&mut self, owner: &Owner, record: &KeyRecord, now: Timestamp) -> Result<()> {
        let owner_key = self.owner_made(owner)?;
        if self.key_taken(owner_key, &record.key, now)? {
            return Err(Error::KeyTaken);
        }
        self.write_key(owner_key, record)
    }

    fn key_taken(&self, owner_key: i64, key: &str, now: Timestamp) -> Result<bool> {
        let mut found = self.connection.prepare_cached("SELECT 1 FROM idempotency WHERE owner = ?1 AND key = ?2 AND until > ?3")?;
        Ok(found.exists(params![owner_key, key, nanos(now)])?)
    }

    fn write_key(&mut self, owner_key: i64, record: &KeyRecord) -> Result<()> {
        let (task, message) = match &record.answer {
            KeyAnswer::Task(task) => (Some(task.as_str()), None),
            KeyAnswer::Message(message) => (None, Some(&**message)),
        };
        self.run(
            "INSERT OR REPLACE INTO idempotency (owner, key, digest, task, message, until) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![owner_key, record.key, record.digest.cast_signed(), task, message, nanos(record.until)],
        )?;
        Ok(())
    }

    pub(super) fn put_alias(&mut self, owner: &Owner, name: &TaskId, task: &TaskId, now: Timestamp) -> Result<()> {
        let owner_key = self.owner_made(owner)?;
        self.run(
            "INSERT OR REPLACE INTO alias (owner, name, task, at) VALUES (?1, ?2, ?3, ?4)",
            params![owner_key, name.as_str(), task.as_str(), nanos(now)],
        )?;
        Ok(())
    }

    pub(super) fn put_config(&mut self, owner: &Owner, task: &TaskId, id: &PushConfigId, config: &Bytes) -> Result<bool> {
        let Some(task) = self.task_key(owner, task)? else { return Ok(false) };
        self.config(task, id, config)?;
        Ok(true)
    }

    pub(super) fn delete_config(&mut self, owner: &Owner, task: &TaskId, id: &PushConfigId) -> Result<bool> {
        let Some(task) = self.task_key(owner, task)? else { return Ok(false) };
        self.run("DELETE FROM push_config WHERE task = ?1 AND id = ?2", params![task, id.as_str()])?;
        self.run("DELETE FROM outbox WHERE task = ?1 AND config = ?2", params![task, id.as_str()])?;
        Ok(true)
    }

    pub(super) fn put_grant(&mut self, owner: &Owner, task: &TaskId, grantee: &Grantee, until: Timestamp) -> Result<bool> {
        let Some(task) = self.task_key(owner, task)? else { return Ok(false) };
        let (kind, grantee) = grantee_columns(grantee);
        self.run(
            "INSERT OR REPLACE INTO task_grant (kind, grantee, task, until) VALUES (?1, ?2, ?3, ?4)",
            params![kind, grantee, task, nanos(until)],
        )?;
        Ok(true)
    }

    pub(super) fn renew(&mut self, holder: &str, until: Timestamp) -> Result<()> {
        self.run("UPDATE lease SET until = ?2 WHERE holder = ?1", params![holder, nanos(until)])?;
        Ok(())
    }

    /// Queues a delivery: behind those of the same task and webhook, if there are any.
    fn deliver(&mut self, task: i64, delivery: &Delivery, at: Timestamp) -> Result<()> {
        self.run(
            "INSERT INTO outbox (task, config, seq, attempts, at, place) VALUES (?1, ?2, ?3, 0, ?4,
                 EXISTS (SELECT 1 FROM outbox WHERE task = ?1 AND config = ?2 AND place = 0))",
            params![task, delivery.config.as_str(), number(delivery.seq), nanos(at)],
        )?;
        Ok(())
    }

    pub(super) fn due(&mut self, agent: &str, now: Timestamp, lease: Timestamp, at_most: usize) -> Result<Vec<Due>> {
        // The numbers are those of finished tasks, handed over or not. CROSS JOIN fixes the order: what is due stands together in its index.
        let mut statement = self.connection.prepare_cached(
            "SELECT outbox.id, tenant, agent, subject, task.id, config, outbox.seq, attempts
             FROM outbox CROSS JOIN task ON task.key = outbox.task CROSS JOIN owner ON owner.key = task.owner
             WHERE place = 0 AND at <= ?1 AND agent = ?3 ORDER BY at, outbox.id LIMIT ?2",
        )?;
        let mut rows = statement.query(params![nanos(now), limit(at_most), agent])?;
        let mut taken = Vec::new();
        while let Some(row) = rows.next()? {
            taken.push(due(row)?);
        }
        for due in &taken {
            self.run("UPDATE outbox SET taken = at, at = ?2 WHERE id = ?1", params![due.id.cast_signed(), nanos(lease)])?;
        }
        Ok(taken)
    }

    pub(super) fn settle(&mut self, id: u64, settled: Settled) -> Result<()> {
        let id = id.cast_signed();
        let mut line = self.connection.prepare_cached("SELECT task, config FROM outbox WHERE id = ?1")?;
        let line = line.query_row([id], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).optional()?;
        let Some((task, config)) = line else { return Ok(()) };
        match settled {
            Settled::Delivered => self.run("DELETE FROM outbox WHERE id = ?1", [id])?,
            Settled::Retry(at) => self.run(
                "UPDATE outbox SET attempts = attempts + 1, at = ?2, taken = NULL, place = min(place, 1) WHERE id = ?1",
                params![id, nanos(at)],
            )?,
            Settled::Dead => self.run("UPDATE outbox SET attempts = attempts + 1, taken = NULL, place = 2 WHERE id = ?1", [id])?,
        };
        self.line_up(task, &config)
    }

    pub(super) fn revive(&mut self, owner: &Owner, task: &TaskId, now: Timestamp) -> Result<usize> {
        let Some(task) = self.task_key(owner, task)? else { return Ok(0) };
        let mut configs = self.connection.prepare_cached("SELECT DISTINCT config FROM outbox WHERE task = ?1 AND place = 2")?;
        let configs = configs.query_map([task], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
        let revived =
            self.run("UPDATE outbox SET attempts = 0, at = ?2, place = 1 WHERE task = ?1 AND place = 2", params![task, nanos(now)])?;
        for config in configs {
            self.line_up(task, &config)?;
        }
        Ok(revived)
    }

    /// Puts the oldest living delivery of a task and webhook in front, and no other.
    fn line_up(&mut self, task: i64, config: &str) -> Result<()> {
        let mut oldest = self.connection.prepare_cached(
            "SELECT min(id) FROM (SELECT min(id) AS id FROM outbox WHERE task = ?1 AND config = ?2 AND place = 0
                       UNION ALL SELECT min(id) FROM outbox WHERE task = ?1 AND config = ?2 AND place = 1)",
        )?;
        let Some(oldest) = oldest.query_row(params![task, config], |row| row.get::<_, Option<i64>>(0))? else { return Ok(()) };
        self.run("UPDATE outbox SET place = 1 WHERE task = ?1 AND config = ?2 AND place = 0 AND id <> ?3", params![task, config, oldest])?;
        self.run("UPDATE outbox SET place = 0 WHERE id = ?1 AND place = 1", [oldest])?;
        Ok(())
    }

    pub(super) fn purge(&mut self, agent: &str, before: Timestamp, now: Timestamp, at_most: usize) -> Result<usize> {
        // Keys and grants are small and have no limit of their own, so they get that of the tasks, generously.
        self.run(
            "DELETE FROM idempotency WHERE (owner, key) IN (
                 SELECT owner, idempotency.key FROM idempotency JOIN owner ON owner.key = idempotency.owner
                 WHERE until <= ?1 AND agent = ?3 LIMIT ?2)",
            params![nanos(now), limit(at_most.saturating_mul(10)), agent],
        )?;
        self.run(
            "DELETE FROM task_grant WHERE (kind, grantee, task) IN (
                 SELECT kind, grantee, task FROM task_grant JOIN task ON task.key = task_grant.task JOIN owner ON owner.key = task.owner
                 WHERE until <= ?1 AND agent = ?3 LIMIT ?2)",
            params![nanos(now), limit(at_most.saturating_mul(10)), agent],
        )?;
        // CROSS JOIN fixes the order: each owner's old tasks stand together in its index.
        let mut statement = self.connection.prepare_cached(
            "SELECT task.key, task.owner, task.state FROM owner CROSS JOIN task INDEXED BY task_newest
             WHERE agent = ?3 AND task.owner = owner.key AND updated < ?1 AND state % 16 IN (3, 4, 5, 7) LIMIT ?2",
        )?;
        let mut rows = statement.query(params![nanos(before), limit(at_most), agent])?;
        let mut old = Vec::new();
        while let Some(row) = rows.next()? {
            old.push((row.get(0)?, row.get(1)?, standing(row.get(2)?)?));
        }
        for (task, owner, from) in &old {
            self.forget(*task, *owner, *from)?;
        }
        self.run(
            "DELETE FROM alias WHERE (owner, name) IN (
                 SELECT alias.owner, name FROM alias JOIN owner ON owner.key = alias.owner
                 WHERE at < ?1 AND agent = ?3 AND NOT EXISTS (SELECT 1 FROM task WHERE id = alias.task) LIMIT ?2)",
            params![nanos(before), limit(at_most), agent],
        )?;
        Ok(old.len())
    }

    fn forget(&mut self, task: i64, owner: i64, from: Standing) -> Result<()> {
        self.run("DELETE FROM log WHERE key BETWEEN ?1 AND ?2", [task << SEQ_BITS, ((task + 1) << SEQ_BITS) - 1])?;
        self.run("DELETE FROM task WHERE key = ?1", [task])?;
        self.moved.push(Moved { owner, from: Some(from), to: None });
        Ok(())
    }

    fn run(&self, sql: &str, params: impl rusqlite::Params) -> Result<usize> {
        Ok(self.connection.prepare_cached(sql)?.execute(params)?)
    }

    fn known(&self, owner_key: i64, id: &TaskId) -> Result<Option<Known>> {
        let mut statement = self.connection.prepare_cached("SELECT owner, key, state, updated, seq FROM task WHERE id = ?1")?;
        let mut rows = statement.query([id.as_str()])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        if row.get::<_, i64>(0)? != owner_key {
            // The id is taken, by somebody who must not be named.
            return Err(Error::Conflict(id.clone()));
        }
        Ok(Some(Known { key: row.get(1)?, standing: standing(row.get(2)?)?, updated: row.get(3)?, seq: seq(row.get(4)?)? }))
    }

    /// The task, if its newest event is the expected one; `None` if there is none and none is expected.
    fn known_at(&self, owner_key: i64, id: &TaskId, expected: Seq) -> Result<Option<Known>> {
        let known = self.known(owner_key, id)?;
        let current = known.as_ref().map_or(Seq::START, |known| known.seq);
        if current == expected { Ok(known) } else { Err(Error::Conflict(id.clone())) }
    }

    fn task_key(&self, owner: &Owner, id: &TaskId) -> Result<Option<i64>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT task.key FROM task JOIN owner ON owner.key = task.owner WHERE id = ?1 AND tenant = ?2 AND agent = ?3 AND subject = ?4",
        )?;
        Ok(statement.query_row(params![id.as_str(), owner.tenant(), owner.agent(), owner.subject()], |row| row.get(0)).optional()?)
    }

    /// The number of an owner, given now when it has none yet.
    fn owner_made(&mut self, owner: &Owner) -> Result<i64> {
        if let Some(key) = self.owners.0.get(owner) {
            return Ok(*key);
        }
        let columns = params![owner.tenant(), owner.agent(), owner.subject()];
        self.run("INSERT INTO owner (tenant, agent, subject) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING", columns)?;
        let mut statement = self.connection.prepare_cached("SELECT key FROM owner WHERE tenant = ?1 AND agent = ?2 AND subject = ?3")?;
        let key = statement.query_row(columns, |row| row.get(0))?;
        if self.owners.0.len() >= OWNERS {
            self.owners.0.clear();
        }
        self.owners.0.insert(owner.clone(), key);
        Ok(key)
    }
}

/// A delivery from the columns id, tenant, agent, subject, task, config, seq, attempts.
pub(super) fn due(row: &rusqlite::Row<'_>) -> Result<Due> {
    let id = row.get::<_, i64>(0)?.cast_unsigned();
    let task = TaskId::from(row.get::<_, String>(4)?);
    let delivery = Delivery::new(row.get::<_, String>(5)?.into(), seq(row.get(6)?)?);
    Ok(Due::new(id, owner_of(row, 1)?, task, delivery, row.get(7)?))
}

/// A sequence number that fits, because [`log_key`] has seen it.
fn number(seq: Seq) -> i64 {
    seq.get().cast_signed()
}
