//! Many conversations at once: each in order, none in the way of another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt};
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::message::MessagePart;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::org::OrgPlace;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::session::key::{ConversationKey, ConversationEntry, Peer};
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_runtime::deps::Settings;
use ostler_runtime::records::run::RunRecord;
use ostler_store::{ClaimPolicy, OrgBinding, Store};
use ostler_testkit::TestDatabase;
use tokio::sync::watch;

use crate::support::{GIA, Scenario, agent, catalogue_of, item_text, on_every_database, org, scenario_in, scripted, text_of};


/// How many messages were answered.
async fn answered(scenario: &Scenario) -> usize {
    let mut count = 0;
    for session in scenario.sessions().await {
        let runs = scenario.org().runs(session.id, None, 100).await.unwrap();
        let runs = runs.iter().map(|one| serde_json::from_str::<RunRecord>(&one.data).unwrap());
        count += runs.map(|run| run.input.len()).sum::<usize>();
    }
    count
}

/// Works in eight places until so many messages are answered.
async fn work_in_eight_places(scenario: &Scenario, messages: usize, write: impl Future<Output = ()>) {
    let (stop, stopped) = watch::channel(false);
    let worker = scenario.worker.clone();
    let working = tokio::spawn(async move { worker.run(8, stopped).await });
    write.await;
    let all = async {
        while answered(scenario).await < messages {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(300), all).await.expect("all is answered");
    stop.send(true).unwrap();
    working.await.unwrap();
}

/// F09: with eight workers and fifty conversations every message is answered
/// once, and each conversation keeps its order.
async fn f09_order_holds_with_many_workers(store: Store) {
    let (scenario, _) =
        scenario_in(store, "default: 'Yes: {{ user }}'", Vec::new(), Settings::default()).await;
    scenario.change_agent(GIA, |gia| gia.limits.max_messages_per_day = 10_000).await;
    for round in 0..4 {
        for who in 0..50 {
            scenario.write(&format!("p{who}"), &format!("m{round}")).await;
        }
    }
    work_in_eight_places(&scenario, 200, async {}).await;
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
    f09_order_holds_with_many_workers
);

/// A model that says how many answers of a conversation are under way at once.
struct Slow {
    model: Arc<dyn Model>,
    inside: Arc<Mutex<BTreeSet<String>>>,
    overlaps: Arc<Mutex<u32>>,
}

impl Model for Slow {
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

/// F09: two messages that come at the same moment to one session are answered one
/// after the other, by whichever worker.
#[tokio::test(flavor = "multi_thread")]
async fn f09_one_session_has_one_turn_at_a_time() {
    let overlaps = Arc::new(Mutex::new(0));
    let model = Slow {
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
    work_in_eight_places(&scenario, 20, write).await;
    assert_eq!(*overlaps.lock().unwrap(), 0);
    let runs = scenario.runs("rosa").await;
    assert_eq!(runs.iter().map(|run| run.input.len()).sum::<usize>(), 20);
    assert!(runs.len() > 1);
}

/// F09: an org that floods does not keep another waiting.
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
    scenario.store.create_org(org(small, "small", OrgPlace::TopLevel, LicencePlan::Pro)).await.unwrap();
    let (id, binding) = (AgentId::from_u128(0x5b), BindingId::from_u128(0x5c));
    let mut theirs = agent(id, "sam", Subtype::CustomerService);
    theirs.org = small;
    scenario.store.org(small).save_agent(theirs).await.unwrap();
    let bound = Binding { id: binding, channel: Channel::Webchat, enabled: true, priority: 1 };
    let bound = OrgBinding { binding: bound, agent: id, settings: "{}".into(), secret: None };
    scenario.store.org(small).save_binding(bound).await.unwrap();
    let peer = Peer::Person("otto".into());
    let key = ConversationKey { org: small, binding, peer: peer.clone(), entry: ConversationEntry::Customer };
    scenario.send(key, vec![MessagePart::text("hello")], None).await;
    let mut turns = 0;
    while scenario
        .store
        .org(small)
        .sessions(ostler_store::SessionFilter::All, None, 1)
        .await
        .unwrap()
        .is_empty()
    {
        assert!(scenario.worker.answer_next().await.unwrap());
        turns += 1;
    }
    assert!(turns <= 50, "{turns} others were answered first, of 300");
}
