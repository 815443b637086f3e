-- oldest: 1
--
-- Times are UTC milliseconds since 1970, 0 for never. Ids of messages are
-- ordered by time, so that rows and most index entries are appended. A table
-- that is keyed by message needs no rowid and no further index but a partial
-- one for the few rows that are looked for in another way. There are no
-- foreign keys: each row below a message is written in a transaction that has
-- just inserted or compared-and-set that message.

CREATE TABLE message (
	id            TEXT    NOT NULL PRIMARY KEY,
	agent_id      TEXT    NOT NULL,
	alias         TEXT    NOT NULL,
	key_hash      BLOB,             -- first 16 bytes of SHA-256 over agent and idempotency key
	alias_hash    BLOB,             -- the same over agent and alias
	type          TEXT    NOT NULL,
	status        TEXT    NOT NULL,
	version       INTEGER NOT NULL,
	accepted_at   INTEGER NOT NULL,
	expires_at    INTEGER NOT NULL,
	resolved_at   INTEGER NOT NULL,
	resolution_id TEXT    NOT NULL,
	resolved_via  TEXT    NOT NULL,
	head_seq      INTEGER NOT NULL, -- of the message's history
	head_hash     BLOB    NOT NULL,
	sealed_seq    INTEGER NOT NULL, -- how much of the history the hub chain covers
	next_delivery INTEGER NOT NULL,
	checklist     TEXT,
	response      BLOB,
	plan          TEXT    NOT NULL,
	raw           BLOB    NOT NULL  -- the envelope as received
) STRICT;

CREATE UNIQUE INDEX message_key      ON message (key_hash)       WHERE key_hash IS NOT NULL;
CREATE UNIQUE INDEX message_alias    ON message (alias_hash)     WHERE alias_hash IS NOT NULL;
CREATE        INDEX message_agent    ON message (agent_id, id);
CREATE        INDEX message_open     ON message (agent_id, type) WHERE status = 'open';
CREATE        INDEX message_ended    ON message (resolved_at)    WHERE resolved_at > 0;
CREATE        INDEX message_unsealed ON message (id, head_seq, sealed_seq) WHERE sealed_seq < head_seq;

CREATE TABLE delivery (
	message_id TEXT    NOT NULL,
	seq        INTEGER NOT NULL,
	kind       TEXT    NOT NULL,
	lane       TEXT    NOT NULL,
	channel    TEXT    NOT NULL,
	place      TEXT    NOT NULL,
	person     TEXT    NOT NULL,
	entry      INTEGER NOT NULL,
	posting    INTEGER NOT NULL,
	state      TEXT    NOT NULL,
	due_at     INTEGER NOT NULL, -- of a running one: when its lease runs out
	attempts   INTEGER NOT NULL, -- that count
	tries      INTEGER NOT NULL, -- all of them
	maybe_sent INTEGER NOT NULL,
	generation INTEGER NOT NULL,
	last_code  TEXT    NOT NULL,
	last_error TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	done_at    INTEGER NOT NULL,
	PRIMARY KEY (message_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX delivery_due  ON delivery (lane, due_at, message_id, seq, state) WHERE state IN ('pending', 'running');
CREATE INDEX delivery_dead ON delivery (message_id, seq, lane)                WHERE state = 'dead';

CREATE TABLE attempt (
	message_id TEXT    NOT NULL,
	seq        INTEGER NOT NULL,
	try        INTEGER NOT NULL,
	n          INTEGER NOT NULL, -- delivery.attempts while it ran; an uncounted one is followed by its equal
	started_at INTEGER NOT NULL,
	ended_at   INTEGER NOT NULL,
	code       TEXT    NOT NULL,
	error      TEXT    NOT NULL,
	PRIMARY KEY (message_id, seq, try)
) STRICT, WITHOUT ROWID;

CREATE TABLE posting (
	message_id TEXT    NOT NULL,
	seq        INTEGER NOT NULL,
	channel    TEXT    NOT NULL,
	place      TEXT    NOT NULL,
	person     TEXT    NOT NULL,
	ref        TEXT    NOT NULL,
	thread     TEXT    NOT NULL,
	at         INTEGER NOT NULL,
	PRIMARY KEY (message_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX posting_ref ON posting (channel, ref) WHERE ref <> '';

CREATE TABLE event (
	message_id   TEXT    NOT NULL,
	seq          INTEGER NOT NULL,
	at           INTEGER NOT NULL,
	kind         TEXT    NOT NULL,
	content      BLOB,             -- null once erased, like salt
	salt         BLOB,
	content_hash BLOB    NOT NULL,
	hash         BLOB    NOT NULL,
	PRIMARY KEY (message_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE audience (
	message_id TEXT    NOT NULL,
	person     TEXT    NOT NULL,
	open       INTEGER NOT NULL,
	PRIMARY KEY (message_id, person)
) STRICT, WITHOUT ROWID;

CREATE INDEX audience_list ON audience (person, open, message_id);

CREATE TABLE receipt (
	channel  TEXT    NOT NULL,
	account  TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	outcome  TEXT    NOT NULL,
	evidence BLOB,
	PRIMARY KEY (channel, account, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX receipt_at ON receipt (at);

CREATE TABLE state (
	channel TEXT NOT NULL,
	key     TEXT NOT NULL,
	value   TEXT NOT NULL,
	PRIMARY KEY (channel, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE lease (
	name  TEXT    NOT NULL PRIMARY KEY,
	owner TEXT    NOT NULL,
	until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE seal (
	n     INTEGER NOT NULL PRIMARY KEY,
	at    INTEGER NOT NULL,
	hash  BLOB    NOT NULL,
	heads TEXT    NOT NULL -- JSON: [[message id, seq, hash in hex], …]
) STRICT;

CREATE TABLE tombstone (
	id         TEXT    NOT NULL PRIMARY KEY,
	agent_id   TEXT    NOT NULL,
	alias_hash BLOB,
	purged_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstone_alias  ON tombstone (alias_hash) WHERE alias_hash IS NOT NULL;
CREATE INDEX tombstone_purged ON tombstone (purged_at);
