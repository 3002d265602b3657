//! Turns, the background and readers at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt};
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_engine::tokens;
use ostler_store::ObservationState;
use ostler_testkit::TestDatabase;

use crate::support::{FunctionModel, ORG, THREAD, TestThread, observe_facts, small, text};

/// A model that takes its time.
struct SlowModel(Arc<FunctionModel>);

impl Model for SlowModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let wait = Duration::from_millis(self.0.calls() % 7);
        let answer = self.0.answer(request);
        let start = futures_util::stream::once(tokio::time::sleep(wait));
        start.flat_map(|()| futures_util::stream::empty()).chain(answer).boxed()
    }

    fn price(&self) -> ModelPrice {
        self.0.price()
    }
}

/// M18, M20: turns do not wait for the background. Whatever the order, the prompt is bounded,
/// starts and ends alternate, and the store and the process agree in the end.
#[tokio::test(flavor = "multi_thread")]
async fn m18_m20_turns_race_with_the_background() {
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        let model = FunctionModel::new(|request| {
            if request.len().is_multiple_of(5) { None } else { observe_facts(request) }
        });
        let mut thread = TestThread::open(&store, small(), Arc::new(SlowModel(model))).await;
        let (memory, is_over) = (thread.memory.clone(), Arc::new(AtomicBool::new(false)));
        let stop = is_over.clone();
        let reader = tokio::spawn(async move {
            let mut last = 1;
            while !stop.load(Ordering::SeqCst) {
                let prompt = memory.prompt();
                assert!(prompt.tail_start >= last, "the tail only moves forward");
                assert_eq!(prompt.head.is_some(), prompt.tail_start > 1);
                last = prompt.tail_start;
                tokio::task::yield_now().await;
            }
        });
        let bound = small().message_limit() + small().observation_limit() + 300;
        for number in 0..300 {
            let prompt = thread.turn(&text(&format!("fact {number} is said"), 20)).await;
            let size: u64 = prompt.iter().map(tokens::of_item).sum();
            assert!(size <= bound, "turn {number}: {size}");
            thread.clock.fetch_add(2000, Ordering::SeqCst);
        }
        is_over.store(true, Ordering::SeqCst);
        reader.await.unwrap();
        thread.settle(0).await;
        let (ends, _) = crate::restart::check_pairs(&thread.events);
        assert!(ends > 1, "{ends} ends");
        let (status, prompt) = (thread.memory.status(0), thread.prompt());
        let stored = store.org(ORG).observations(THREAD).await.unwrap();
        let active = stored.iter().filter(|one| one.state == ObservationState::Active);
        assert_eq!(
            active.map(|one| one.tokens).sum::<u64>(),
            status.windows.active.observations.tokens
        );
        thread.restart().await;
        assert_eq!((thread.memory.status(0), thread.prompt()), (status, prompt));
    }
}
