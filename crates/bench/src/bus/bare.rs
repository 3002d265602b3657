//! The limit in memory: a task per agent with a channel to it, and a oneshot
//! channel per request.

use tokio::sync::{mpsc, oneshot};

use super::load::LoadTarget;
use crate::BenchError;

/// Capacity of each channel.
const CAPACITY: usize = 10_000;

/// A request and the sender of its reply.
type EchoRequest = (u64, oneshot::Sender<u64>);

/// Tasks that echo their requests.
pub(super) struct Channels(Vec<mpsc::Sender<EchoRequest>>);

impl Channels {
    pub(super) fn open(count: usize) -> Self {
        let open = |_| {
            let (ask, mut asked) = mpsc::channel::<EchoRequest>(CAPACITY);
            tokio::spawn(async move {
                while let Some((said, answer)) = asked.recv().await {
                    let _nobody_waits = answer.send(said);
                }
            });
            ask
        };
        Self((0..count).map(open).collect())
    }
}

impl LoadTarget for Channels {
    async fn ask(&self, number: usize) -> Result<(), BenchError> {
        let (answer, answered) = oneshot::channel();
        let agent = &self.0[number % self.0.len()];
        agent.send((number as u64, answer)).await.map_err(|_| BenchError::NoReply)?;
        answered.await.map_err(|_| BenchError::NoReply)?;
        Ok(())
    }
}
