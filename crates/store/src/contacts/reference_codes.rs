//! Reference codes: nodes draw blocks of numbers, so that no two nodes use the same
//! code and none needs a query per code.

use ostler_domain::reference::CodeBlock;
use ostler_domain::time::{Timestamp, UtcDay};

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
    /// Draws a block of `count` codes of today, by the database's clock.
    pub async fn draw_reference_codes(&self, count: u32) -> Result<CodeBlock> {
        self.write(Draw(count)).await
    }

    /// Draws `count` numbers of a day and returns the first.
    pub async fn draw_reference_numbers(&self, day: UtcDay, count: u32) -> Result<u64> {
        self.write(DrawNumbers(day, count)).await
    }
}

struct Draw(u32);

impl Operation for Draw {
    type Output = CodeBlock;

    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<CodeBlock> {
        let now = tx.first(&NOW, &[])?.ok_or_else(missing)?.int(0)?;
        let day = Timestamp::from_millis(now).utc_day();
        Ok(CodeBlock::new(day, draw(tx, day, self.0)?, u64::from(self.0)))
    }
}

struct DrawNumbers(UtcDay, u32);

impl Operation for DrawNumbers {
    type Output = u64;

    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<u64> {
        draw(tx, self.0, self.1)
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
