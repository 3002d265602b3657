//! Reference codes from the store.

use ostler_bus::BoxFuture;
use ostler_domain::time::UtcDay;

use super::{StoredRecords, to_u32};
use crate::agents::codes::CodeSource;
use crate::agents::error::Result;

impl CodeSource for StoredRecords {
    fn draw(&self, day: UtcDay, count: u64) -> BoxFuture<'_, Result<u64>> {
        let count = to_u32(usize::try_from(count).unwrap_or(usize::MAX));
        Box::pin(async move { Ok(self.store.draw_reference_numbers(day, count).await?) })
    }
}
