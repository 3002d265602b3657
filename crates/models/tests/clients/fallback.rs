//! The chain: who is asked next, who is passed over, and what is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use ostler_domain::time::Timestamp;
use ostler_engine::model::{Chunk, ModelError, ModelErrorKind, Restart};
use ostler_models::cooldown::{Clock, Cooldowns};
use ostler_models::fallback::{Fallback, Link};

use crate::ask::{END, ask, request, text};
use crate::fake::{Fake, error};

type Answer = Vec<Result<Chunk, ModelError>>;

/// A chain of two, and a clock.
struct World {
    first: Arc<Fake>,
    second: Arc<Fake>,
    chain: Fallback,
    seconds: Arc<AtomicI64>,
}

fn world(first: Vec<Answer>, second: Vec<Answer>) -> World {
    let seconds = Arc::new(AtomicI64::new(0));
    let now = seconds.clone();
    let clock = Clock::new(move || Timestamp::from_millis(1000 * now.load(Ordering::Relaxed)));
    let (first, second) = (Arc::new(Fake::new(first)), Arc::new(Fake::new(second)));
    let link = |name: &str, model: &Arc<Fake>| Link {
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

/// C04: when the first fails for good the second is asked, and both are named.
#[tokio::test]
async fn c04_the_next_model_is_asked() {
    for kind in [
        ModelErrorKind::Status(500),
        ModelErrorKind::Status(400),
        ModelErrorKind::Cut,
        ModelErrorKind::NoKey,
    ] {
        let half = vec![Ok(text("half")), Err(error("first", kind))];
        let world = world(vec![half], vec![vec![Ok(text("whole")), Ok(END)]]);
        let said = ask(&world.chain, request()).await;
        assert_eq!(said, (vec![text("half"), restart(kind), text("whole"), END], None));
    }
}

/// C04: if all fail, the last failure is told.
#[tokio::test]
async fn c04_the_last_error_is_told() {
    let (one, other) = (ModelErrorKind::Status(500), ModelErrorKind::TimedOut);
    let world =
        world(vec![vec![Err(error("first", one))]], vec![vec![Err(error("second", other))]]);
    let said = ask(&world.chain, request()).await;
    assert_eq!(said, (vec![restart(one)], Some(error("second", other))));
}

/// C04: a key that was refused or used too much rests, and is used again.
#[tokio::test]
async fn c04_a_resting_key_is_passed_over() {
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

/// C04: other failures put no key to rest.
#[tokio::test]
async fn c04_a_failure_of_the_moment_is_forgotten() {
    let failure = error("first", ModelErrorKind::Status(500));
    let world = world(vec![vec![Err(failure)], vec![Ok(END)]], vec![vec![Ok(END)]]);
    ask(&world.chain, request()).await;
    assert_eq!(ask(&world.chain, request()).await, (vec![END], None));
}

/// If all keys rest, the one that is ready first is asked all the same.
#[tokio::test]
async fn somebody_is_always_asked() {
    let refused = error("first", ModelErrorKind::Status(401));
    let busy = error("second", ModelErrorKind::Status(429));
    let world = world(vec![vec![Err(refused)]], vec![vec![Err(busy.clone())], vec![Ok(END)]]);
    assert_eq!(ask(&world.chain, request()).await.1, Some(busy));
    assert_eq!(ask(&world.chain, request()).await, (vec![END], None));
    assert_eq!((world.first.asked(), world.second.asked()), (1, 2));
}
