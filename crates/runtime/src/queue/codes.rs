//! Reference codes for new requests: nodes draw blocks of numbers, so that each
//! code is given out once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ostler_bus::{BoxFuture, now};
use ostler_domain::reference::{CodeBlock, ReferenceCode};
use ostler_domain::time::UtcDay;

use super::error::Result;

/// How many numbers are drawn at once.
const BLOCK: u64 = 100;

/// Where nodes draw their numbers from.
pub trait CodeSource: Send + Sync + 'static {
    /// Reserves so many numbers of a day, for nobody else; the first of them.
    fn draw(&self, day: UtcDay, count: u64) -> BoxFuture<'_, Result<u64>>;
}

/// Numbers for one process, from 1 every day.
#[derive(Debug, Default)]
pub struct MemoryCodes(Mutex<BTreeMap<UtcDay, u64>>);

impl CodeSource for MemoryCodes {
    fn draw(&self, day: UtcDay, count: u64) -> BoxFuture<'_, Result<u64>> {
        let mut days = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The day before may still be drawn from by a clock that is behind.
        while days.len() > 2 {
            days.pop_first();
        }
        let next = days.entry(day).or_insert(1);
        let first = *next;
        *next = next.saturating_add(count);
        Box::pin(std::future::ready(Ok(first)))
    }
}

/// The codes of one node.
pub(super) struct Codes {
    source: Box<dyn CodeSource>,
    block: Mutex<CodeBlock>,
}

impl Codes {
    pub(super) fn new(source: Box<dyn CodeSource>) -> Self {
        Self { source, block: Mutex::new(CodeBlock::new(UtcDay::default(), 0, 0)) }
    }

    /// A code that nobody else has.
    pub(super) async fn next(&self) -> Result<ReferenceCode> {
        loop {
            let today = now().utc_day();
            if let Some(code) = self.block().take(today) {
                return Ok(code);
            }
            let first = self.source.draw(today, BLOCK).await?;
            // Two that draw at the same time waste a block at most.
            *self.block() = CodeBlock::new(today, first, BLOCK);
        }
    }

    fn block(&self) -> std::sync::MutexGuard<'_, CodeBlock> {
        self.block.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
