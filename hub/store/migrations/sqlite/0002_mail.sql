-- oldest: 1
--
-- What mail needs: notices to one person that wait in the outbox like any other
-- delivery, what a channel knows of one message and forgets with it, and the
-- mails as they came.

ALTER TABLE delivery ADD COLUMN data BLOB; -- of a notice: what it says, as JSON

ALTER TABLE state ADD COLUMN message_id TEXT NOT NULL DEFAULT ''; -- purged with that message

CREATE INDEX state_message ON state (message_id) WHERE message_id <> '';

CREATE TABLE inbound (
	channel    TEXT    NOT NULL,
	account    TEXT    NOT NULL,
	key        TEXT    NOT NULL, -- of its receipt
	message_id TEXT    NOT NULL, -- '' when it is about none that is known
	at         INTEGER NOT NULL,
	raw        BLOB    NOT NULL, -- gzip
	PRIMARY KEY (channel, account, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX inbound_message ON inbound (message_id, at);
