//! AI agents on the message bus: they are asked like other queue agents and answer in their
//! harness.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_bus::{ConsumeOptions, Delivery, Disposition, Envelope, QueueName};
use ostler_channels::{Channels, HttpLimits, NetworkAccess};
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, EnvelopeId, KeyId};
use ostler_domain::org::role::Role;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::plan::PlanAnswer;
use ostler_runtime::agents::{AgentRuntime, AgentRuntimes, AiAgent, CouncilOptions, StoredRecords};
use ostler_runtime::delivery::{DeliveryOptions, DeliveryWorker};
use ostler_runtime::operations::{
    Actor, NewDelegation, NewQueueAgent, OperationError, QueueAgentType, TeamRole,
};
use ostler_runtime::records::run::{RunOutcome, RunRecord};
use ostler_runtime::records::session::Session;
use ostler_testkit::{claim_send, eventually};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::{Bus, BusPair, ENZO, GIA, ORG, Scenario, agent, on_every_bus};

const LUCA: AgentId = AgentId::from_u128(0x10ca);
const LONG: Duration = Duration::from_secs(60);

const OPINIONS: &str = "
rules:
  - when: { agent: 'You are Gia' }
    answer: 'Gia says yes to {{ user }}.'
  - when: { agent: 'You are Enzo' }
    answer: 'Enzo says no to {{ user }}.'
  - when: { agent: 'You are Luca' }
    answer: 'Luca asks why {{ user }}.'
";

/// An org whose agents are on a bus, with workers and delivery workers.
struct BusOrg {
    scenario: Scenario,
    agents: AgentRuntime,
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl BusOrg {
    async fn open(bus: Bus) -> Self {
        let scenario = Scenario::new(OPINIONS).await;
        scenario.save_agent(agent(LUCA, "luca", Subtype::Pm)).await;
        let mut builder = AgentRuntime::builder(bus);
        for (name, id) in [("gia", GIA), ("enzo", ENZO), ("luca", LUCA)] {
            let ai = AiAgent::new(scenario.intake.clone(), ORG, id);
            builder = builder.agent(ai.spec(named(name)), ai);
        }
        let (agents, runtimes) = (builder.start().await.unwrap(), AgentRuntimes::default());
        runtimes.insert(ORG, agents.clone());
        let channels = Channels::new(HttpLimits::default(), NetworkAccess::Public, |_, _| {
            Err("this test has no secrets".to_owned())
        });
        let (worker, clock) = (scenario.worker.clone(), scenario.worker.deps().clock.clone());
        let delivery = DeliveryWorker::new(
            scenario.store.clone(),
            channels.unwrap(),
            clock,
            DeliveryOptions::default(),
            worker.outbox_bell().clone(),
        )
        .with_agent_runtimes(runtimes);
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        let stopping = stopped.clone();
        running.spawn(async move { worker.run(3, stopping).await });
        running.spawn(async move { delivery.run(2, stopped).await });
        Self { scenario, agents, stop, running }
    }

    /// Returns the session of an agent and its runs, oldest first.
    async fn session_of(&self, who: AgentId) -> Option<(Session, Vec<RunRecord>)> {
        let sessions = self.scenario.sessions().await;
        let session = sessions.into_iter().find(|one| one.agent == Some(who))?;
        let stored = self.scenario.org().runs(session.id, None, 100).await.unwrap();
        let runs = stored.iter().rev().map(|one| RunRecord::from_stored(one).unwrap());
        Some((session, runs.collect()))
    }

    /// Stops accepting messages and finishes those in progress.
    async fn close(&mut self) {
        self.agents.shutdown().await.unwrap();
        self.stop.send_replace(true);
        while self.running.join_next().await.is_some() {}
        self.scenario.work().await;
    }
}

fn named(name: &str) -> AgentName {
    name.parse().unwrap()
}

on_every_bus!(x63_messages_to_ai_agents_on_the_bus_run_one_turn_each_and_are_answered);
/// X63: each message to one of three AI agents runs one turn in the harness of that
/// agent, which is recorded. The reply goes to the sender, with the reference code, the
/// message as its parent and the name of the agent.
async fn x63_messages_to_ai_agents_on_the_bus_run_one_turn_each_and_are_answered(
    BusPair(bus, _): BusPair,
) {
    let mut operator = BusOrg::open(bus).await;
    let members = ["gia", "enzo", "luca"].map(named);
    let code = operator.agents.new_reference_code().await.unwrap();
    let question = Envelope::new("ask", json!({"text": "pineapple"}), code);
    let council = CouncilOptions { quorum: 3, timeout: LONG };
    let opinions = operator.agents.council(&members, &question, council).await.unwrap();

    let said: Vec<(AgentName, &str)> = opinions
        .answers
        .iter()
        .map(|(who, answer)| (who.clone(), answer.message.payload["text"].as_str().unwrap()))
        .collect();
    let expected = [
        (named("gia"), "Gia says yes to pineapple."),
        (named("enzo"), "Enzo says no to pineapple."),
        (named("luca"), "Luca asks why pineapple."),
    ];
    assert_eq!(said, expected);
    for (who, answer) in &opinions.answers {
        assert_eq!(answer.reference, code);
        assert_eq!(answer.context.from_agent.as_ref(), Some(who));
        assert!(answer.context.parent_message.is_some());
        assert_eq!(answer.message.kind.as_str(), "answer");
    }
    for id in [GIA, ENZO, LUCA] {
        let (session, runs) = operator.session_of(id).await.unwrap();
        assert_eq!(session.channel, Channel::from("bus"));
        let [run] = runs.as_slice() else { panic!("one run, not {}", runs.len()) };
        assert_eq!(run.outcome, RunOutcome::Answered);
        let harness = &run.turns[0].harness;
        assert_eq!((harness.identity.agent_id, harness.identity.organization_id), (id, ORG));
        assert_eq!(harness.session_context.session_id, session.id);
        assert_eq!(harness.session_context.external_contact_identifier, code.to_string());
    }
    operator.close().await;
}

on_every_bus!(x63_a_duplicate_bus_message_has_one_turn_and_one_reply);
/// X63: a message that is delivered twice has one turn and one reply; several messages of
/// one sender have one each.
async fn x63_a_duplicate_bus_message_has_one_turn_and_one_reply(BusPair(bus, other): BusPair) {
    let mut operator = BusOrg::open(bus).await;
    let seen: Arc<Mutex<Vec<Arc<Envelope>>>> = Arc::default();
    let keep = Arc::clone(&seen);
    let handler = move |delivery: Delivery| {
        keep.lock().unwrap().push(delivery.envelope);
        std::future::ready(Disposition::Done)
    };
    let back: QueueName = QueueName::agent(&named("asker"));
    let asker = other.consume(&back, ConsumeOptions::default(), Arc::new(handler)).await.unwrap();

    let gia = QueueName::agent(&named("gia"));
    let mut ids = Vec::new();
    for (number, repeats) in [(1, 3), (2, 1), (3, 2)] {
        let code = operator.agents.new_reference_code().await.unwrap();
        let mut envelope = Envelope::new("ask", json!({"text": format!("plan {number}")}), code);
        envelope.context.reply_to = Some(back.clone());
        envelope.context.from_agent = Some(named("asker"));
        ids.push(envelope.message.id);
        let envelope = Arc::new(envelope);
        for _ in 0..repeats {
            other.publish(&gia, Arc::clone(&envelope)).await.unwrap();
        }
    }
    eventually("three replies", async || seen.lock().unwrap().len() >= 3).await;
    let taken = async || other.depth(&gia).await.unwrap().total() == 0;
    eventually("every message to be taken", taken).await;
    operator.close().await;

    let mut answered: Vec<_> =
        seen.lock().unwrap().iter().map(|one| one.context.parent_message.unwrap()).collect();
    answered.sort();
    assert_eq!(answered, ids);
    let (session, runs) = operator.session_of(GIA).await.unwrap();
    assert_eq!(runs.len(), 3);
    assert_eq!(session.name.as_deref(), Some("asker"));
    let pending = claim_send(&operator.scenario.store, Duration::from_secs(10)).await;
    assert!(pending.is_none(), "nothing else is on its way");
    asker.close().await;
}

/// O26: a viewer reads work lists and plans, and changes no queue agent, team or work; an
/// operator answers and delegates, and configures nothing.
#[tokio::test]
async fn o26_a_viewer_changes_no_queue_agents() {
    let scenario = Scenario::new(OPINIONS).await;
    let bus = std::sync::Arc::new(ostler_bus::MemoryBus::default());
    let records = StoredRecords::new(scenario.store.clone(), ORG);
    let agents = AgentRuntime::for_org(bus, &records).start().await.unwrap();
    let operations = scenario.operations();
    let new = |name: &str| NewQueueAgent {
        name: named(name),
        agent_type: Some(QueueAgentType::Human),
        capabilities: Default::default(),
    };
    let owner = operations.as_actor(Actor::Terminal, ORG);
    for name in ["ada", "bob"] {
        owner.start_queue_agent(Some(&agents), new(name)).await.unwrap();
    }
    let team: TeamName = "crew".parse().unwrap();
    owner.create_team(&agents, &team, vec![named("ada")], None).await.unwrap();
    let audited = scenario.org().audit_entries(None, None, 100).await.unwrap().len();
    let message = EnvelopeId::from_u128(1);
    let work = || NewDelegation {
        by: named("ada"),
        to: named("bob"),
        description: "look".into(),
        due: None,
        blocked_by: Default::default(),
    };
    for role in [Role::Viewer, Role::Operator] {
        let key = Actor::Key { id: KeyId::from_u128(77), org: ORG, role };
        let actor = operations.as_actor(key, ORG);
        let (bob, duo) = (named("bob"), "duo".parse::<TeamName>().unwrap());
        let refused = [
            actor.start_queue_agent(Some(&agents), new("eve")).await.err(),
            actor.stop_queue_agent(&agents, &bob).await.err(),
            actor.remove_queue_agent(&agents, &bob).await.err(),
            actor.create_team(&agents, &duo, vec![bob.clone()], None).await.err(),
            actor.add_to_team(&agents, &team, &bob, TeamRole::Member).await.err(),
            actor.remove_from_team(&agents, &team, &bob).await.err(),
            actor.dissolve_team(&agents, &team).await.err(),
        ];
        for (n, refused) in refused.iter().enumerate() {
            assert!(matches!(refused, Some(OperationError::Forbidden { .. })), "{n}: {refused:?}");
        }
        assert!(actor.work_items(None).await.unwrap().is_empty());
        assert!(actor.waiting_plans().await.unwrap().is_empty());
        let work_refused = [
            actor.answer_work_item(&agents, message, None, "yes").await.err(),
            actor.answer_plan(&agents, message, PlanAnswer::Approve).await.err(),
            actor.delegate(&agents, work()).await.err(),
        ];
        for (n, refused) in work_refused.iter().enumerate() {
            let forbidden = matches!(refused, Some(OperationError::Forbidden { .. }));
            assert_eq!(forbidden, role == Role::Viewer, "{n}: {refused:?}");
        }
    }
    let after = scenario.org().audit_entries(None, None, 100).await.unwrap().len();
    assert_eq!(after, audited + 1, "the operator's delegation");
    agents.shutdown().await.unwrap();
}
