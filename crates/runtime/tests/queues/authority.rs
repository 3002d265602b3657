//! Authority, approvals and reports.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, now};
use ostler_domain::queue_agent::authority::{AuthorityClaim, AuthorityTier, ClaimedActions};
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::plan::PlanAnswer;
use ostler_runtime::agents::coordination::{
    ActionReport, CoordinationMessage, PlanApprovalRequest, PlanRejected,
};
use ostler_runtime::agents::{AgentRuntime, RuntimeOptions};

use crate::kit::{Backend, TEST_TIMEOUT, on_every_bus, wait_for_dead_letters};
use crate::support::{Probe, name, said, say, spec, waiting};

fn claim(tier: AuthorityTier) -> AuthorityClaim {
    AuthorityClaim {
        granted_by: name("boss"),
        granted_to: name("worker"),
        tier,
        actions: ClaimedActions::All,
        granted_at: now(),
        expires_at: None,
    }
}

fn granted(number: u64, claim: AuthorityClaim) -> Envelope {
    Envelope { claims: Arc::new([claim]), ..say(number) }
}

/// Starts a worker that replies, and a boss that gives every plan this answer.
async fn worker_and_boss(backend: &Backend, decision: PlanAnswer) -> (AgentRuntime, Probe, Probe) {
    let runtime = backend.runtime().await;
    let worker = Probe::answering(|_| said(1));
    let boss = Probe::answering(move |envelope| {
        if !PlanApprovalRequest::is(&envelope.message.kind) {
            return Ok(None);
        }
        Ok(Some(PlanApprovalRequest::decode(envelope)?.answered(decision.clone())))
    });
    runtime.start(spec("worker"), worker.clone()).await.unwrap();
    runtime.start(spec("boss"), boss.clone()).await.unwrap();
    (runtime, worker, boss)
}

on_every_bus!(x31_each_tier_reports_or_asks_as_required);
/// X31: "just do it" only replies; "do it and show me" also reports; "ask me
/// first" proposes, waits and reports.
async fn x31_each_tier_reports_or_asks_as_required(backend: &Backend) {
    let request = PlanApprovalRequest::KIND;
    let table = [
        (AuthorityTier::JustDoIt, vec![]),
        (AuthorityTier::DoItAndShowMe, vec![ActionReport::KIND]),
        (AuthorityTier::AskMeFirst, vec![request, ActionReport::KIND]),
    ];
    for (tier, expected) in table {
        let (runtime, worker, boss) = worker_and_boss(backend, PlanAnswer::Approve).await;
        let message = granted(5, claim(tier));
        let reply = runtime.ask(&name("worker"), message.clone(), TEST_TIMEOUT).await.unwrap();
        assert_eq!(reply.context.parent_message, Some(message.message.id));
        assert_eq!(reply.reference, message.reference);
        boss.wait_for(expected.len()).await;
        runtime.shutdown().await.unwrap();
        assert_eq!(
            (worker.seen().len(), boss.kinds()),
            (1, expected.iter().map(ToString::to_string).collect())
        );
        if let Some(report) = boss.seen().last() {
            let report = ActionReport::decode(report).unwrap();
            assert_eq!((report.agent, report.message), (name("worker"), message.message.id));
            assert_eq!(report.result.unwrap()["n"], 1);
        }
    }
}

on_every_bus!(x32_x45_the_agent_does_not_act_before_the_plan_is_answered);
/// X32, X45: the proposal and its answer are typed and carry the request's
/// code; meanwhile the worker handles other messages.
async fn x32_x45_the_agent_does_not_act_before_the_plan_is_answered(backend: &Backend) {
    let (runtime, worker, boss) = worker_and_boss(backend, PlanAnswer::Approve).await;
    runtime.stop(&name("boss")).await.unwrap();
    let message = granted(5, claim(AuthorityTier::AskMeFirst));
    let asking = {
        let (runtime, message) = (runtime.clone(), message.clone());
        tokio::spawn(async move { runtime.ask(&name("worker"), message, TEST_TIMEOUT).await })
    };
    crate::kit::eventually("the proposal", async || waiting(runtime.bus(), "boss").await == 1)
        .await;
    runtime.send(&name("worker"), say(6)).await.unwrap();
    worker.wait_for(1).await;
    assert_eq!(worker.numbers(), [6]);
    runtime.start(spec("boss"), boss.clone()).await.unwrap();
    let reply = asking.await.unwrap().unwrap();
    assert_eq!(reply.message.payload["n"], 1);
    let proposal = &boss.seen()[0];
    let plan = PlanApprovalRequest::decode(proposal).unwrap();
    assert_eq!((proposal.reference, plan.plan.reference), (message.reference, message.reference));
    assert_eq!((plan.plan.approver, plan.plan.proposed_by), (name("boss"), name("worker")));
    assert_eq!(plan.proposal["do"], "say");
    runtime.shutdown().await.unwrap();
    assert_eq!(worker.numbers(), [6, 5]);
    assert_eq!(wait_for_dead_letters(runtime.bus(), 0).await, []);
}

on_every_bus!(x32_a_rejected_plan_is_dropped);
/// X32: the requester is told of the rejection, and the worker does nothing.
async fn x32_a_rejected_plan_is_dropped(backend: &Backend) {
    let no = PlanAnswer::Reject { reason: "too risky".into() };
    let (runtime, worker, _boss) = worker_and_boss(backend, no).await;
    let message = granted(5, claim(AuthorityTier::AskMeFirst));
    let reply = runtime.ask(&name("worker"), message, TEST_TIMEOUT).await.unwrap();
    assert_eq!(PlanRejected::decode(&reply).unwrap().reason, "too risky");
    // A requester that waits for no reply is told in its own queue.
    let requester = Probe::silent();
    runtime.start(spec("requester"), requester.clone()).await.unwrap();
    let mut message = granted(6, claim(AuthorityTier::AskMeFirst));
    message.context.from_agent = Some(name("requester"));
    runtime.send(&name("worker"), message).await.unwrap();
    requester.wait_for(1).await;
    assert_eq!(requester.kinds(), [PlanRejected::KIND]);
    runtime.shutdown().await.unwrap();
    assert_eq!(worker.numbers(), Vec::<u64>::new());
}

on_every_bus!(x32_only_the_approver_decides_and_only_once);
/// X32: an answer by another agent and a second answer become dead letters.
async fn x32_only_the_approver_decides_and_only_once(backend: &Backend) {
    let (runtime, worker, boss) = worker_and_boss(backend, PlanAnswer::Approve).await;
    let boss = boss.gated();
    runtime.stop(&name("boss")).await.unwrap();
    runtime.start(spec("boss"), boss.clone()).await.unwrap();
    runtime.send(&name("worker"), granted(5, claim(AuthorityTier::AskMeFirst))).await.unwrap();
    let proposal = boss.wait_for(1).await.remove(0);
    let reply = PlanApprovalRequest::decode(&proposal).unwrap().answered(PlanAnswer::Approve);
    let mut forged = proposal.reply(reply.kind, reply.payload);
    forged.context.from_agent = Some(name("thief"));
    runtime.send(&name("worker"), forged.clone()).await.unwrap();
    let dead_letters = wait_for_dead_letters(runtime.bus(), 1).await;
    assert_eq!(dead_letters[0].cause.class, FailureClass::Permission);
    assert_eq!(worker.seen().len(), 0);
    boss.release(10);
    worker.wait_for(1).await;
    forged.context.from_agent = Some(name("boss"));
    forged.message.id = ostler_bus::next_id();
    runtime.send(&name("worker"), forged).await.unwrap();
    wait_for_dead_letters(runtime.bus(), 2).await;
    runtime.shutdown().await.unwrap();
    assert_eq!(worker.numbers(), [5]);
}

on_every_bus!(x33_a_message_with_an_invalid_claim_becomes_a_dead_letter);
/// X33: an expired claim, and one for another agent.
async fn x33_a_message_with_an_invalid_claim_becomes_a_dead_letter(backend: &Backend) {
    let (runtime, worker, _boss) = worker_and_boss(backend, PlanAnswer::Approve).await;
    let expired = AuthorityClaim { expires_at: Some(now()), ..claim(AuthorityTier::JustDoIt) };
    let foreign = AuthorityClaim { granted_to: name("boss"), ..claim(AuthorityTier::JustDoIt) };
    for bad in [expired, foreign] {
        runtime.send(&name("worker"), granted(1, bad)).await.unwrap();
    }
    let dead_letters = wait_for_dead_letters(runtime.bus(), 2).await;
    assert!(
        dead_letters.iter().all(|dead_letter| dead_letter.cause.class == FailureClass::Permission)
    );
    assert_eq!(dead_letters[0].cause.reason, "the authority granted by `boss` has expired");
    runtime.shutdown().await.unwrap();
    assert_eq!(worker.seen().len(), 0);
}

on_every_bus!(x31_the_stricter_tier_of_agent_and_message_applies);
/// X31: an agent that always asks also asks for messages without claims; the
/// approver of the runtime is used, and without one the message is refused.
async fn x31_the_stricter_tier_of_agent_and_message_applies(backend: &Backend) {
    let options = RuntimeOptions { approver: Some(name("boss")), ..RuntimeOptions::default() };
    let runtime = backend.builder().await.options(options).start().await.unwrap();
    let (worker, boss) = (Probe::silent(), Probe::silent());
    let mut careful = spec("careful");
    careful.tier = AuthorityTier::AskMeFirst;
    runtime.start(careful.clone(), worker.clone()).await.unwrap();
    runtime.start(spec("boss"), boss.clone()).await.unwrap();
    runtime.send(&name("careful"), say(1)).await.unwrap();
    boss.wait_for(1).await;
    runtime.shutdown().await.unwrap();
    assert_eq!((worker.seen().len(), boss.kinds()), (0, vec![PlanApprovalRequest::KIND.into()]));
    let alone = backend.runtime().await;
    alone.start(careful, worker).await.unwrap();
    alone.send(&name("careful"), say(1)).await.unwrap();
    assert_eq!(
        wait_for_dead_letters(alone.bus(), 1).await[0].cause.class,
        FailureClass::Permission
    );
    tokio::time::timeout(Duration::from_secs(60), alone.shutdown()).await.unwrap().unwrap();
}
