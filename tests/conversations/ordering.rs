//! Many concurrent conversations: each in order, none blocks another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt};
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::message::MessagePart;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::org::OrgPlace;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::session::key::Peer;
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_runtime::deps::Settings;
use ostler_runtime::records::run::RunRecord;
use ostler_store::{ClaimPolicy, SessionFilter, Store};
use ostler_testkit::{self as testkit, TestDatabase};
use tokio::sync::watch;

use crate::support::{
    GIA, Scenario, catalogue_of, item_text, on_every_database, org, scenario_in, scripted, text_of,
};

/// Returns the number of answered messages.
async fn answered_count(scenario: &Scenario) -> usize {
    let mut count = 0;
    for session in scenario.sessions().await {
        let runs = scenario.org().runs(session.id, None, 100).await.unwrap();
        let runs = runs.iter().map(|one| RunRecord::from_stored(one).unwrap());
        count += runs.map(|run| run.input.len()).sum::<usize>();
    }
    count
}

/// Runs eight workers until this many messages are answered.
async fn work_with_eight_workers(
    scenario: &Scenario,
    messages: usize,
    write: impl Future<Output = ()>,
) {
    let (stop, stopped) = watch::channel(false);
    let worker = scenario.worker.clone();
    let working = tokio::spawn(async move { worker.run(8, stopped).await });
    write.await;
    let all = async {
        while answered_count(scenario).await < messages {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(300), all).await.expect("all is answered");
    stop.send(true).unwrap();
    working.await.unwrap();
}

/// F09: with eight workers and fifty conversations every message is answered once, in the
/// order of its conversation.
async fn f09_many_workers_answer_each_message_once_and_in_order(store: Store) {
    let (scenario, _) =
        scenario_in(store, "default: 'Yes: {{ user }}'", Vec::new(), Settings::default()).await;
    scenario.change_agent(GIA, |gia| gia.limits.max_messages_per_day = 10_000).await;
    for round in 0..4 {
        for who in 0..50 {
            scenario.write(&format!("p{who}"), &format!("m{round}")).await;
        }
    }
    work_with_eight_workers(&scenario, 200, async {}).await;
    let mut heard: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for sent in scenario.deliver().await {
        let Peer::Person(who) = &sent.to else { panic!("{sent:?}") };
        let lines = text_of(&sent);
        let lines = lines.trim_start_matches("Yes: ").lines().map(ToOwned::to_owned);
        heard.entry(who.clone()).or_default().extend(lines);
    }
    assert_eq!(heard.len(), 50);
    for (who, said) in heard {
        assert_eq!(said, ["m0", "m1", "m2", "m3"], "{who}");
    }
}
on_every_database!(
    /// F09.
    f09_many_workers_answer_each_message_once_and_in_order
);

/// A model that records how many answers of a conversation run concurrently.
struct SlowModel {
    model: Arc<dyn Model>,
    inside: Arc<Mutex<BTreeSet<String>>>,
    overlaps: Arc<Mutex<u32>>,
}

impl Model for SlowModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let first = item_text(&request.history[0]);
        let who = first.split(':').next().unwrap_or_default().to_owned();
        if !self.inside.lock().unwrap().insert(who.clone()) {
            *self.overlaps.lock().unwrap() += 1;
        }
        let (inside, answer) = (self.inside.clone(), self.model.answer(request));
        let wait = async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            inside.lock().unwrap().remove(&who);
            answer
        };
        futures_util::stream::once(wait).flatten().boxed()
    }

    fn price(&self) -> ModelPrice {
        self.model.price()
    }
}

/// F09: two messages that arrive at the same time in one session are answered one after
/// the other, by any worker.
#[tokio::test(flavor = "multi_thread")]
async fn f09_one_session_has_one_turn_at_a_time() {
    let overlaps = Arc::new(Mutex::new(0));
    let model = SlowModel {
        model: scripted("default: I see."),
        inside: Arc::default(),
        overlaps: overlaps.clone(),
    };
    let store = TestDatabase::sqlite_memory().migrated().await;
    let models = catalogue_of(vec![("scripted", Arc::new(model))]);
    let scenario = Scenario::with_models(store, models, Settings::default()).seed_lenient().await;
    let write = async {
        for n in 0..10 {
            futures_util::future::join(
                scenario.write("rosa", &format!("rosa: one {n}")),
                scenario.write_with_id("rosa", &format!("rosa: two {n}"), &format!("two-{n}")),
            )
            .await;
            tokio::time::sleep(Duration::from_millis(7)).await;
        }
    };
    work_with_eight_workers(&scenario, 20, write).await;
    assert_eq!(*overlaps.lock().unwrap(), 0);
    let runs = scenario.runs("rosa").await;
    assert_eq!(runs.iter().map(|run| run.input.len()).sum::<usize>(), 20);
    assert!(runs.len() > 1);
}

/// F09: an org with many messages does not keep another waiting.
#[tokio::test]
async fn f09_a_flooding_org_does_not_starve_another() {
    let settings = Settings {
        claims: ClaimPolicy { max_per_org: 4, ..Settings::default().claims },
        ..Settings::default()
    };
    let store = TestDatabase::sqlite_memory().migrated().await;
    let (scenario, _) = scenario_in(store, "default: I see.", Vec::new(), settings).await;
    scenario.change_agent(GIA, |gia| gia.limits.max_messages_per_day = 10_000).await;
    for who in 0..300 {
        scenario.write(&format!("flood{who}"), "hello").await;
    }
    let small = OrgId::from_u128(0x5a);
    scenario
        .store
        .create_org(org(small, "small", OrgPlace::TopLevel, LicencePlan::Pro))
        .await
        .unwrap();
    let (id, binding) = (AgentId::from_u128(0x5b), BindingId::from_u128(0x5c));
    let small_store = scenario.store.org(small);
    testkit::save_agent(&small_store, testkit::agent(small, id, "sam")).await;
    testkit::bind_channel(&small_store, binding, Channel::Webchat, id).await;
    let key = testkit::customer_key(small, binding, "otto");
    scenario.send(key, vec![MessagePart::text("hello")], None).await;
    let mut turns = 0;
    while small_store.sessions(SessionFilter::All, None, 1).await.unwrap().is_empty() {
        assert!(scenario.worker.answer_next().await.unwrap());
        turns += 1;
    }
    assert!(turns <= 50, "{turns} others were answered first, of 300");
}
