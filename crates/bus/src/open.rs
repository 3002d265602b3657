//! A bus by its address.

use std::sync::Arc;

use crate::bus::MessageBus;
use crate::error::Result;
use crate::memory::MemoryBus;
use crate::rabbit::{RabbitBus, RabbitOptions};

/// The bus that an address names: `memory:` for one inside this process, or
/// `amqp://…` and `amqps://…` for RabbitMQ with these options. Their limits hold
/// for both.
pub async fn open(address: &str, options: RabbitOptions) -> Result<Arc<dyn MessageBus>> {
    if address == "memory:" {
        return Ok(Arc::new(MemoryBus::new(options.limits)));
    }
    Ok(Arc::new(RabbitBus::connect(address, options).await?))
}
