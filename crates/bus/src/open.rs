//! A bus by its address.

use std::sync::Arc;

use crate::bus::{Limits, MessageBus};
use crate::error::Result;
use crate::memory::MemoryBus;
use crate::rabbit::{RabbitBus, RabbitOptions};

/// The address of a bus inside this process.
const IN_PROCESS: &str = "memory:";

/// The bus that an address names: `memory:` for one inside this process, or
/// `amqp://…` and `amqps://…` for RabbitMQ with these options. Their limits hold
/// for both.
pub async fn open(address: &str, options: RabbitOptions) -> Result<Arc<dyn MessageBus>> {
    if address == IN_PROCESS {
        return Ok(Arc::new(MemoryBus::new(options.limits)));
    }
    Ok(Arc::new(RabbitBus::connect(address, options).await?))
}

/// Where the buses of an installation are: as many as it has prefixes, all over
/// one connection.
#[derive(Clone)]
pub enum Trunk {
    /// Inside this process.
    InProcess(Limits),
    /// On a broker, which other processes reach too.
    Broker(RabbitBus),
}

impl Trunk {
    /// What an address names, as for [`open`]. It does not wait for a broker.
    pub fn reach(address: &str, options: RabbitOptions) -> Result<Self> {
        if address == IN_PROCESS {
            return Ok(Self::InProcess(options.limits));
        }
        Ok(Self::Broker(RabbitBus::reach(address, options)?))
    }

    /// A bus whose names on the broker begin with this. Inside a process each is
    /// a bus of its own.
    pub fn bus(&self, prefix: &str) -> Result<Arc<dyn MessageBus>> {
        Ok(match self {
            Self::InProcess(limits) => Arc::new(MemoryBus::new(*limits)),
            Self::Broker(broker) => Arc::new(broker.beside(prefix)?),
        })
    }

    /// Whether other processes are on it.
    pub const fn is_shared(&self) -> bool {
        matches!(self, Self::Broker(_))
    }

    /// Ends the connection, and so all of its buses.
    pub async fn close(&self) {
        if let Self::Broker(broker) = self {
            broker.close().await;
        }
    }
}

impl std::fmt::Debug for Trunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trunk").field("is_shared", &self.is_shared()).finish()
    }
}
