//! Commands for queue agents: on a bus of the process, where a command starts the agents
//! that it needs, and on a broker, where agents run in other processes.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{RabbitBus, RabbitOptions, next_id};
use ostler_domain::id::OrgId;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::agents::{
    AgentError, AgentReply, AgentRuntime, AgentSpec, EchoAgent, StoredRecords, TaskAssignment,
    agent_fn,
};
use ostler_store::Store;
use serde_json::{Value, json};

use crate::{stderr, stdout};

/// An installation with one org.
struct TestInstallation {
    database: String,
    org: OrgId,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

impl TestInstallation {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let database = format!("sqlite:{}", folder.path().join("ostler.db").display());
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let org = OrgId::from_u128(next_id().as_u128());
        runtime.block_on(async {
            let store = Store::connect(&database).expect("a store");
            store.migrate().await.expect("tables");
            let platform = Org {
                place: OrgPlace::Platform,
                plan: LicencePlan::Enterprise,
                sub_orgs_enabled: true,
                ..ostler_testkit::org(org, "platform")
            };
            store.create_org(platform).await.expect("an org");
        });
        Self { database, org, runtime, _folder: folder }
    }

    async fn stored(&self) -> StoredRecords {
        StoredRecords::new(Store::open(&self.database).await.expect("the store"), self.org)
    }

    fn args<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        [args, &["--database", &self.database]].concat()
    }

    fn run(&self, args: &[&str]) -> String {
        stdout(&self.args(args))
    }

    fn json(&self, args: &[&str]) -> Value {
        let printed = self.run(&[args, &["--json"]].concat());
        serde_json::from_str(&printed).expect("JSON")
    }

    fn error(&self, args: &[&str]) -> String {
        stderr(&self.args(args))
    }
}

fn name(text: &str) -> AgentName {
    text.parse().expect("a name")
}

#[test]
fn x37_team_ask_holds_a_council() {
    let installation = TestInstallation::new();
    let made = ["team", "create", "review", "--members", "legal,security,style"];
    assert!(installation.error(&made).contains("no agent `legal` is registered"));
    installation.run(&[&made[..], &["--register", "echo"]].concat());

    let ask = ["team", "ask", "review", "May we ship this?", "--council", "--quorum", "2"];
    let shown = installation.run(&[&ask[..], &["--timeout", "30s"]].concat());
    let first = shown.lines().next().expect("a line");
    assert!(first.starts_with("OST-") && first.contains("  asked 3, 3 answered in "), "{shown}");
    for (line, member) in shown.lines().skip(1).zip(["legal", "security", "style"]) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, [member, "May", "we", "ship", "this?"]);
    }

    let asked = installation.json(&ask);
    assert_eq!(asked["asked"], 3);
    assert_eq!(asked["answers"][2]["agent"], "style");
    assert_eq!(asked["missing"], json!([]));
    let leader = installation.json(&["team", "ask", "review", "And you?"]);
    assert_eq!(leader["asked"], 1);
    assert_eq!(leader["answers"][0]["agent"], "legal");
}

#[test]
fn teams_and_agents_are_listed_shown_and_stopped() {
    let installation = TestInstallation::new();
    assert!(installation.run(&["team", "ls"]).starts_with("no teams"));
    assert!(installation.run(&["agent", "ls"]).starts_with("no agents"));
    installation.run(&["team", "create", "crew", "--members", "ada,bob", "--register", "echo"]);
    assert!(
        installation.error(&["team", "create", "crew", "--members", "ada"]).contains("already")
    );

    let teams = installation.json(&["team", "ls"]);
    assert_eq!(teams.as_array().map(Vec::len), Some(1));
    let listed = installation.run(&["team", "ls"]);
    assert!(listed.contains("crew  active  ada     ada, bob"), "{listed}");
    let agents = installation.json(&["agent", "ls"]);
    assert_eq!((&agents[0]["name"], &agents[1]["agent_type"]), (&json!("ada"), &json!("echo")));
    assert_eq!(installation.json(&["agent", "show", "bob"])["teams"], json!(["crew"]));
    assert!(installation.error(&["agent", "show", "eve"]).contains("no agent `eve`"));

    let told = installation.json(&["agent", "send", "bob", "hello"]);
    assert_eq!(told["reply"]["message"]["payload"], json!({ "text": "hello" }));
    assert_eq!(told["reply"]["context"]["from_agent"], "bob");
    assert!(installation.error(&["agent", "send", "eve", "hello"]).contains("no agent `eve`"));

    assert!(installation.run(&["team", "stop", "crew"]).contains("dissolved"));
    assert!(installation.run(&["team", "ls"]).contains("dissolved"));
    assert!(installation.error(&["team", "stop", "duo"]).contains("no team `duo`"));
}

/// X62: messages to human agents wait on their work lists and outlive the command.
#[test]
fn x62_broadcasts_to_human_agents_are_on_their_work_lists() {
    let installation = TestInstallation::new();
    installation.run(&["team", "create", "people", "--members", "ada,bob", "--register", "human"]);
    let told = installation.json(&["team", "broadcast", "people", "We ship at noon"]);
    assert_eq!((&told["told"], &told["missed"]), (&json!(2), &json!([])));
    installation.run(&["agent", "send", "bob", "Is that all right?", "--no-reply"]);
    let lists =
        ["ada", "bob"].map(|who| installation.json(&["agent", "show", who])["on_its_list"].clone());
    assert_eq!(lists, [json!(1), json!(2)]);
}

#[test]
fn delegations_are_listed_shown_and_completed() {
    let installation = TestInstallation::new();
    let [first, second] = installation.runtime.block_on(async {
        let bus = Arc::new(ostler_bus::MemoryBus::default());
        let builder = AgentRuntime::builder(bus).records(&installation.stored().await);
        let person = AgentSpec::new(name("bob")).with_type("human");
        let runtime = builder.agent(person, EchoAgent).start().await.expect("a runtime");
        let first = TaskAssignment::new(name("boss"), name("ada"), "look");
        let first = runtime.delegate(first).await.expect("work");
        let mut second = TaskAssignment::new(name("boss"), name("bob"), "tell");
        second.blocked_by.insert(first.id);
        let second = runtime.delegate(second).await.expect("work");
        runtime.shutdown().await.expect("an end");
        [first, second].map(|work| work.reference.to_string())
    });
    let count = |args: &[&str]| installation.json(args).as_array().map(Vec::len);
    assert_eq!(count(&["delegation", "ls"]), Some(2));
    assert_eq!(count(&["delegation", "ls", "--agent", "bob"]), Some(1));
    assert_eq!(count(&["delegation", "ls", "--blocked"]), Some(1));
    assert_eq!(count(&["delegation", "ls", "--overdue"]), Some(0));
    let shown = installation.json(&["delegation", "show", &second]);
    assert_eq!(shown["waits_for"][0]["description"], "look");
    let id = shown["work"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(installation.json(&["delegation", "show", &id]), shown);

    assert!(
        installation.error(&["delegation", "update", &second, "in-progress"]).contains("waits for")
    );
    installation.run(&["delegation", "update", &first, "in-progress"]);
    let done = installation.json(&["delegation", "update", &first, "complete"]);
    assert_eq!(done["ready"][0]["description"], "tell");
    // The assignee of the next delegation got it, although no agent was running.
    assert_eq!(installation.json(&["agent", "show", "bob"])["on_its_list"], 1);
    assert!(installation.error(&["delegation", "show", "soon"]).contains("neither the id"));
    assert!(
        installation
            .error(&["delegation", "show", "OST-2020-0101-001"])
            .contains("no delegation has")
    );
}

#[test]
fn an_in_process_bus_is_empty_between_commands() {
    let installation = TestInstallation::new();
    installation.run(&["team", "create", "crew", "--members", "ada,bob", "--register", "echo"]);
    let seen = installation.json(&["bus", "status"]);
    assert_eq!(seen["dead_letters"], 0);
    assert_eq!((&seen["in_process"], &seen["queues"]), (&json!(true), &json!([])));
    assert!(installation.run(&["bus", "status"]).contains("a bus of its own"));
    assert!(installation.run(&["bus", "dead-letters"]).contains("no dead letters"));
    assert_eq!(installation.json(&["bus", "replay", "--all"]), json!({ "replayed": 0 }));
    assert!(installation.error(&["bus", "replay"]).contains("--queue"));
    assert!(installation.error(&["bus", "status", "--bus", "http://x"]).contains("amqp://"));
}

/// Starts agents on a broker: one with an opinion, and one that always fails.
pub(crate) async fn start_on_broker(stored: StoredRecords, url: &str) -> AgentRuntime {
    let options = RabbitOptions { prefix: stored.bus_prefix(), ..RabbitOptions::default() };
    let bus = Arc::new(RabbitBus::connect(url, options).await.expect("the broker"));
    let opinion = agent_fn(|_, _| async {
        let opinion = json!({ "answer": "no", "reason": "the token is logged" });
        Ok(Some(AgentReply::new("opinion", opinion)))
    });
    let fails =
        agent_fn(|_, _| async { Err(AgentError::new(FailureClass::Data, "this is not for me")) });
    let builder = AgentRuntime::builder(bus).records(&stored);
    let builder = builder.agent(AgentSpec::new(name("legal")), opinion);
    builder.agent(AgentSpec::new(name("broken")), fails).start().await.expect("a runtime")
}

#[test]
fn on_a_broker_commands_reach_agents_of_other_processes() {
    let Ok(url) = std::env::var("OSTLER_TEST_AMQP_URL") else { return };
    let installation = TestInstallation::new();
    let agents = installation
        .runtime
        .block_on(async { start_on_broker(installation.stored().await, &url).await });
    let json = |args: &[&str]| installation.json(&[args, &["--bus", &url]].concat());
    let says = |args: &[&str]| installation.run(&[args, &["--bus", &url]].concat());

    says(&["team", "create", "review", "--members", "legal,broken"]);
    let ask = ["team", "ask", "review", "May we?", "--council", "--quorum", "1", "--timeout", "5s"];
    let shown = says(&ask);
    assert!(shown.contains("asked 2, 1 answered"), "{shown}");
    assert!(shown.contains("legal   no  \"the token is logged\""), "{shown}");

    let letters = || json(&["bus", "dead-letters", "--queue", "agent.broken"]);
    assert_eq!(letters()[0]["cause"]["reason"], "this is not for me");
    let seen = json(&["bus", "status"]);
    assert_eq!(seen["queues"][0]["consumers"], 1, "{seen}");
    assert_eq!(seen["dead_letters"], letters().as_array().expect("a list").len());
    let id = letters()[0]["id"].as_str().expect("an id").to_owned();
    let replay = ["bus", "replay", "--queue", "agent.broken", "--message", &id];
    assert_eq!(json(&replay), json!({ "replayed": 1 }));
    // It fails again, and is a dead letter again.
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while letters().as_array().is_none_or(Vec::is_empty) {
        assert!(
            std::time::Instant::now() < deadline,
            "the message did not become a dead letter again"
        );
    }

    says(&["team", "stop", "review"]);
    let stopped = async {
        while !agents.running().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = async { tokio::time::timeout(Duration::from_secs(30), stopped).await };
    installation.runtime.block_on(waited).expect("the agents of the team stop");
}
