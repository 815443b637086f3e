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
