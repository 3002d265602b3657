//! Retries: when, how often, and what is reported.

use std::sync::Arc;
use std::time::Duration;

use ostler_engine::model::{Chunk, ModelError, ModelErrorKind, Restart};
use ostler_models::jitter::Jitter;
use ostler_models::retry::RetryingModel;

use crate::ask::{END, ask, request, text};
use crate::fake::{Fake, error};
use crate::server::{Reply, Server};

fn restart(kind: ModelErrorKind) -> Chunk {
    Chunk::Restart(Restart { failed: "m".into(), model: "m".into(), why: format!("{kind:?}") })
}

fn retrying(model: &Arc<Fake>) -> RetryingModel {
    RetryingModel::new("m", model.clone(), Jitter::fixed(500))
}

/// C03: three attempts with about 1 s and 4 s between them; each retry is announced
/// and discards the text so far.
#[tokio::test(start_paused = true)]
async fn c03_a_model_is_tried_three_times_with_backoff() {
    let (busy, cut) = (ModelErrorKind::Status(503), ModelErrorKind::Incomplete);
    let answers = [
        vec![Err(error("m", busy))],
        vec![Ok(text("half an ans")), Err(error("m", cut))],
        vec![Ok(text("whole")), Ok(END)],
    ];
    let fake = Arc::new(Fake::new(answers));
    let said = ask(&retrying(&fake), request()).await;
    let expected = vec![restart(busy), text("half an ans"), restart(cut), text("whole"), END];
    assert_eq!(said, (expected, None));
    assert_eq!(fake.waits(), [1000, 4000]);
}

/// C03: after the last attempt the error is reported.
#[tokio::test(start_paused = true)]
async fn c03_the_third_failure_is_reported() {
    let kind = ModelErrorKind::Status(500);
    let fake = Arc::new(Fake::new((0..9).map(|_| vec![Err(error("m", kind))])));
    let (chunks, failed) = ask(&retrying(&fake), request()).await;
    assert_eq!((chunks, failed), (vec![restart(kind), restart(kind)], Some(error("m", kind))));
    assert_eq!(fake.asked(), 3);
}

/// C03: the provider's wait is used, unless it is too long for a retry.
#[tokio::test(start_paused = true)]
async fn c03_retry_after_sets_the_wait() {
    let busy = |seconds| ModelError {
        retry_after: Some(Duration::from_secs(seconds)),
        ..error("m", ModelErrorKind::Status(429))
    };
    let fake = Arc::new(Fake::new([vec![Err(busy(17))], vec![Ok(END)]]));
    assert_eq!(ask(&retrying(&fake), request()).await.1, None);
    assert_eq!(fake.waits(), [17_000]);
    let fake = Arc::new(Fake::new([vec![Err(busy(3600))], vec![Ok(END)]]));
    assert_eq!(ask(&retrying(&fake), request()).await.1, Some(busy(3600)));
    assert_eq!(fake.asked(), 1);
}

/// C03: permanent failures are not retried.
#[tokio::test(start_paused = true)]
async fn c03_permanent_failures_are_not_retried() {
    for kind in [400, 401, 403, 404, 422].map(ModelErrorKind::Status) {
        let fake = Arc::new(Fake::new([vec![Err(error("m", kind))], vec![Ok(END)]]));
        assert_eq!(ask(&retrying(&fake), request()).await, (vec![], Some(error("m", kind))));
        assert_eq!(fake.asked(), 1);
    }
}

/// A stream that ends without its last chunk is incomplete.
#[tokio::test(start_paused = true)]
async fn an_answer_without_an_end_is_retried() {
    let fake = Arc::new(Fake::new([vec![Ok(text("half"))], vec![Ok(END)]]));
    let (chunks, failed) = ask(&retrying(&fake), request()).await;
    assert!(matches!(&chunks[..], [Chunk::Text(_), Chunk::Restart(_), Chunk::Done(_)]));
    assert_eq!(failed, None);
}

/// C03: retries work over HTTP.
#[tokio::test]
async fn c03_a_busy_provider_is_retried_over_http() {
    let busy = Reply::status("429 Busy", "retry-after: 0\r\n", "");
    let broken = Reply::status("500 Oh", "retry-after-ms: 1\r\n", "");
    let stop =
        "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n";
    let server = Server::start([busy, broken, Reply::events(stop)]).await;
    let model = Arc::new(crate::openai::model(&server.url));
    let (chunks, failed) = ask(&RetryingModel::new("m", model, Jitter::random()), request()).await;
    assert_eq!(failed, None);
    let [Chunk::Restart(first), Chunk::Restart(second), said, end] = &chunks[..] else {
        panic!("{chunks:?}")
    };
    assert!(first.why.ends_with("HTTP 429") && second.why.ends_with("HTTP 500"));
    assert_eq!((said, end), (&text("ok"), &END));
    let seen = server.seen();
    assert!(seen.len() == 3 && seen.iter().all(|asked| asked.body == seen[0].body));
}
