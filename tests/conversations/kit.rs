//! Models that are watched, tools that do as they are told, other orgs and other
//! channels.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::BoxStream;
use ostler_domain::agent::Agent;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::message::Part;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::notice::{NoticeKind, Recipient};
use ostler_domain::org::plan::Plan;
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::org::{Org, Place};
use ostler_domain::session::key::{ConversationKey, Entry as EntryKind, Peer};
use ostler_domain::team::config::TeamConfig;
use ostler_domain::tool::ToolSpec;
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::gate::Authorized;
use ostler_engine::history::{Content, Item};
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_engine::outcome::Outcome;
use ostler_engine::tool::{Definition, Reply, Tool, ToolContext};
use ostler_models::catalogue::{Catalogue, Options, SharedCatalogue, Uses};
use ostler_models::chance::Chance;
use ostler_models::cooldown::{Clock as RestClock, Cooldowns};
use ostler_models::http::{Http, Limits as HttpLimits};
use ostler_models::price::PriceList;
use ostler_models::scripted::{Script, ScriptedModel};
use ostler_runtime::parts::Settings;
use ostler_runtime::talk::entry::Entry;
use ostler_runtime::talk::snapshot::Snapshot;
use ostler_store::{LineKind, Store};
use serde_json::{Value, json};

use crate::world::{ORG, World, text_of};

/// What a model was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The name that it was asked under.
    pub(crate) model: String,
    pub(crate) system: String,
    pub(crate) history: Vec<Item>,
    pub(crate) offered: Vec<String>,
    pub(crate) max_tokens: u64,
    pub(crate) at: tokio::time::Instant,
}

/// All that models were asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<Asked>>>);

impl Seen {
    pub(crate) fn all(&self) -> Vec<Asked> {
        self.0.lock().unwrap().clone()
    }

    /// How often a model was asked.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// The last time.
    pub(crate) fn last(&self) -> Asked {
        self.all().pop().expect("a model was asked")
    }
}

/// A model that is watched.
pub(crate) struct Watched {
    name: String,
    model: Arc<dyn Model>,
    seen: Seen,
}

impl Watched {
    pub(crate) fn new(name: &str, model: Arc<dyn Model>, seen: Seen) -> Self {
        Self { name: name.to_owned(), model, seen }
    }
}

impl Model for Watched {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        self.seen.0.lock().unwrap().push(Asked {
            model: self.name.clone(),
            system: request.system.to_string(),
            history: request.history.to_vec(),
            offered: request.offered.to_vec(),
            max_tokens: request.max_tokens,
            at: tokio::time::Instant::now(),
        });
        self.model.answer(request)
    }

    fn price(&self) -> ModelPrice {
        self.model.price()
    }
}

/// A script as a model.
pub(crate) fn scripted(script: &str) -> Arc<dyn Model> {
    let script = Script::parse("test.yaml", script).expect("the script can be read");
    Arc::new(ScriptedModel::new(script))
}

/// A catalogue of models that are there.
pub(crate) fn catalogue_of(models: Vec<(&str, Arc<dyn Model>)>) -> SharedCatalogue {
    let catalogue = Catalogue::new(Options {
        http: Http::new(HttpLimits::default()).unwrap(),
        providers: Vec::new(),
        prices: PriceList::built_in().unwrap(),
        default: None,
        fallbacks: Vec::new(),
        chance: Chance::random(),
        cooldowns: Cooldowns::new(RestClock::system()),
        uses: Uses::default(),
    });
    let with = |all: Catalogue, (name, model)| all.with(name, model);
    SharedCatalogue(Arc::new(models.into_iter().fold(catalogue, with)))
}

/// The models of a script, watched.
pub(crate) fn watched(script: &str) -> (SharedCatalogue, Seen) {
    let seen = Seen::default();
    let model = Arc::new(Watched::new("scripted", scripted(script), seen.clone()));
    (catalogue_of(vec![("scripted", model)]), seen)
}

/// Bella Pizza with a model that is watched, and tools in place of others.
pub(crate) async fn world_with(
    script: &str,
    instead: Vec<Arc<dyn Tool>>,
    settings: Settings,
) -> (World, Seen) {
    let store = Store::connect("sqlite::memory:").unwrap();
    store.migrate().await.unwrap();
    world_on(store, script, instead, settings).await
}

/// The same in a store that is there already.
pub(crate) async fn world_on(
    store: Store,
    script: &str,
    instead: Vec<Arc<dyn Tool>>,
    settings: Settings,
) -> (World, Seen) {
    let (models, seen) = watched(script);
    (calmed(World::made_of(store, models, settings, instead)).await, seen)
}

/// Bella Pizza, where an agent may say the same twice.
pub(crate) async fn calmed(world: World) -> World {
    let world = world.furnished().await;
    world.save_settings(&calm()).await;
    world
}

/// Settings with a team, and agents that may say the same twice.
pub(crate) fn calm() -> OrgSettings {
    let mut settings = OrgSettings { team: Some(TeamConfig::default()), ..OrgSettings::default() };
    settings.triggers.policy.alike_percent = 101;
    settings
}

/// Bella Pizza with a model that is watched.
pub(crate) async fn world(script: &str) -> (World, Seen) {
    world_with(script, Vec::new(), Settings::default()).await
}

/// What is tried again is tried at once.
pub(crate) fn impatient() -> Settings {
    Settings { retry_after: Duration::ZERO, ..Settings::default() }
}

/// A tool that does as it is told.
struct Puppet<F> {
    definition: Definition,
    act: F,
}

impl<F: Fn(&Value) -> Outcome + Send + Sync> Tool for Puppet<F> {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, Reply> {
        let outcome = match call.arguments::<Value>() {
            Ok(arguments) => (self.act)(&arguments),
            Err(bad) => bad,
        };
        std::future::ready(Reply::Done(outcome)).boxed()
    }
}

/// A tool of the catalogue that does this.
pub(crate) fn puppet(
    name: &str,
    act: impl Fn(&Value) -> Outcome + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    let spec = built_in().into_iter().find(|spec| spec.name.as_str() == name);
    puppet_of(spec.expect("a tool of the catalogue"), act)
}

/// A tool of one's own.
pub(crate) fn puppet_of(
    spec: ToolSpec,
    act: impl Fn(&Value) -> Outcome + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    let schema = json!({"type": "object"});
    Arc::new(Puppet { definition: Definition::new(spec, "Does as it is told.", schema), act })
}

/// A tool of the catalogue that always fails.
pub(crate) fn failing(name: &str) -> Arc<dyn Tool> {
    puppet(name, |_| Outcome::failed("It broke."))
}

/// An org.
pub(crate) fn org(id: OrgId, slug: &str, place: Place, plan: Plan) -> Org {
    Org {
        id,
        slug: slug.into(),
        name: format!("The {slug}"),
        place,
        plan,
        sub_orgs_enabled: place == Place::TopLevel,
        time_zone: "Europe/Rome".into(),
        retention_days: None,
    }
}

impl World {
    /// Somebody writes these parts to a conversation.
    pub(crate) async fn send(
        &self,
        key: ConversationKey,
        parts: Vec<Part>,
        agent: Option<AgentId>,
    ) {
        let id = format!("kit-{}", self.next());
        let identifier = match &key.peer {
            Peer::Person(name) | Peer::Group(name) => name.clone(),
        };
        let entry: Entry = serde_json::from_value(json!({
            "entry": "wrote", "parts": parts, "from": {"identifier": identifier},
            "named_agent": agent, "provider_id": id,
        }))
        .unwrap();
        self.intake.accept(key, &id, &entry).await.unwrap();
    }

    /// Somebody writes to a conversation and hears this.
    pub(crate) async fn say_in(&self, key: &ConversationKey, text: &str) -> Vec<String> {
        self.send(key.clone(), vec![Part::text(text)], None).await;
        self.work().await;
        let sent = self.deliver().await;
        sent.iter().filter(|one| one.to == key.peer).map(text_of).collect()
    }

    /// A conversation through another binding.
    pub(crate) fn key_on(
        &self,
        binding: BindingId,
        who: &str,
        entry: EntryKind,
    ) -> ConversationKey {
        ConversationKey { binding, entry, ..self.key(who) }
    }

    /// The harness of the last turn of somebody's newest session.
    pub(crate) async fn harness(&self, who: &str) -> Snapshot {
        let run = self.runs(who).await.pop().expect("a run");
        run.turns.into_iter().next_back().expect("a turn").harness
    }

    /// The names of the tools of the last turn.
    pub(crate) async fn tools(&self, who: &str) -> Vec<String> {
        let tools = self.harness(who).await.tool_scope.active_tools;
        tools.iter().map(ToString::to_string).collect()
    }

    /// What somebody was told and has not read.
    pub(crate) async fn told(&self, recipient: Recipient) -> Vec<NoticeKind> {
        let unread = self.org().unread_notices(recipient, None, 100).await.unwrap();
        unread.iter().map(|one| one.notice.kind).collect()
    }

    /// Everything that an org has spent, by the lines of its ledger.
    pub(crate) async fn spent(&self, org: OrgId) -> u64 {
        self.store.org(org).apply_settlements().await.unwrap();
        let lines = self.store.org(org).ledger_lines(None, 1000).await.unwrap();
        let spent = lines.iter().filter(|line| matches!(line.kind, LineKind::Expense(_)));
        spent.map(|line| line.amount.get()).sum()
    }

    /// Changes one of the org's agents.
    pub(crate) async fn change(&self, id: AgentId, change: impl FnOnce(&mut Agent)) {
        let mut agent = self.store.org(ORG).agent(id).await.unwrap();
        change(&mut agent);
        self.save_agent(agent).await;
    }
}

/// The words of an entry of a conversation.
pub(crate) fn words(item: &Item) -> String {
    match item {
        Item::User { content } => {
            let texts = content.iter().map(|one| match one {
                Content::Text { text } => text.as_str(),
                Content::Image(_) => "<picture>",
                Content::Audio(_) => "<recording>",
                Content::File(_) => "<file>",
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Item::Assistant { text, .. } => text.clone(),
        Item::Results { results } => {
            let texts = results.iter().map(|one| one.outcome.content.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}
