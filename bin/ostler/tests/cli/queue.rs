//! Agents on queues from the command line: with the bus of the process, where a
//! command starts what it needs, and on a broker, where others consume.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{RabbitBus, RabbitOptions, next_id};
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::id::OrgId;
use ostler_domain::org::plan::Plan;
use ostler_domain::org::{Org, Place};
use ostler_runtime::queue::{
    AgentError, AgentRuntime, Assignment, Echo, Reply, Spec, Stored, agent_fn,
};
use ostler_store::Store;
use serde_json::{Value, json};

use crate::{stderr, stdout};

/// An installation with one org.
struct World {
    database: String,
    org: OrgId,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let database = format!("sqlite:{}", folder.path().join("ostler.db").display());
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let org = OrgId::from_u128(next_id().as_u128());
        runtime.block_on(async {
            let store = Store::connect(&database).expect("a store");
            store.migrate().await.expect("tables");
            let platform = Org {
                id: org,
                slug: "platform".into(),
                name: "Platform".into(),
                place: Place::Platform,
                plan: Plan::Enterprise,
                sub_orgs_enabled: true,
                time_zone: "Europe/Rome".into(),
                retention_days: None,
            };
            store.create_org(platform).await.expect("an org");
        });
        Self { database, org, runtime, _folder: folder }
    }

    async fn stored(&self) -> Stored {
        Stored::new(Store::open(&self.database).await.expect("the store"), self.org)
    }

    fn args<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        [args, &["--database", &self.database]].concat()
    }

    fn says(&self, args: &[&str]) -> String {
        stdout(&self.args(args))
    }

    fn json(&self, args: &[&str]) -> Value {
        let printed = self.says(&[args, &["--json"]].concat());
        serde_json::from_str(&printed).expect("JSON")
    }

    fn refuses(&self, args: &[&str]) -> String {
        stderr(&self.args(args))
    }
}

fn name(text: &str) -> AgentName {
    text.parse().expect("a name")
}

#[test]
fn x37_a_council_is_held_from_the_command_line() {
    let world = World::new();
    let made = ["team", "create", "review", "--members", "legal,security,style"];
    assert!(world.refuses(&made).contains("no agent `legal` is registered"));
    world.says(&[&made[..], &["--register", "echo"]].concat());

    let ask = ["team", "ask", "review", "May we ship this?", "--council", "--quorum", "2"];
    let shown = world.says(&[&ask[..], &["--timeout", "30s"]].concat());
    let first = shown.lines().next().expect("a line");
    assert!(first.starts_with("OST-") && first.contains("  asked 3, 3 answered in "), "{shown}");
    for (line, member) in shown.lines().skip(1).zip(["legal", "security", "style"]) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, [member, "May", "we", "ship", "this?"]);
    }

    let asked = world.json(&ask);
    assert_eq!(asked["asked"], 3);
    assert_eq!(asked["answers"][2]["agent"], "style");
    assert_eq!(asked["missing"], json!([]));
    let leader = world.json(&["team", "ask", "review", "And you?"]);
    assert_eq!(leader["asked"], 1);
    assert_eq!(leader["answers"][0]["agent"], "legal");
}

#[test]
fn teams_and_agents_are_listed_shown_and_stopped() {
    let world = World::new();
    assert!(world.says(&["team", "ls"]).starts_with("no teams"));
    assert!(world.says(&["agent", "ls"]).starts_with("no agents"));
    world.says(&["team", "create", "crew", "--members", "ada,bob", "--register", "echo"]);
    assert!(world.refuses(&["team", "create", "crew", "--members", "ada"]).contains("already"));

    let teams = world.json(&["team", "ls"]);
    assert_eq!(teams.as_array().map(Vec::len), Some(1));
    let listed = world.says(&["team", "ls"]);
    assert!(listed.contains("crew  active  ada     ada, bob"), "{listed}");
    let agents = world.json(&["agent", "ls"]);
    assert_eq!((&agents[0]["name"], &agents[1]["agent_type"]), (&json!("ada"), &json!("echo")));
    assert_eq!(world.json(&["agent", "show", "bob"])["teams"], json!(["crew"]));
    assert!(world.refuses(&["agent", "show", "eve"]).contains("no agent `eve`"));

    let told = world.json(&["agent", "send", "bob", "hello"]);
    assert_eq!(told["reply"]["message"]["payload"], json!({ "text": "hello" }));
    assert_eq!(told["reply"]["context"]["from_agent"], "bob");
    assert!(world.refuses(&["agent", "send", "eve", "hello"]).contains("no agent `eve`"));

    assert!(world.says(&["team", "stop", "crew"]).contains("dissolved"));
    assert!(world.says(&["team", "ls"]).contains("over"));
    assert!(world.refuses(&["team", "stop", "duo"]).contains("no team `duo`"));
}

/// X62: what is sent to people waits on their lists, and outlives the command.
#[test]
fn x62_what_is_broadcast_to_people_is_on_their_lists() {
    let world = World::new();
    world.says(&["team", "create", "people", "--members", "ada,bob", "--register", "human"]);
    let told = world.json(&["team", "broadcast", "people", "We ship at noon"]);
    assert_eq!((&told["told"], &told["missed"]), (&json!(2), &json!([])));
    world.says(&["agent", "send", "bob", "Is that all right?", "--no-reply"]);
    let lists =
        ["ada", "bob"].map(|who| world.json(&["agent", "show", who])["on_its_list"].clone());
    assert_eq!(lists, [json!(1), json!(2)]);
}

#[test]
fn delegations_are_listed_shown_and_brought_to_an_end() {
    let world = World::new();
    let [first, second] = world.runtime.block_on(async {
        let bus = Arc::new(ostler_bus::MemoryBus::default());
        let builder = AgentRuntime::builder(bus).stored(&world.stored().await);
        let person = Spec::new(name("bob")).of_type("human");
        let runtime = builder.agent(person, Echo).start().await.expect("a runtime");
        let first = Assignment::new(name("boss"), name("ada"), "look");
        let first = runtime.delegate(first).await.expect("work");
        let mut second = Assignment::new(name("boss"), name("bob"), "tell");
        second.blocked_by.insert(first.id);
        let second = runtime.delegate(second).await.expect("work");
        runtime.shutdown().await.expect("an end");
        [first, second].map(|work| work.reference.to_string())
    });
    let count = |args: &[&str]| world.json(args).as_array().map(Vec::len);
    assert_eq!(count(&["delegation", "ls"]), Some(2));
    assert_eq!(count(&["delegation", "ls", "--agent", "bob"]), Some(1));
    assert_eq!(count(&["delegation", "ls", "--blocked"]), Some(1));
    assert_eq!(count(&["delegation", "ls", "--overdue"]), Some(0));
    let shown = world.json(&["delegation", "show", &second]);
    assert_eq!(shown["waits_for"][0]["description"], "look");
    let id = shown["work"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(world.json(&["delegation", "show", &id]), shown);

    assert!(world.refuses(&["delegation", "update", &second, "in-progress"]).contains("waits for"));
    world.says(&["delegation", "update", &first, "in-progress"]);
    let done = world.json(&["delegation", "update", &first, "complete"]);
    assert_eq!(done["ready"][0]["description"], "tell");
    // Whoever has the next piece was told, although nobody was running.
    assert_eq!(world.json(&["agent", "show", "bob"])["on_its_list"], 1);
    assert!(world.refuses(&["delegation", "show", "soon"]).contains("neither the id"));
    assert!(
        world.refuses(&["delegation", "show", "OST-2020-0101-001"]).contains("no piece of work")
    );
}

#[test]
fn a_bus_of_the_process_has_nothing_left_between_commands() {
    let world = World::new();
    world.says(&["team", "create", "crew", "--members", "ada,bob", "--register", "echo"]);
    let seen = world.json(&["bus", "status"]);
    assert_eq!(seen["dead_letters"], 0);
    assert_eq!(seen["queues"][0], json!({ "name": "agent.ada", "waiting": 0, "consumers": 0 }));
    assert!(world.says(&["bus", "status"]).contains("agent.bob"));
    assert!(world.says(&["bus", "dead-letters"]).contains("no dead letters"));
    assert_eq!(world.json(&["bus", "replay", "--all"]), json!({ "replayed": 0 }));
    assert!(world.refuses(&["bus", "replay"]).contains("--queue"));
    assert!(world.refuses(&["bus", "status", "--bus", "http://x"]).contains("amqp://"));
}

/// Agents on a broker: one with an opinion, one that fails the first time.
async fn on_a_broker(world: &World, url: &str) -> AgentRuntime {
    let stored = world.stored().await;
    let options = RabbitOptions { prefix: stored.bus_prefix(), ..RabbitOptions::default() };
    let bus = Arc::new(RabbitBus::connect(url, options).await.expect("the broker"));
    let opinion = agent_fn(|_, _| async {
        let opinion = json!({ "answer": "no", "reason": "the token is logged" });
        Ok(Some(Reply::new("opinion", opinion)))
    });
    let fails =
        agent_fn(|_, _| async { Err(AgentError::new(FailureClass::Data, "this is not for me")) });
    let builder = AgentRuntime::builder(bus).stored(&stored);
    let builder = builder.agent(Spec::new(name("legal")), opinion);
    builder.agent(Spec::new(name("broken")), fails).start().await.expect("a runtime")
}

#[test]
fn on_a_broker_commands_talk_to_whoever_consumes() {
    let Ok(url) = std::env::var("OSTLER_TEST_AMQP_URL") else { return };
    let world = World::new();
    let agents = world.runtime.block_on(on_a_broker(&world, &url));
    let json = |args: &[&str]| world.json(&[args, &["--bus", &url]].concat());
    let says = |args: &[&str]| world.says(&[args, &["--bus", &url]].concat());

    says(&["team", "create", "review", "--members", "legal,broken"]);
    let ask = ["team", "ask", "review", "May we?", "--council", "--quorum", "1", "--timeout", "5s"];
    let shown = says(&ask);
    assert!(shown.contains("asked 2, 1 answered"), "{shown}");
    assert!(shown.contains("legal   no  \"the token is logged\""), "{shown}");

    let letters = || json(&["bus", "dead-letters", "--queue", "agent.broken"]);
    assert_eq!(letters()[0]["death"]["reason"], "this is not for me");
    let seen = json(&["bus", "status"]);
    assert_eq!(seen["queues"][0]["consumers"], 1, "{seen}");
    assert_eq!(seen["dead_letters"], letters().as_array().expect("a list").len());
    let id = letters()[0]["id"].as_str().expect("an id").to_owned();
    let replay = ["bus", "replay", "--queue", "agent.broken", "--message", &id];
    assert_eq!(json(&replay), json!({ "replayed": 1 }));
    // It fails again, and is a dead letter again.
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while letters().as_array().is_none_or(Vec::is_empty) {
        assert!(std::time::Instant::now() < deadline, "the letter did not come back");
    }

    says(&["team", "stop", "review"]);
    let stopped = async {
        while !agents.running().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = async { tokio::time::timeout(Duration::from_secs(30), stopped).await };
    world.runtime.block_on(waited).expect("the agents of the team stop");
}
