//! Queue agents operated by people: without a broker, where a command runs the agents that it
//! needs, and on a broker, where a worker runs them.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ostler_bus::next_id;
use ostler_domain::id::{AgentId, OrgId};
use ostler_store::Store;
use serde_json::{Value, json};

use crate::running_server::RunningServer;
use crate::{stderr, stdout};

/// An installation with one org, which has an AI agent `gia`.
pub(crate) struct QueueInstallation {
    folder: tempfile::TempDir,
    pub(crate) org: OrgId,
}

const SCRIPT: &str = "default: 'Gia says: {{ user }}'";

impl QueueInstallation {
    pub(crate) fn new(bus: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let config =
            format!("database = \"sqlite:ostler.db\"\nbus = \"{bus}\"\nscript = \"script.yaml\"\n");
        std::fs::write(folder.path().join("ostler.toml"), config).expect("a file");
        std::fs::write(folder.path().join("script.yaml"), SCRIPT).expect("a file");
        let desk = Self { folder, org: OrgId::from_u128(next_id().as_u128()) };
        desk.with_store(async |store| {
            store.migrate().await.expect("tables");
            store.create_org(ostler_testkit::org(desk.org, "desk")).await.expect("an org");
            let gia = ostler_testkit::agent(desk.org, AgentId::from_u128(7), "gia");
            ostler_testkit::save_agent(&store.org(desk.org), gia).await;
            ostler_testkit::grant_credits(&store.org(desk.org), "test", 1000).await;
        });
        desk
    }

    fn with_store<T>(&self, work: impl AsyncFnOnce(&Store) -> T) -> T {
        let database: PathBuf = self.folder.path().join("ostler.db");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let store = Store::connect(&format!("sqlite:{}", database.display()));
            work(&store.expect("a store")).await
        })
    }

    pub(crate) fn home(&self) -> String {
        self.folder.path().to_string_lossy().into_owned()
    }

    pub(crate) fn run(&self, args: &[&str]) -> String {
        stdout(&[args, &["--org", "desk", "--home", &self.home()]].concat())
    }

    fn error(&self, args: &[&str]) -> String {
        stderr(&[args, &["--org", "desk", "--home", &self.home()]].concat())
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let text = self.run(&[args, &["--json"]].concat());
        serde_json::from_str(&text).expect("JSON")
    }

    /// Starts a command that waits for a reply, and returns what it prints.
    fn spawn(&self, args: &[&str]) -> std::thread::JoinHandle<String> {
        let args: Vec<String> = args.iter().map(|text| (*text).to_owned()).collect();
        let home = self.home();
        std::thread::spawn(move || {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            stdout(&[&args[..], &["--org", "desk", "--home", &home, "--timeout", "30s"]].concat())
        })
    }

    /// Waits until a list has entries.
    fn wait_for(&self, args: &[&str]) -> Value {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let list = self.json(args);
            if list.as_array().is_some_and(|all| !all.is_empty()) {
                return list;
            }
            assert!(Instant::now() < deadline, "{args:?} stays empty");
        }
    }

    /// Returns the audited actions, oldest first.
    fn actions(&self) -> Vec<String> {
        let org = self.org;
        self.with_store(async |store| {
            let mut all = store.org(org).audit_entries(None, None, 100).await.expect("entries");
            all.sort_by_key(|one| one.entry.id);
            all.into_iter().map(|one| one.entry.action).collect()
        })
    }
}

/// O26: agents are started, stopped and removed, and mistakes change nothing.
#[test]
fn o26_agents_are_started_stopped_and_removed() {
    let desk = QueueInstallation::new("memory:");
    let unknown = desk.error(&["agent", "start", "ada"]);
    assert!(unknown.contains("name its type to register it"), "{unknown}");
    let own = desk.error(&["agent", "start", "gia", "--type", "echo"]);
    assert!(own.contains("belongs to the organization"), "{own}");
    assert!(desk.actions().is_empty());
    desk.run(&["agent", "start", "ada", "--type", "echo", "--can", "review"]);
    let other = desk.error(&["agent", "start", "ada", "--type", "human"]);
    assert!(other.contains("is registered with the type echo"), "{other}");
    assert!(desk.run(&["agent", "send", "ada", "hello"]).contains("  hello"));

    desk.run(&["agent", "stop", "ada"]);
    assert!(desk.error(&["agent", "send", "ada", "hello"]).contains("`ada` is stopped"));
    assert!(desk.run(&["bus", "status"]).contains("away: ada"));
    desk.run(&["agent", "start", "ada"]);
    assert!(desk.run(&["agent", "send", "ada", "again"]).contains("  again"));

    desk.run(&["team", "create", "crew", "--members", "gia,ada"]);
    assert!(desk.error(&["agent", "rm", "ada"]).contains("is in the team crew"));
    assert!(desk.error(&["agent", "rm", "gia"]).contains("belongs to the organization"));
    desk.run(&["team", "remove", "crew", "ada"]);
    assert_eq!(desk.json(&["agent", "rm", "ada"])["removed"], true);
    assert!(desk.error(&["agent", "send", "ada", "hello"]).contains("no agent `ada`"));
    let expected = [
        "start_queue_agent",
        "send_to_queue_agent",
        "stop_queue_agent",
        "start_queue_agent",
        "send_to_queue_agent",
        "start_queue_agent",
        "create_team",
        "remove_from_team",
        "remove_queue_agent",
    ];
    assert_eq!(desk.actions(), expected);
}

/// O26: AI agents are members of teams, members are added and removed, and `team stop` stops
/// the team's own agents only.
#[test]
fn o26_teams_with_ai_agents_are_changed_asked_and_dissolved() {
    let desk = QueueInstallation::new("memory:");
    let banana = desk.error(&["team", "create", "crew", "--members", "b", "--register", "banana"]);
    assert!(banana.contains("[possible values: echo, human]"), "{banana}");
    desk.run(&["team", "create", "other", "--members", "cy", "--register", "echo"]);
    desk.run(&["team", "create", "crew", "--members", "ada,gia", "--register", "echo"]);
    desk.run(&["team", "add", "crew", "cy"]);
    assert!(desk.error(&["team", "add", "crew", "cy"]).contains("already a member"));
    assert!(desk.error(&["team", "add", "crew", "nobody"]).contains("no agent `nobody`"));
    assert!(desk.error(&["team", "remove", "crew", "ada"]).contains("leads this team"));
    let asked = desk.json(&["team", "ask", "crew", "Open?", "--council", "--quorum", "3"]);
    let answers = asked["answers"].as_array().expect("answers");
    let of = |name: &str| answers.iter().find(|one| one["agent"] == name).expect(name);
    assert_eq!(of("gia")["answer"], "Gia says: Open?");
    assert_eq!(of("ada")["answer"], "Open?");
    assert_eq!(desk.json(&["team", "broadcast", "crew", "Noon"])["told"], 3);
    let led = desk.json(&["team", "add", "crew", "gia", "--leader"]);
    assert_eq!(led["leader"], "gia");
    desk.run(&["team", "remove", "crew", "ada"]);
    desk.run(&["team", "add", "crew", "ada"]);

    let stopped = desk.json(&["team", "stop", "crew"]);
    assert_eq!((&stopped["team"]["status"], &stopped["waiting"]), (&json!("complete"), &json!([])));
    let again = desk.error(&["team", "stop", "crew"]);
    assert!(again.contains("a team that is dissolved"), "{again}");
    let agents = desk.json(&["agent", "ls"]);
    let state = |name: &str| {
        let all = agents.as_array().expect("agents");
        let one = all.iter().find(|one| one["name"] == name).expect(name);
        one["availability"].as_str().expect("a state").to_owned()
    };
    assert_eq!(["ada", "cy", "gia"].map(state), ["unavailable", "available", "available"]);
    desk.run(&["team", "create", "crew", "--members", "ada"]);
    assert!(desk.run(&["agent", "send", "ada", "back"]).contains("  back"), "a team starts it");
}

/// O26: work lists are read and answered, plans are approved and rejected, and work is
/// delegated, each with an audit entry.
#[test]
fn o26_work_lists_plans_and_delegations_are_operated() {
    let desk = QueueInstallation::new("memory:");
    desk.run(&["agent", "start", "ada", "--type", "human"]);
    desk.run(&["agent", "start", "bob", "--type", "echo"]);
    assert!(desk.run(&["worklist", "ls"]).contains("no message waits"));
    desk.run(&["agent", "send", "ada", "May we ship?", "--no-reply"]);
    let list = desk.json(&["worklist", "ls", "--agent", "ada"]);
    let id = list[0]["message"]["message"]["id"].as_str().expect("an id").to_owned();
    assert!(desk.run(&["worklist", "ls"]).contains("May we ship?"));
    assert!(desk.error(&["worklist", "answer", &id, " "]).contains("must not be empty"));
    let done = desk.run(&["worklist", "answer", &id, "Yes"]);
    assert!(done.contains("the sender wants no answer"), "{done}");
    assert!(desk.error(&["worklist", "answer", &id, "Yes"]).contains("already answered"));

    let plan = |text: &str| {
        desk.run(&["agent", "send", "bob", text, "--approver", "ada", "--no-reply"]);
        let plans = desk.json(&["plan", "ls"]);
        plans[0]["key"]["message"].as_str().expect("an id").to_owned()
    };
    let first = plan("sign it");
    let asked = desk.json(&["worklist", "ls"]);
    let request = asked[0]["message"]["message"]["id"].as_str().expect("an id").to_owned();
    let by_plan = desk.error(&["worklist", "answer", &request, "yes"]);
    assert!(by_plan.contains(&format!("ostler plan approve {first}")), "{by_plan}");
    assert!(desk.error(&["plan", "reject", &first, "--reason", " "]).contains("a reason"));
    desk.run(&["plan", "approve", &first]);
    assert!(desk.error(&["plan", "approve", &first]).contains("already answered"));
    // The approver is told what was done; the request is no longer on the list.
    let told = desk.run(&["worklist", "ls"]);
    assert!(told.contains("bob has done: say") && !told.contains("asks for approval"), "{told}");
    let second = plan("burn it");
    desk.run(&["plan", "reject", &second, "--reason", "not today"]);
    assert!(desk.run(&["plan", "ls"]).contains("no plan waits"));

    let create = ["delegation", "create", "Review", "--to", "ada", "--by", "bob"];
    let missing = desk.error(&["delegation", "create", "x", "--to", "eve", "--by", "bob"]);
    assert!(missing.contains("no agent `eve`"), "{missing}");
    let review = desk.json(&[&create[..], &["--within", "2h"]].concat());
    assert_eq!(review["sent"], true);
    let code = review["work"]["reference"].as_str().expect("a code").to_owned();
    let sign = ["delegation", "create", "Sign", "--to", "bob", "--by", "ada", "--after", &code];
    assert_eq!(desk.json(&sign)["sent"], false);
    assert!(desk.run(&["worklist", "ls"]).contains("work: Review"));
    let expected = [
        "start_queue_agent",
        "start_queue_agent",
        "send_to_queue_agent",
        "answer_work_item",
        // The second answer to a message that is answered.
        "refused",
        "send_to_queue_agent",
        "approve_plan",
        "refused",
        "send_to_queue_agent",
        "reject_plan",
        "delegate",
        "delegate",
    ];
    assert_eq!(desk.actions(), expected);
}

/// O26: without a broker the answer of an AI agent arrives even if another process gives it,
/// and is charged once.
#[test]
fn o26_an_ai_agent_answers_while_a_server_runs() {
    let desk = QueueInstallation::new("memory:");
    let _server = RunningServer::start(&desk.home());
    for text in ["one", "two", "three"] {
        let said = desk.run(&["agent", "send", "gia", text, "--timeout", "20s"]);
        assert!(said.contains(&format!("Gia says: {text}")), "{said}");
    }
}

/// A worker process, which is killed when it is dropped.
struct RunningWorker(Child);

impl RunningWorker {
    fn start(home: &str) -> Self {
        let worker = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(["worker", "--home", home])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(worker.expect("it starts"))
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        let _gone_already = self.0.wait();
    }
}

/// O26: on a broker, messages wait visibly until a worker runs the agents of the team, AI
/// agents among them; the status is what the broker says; people answer from another process.
#[test]
fn o26_a_worker_runs_the_agents_of_a_team_on_a_broker() {
    let Ok(url) = std::env::var("OSTLER_TEST_AMQP_URL") else { return };
    let desk = QueueInstallation::new(&url);
    desk.run(&["agent", "start", "ada", "--type", "human"]);
    desk.run(&["team", "create", "crew", "--members", "bob,gia,ada", "--register", "echo"]);
    assert!(desk.error(&["agent", "send", "bob", "hello"]).contains("no process runs `bob`"));
    let status = || desk.json(&["bus", "status"]);
    let sum = |status: &Value, what: &str| -> u64 {
        let queues = status["queues"].as_array().expect("queues");
        queues.iter().map(|queue| queue[what].as_u64().expect("a number")).sum()
    };
    let before = status();
    assert_eq!(before["queues"][0]["name"], "hosted.4.0");
    assert_eq!((sum(&before, "waiting"), sum(&before, "consumers")), (3, 0), "{before}");
    assert!(desk.run(&["bus", "status"]).contains("messages wait and no process takes them"));

    let _worker = RunningWorker::start(&desk.home());
    let deadline = Instant::now() + Duration::from_secs(30);
    while sum(&status(), "consumers") < 4 || sum(&status(), "waiting") > 0 {
        assert!(Instant::now() < deadline, "{}", status());
    }
    let asked = ["team", "ask", "crew", "Open?", "--council", "--quorum", "3"];
    let waiting = desk.spawn(&asked);
    let list = desk.wait_for(&["worklist", "ls"]);
    let id = list[0]["message"]["message"]["id"].as_str().expect("an id").to_owned();
    assert!(desk.run(&["worklist", "answer", &id, "Ada agrees"]).contains("answered"));
    let answers = waiting.join().expect("the council");
    for part in ["asked 3, 3 answered", "Gia says: Open?", "Ada agrees"] {
        assert!(answers.contains(part), "{answers}");
    }

    desk.run(&["team", "broadcast", "crew", "We close at noon"]);
    let list = desk.wait_for(&["worklist", "ls"]);
    assert_eq!(list[0]["message"]["message"]["payload"]["text"], "We close at noon");

    let waiting = desk.spawn(&["agent", "send", "bob", "danger", "--approver", "ada"]);
    let plans = desk.wait_for(&["plan", "ls"]);
    let id = plans[0]["key"]["message"].as_str().expect("an id").to_owned();
    desk.run(&["plan", "reject", &id, "--reason", "not today"]);
    let told = waiting.join().expect("a reply");
    assert!(told.contains("rejected  \"not today\""), "{told}");

    let stopped = desk.json(&["team", "stop", "crew"]);
    assert_eq!(stopped["team"]["status"], "complete");
    assert!(desk.error(&["agent", "send", "bob", "hello"]).contains("`bob` is stopped"));
    assert!(desk.run(&["agent", "send", "gia", "still there?"]).contains("Gia says"));
    assert_eq!(sum(&status(), "waiting"), 0);
}
