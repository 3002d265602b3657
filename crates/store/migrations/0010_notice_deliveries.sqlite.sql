-- `planned` is 0 until it is decided where and when a notice is sent; notices from
-- before are not sent any more. `read_by` is the actor who acknowledged it.
ALTER TABLE notices ADD COLUMN planned BIGINT NOT NULL DEFAULT 1;
ALTER TABLE notices ADD COLUMN read_by TEXT;
CREATE INDEX notices_unplanned ON notices (org, id) WHERE planned = 0;

-- The deliveries of notices to people. `outbox` is the message that carries it, which
-- several deliveries share in a digest; `outcome` is why there is none.
CREATE TABLE notice_deliveries (
  org BLOB NOT NULL,
  notice BLOB NOT NULL,
  person TEXT NOT NULL,
  destination TEXT NOT NULL,
  stage TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  state TEXT NOT NULL DEFAULT 'planned',
  outcome TEXT,
  outbox BLOB,
  PRIMARY KEY (org, notice, person, destination, stage),
  FOREIGN KEY (org, notice) REFERENCES notices (org, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX notice_deliveries_due ON notice_deliveries (due_at, org, notice)
  WHERE state = 'planned';
CREATE INDEX notice_deliveries_by_outbox ON notice_deliveries (org, outbox)
  WHERE outbox IS NOT NULL;
