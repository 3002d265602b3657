//! Triggers, which must not change rows that are restored.

use super::catalog::{TableColumns, quoted};
use crate::backend::Tx;
use crate::backend::sql::Sql;
use crate::error::Result;

/// SQLite cannot disable triggers; they are dropped and created again.
const TRIGGERS: Sql = Sql {
    sqlite: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name",
    postgres: "SELECT '', '' WHERE false",
};

/// Triggers that are disabled for the rest of a transaction.
pub(super) struct DisabledTriggers {
    /// The statements that enable them again.
    enable: Vec<String>,
}

impl DisabledTriggers {
    /// Disables the triggers of all tables, apart from those that check foreign keys.
    pub(super) fn disable(tx: &Tx, tables: &[TableColumns]) -> Result<Self> {
        let mut enable = Vec::new();
        if tx.is_sqlite() {
            for row in tx.query(&TRIGGERS, &[])? {
                tx.run_text(&format!("DROP TRIGGER {}", quoted(row.text(0)?)))?;
                enable.push(row.text(1)?.to_owned());
            }
        } else {
            for table in tables {
                let name = quoted(&table.name);
                tx.run_text(&format!("ALTER TABLE {name} DISABLE TRIGGER USER"))?;
                enable.push(format!("ALTER TABLE {name} ENABLE TRIGGER USER"));
            }
        }
        Ok(Self { enable })
    }

    /// Enables the triggers again.
    pub(super) fn enable(self, tx: &Tx) -> Result<()> {
        self.enable.iter().try_for_each(|statement| tx.run_text(statement))
    }
}
