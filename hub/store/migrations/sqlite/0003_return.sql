-- oldest: 1
--
-- The way back to the agent: whether it has the answer, what people write to it,
-- and when it was last there.

ALTER TABLE message ADD COLUMN minor        INTEGER NOT NULL DEFAULT 0;  -- of the version that it declared
ALTER TABLE message ADD COLUMN track        TEXT    NOT NULL DEFAULT ''; -- delivered-to-agent, acknowledged or expired
ALTER TABLE message ADD COLUMN delivered_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN acked_at     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN unseen_at    INTEGER NOT NULL DEFAULT 0;  -- when its track expired
ALTER TABLE message ADD COLUMN ack_note     TEXT    NOT NULL DEFAULT '';

-- What people write to agents, in the order of n. One that is acknowledged, or
-- over, stays as long as its writer may look for it.
CREATE TABLE directive (
	n            INTEGER NOT NULL PRIMARY KEY,
	id           TEXT    NOT NULL,
	agent_id     TEXT    NOT NULL,
	person       TEXT    NOT NULL,
	via          TEXT    NOT NULL,
	about        TEXT    NOT NULL, -- a message, or ''
	created_at   INTEGER NOT NULL,
	until_at     INTEGER NOT NULL, -- it is given out before then
	visible_at   INTEGER NOT NULL, -- it is given out from then on
	delivered_at INTEGER NOT NULL, -- first
	acked_at     INTEGER NOT NULL,
	ack_note     TEXT    NOT NULL,
	raw          BLOB    NOT NULL
) STRICT;

CREATE UNIQUE INDEX directive_id      ON directive (id);
CREATE        INDEX directive_waiting ON directive (agent_id, until_at, visible_at, n) WHERE acked_at = 0;
CREATE        INDEX directive_person  ON directive (person, n);

CREATE TABLE agent_seen (
	agent_id TEXT    NOT NULL PRIMARY KEY,
	at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
