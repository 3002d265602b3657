//! What a new process finds after another has ended.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, MemoryBus};
use ostler_domain::queue_agent::delegation::{Delegation, DelegationStatus};
use ostler_domain::queue_agent::plan::PlanAnswer;
use ostler_domain::queue_agent::team_lifecycle::TeamStatus;
use ostler_runtime::agents::coordination::{
    ActionReport, CoordinationMessage, PlanApprovalRequest,
};
use ostler_runtime::agents::{
    AgentRecord, AgentRuntime, AgentSpec, DelegatedWork, EchoAgent, HumanAgent, Page, Placement,
    QueueError, StoredRecords, TaskAssignment, TeamSpec, agent_fn,
};
use serde_json::json;
use tokio::sync::mpsc;

use crate::support::{OrgDatabase, RecordStores, name, team_name};

fn echo(text: &str) -> AgentSpec {
    AgentSpec { config: json!({ "tone": "dry" }), ..AgentSpec::new(name(text)) }
        .with_type(EchoAgent::TYPE)
        .with_capability("Echoing")
}

async fn begin(stored: &StoredRecords) -> AgentRuntime {
    let bus = Arc::new(MemoryBus::default());
    AgentRuntime::builder(bus).records(stored).start().await.unwrap()
}

/// The first process: a team of two, and two delegations of which one blocks
/// the other.
async fn first_process(stored: &StoredRecords) -> [Delegation; 2] {
    let runtime = begin(stored).await;
    let crew =
        TeamSpec::led_by(team_name("crew"), echo("lead"), EchoAgent).member(echo("ada"), EchoAgent);
    runtime.assemble_team(crew).await.unwrap();
    runtime.start(echo("odd").with_type("mystery"), EchoAgent).await.unwrap();
    let first = TaskAssignment::new(name("lead"), name("ada"), "look");
    let first = runtime.delegate(first).await.unwrap();
    let mut second = TaskAssignment::new(name("lead"), name("ada"), "tell");
    second.blocked_by.insert(first.id);
    let second = runtime.delegate(second).await.unwrap();
    runtime.update_delegation(first.id, DelegationStatus::InProgress).await.unwrap();
    runtime.shutdown().await.unwrap();
    [first, second]
}

async fn everything(stores: &RecordStores) -> (Vec<AgentRecord>, Vec<Delegation>, TeamStatus) {
    let records = stores.registry.list(Page::default()).await.unwrap();
    let work = stores.delegations.list(DelegatedWork::All, Page::default()).await.unwrap();
    let crew = stores.teams.get(&team_name("crew")).await.unwrap().unwrap();
    (records, work, crew.status())
}

async fn records_survive_a_restart(database: OrgDatabase) {
    let [first, second] = first_process(&database.open().await).await;
    let before = everything(&RecordStores::stored(database.open().await)).await;

    let stored = database.open().await;
    let runtime = begin(&stored).await;
    let stores = RecordStores::stored(stored);
    assert_eq!(everything(&stores).await, before);
    let (records, work, status) = before;
    let names: Vec<_> = records.iter().map(|record| record.name.as_str()).collect();
    assert_eq!((names, status), (vec!["ada", "lead", "odd"], TeamStatus::Active));
    assert_eq!(records[0].config, json!({ "tone": "dry" }));
    assert_eq!(work[0].status, DelegationStatus::InProgress);
    assert_eq!(work[1], second);

    // A registered agent can be started and returns to its team; an unknown
    // agent type is refused by name.
    runtime.start_registered(&name("ada")).await.unwrap();
    let odd = runtime.start_registered(&name("odd")).await;
    assert!(matches!(odd, Err(QueueError::UnknownAgentType(what)) if what == "mystery"));
    let hello = Envelope::new("say", json!("hello"), runtime.new_reference_code().await.unwrap());
    assert!(hello.reference > second.reference, "no code is given out twice");
    let reply = runtime.ask(&name("ada"), hello, Duration::from_secs(30)).await.unwrap();
    assert_eq!(*reply.message.payload, json!("hello"));
    let ready = runtime.update_delegation(first.id, DelegationStatus::Complete).await.unwrap();
    assert_eq!(ready, [second]);
    let able =
        stores.registry.find_by_capability(&"echoing".into(), ostler_bus::now(), 1).await.unwrap();
    assert_eq!(able[0].name, name("ada"));
    runtime.stop_team(&team_name("crew")).await.unwrap();
    let over = stores.teams.get(&team_name("crew")).await.unwrap().unwrap();
    assert_eq!((over.status(), over.members().len()), (TeamStatus::Complete, 2));
    runtime.shutdown().await.unwrap();
}

/// X22-X24, X40, X64, X65: a new process finds agents, capabilities,
/// delegations, dependencies and teams, and continues with them.
#[tokio::test(flavor = "multi_thread")]
async fn x64_x65_records_survive_a_restart_on_sqlite() {
    records_survive_a_restart(OrgDatabase::sqlite().await).await;
}

/// X64, X65: the same on PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn x64_x65_records_survive_a_restart_on_postgres() {
    records_survive_a_restart(OrgDatabase::postgres().await).await;
}

/// Starts a runtime whose agents of type `notes` record what they are asked to
/// do.
async fn start_recording(
    stored: &StoredRecords,
) -> (AgentRuntime, mpsc::UnboundedReceiver<Arc<Envelope>>) {
    let (sender, handled) = mpsc::unbounded_channel();
    let bus = Arc::new(MemoryBus::default());
    let builder = AgentRuntime::builder(bus).records(stored).factory("notes", move |_| {
        let sender = sender.clone();
        Ok(agent_fn(move |_, envelope| {
            sender.send(envelope).unwrap();
            std::future::ready(Ok(None))
        }))
    });
    (builder.start().await.unwrap(), handled)
}

/// Proposes a plan that nobody answers before the process ends.
async fn propose_plan(stored: &StoredRecords) -> Envelope {
    let (runtime, mut handled) = start_recording(stored).await;
    runtime
        .start(AgentSpec::new(name("boss")).with_type(HumanAgent::TYPE), HumanAgent)
        .await
        .unwrap();
    let ada = AgentRecord::new(name("ada"), "notes", Placement::Pinned);
    runtime.registry().register(ada).await.unwrap();
    runtime.start_registered(&name("ada")).await.unwrap();
    let pay =
        Envelope::new("pay", json!({ "euros": 7 }), runtime.new_reference_code().await.unwrap());
    let (ada, boss) = (name("ada"), name("boss"));
    let asking = runtime.ask_with_approval(&ada, &boss, pay.clone(), Duration::from_secs(600));
    let listed = async {
        while runtime.worklist().list(&boss, Page::default()).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        answered = asking => panic!("it was not approved: {answered:?}"),
        () = listed => {}
    }
    runtime.shutdown().await.unwrap();
    assert!(handled.try_recv().is_err(), "nothing is done before it is approved");
    pay
}

async fn waiting_plans_survive_a_restart(database: OrgDatabase) {
    let pay = propose_plan(&database.open().await).await;
    let stored = database.open().await;
    let (runtime, mut handled) = start_recording(&stored).await;
    let boss = name("boss");
    runtime.start_registered(&boss).await.unwrap();
    runtime.start_registered(&name("ada")).await.unwrap();
    assert!(
        runtime.new_reference_code().await.unwrap() > pay.reference,
        "no code is given out twice"
    );

    let open = runtime.worklist().list(&boss, Page::default()).await.unwrap();
    let [request] = &open[..] else { panic!("one plan waits: {open:?}") };
    let proposed = PlanApprovalRequest::decode(request).unwrap();
    assert_eq!(
        (&proposed.plan.reference, &proposed.key.message),
        (&pay.reference, &pay.message.id)
    );
    let approval = proposed.answered(PlanAnswer::Approve);
    runtime.answer_work_item(&boss, request.message.id, approval).await.unwrap();
    let done =
        tokio::time::timeout(Duration::from_secs(60), handled.recv()).await.unwrap().unwrap();
    assert_eq!(done.message, pay.message);
    // The request is off the list, and the approver gets the report.
    let shown = async {
        loop {
            let open = runtime.worklist().list(&boss, Page::default()).await.unwrap();
            assert!(open.iter().all(|one| one.message.id != request.message.id), "{open:?}");
            if let [report] = &open[..] {
                return ActionReport::decode(report).unwrap();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let report = tokio::time::timeout(Duration::from_secs(60), shown).await.unwrap();
    assert_eq!((report.agent, report.message), (name("ada"), pay.message.id));
    runtime.shutdown().await.unwrap();
    assert!(handled.try_recv().is_err(), "it is done once");
}

/// X45, X62: a plan and its entry on a work list survive the process; after the
/// answer the next process handles the message.
#[tokio::test(flavor = "multi_thread")]
async fn x45_x62_waiting_plans_survive_a_restart_on_sqlite() {
    waiting_plans_survive_a_restart(OrgDatabase::sqlite().await).await;
}

/// X45, X62: the same on PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn x45_x62_waiting_plans_survive_a_restart_on_postgres() {
    waiting_plans_survive_a_restart(OrgDatabase::postgres().await).await;
}
