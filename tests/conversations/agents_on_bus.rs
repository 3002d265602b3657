//! AI agents on the bus: asked like any agent there, answering in their harness.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_bus::{ConsumeOptions, Delivery, Envelope, QueueName, Disposition};
use ostler_channels::{Channels, HttpLimits, NetworkAccess};
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::id::AgentId;
use ostler_runtime::delivery::{DeliveryWorker, DeliveryOptions};
use ostler_runtime::agents::{AgentRuntime, AiAgent, CouncilOptions, AgentRuntimes};
use ostler_runtime::records::run::{RunOutcome, RunRecord};
use ostler_runtime::records::session::Session;
use ostler_testkit::eventually;
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

/// An org whose agents are on a bus, with workers and couriers.
struct Office {
    scenario: Scenario,
    agents: AgentRuntime,
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Office {
    async fn open(bus: Bus) -> Self {
        let scenario = Scenario::new(OPINIONS).await;
        scenario.save_agent(agent(LUCA, "luca", Subtype::Pm)).await;
        let mut builder = AgentRuntime::builder(bus);
        for (name, id) in [("gia", GIA), ("enzo", ENZO), ("luca", LUCA)] {
            let ai = AiAgent::new(scenario.intake.clone(), ORG, id);
            builder = builder.agent(ai.spec(named(name)), ai);
        }
        let (agents, staff) = (builder.start().await.unwrap(), AgentRuntimes::default());
        staff.insert(ORG, agents.clone());
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
        .with_agent_runtimes(staff);
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        let stopping = stopped.clone();
        running.spawn(async move { worker.run(3, stopping).await });
        running.spawn(async move { delivery.run(2, stopped).await });
        Self { scenario, agents, stop, running }
    }

    /// The session that an agent has with somebody, and its runs, oldest first.
    async fn talk(&self, who: AgentId) -> Option<(Session, Vec<RunRecord>)> {
        let sessions = self.scenario.sessions().await;
        let session = sessions.into_iter().find(|one| one.agent == Some(who))?;
        let stored = self.scenario.org().runs(session.id, None, 100).await.unwrap();
        let runs = stored.iter().rev().map(|one| serde_json::from_str(&one.data).unwrap());
        Some((session, runs.collect()))
    }

    /// Takes nothing more, and finishes what was begun.
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

on_every_bus!(x63_a_council_of_ai_agents);
/// X63: messages to three AI agents run one turn each, in the agent's own
/// harness, which is on the record; each is answered by the rules for replies:
/// to whoever asked, with the code, the message as the parent, and the agent's
/// name.
async fn x63_a_council_of_ai_agents(BusPair(bus, _): BusPair) {
    let mut operator = Office::open(bus).await;
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
        let (session, runs) = operator.talk(id).await.unwrap();
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

on_every_bus!(x63_the_same_message_twice_has_one_turn_and_one_reply);
/// X63: a message that comes twice has one turn and one reply, and of several
/// messages of one sender each has its own.
async fn x63_the_same_message_twice_has_one_turn_and_one_reply(BusPair(bus, other): BusPair) {
    let mut operator = Office::open(bus).await;
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
    let (session, runs) = operator.talk(GIA).await.unwrap();
    assert_eq!(runs.len(), 3);
    assert_eq!(session.name.as_deref(), Some("asker"));
    let pending = operator.scenario.store.claim_outbox(Duration::from_secs(10)).await.unwrap();
    assert!(pending.is_none(), "nothing else is on its way");
    asker.close().await;
}
