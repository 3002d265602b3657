//! Functions that wait for futures as if they blocked their thread.
//!
//! Such a function runs on a stack of its own. When it waits, the thread continues with
//! other work, so that one thread serves all connections: a thread for each would cost a
//! switch of threads for every answer of the server.

use std::cell::RefCell;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// The size of a stack; memory is used as far as it is needed.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// Returns a future that runs a function, which may wait for other futures.
pub(super) fn run(
    function: impl FnOnce(&Waiter<'_>) + 'static,
) -> io::Result<impl Future<Output = ()>> {
    let stack = DefaultStack::new(STACK_BYTES)?;
    let mut coroutine = Coroutine::with_stack(stack, move |yielder, waker: Waker| {
        function(&Waiter { yielder, waker: RefCell::new(waker) });
    });
    Ok(std::future::poll_fn(move |cx| match coroutine.resume(cx.waker().clone()) {
        CoroutineResult::Yield(()) => Poll::Pending,
        CoroutineResult::Return(()) => Poll::Ready(()),
    }))
}

/// Lets a function wait.
pub(super) struct Waiter<'y> {
    yielder: &'y Yielder<Waker, ()>,
    /// Of the task that runs the function.
    waker: RefCell<Waker>,
}

impl Waiter<'_> {
    /// Waits for a future.
    pub(super) fn wait<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        loop {
            let waker = self.waker.borrow().clone();
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => {
                    let waker = self.yielder.suspend(());
                    self.waker.replace(waker);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::time::Duration;

    use tokio::task::LocalSet;

    use super::run;

    #[tokio::test]
    async fn functions_wait_without_blocking_each_other() {
        let log = Rc::new(RefCell::new(Vec::new()));
        let task = |name: &'static str, pause: u64| {
            let log = log.clone();
            run(move |waiter| {
                for step in 0..2 {
                    waiter.wait(tokio::time::sleep(Duration::from_millis(pause)));
                    log.borrow_mut().push((name, step));
                }
            })
            .unwrap()
        };
        let tasks = LocalSet::new();
        tasks.spawn_local(task("slow", 400));
        tasks.spawn_local(task("fast", 10));
        tasks.await;
        assert_eq!(*log.borrow(), [("fast", 0), ("fast", 1), ("slow", 0), ("slow", 1)]);
    }
}
