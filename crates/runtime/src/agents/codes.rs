//! Reference codes for new requests. Each process reserves blocks of numbers,
//! so that every code is used once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ostler_bus::{BoxFuture, now};
use ostler_domain::reference::{CodeBlock, ReferenceCode};
use ostler_domain::time::UtcDay;

use super::error::Result;

/// How many numbers are reserved at a time.
const BLOCK: u64 = 100;

/// A source of unique numbers for reference codes.
pub trait CodeSource: Send + Sync + 'static {
    /// Reserves `count` numbers of a day and returns the first.
    fn draw(&self, day: UtcDay, count: u64) -> BoxFuture<'_, Result<u64>>;
}

/// Numbers for one process, starting at 1 every day.
#[derive(Debug, Default)]
pub struct MemoryCodes(Mutex<BTreeMap<UtcDay, u64>>);

impl CodeSource for MemoryCodes {
    fn draw(&self, day: UtcDay, count: u64) -> BoxFuture<'_, Result<u64>> {
        let mut days = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A process whose clock is behind may still use the previous day.
        while days.len() > 2 {
            days.pop_first();
        }
        let next = days.entry(day).or_insert(1);
        let first = *next;
        *next = next.saturating_add(count);
        Box::pin(std::future::ready(Ok(first)))
    }
}

/// The reference codes of one process.
pub(super) struct Codes {
    source: Box<dyn CodeSource>,
    block: Mutex<CodeBlock>,
}

impl Codes {
    pub(super) fn new(source: Box<dyn CodeSource>) -> Self {
        Self { source, block: Mutex::new(CodeBlock::new(UtcDay::default(), 0, 0)) }
    }

    /// Returns an unused code.
    pub(super) async fn next(&self) -> Result<ReferenceCode> {
        loop {
            let today = now().utc_day();
            if let Some(code) = self.block().take(today) {
                return Ok(code);
            }
            let first = self.source.draw(today, BLOCK).await?;
            // Two concurrent reservations waste one block at most.
            *self.block() = CodeBlock::new(today, first, BLOCK);
        }
    }

    fn block(&self) -> std::sync::MutexGuard<'_, CodeBlock> {
        self.block.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
