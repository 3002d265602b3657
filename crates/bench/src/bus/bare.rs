//! The limit in memory: a task for each agent, a channel to it, and a channel
//! back for each question. Nothing is named, counted, bounded in time or kept.

use tokio::sync::{mpsc, oneshot};

use super::load::Asked;
use crate::BenchError;

/// How many questions may wait.
const ROOM: usize = 10_000;

/// A question: what is said, and where the answer goes.
type Question = (u64, oneshot::Sender<u64>);

/// Tasks that say what they were told.
pub(super) struct Channels(Vec<mpsc::Sender<Question>>);

impl Channels {
    pub(super) fn open(count: usize) -> Self {
        let open = |_| {
            let (ask, mut asked) = mpsc::channel::<Question>(ROOM);
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

impl Asked for Channels {
    async fn ask(&self, number: usize) -> Result<(), BenchError> {
        let (answer, answered) = oneshot::channel();
        let agent = &self.0[number % self.0.len()];
        agent.send((number as u64, answer)).await.map_err(|_| BenchError::Silent)?;
        answered.await.map_err(|_| BenchError::Silent)?;
        Ok(())
    }
}
