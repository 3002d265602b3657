//! Opens buses by address.

use std::sync::Arc;

use crate::bus::{MessageBus, QueueLimits};
use crate::error::Result;
use crate::memory::MemoryBus;
use crate::rabbit::{RabbitBus, RabbitOptions};

/// The address of a bus inside this process.
const IN_PROCESS: &str = "memory:";

/// Opens the bus at an address: `memory:` for one inside this process,
/// `amqp://…` or `amqps://…` for RabbitMQ. `options.limits` apply to both.
pub async fn open(address: &str, options: RabbitOptions) -> Result<Arc<dyn MessageBus>> {
    if address == IN_PROCESS {
        return Ok(Arc::new(MemoryBus::new(options.limits)));
    }
    Ok(Arc::new(RabbitBus::connect(address, options).await?))
}

/// The connection shared by all buses of an installation, one bus per prefix.
#[derive(Clone)]
pub enum BusConnection {
    /// Every bus is a separate [`MemoryBus`].
    InProcess(QueueLimits),
    /// All buses use one broker connection; other processes can use the same
    /// broker.
    Broker(RabbitBus),
}

impl BusConnection {
    /// Like [`open`], without waiting for the broker.
    pub fn connect_lazy(address: &str, options: RabbitOptions) -> Result<Self> {
        if address == IN_PROCESS {
            return Ok(Self::InProcess(options.limits));
        }
        Ok(Self::Broker(RabbitBus::connect_lazy(address, options)?))
    }

    /// Returns a bus whose queue names on the broker start with `prefix`. In
    /// process, every call returns a new bus.
    pub fn bus(&self, prefix: &str) -> Result<Arc<dyn MessageBus>> {
        Ok(match self {
            Self::InProcess(limits) => Arc::new(MemoryBus::new(*limits)),
            Self::Broker(broker) => Arc::new(broker.with_prefix(prefix)?),
        })
    }

    /// Returns whether other processes can use the same buses.
    pub const fn is_shared(&self) -> bool {
        matches!(self, Self::Broker(_))
    }

    /// Closes the connection and all buses on it.
    pub async fn close(&self) {
        if let Self::Broker(broker) = self {
            broker.close().await;
        }
    }
}

impl std::fmt::Debug for BusConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BusConnection").field("is_shared", &self.is_shared()).finish()
    }
}
