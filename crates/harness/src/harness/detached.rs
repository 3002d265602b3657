//! Operations that are carried out to their end even if the caller stops waiting.

use std::marker::PhantomData;

use super::Harness;

impl<S> Harness<S> {
    /// Runs an operation to its end. Every public method that changes something goes
    /// through here.
    pub(super) async fn run_detached<T, O>(&self, operation: impl FnOnce(Harness) -> O) -> T
    where
        T: Send + 'static,
        O: Future<Output = T> + Send + 'static,
    {
        let harness = Harness { core: self.core.clone(), state: PhantomData };
        run_to_end(operation(harness)).await
    }
}

/// Runs an operation in a task of its own and waits for it. A caller that drops the future,
/// such as a client that goes away, does not stop the operation between two of its steps.
pub(crate) async fn run_to_end<T: Send + 'static>(
    operation: impl Future<Output = T> + Send + 'static,
) -> T {
    match tokio::spawn(operation).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => std::future::pending().await,
        },
    }
}
