-- What credits were granted for. A repeat of a grant is known by it.
ALTER TABLE ledger_lines ADD COLUMN reference TEXT;
CREATE UNIQUE INDEX ledger_lines_reference ON ledger_lines (org, reference)
  WHERE reference IS NOT NULL;
