//! What a process finds that begins after another has ended.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, MemoryBus};
use ostler_domain::dispatch::delegation::{Delegation, DelegationStatus};
use ostler_domain::dispatch::life::TeamStatus;
use ostler_domain::dispatch::plan::PlanAnswer;
use ostler_runtime::queue::coordination::{Coordination, PlanApprovalRequest, Report};
use ostler_runtime::queue::{
    AgentRecord, AgentRuntime, Assignment, Echo, Human, Page, Placement, QueueError, Spec, Stored,
    TeamSpec, Work, agent_fn,
};
use serde_json::json;
use tokio::sync::mpsc;

use crate::world::{Keeper, Place, called, name};

fn echo(text: &str) -> Spec {
    Spec { config: json!({ "tone": "dry" }), ..Spec::new(name(text)) }
        .of_type(Echo::TYPE)
        .able_to("Echoing")
}

async fn begin(stored: &Stored) -> AgentRuntime {
    let bus = Arc::new(MemoryBus::default());
    AgentRuntime::builder(bus).stored(stored).start().await.unwrap()
}

/// A first life: a team of two, and work of which one piece waits for another.
async fn first_life(stored: &Stored) -> [Delegation; 2] {
    let runtime = begin(stored).await;
    let crew = TeamSpec::led_by(called("crew"), echo("lead"), Echo).member(echo("ada"), Echo);
    runtime.assemble(crew).await.unwrap();
    runtime.start(echo("odd").of_type("mystery"), Echo).await.unwrap();
    let first = Assignment::new(name("lead"), name("ada"), "look");
    let first = runtime.delegate(first).await.unwrap();
    let mut second = Assignment::new(name("lead"), name("ada"), "tell");
    second.blocked_by.insert(first.id);
    let second = runtime.delegate(second).await.unwrap();
    runtime.progress(first.id, DelegationStatus::InProgress).await.unwrap();
    runtime.shutdown().await.unwrap();
    [first, second]
}

async fn everything(keeper: &Keeper) -> (Vec<AgentRecord>, Vec<Delegation>, TeamStatus) {
    let records = keeper.registry.list(Page::default()).await.unwrap();
    let work = keeper.delegations.list(Work::All, Page::default()).await.unwrap();
    let crew = keeper.teams.get(&called("crew")).await.unwrap().unwrap();
    (records, work, crew.status())
}

async fn a_restart_finds_everything(place: Place) {
    let [first, second] = first_life(&place.open().await).await;
    let before = everything(&Keeper::stored(place.open().await)).await;

    let stored = place.open().await;
    let runtime = begin(&stored).await;
    let keeper = Keeper::stored(stored);
    assert_eq!(everything(&keeper).await, before);
    let (records, work, status) = before;
    let names: Vec<_> = records.iter().map(|record| record.name.as_str()).collect();
    assert_eq!((names, status), (vec!["ada", "lead", "odd"], TeamStatus::Active));
    assert_eq!(records[0].config, json!({ "tone": "dry" }));
    assert_eq!(work[0].status, DelegationStatus::InProgress);
    assert_eq!(work[1], second);

    // A record starts its agent, which comes back to its team; a type that nobody knows is refused by name.
    runtime.start_recorded(&name("ada")).await.unwrap();
    let odd = runtime.start_recorded(&name("odd")).await;
    assert!(matches!(odd, Err(QueueError::UnknownType(what)) if what == "mystery"));
    let hello = Envelope::new("say", json!("hello"), runtime.new_code().await.unwrap());
    assert!(hello.reference > second.reference, "no code is given out twice");
    let reply = runtime.ask(&name("ada"), hello, Duration::from_secs(30)).await.unwrap();
    assert_eq!(*reply.message.payload, json!("hello"));
    let ready = runtime.progress(first.id, DelegationStatus::Complete).await.unwrap();
    assert_eq!(ready, [second]);
    let able = keeper.registry.able(&"echoing".into(), ostler_bus::now(), 1).await.unwrap();
    assert_eq!(able[0].name, name("ada"));
    runtime.stop_team(&called("crew")).await.unwrap();
    let over = keeper.teams.get(&called("crew")).await.unwrap().unwrap();
    assert_eq!((over.status(), over.members().len()), (TeamStatus::Complete, 2));
    runtime.shutdown().await.unwrap();
}

/// X22-X24, X40, X64, X65: a new process finds agents, capabilities,
/// delegations, dependencies and teams as they were, and goes on with them.
#[tokio::test(flavor = "multi_thread")]
async fn x64_x65_a_restart_finds_everything_on_sqlite() {
    a_restart_finds_everything(Place::sqlite().await).await;
}

/// X64, X65: the same on PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn x64_x65_a_restart_finds_everything_on_postgres() {
    a_restart_finds_everything(Place::postgres().await).await;
}

/// A process whose agents of type `notes` tell what they are asked to do.
async fn begin_noting(stored: &Stored) -> (AgentRuntime, mpsc::UnboundedReceiver<Arc<Envelope>>) {
    let (tell, told) = mpsc::unbounded_channel();
    let bus = Arc::new(MemoryBus::default());
    let builder = AgentRuntime::builder(bus).stored(stored).factory("notes", move |_| {
        let tell = tell.clone();
        Ok(agent_fn(move |_, envelope| {
            tell.send(envelope).unwrap();
            std::future::ready(Ok(None))
        }))
    });
    (builder.start().await.unwrap(), told)
}

/// A plan is proposed, nobody answers, and the process ends.
async fn a_plan_that_waits(stored: &Stored) -> Envelope {
    let (runtime, mut told) = begin_noting(stored).await;
    runtime.start(Spec::new(name("boss")).of_type(Human::TYPE), Human).await.unwrap();
    let ada = AgentRecord::new(name("ada"), "notes", Placement::Pinned);
    runtime.registry().register(ada).await.unwrap();
    runtime.start_recorded(&name("ada")).await.unwrap();
    let pay = Envelope::new("pay", json!({ "euros": 7 }), runtime.new_code().await.unwrap());
    let (ada, boss) = (name("ada"), name("boss"));
    let asking = runtime.ask_with_approval(&ada, &boss, pay.clone(), Duration::from_secs(600));
    let listed = async {
        while runtime.worklist().list(&boss, Page::default()).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        answered = asking => panic!("nobody approved it: {answered:?}"),
        () = listed => {}
    }
    runtime.shutdown().await.unwrap();
    assert!(told.try_recv().is_err(), "nothing is done before it is approved");
    pay
}

async fn a_restart_loses_no_plan(place: Place) {
    let pay = a_plan_that_waits(&place.open().await).await;
    let stored = place.open().await;
    let (runtime, mut told) = begin_noting(&stored).await;
    let boss = name("boss");
    runtime.start_recorded(&boss).await.unwrap();
    runtime.start_recorded(&name("ada")).await.unwrap();
    assert!(runtime.new_code().await.unwrap() > pay.reference, "no code is given out twice");

    let open = runtime.worklist().list(&boss, Page::default()).await.unwrap();
    let [request] = &open[..] else { panic!("one plan waits: {open:?}") };
    let proposed = PlanApprovalRequest::read(request).unwrap();
    assert_eq!(
        (&proposed.plan.reference, &proposed.key.message),
        (&pay.reference, &pay.message.id)
    );
    let approval = proposed.answered(PlanAnswer::Approve);
    runtime.answer(&boss, request.message.id, approval).await.unwrap();
    let done = tokio::time::timeout(Duration::from_secs(60), told.recv()).await.unwrap().unwrap();
    assert_eq!(done.message, pay.message);
    // The request is off the list; who asked to be asked is shown what was done.
    let shown = async {
        loop {
            let open = runtime.worklist().list(&boss, Page::default()).await.unwrap();
            assert!(open.iter().all(|one| one.message.id != request.message.id), "{open:?}");
            if let [report] = &open[..] {
                return Report::read(report).unwrap();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let report = tokio::time::timeout(Duration::from_secs(60), shown).await.unwrap();
    assert_eq!((report.agent, report.message), (name("ada"), pay.message.id));
    runtime.shutdown().await.unwrap();
    assert!(told.try_recv().is_err(), "it is done once");
}

/// X45, X62: a plan that waits for a person outlives the process, and so does
/// what is on the person's list; the answer has it carried out by the next.
#[tokio::test(flavor = "multi_thread")]
async fn x45_x62_a_restart_loses_no_plan_on_sqlite() {
    a_restart_loses_no_plan(Place::sqlite().await).await;
}

/// X45, X62: the same on PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn x45_x62_a_restart_loses_no_plan_on_postgres() {
    a_restart_loses_no_plan(Place::postgres().await).await;
}
