//! Reference codes: nodes draw blocks of numbers, so that no two nodes use the same
//! code and none needs a query per code.

use ostler_domain::reference::CodeBlock;
use ostler_domain::time::{Timestamp, UtcDay};

use crate::Store;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::error::{Result, StoreError};

const NOW: Sql = sql!("SELECT now_ms()");
const DRAW: Sql = sql!(
    "INSERT INTO reference_codes (day, used) VALUES (?1, ?2)
     ON CONFLICT (day) DO UPDATE SET used = reference_codes.used + excluded.used
     RETURNING used"
);

impl Store {
    /// Draws a block of `count` codes of today, by the database's clock.
    pub fn draw_reference_codes(&self, count: u32) -> StoreFuture<CodeBlock> {
        self.write_all_orgs(move |tx| {
            let now = tx.first(&NOW, &[])?.ok_or_else(missing)?.int(0)?;
            let day = Timestamp::from_millis(now).utc_day();
            Ok(CodeBlock::new(day, draw(tx, day, count)?, u64::from(count)))
        })
    }

    /// Draws `count` numbers of a day and returns the first.
    pub fn draw_reference_numbers(&self, day: UtcDay, count: u32) -> StoreFuture<u64> {
        self.write_all_orgs(move |tx| draw(tx, day, count))
    }
}

fn draw(tx: &Tx, day: UtcDay, count: u32) -> Result<u64> {
    let row = tx.first(&DRAW, &[day.number().into(), count.into()])?;
    let used = u64::try_from(row.ok_or_else(missing)?.int(0)?).unwrap_or_default();
    Ok(used - u64::from(count) + 1)
}

fn missing() -> StoreError {
    StoreError::Backend("the database returned no reference number".into())
}
