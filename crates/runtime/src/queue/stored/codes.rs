//! Numbers of reference codes, drawn from the store.

use ostler_bus::BoxFuture;
use ostler_domain::time::UtcDay;

use super::{Stored, most};
use crate::queue::codes::CodeSource;
use crate::queue::error::Result;

impl CodeSource for Stored {
    fn draw(&self, day: UtcDay, count: u64) -> BoxFuture<'_, Result<u64>> {
        let count = most(usize::try_from(count).unwrap_or(usize::MAX));
        Box::pin(async move { Ok(self.store.draw_codes_of(day, count).await?) })
    }
}
