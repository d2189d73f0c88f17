-- Names that clients gave to tasks with other ids. A row may stay a while after its task.
CREATE TABLE alias (
    owner INTEGER NOT NULL REFERENCES owner,
    name  TEXT NOT NULL,
    task  TEXT NOT NULL,
    at    INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX alias_at ON alias (at);

-- When a delivery was due before somebody took it to send it; null when nobody has it.
ALTER TABLE outbox ADD COLUMN taken INTEGER;
