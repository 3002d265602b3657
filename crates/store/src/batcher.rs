//! Batches concurrent requests: while one batch is handled, further requests wait
//! and form the next one.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use tokio::sync::oneshot;

/// Handles batches of requests.
pub trait BatchHandler: Send + Sync + 'static {
    type Request: Send + 'static;
    type Response: Send + 'static;
    /// The largest number of requests in a batch.
    const MAX_BATCH: usize;

    /// Handles requests and returns their responses in the same order. A request
    /// without a response fails.
    fn handle_batch(
        &self,
        requests: Vec<Self::Request>,
    ) -> impl Future<Output = Vec<Self::Response>> + Send;

    /// Undoes a response whose caller has gone away.
    fn discard(&self, _: Self::Response) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// Collects requests and passes them to a [`BatchHandler`]. Cheap to clone.
pub struct Batcher<H: BatchHandler>(Arc<Inner<H>>);

struct Inner<H: BatchHandler> {
    handler: H,
    queue: Mutex<Queue<H>>,
}

type PendingRequest<H> =
    (<H as BatchHandler>::Request, oneshot::Sender<<H as BatchHandler>::Response>);

struct Queue<H: BatchHandler> {
    /// Whether a task is running that will handle the requests.
    running: bool,
    requests: Vec<PendingRequest<H>>,
}

impl<H: BatchHandler> Batcher<H> {
    /// Creates a batcher with an empty queue.
    pub fn new(handler: H) -> Self {
        let queue = Mutex::new(Queue { running: false, requests: Vec::new() });
        Self(Arc::new(Inner { handler, queue }))
    }

    /// Submits a request and waits for its response; None if the handler panicked or
    /// the runtime shuts down.
    pub fn submit(
        &self,
        request: H::Request,
    ) -> impl Future<Output = Option<H::Response>> + use<H> {
        let (sender, response) = oneshot::channel();
        let running = {
            let mut queue = self.0.lock();
            queue.requests.push((request, sender));
            std::mem::replace(&mut queue.running, true)
        };
        if !running {
            // A task of its own: the caller may be cancelled, and others wait too.
            tokio::spawn(Worker { inner: self.0.clone(), finished: false }.run());
        }
        response.map(Result::ok)
    }
}

impl<H: BatchHandler> Inner<H> {
    fn lock(&self) -> MutexGuard<'_, Queue<H>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the next batch; returns false if there was no request.
    async fn handle_next(&self) -> bool {
        let batch: Vec<PendingRequest<H>> = {
            let mut queue = self.lock();
            queue.requests.retain(|(_, sender)| !sender.is_closed());
            let size = queue.requests.len().min(H::MAX_BATCH);
            queue.running = size > 0;
            queue.requests.drain(..size).collect()
        };
        if batch.is_empty() {
            return false;
        }
        let (requests, senders): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let responses = self.handler.handle_batch(requests).await;
        let mut undelivered = Vec::new();
        for (sender, response) in senders.into_iter().zip(responses) {
            undelivered.extend(sender.send(response).err());
        }
        for response in undelivered {
            self.handler.discard(response).await;
        }
        true
    }
}

/// The task that handles batches until the queue is empty. If it panics or is
/// cancelled, pending requests fail and the next request starts another task.
struct Worker<H: BatchHandler> {
    inner: Arc<Inner<H>>,
    finished: bool,
}

impl<H: BatchHandler> Worker<H> {
    async fn run(mut self) {
        while self.inner.handle_next().await {}
        self.finished = true;
    }
}

impl<H: BatchHandler> Drop for Worker<H> {
    fn drop(&mut self) {
        if !self.finished {
            let mut queue = self.inner.lock();
            queue.running = false;
            queue.requests.clear();
        }
    }
}

impl<H: BatchHandler> Clone for Batcher<H> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<H: BatchHandler> fmt::Debug for Batcher<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Batcher")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{BatchHandler, Batcher};

    /// Doubles numbers, and panics at 13.
    struct Doubler;

    impl BatchHandler for Doubler {
        type Request = u32;
        /// The doubled number and the size of the batch.
        type Response = (u32, usize);
        const MAX_BATCH: usize = 10;

        async fn handle_batch(&self, requests: Vec<u32>) -> Vec<(u32, usize)> {
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(!requests.contains(&13), "out of order");
            let size = requests.len();
            requests.into_iter().map(|number| (number * 2, size)).collect()
        }
    }

    #[tokio::test]
    async fn concurrent_requests_are_batched_and_get_their_own_responses() {
        let batcher = Batcher::new(Doubler);
        let tasks = (100..125).map(|number| {
            let batcher = batcher.clone();
            tokio::spawn(async move { (number, batcher.submit(number).await) })
        });
        let mut sizes = Vec::new();
        for task in tasks.collect::<Vec<_>>() {
            let (number, response) = task.await.unwrap();
            let (doubled, size) = response.unwrap();
            assert_eq!(doubled, number * 2);
            sizes.push(size);
        }
        assert_eq!(sizes.iter().max(), Some(&10), "no batch is larger");
    }

    #[tokio::test]
    async fn requests_fail_when_the_handler_panics() {
        let batcher = Batcher::new(Doubler);
        let (bad, same_batch) = tokio::join!(batcher.submit(13), batcher.submit(14));
        assert_eq!((bad, same_batch), (None, None));
        assert_eq!(batcher.submit(7).await, Some((14, 1)), "the next request starts a new task");
    }

    #[tokio::test]
    async fn a_cancelled_request_does_not_block_others() {
        let batcher = Batcher::new(Doubler);
        let cancelled = tokio::time::timeout(Duration::from_millis(1), batcher.submit(1)).await;
        assert!(cancelled.is_err());
        assert_eq!(batcher.submit(2).await, Some((4, 1)));
    }
}
