//! Humans as agents, and agents created from their records.

use ostler_bus::Envelope;
use ostler_domain::queue_agent::plan::PlanAnswer;
use ostler_runtime::agents::coordination::{CoordinationMessage, PlanApprovalRequest};
use ostler_runtime::agents::{
    AgentRecord, AgentReply, AgentRuntime, EchoAgent, HumanAgent, Page, Placement, QueueError,
};
use serde_json::json;
use std::sync::Arc;

use crate::kit::{Backend, TEST_TIMEOUT, eventually, on_every_bus};
use crate::support::{ask, name, say, spec};

async fn list(runtime: &AgentRuntime, person: &str) -> Vec<Arc<Envelope>> {
    runtime.worklist().list(&name(person), Page::default()).await.unwrap()
}

on_every_bus!(x62_a_humans_answer_is_the_reply);
/// X62: messages wait on the human's work list; the answer is sent once, like
/// an agent's reply.
async fn x62_a_humans_answer_is_the_reply(backend: &Backend) {
    let runtime = backend.runtime().await;
    runtime.start(spec("rosa").with_type(HumanAgent::TYPE), HumanAgent).await.unwrap();
    let request = say(1);
    let (id, reference) = (request.message.id, request.reference);
    let asking = {
        let runtime = runtime.clone();
        tokio::spawn(async move { runtime.ask(&name("rosa"), request, TEST_TIMEOUT).await })
    };
    eventually("the list to fill", async || list(&runtime, "rosa").await.len() == 1).await;
    runtime.send(&name("rosa"), say(2)).await.unwrap();
    eventually("the list to grow", async || list(&runtime, "rosa").await.len() == 2).await;
    let reply = AgentReply::new("said", json!({ "text": "yes" }));
    runtime.answer_work_item(&name("rosa"), id, reply.clone()).await.unwrap();
    let answer = asking.await.unwrap().unwrap();
    assert_eq!(answer.message.payload["text"], "yes");
    assert_eq!(answer.context.from_agent, Some(name("rosa")));
    assert_eq!((answer.context.parent_message, answer.reference), (Some(id), reference));
    let twice = runtime.answer_work_item(&name("rosa"), id, reply).await;
    assert!(matches!(twice, Err(QueueError::NotOnWorkList(_))));
    assert_eq!(list(&runtime, "rosa").await.len(), 1);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x62_a_human_approves_a_plan);
/// X62, X32: a human as approver.
async fn x62_a_human_approves_a_plan(backend: &Backend) {
    let runtime = backend.runtime().await;
    runtime.start(spec("rosa"), HumanAgent).await.unwrap();
    runtime.start(spec("echo"), EchoAgent).await.unwrap();
    let asking = {
        let runtime = runtime.clone();
        let (echo, rosa) = (name("echo"), name("rosa"));
        tokio::spawn(
            async move { runtime.ask_with_approval(&echo, &rosa, say(3), TEST_TIMEOUT).await },
        )
    };
    eventually("the plan", async || list(&runtime, "rosa").await.len() == 1).await;
    let plan = list(&runtime, "rosa").await.remove(0);
    let request = PlanApprovalRequest::decode(&plan).unwrap();
    let yes = request.answered(PlanAnswer::Approve);
    runtime.answer_work_item(&name("rosa"), plan.message.id, yes).await.unwrap();
    assert_eq!(asking.await.unwrap().unwrap().message.payload["n"], 3);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x65_an_agent_is_created_from_its_record_by_type);
/// X65: the factory gets the config; an unknown type is refused by name, an
/// invalid config with the reason.
async fn x65_an_agent_is_created_from_its_record_by_type(backend: &Backend) {
    let factory = |record: &AgentRecord| match record.config["works"].as_bool() {
        Some(true) => Ok(EchoAgent),
        _ => Err("`works` is missing".to_owned()),
    };
    let runtime = backend.builder().await.factory("mine", factory).start().await.unwrap();
    let record = |who: &str, kind: &str, config| AgentRecord {
        config,
        capabilities: ["add".into()].into(),
        ..AgentRecord::new(name(who), kind, Placement::Pinned)
    };
    for record in [
        record("good", "mine", json!({ "works": true })),
        record("bad", "mine", json!({})),
        record("odd", "unheard-of", json!({})),
    ] {
        runtime.registry().register(record).await.unwrap();
    }
    runtime.start_registered(&name("good")).await.unwrap();
    assert_eq!(ask(&runtime, "good", 4).await.message.payload["n"], 4);
    assert_eq!(runtime.find_capable(&"add".into()).await.unwrap(), name("good"));
    let bad = runtime.start_registered(&name("bad")).await;
    assert!(
        matches!(bad, Err(QueueError::InvalidRecord { reason, .. }) if reason.contains("works"))
    );
    let odd = runtime.start_registered(&name("odd")).await;
    assert!(matches!(odd, Err(QueueError::UnknownAgentType(kind)) if kind == "unheard-of"));
    let nobody = runtime.start_registered(&name("nobody")).await;
    assert!(matches!(nobody, Err(QueueError::UnknownAgent(_))));
    runtime.shutdown().await.unwrap();
}
