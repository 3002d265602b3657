//! The fallback chain: order, skipped models, reported errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use ostler_domain::time::Timestamp;
use ostler_engine::model::{Chunk, ModelError, ModelErrorKind, Restart};
use ostler_models::cooldown::{CooldownClock, Cooldowns};
use ostler_models::fallback::{ChainEntry, Fallback};

use crate::ask::{END, ask, request, text};
use crate::fake::{Fake, error};

type Answer = Vec<Result<Chunk, ModelError>>;

/// A chain of two models, and a clock.
struct World {
    first: Arc<Fake>,
    second: Arc<Fake>,
    chain: Fallback,
    seconds: Arc<AtomicI64>,
}

fn world(first: Vec<Answer>, second: Vec<Answer>) -> World {
    let seconds = Arc::new(AtomicI64::new(0));
    let now = seconds.clone();
    let clock =
        CooldownClock::new(move || Timestamp::from_millis(1000 * now.load(Ordering::Relaxed)));
    let (first, second) = (Arc::new(Fake::new(first)), Arc::new(Fake::new(second)));
    let link = |name: &str, model: &Arc<Fake>| ChainEntry {
        name: name.into(),
        model: model.clone(),
        key: format!("env:{name}"),
    };
    let links = [link("first", &first), link("second", &second)];
    World { chain: Fallback::new(links, Cooldowns::new(clock)), first, second, seconds }
}

fn restart(why: ModelErrorKind) -> Chunk {
    Chunk::Restart(Restart {
        failed: "first".into(),
        model: "second".into(),
        why: format!("{why:?}"),
    })
}

/// C04: after the first model fails for good the second is asked, and both are
/// named.
#[tokio::test]
async fn c04_the_next_model_is_asked_after_a_final_failure() {
    for kind in [
        ModelErrorKind::Status(500),
        ModelErrorKind::Status(400),
        ModelErrorKind::Incomplete,
        ModelErrorKind::NoKey,
    ] {
        let half = vec![Ok(text("half")), Err(error("first", kind))];
        let world = world(vec![half], vec![vec![Ok(text("whole")), Ok(END)]]);
        let said = ask(&world.chain, request()).await;
        assert_eq!(said, (vec![text("half"), restart(kind), text("whole"), END], None));
    }
}

/// C04: if all models fail, the last error is reported.
#[tokio::test]
async fn c04_the_last_error_is_reported_if_all_models_fail() {
    let (one, other) = (ModelErrorKind::Status(500), ModelErrorKind::TimedOut);
    let world =
        world(vec![vec![Err(error("first", one))]], vec![vec![Err(error("second", other))]]);
    let said = ask(&world.chain, request()).await;
    assert_eq!(said, (vec![restart(one)], Some(error("second", other))));
}

/// C04: a key that was refused or rate-limited is skipped until its cooldown ends.
#[tokio::test]
async fn c04_a_key_in_cooldown_is_skipped() {
    let asked = |seconds| ModelError {
        retry_after: Some(Duration::from_secs(seconds)),
        ..error("first", ModelErrorKind::Status(429))
    };
    let plain = |status| error("first", ModelErrorKind::Status(status));
    for (failure, rest) in [(asked(90), 90), (plain(429), 60), (plain(401), 600), (plain(403), 600)]
    {
        let fine = || vec![Ok(END)];
        let world = world(vec![vec![Err(failure.clone())], fine()], vec![fine(), fine()]);
        let told = vec![restart(failure.kind), END];
        assert_eq!(ask(&world.chain, request()).await, (told.clone(), None));
        world.seconds.store(rest - 1, Ordering::Relaxed);
        assert_eq!(ask(&world.chain, request()).await, (told, None));
        assert_eq!((world.first.asked(), world.second.asked()), (1, 2));
        world.seconds.store(rest, Ordering::Relaxed);
        assert_eq!(ask(&world.chain, request()).await, (vec![END], None));
        assert_eq!((world.first.asked(), world.second.asked()), (2, 2));
    }
}

/// C04: other failures start no cooldown.
#[tokio::test]
async fn c04_transient_failures_start_no_cooldown() {
    let failure = error("first", ModelErrorKind::Status(500));
    let world = world(vec![vec![Err(failure)], vec![Ok(END)]], vec![vec![Ok(END)]]);
    ask(&world.chain, request()).await;
    assert_eq!(ask(&world.chain, request()).await, (vec![END], None));
}

#[tokio::test]
async fn if_all_keys_cool_down_the_first_to_recover_is_asked() {
    let refused = error("first", ModelErrorKind::Status(401));
    let busy = error("second", ModelErrorKind::Status(429));
    let world = world(vec![vec![Err(refused)]], vec![vec![Err(busy.clone())], vec![Ok(END)]]);
    assert_eq!(ask(&world.chain, request()).await.1, Some(busy));
    assert_eq!(ask(&world.chain, request()).await, (vec![END], None));
    assert_eq!((world.first.asked(), world.second.asked()), (1, 2));
}
