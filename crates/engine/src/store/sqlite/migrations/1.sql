-- Times are whole nanoseconds since 1970. States are the numbers of the protocol.

-- Whose data it is, as one number for the tables below.
CREATE TABLE owner (
    key    INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    agent  TEXT NOT NULL,
    subject  TEXT NOT NULL,
    UNIQUE (tenant, agent, subject)
) STRICT;

-- A clustered table: the tasks of a conversation stand together, in the order of its list, so that a page of it is one range scan.
-- document: the snapshot of a finished task, as of seq. The row of a running task is rewritten with every commit, so its
-- snapshot and all that is rare stand elsewhere.
CREATE TABLE task (
    owner    INTEGER NOT NULL REFERENCES owner,
    context  TEXT NOT NULL,
    updated  INTEGER NOT NULL,
    id       TEXT NOT NULL,
    key      INTEGER NOT NULL,
    state    INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    document BLOB,
    PRIMARY KEY (owner, context, updated DESC, id DESC)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX task_id ON task (id);
-- The number of a task in the tables below.
CREATE UNIQUE INDEX task_key ON task (key);
-- The last column saves the way to the row when tasks are only counted or filtered.
CREATE INDEX task_newest ON task (owner, updated DESC, id DESC, state);
-- Without the state that nearly all tasks end in: those are found soon enough in task_newest.
CREATE INDEX task_state ON task (owner, state, updated DESC, id DESC) WHERE state <> 3;

-- key = task << 24 | seq of the last event. One number keeps the rows of a task together and
-- payloads of up to a page inside the tree.
CREATE TABLE log (
    key     INTEGER PRIMARY KEY,
    first   INTEGER NOT NULL,
    payload BLOB NOT NULL
) STRICT;

-- Of tasks that are not finished.
CREATE TABLE snapshot (
    task    INTEGER PRIMARY KEY REFERENCES task (key) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    payload BLOB NOT NULL
) STRICT;

-- Only of tasks that run: so few that they need no index.
CREATE TABLE lease (
    task    INTEGER PRIMARY KEY REFERENCES task (key) ON DELETE CASCADE,
    holder  TEXT NOT NULL,
    until   INTEGER NOT NULL,
    attempt INTEGER NOT NULL
) STRICT;

CREATE TABLE push_config (
    task    INTEGER NOT NULL REFERENCES task (key) ON DELETE CASCADE,
    id      TEXT NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT, because receivers drop what has an id that they know.
-- place: 0 the first of its task and webhook, 1 waits for an earlier one, 2 dead.
-- taken: when it was due before somebody took it to send it; null when nobody has it.
CREATE TABLE outbox (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    task     INTEGER NOT NULL REFERENCES task (key) ON DELETE CASCADE,
    config   TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    place    INTEGER NOT NULL,
    taken    INTEGER
) STRICT;

CREATE INDEX outbox_line ON outbox (task, config, place, id);
CREATE INDEX outbox_due ON outbox (at, id) WHERE place = 0;
CREATE INDEX outbox_dead ON outbox (id) WHERE place = 2;

CREATE TABLE idempotency (
    owner   INTEGER NOT NULL REFERENCES owner,
    key     TEXT NOT NULL,
    digest  INTEGER NOT NULL,
    task    TEXT,
    message BLOB,
    until   INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_until ON idempotency (until);

-- Who may see a task beside its owner: of kind 0 whoever shows the bearer token with this digest, of kind 1 the caller with this subject.
CREATE TABLE task_grant (
    kind    INTEGER NOT NULL,
    grantee TEXT NOT NULL,
    task    INTEGER NOT NULL REFERENCES task (key) ON DELETE CASCADE,
    until   INTEGER NOT NULL,
    PRIMARY KEY (kind, grantee, task)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_grant_task ON task_grant (task);
CREATE INDEX task_grant_until ON task_grant (until);

-- Names that clients gave to tasks with other ids. A row may stay a while after its task.
CREATE TABLE alias (
    owner INTEGER NOT NULL REFERENCES owner,
    name  TEXT NOT NULL,
    task  TEXT NOT NULL,
    at    INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX alias_at ON alias (at);
