//! Reference codes: nodes draw blocks of numbers, so that no two give out the
//! same code and none asks for each.

use ostler_domain::reference::CodeBlock;
use ostler_domain::time::Timestamp;

use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};

const NOW: Sql = sql!("SELECT now_ms()");
const DRAW: Sql = sql!(
    "INSERT INTO reference_codes (day, used) VALUES (?1, ?2)
     ON CONFLICT (day) DO UPDATE SET used = reference_codes.used + excluded.used
     RETURNING used"
);

impl Store {
    /// So many codes of today, by the database's clock, for this node alone.
    pub async fn draw_codes(&self, count: u32) -> Result<CodeBlock> {
        self.write(Draw(count)).await
    }
}

struct Draw(u32);

impl Operation for Draw {
    type Output = CodeBlock;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<CodeBlock> {
        let missing = || StoreError::Backend("the database gave no number".into());
        let now = tx.first(&NOW, &[]).await?.ok_or_else(missing)?.int(0)?;
        let day = Timestamp::from_millis(now).utc_day();
        let row = tx.first(&DRAW, &[day.number().into(), self.0.into()]).await?;
        let used = u64::try_from(row.ok_or_else(missing)?.int(0)?).unwrap_or_default();
        let count = u64::from(self.0);
        Ok(CodeBlock::new(day, used - count + 1, count))
    }
}
