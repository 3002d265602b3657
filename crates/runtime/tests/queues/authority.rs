//! How far an agent may go, and who is asked or shown.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, now};
use ostler_domain::dispatch::authority::{Actions, Claim, Tier};
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::dispatch::plan::PlanAnswer;
use ostler_runtime::queue::coordination::{
    Coordination, PlanApprovalRequest, PlanRejected, Report,
};
use ostler_runtime::queue::{AgentRuntime, RuntimeOptions};

use crate::kit::{Backend, LONG, dead, on_every_bus};
use crate::world::{Probe, name, said, say, spec, waiting};

fn claim(tier: Tier) -> Claim {
    Claim {
        granted_by: name("boss"),
        granted_to: name("worker"),
        tier,
        actions: Actions::All,
        granted_at: now(),
        expires_at: None,
    }
}

fn granted(number: u64, claim: Claim) -> Envelope {
    Envelope { claims: Arc::new([claim]), ..say(number) }
}

/// A worker that replies, and a boss that decides on every plan like this.
async fn office(backend: &Backend, decision: PlanAnswer) -> (AgentRuntime, Probe, Probe) {
    let runtime = backend.runtime().await;
    let worker = Probe::answering(|_| said(1));
    let boss = Probe::answering(move |envelope| {
        if !PlanApprovalRequest::is(&envelope.message.kind) {
            return Ok(None);
        }
        Ok(Some(PlanApprovalRequest::read(envelope)?.answered(decision.clone())))
    });
    runtime.start(spec("worker"), worker.clone()).await.unwrap();
    runtime.start(spec("boss"), boss.clone()).await.unwrap();
    (runtime, worker, boss)
}

on_every_bus!(x31_each_tier_has_its_duties);
/// X31: just do it is the reply only; do it and show me is a report too; ask me
/// first proposes, waits, and shows.
async fn x31_each_tier_has_its_duties(backend: &Backend) {
    let request = PlanApprovalRequest::KIND;
    let table = [
        (Tier::JustDoIt, vec![]),
        (Tier::DoItAndShowMe, vec![Report::KIND]),
        (Tier::AskMeFirst, vec![request, Report::KIND]),
    ];
    for (tier, expected) in table {
        let (runtime, worker, boss) = office(backend, PlanAnswer::Approve).await;
        let message = granted(5, claim(tier));
        let reply = runtime.ask(&name("worker"), message.clone(), LONG).await.unwrap();
        assert_eq!(reply.context.parent_message, Some(message.message.id));
        assert_eq!(reply.reference, message.reference);
        boss.until(expected.len()).await;
        runtime.shutdown().await.unwrap();
        assert_eq!(
            (worker.seen().len(), boss.kinds()),
            (1, expected.iter().map(ToString::to_string).collect())
        );
        if let Some(report) = boss.seen().last() {
            let report = Report::read(report).unwrap();
            assert_eq!((report.agent, report.message), (name("worker"), message.message.id));
            assert_eq!(report.result.unwrap()["n"], 1);
        }
    }
}

on_every_bus!(x32_x45_nothing_happens_before_the_answer);
/// X32, X45: the proposal and its answer are typed and carry the request's
/// code; while the approver thinks, the worker does other things but not this.
async fn x32_x45_nothing_happens_before_the_answer(backend: &Backend) {
    let (runtime, worker, boss) = office(backend, PlanAnswer::Approve).await;
    runtime.stop(&name("boss")).await.unwrap();
    let message = granted(5, claim(Tier::AskMeFirst));
    let asking = {
        let (runtime, message) = (runtime.clone(), message.clone());
        tokio::spawn(async move { runtime.ask(&name("worker"), message, LONG).await })
    };
    crate::kit::eventually("the proposal", async || waiting(runtime.bus(), "boss").await == 1)
        .await;
    runtime.send(&name("worker"), say(6)).await.unwrap();
    worker.until(1).await;
    assert_eq!(worker.numbers(), [6]);
    runtime.start(spec("boss"), boss.clone()).await.unwrap();
    let reply = asking.await.unwrap().unwrap();
    assert_eq!(reply.message.payload["n"], 1);
    let proposal = &boss.seen()[0];
    let plan = PlanApprovalRequest::read(proposal).unwrap();
    assert_eq!((proposal.reference, plan.plan.reference), (message.reference, message.reference));
    assert_eq!((plan.plan.approver, plan.plan.proposed_by), (name("boss"), name("worker")));
    assert_eq!(plan.proposal["do"], "say");
    runtime.shutdown().await.unwrap();
    assert_eq!(worker.numbers(), [6, 5]);
    assert_eq!(dead(runtime.bus(), 0).await, []);
}

on_every_bus!(x32_a_rejected_plan_is_dropped);
/// X32: the requester hears of a rejection, and the worker does nothing.
async fn x32_a_rejected_plan_is_dropped(backend: &Backend) {
    let no = PlanAnswer::Reject { reason: "too risky".into() };
    let (runtime, worker, _boss) = office(backend, no).await;
    let message = granted(5, claim(Tier::AskMeFirst));
    let reply = runtime.ask(&name("worker"), message, LONG).await.unwrap();
    assert_eq!(PlanRejected::read(&reply).unwrap().reason, "too risky");
    // A requester who waits for no reply hears of it in its own queue.
    let requester = Probe::quiet();
    runtime.start(spec("requester"), requester.clone()).await.unwrap();
    let mut message = granted(6, claim(Tier::AskMeFirst));
    message.context.from_agent = Some(name("requester"));
    runtime.send(&name("worker"), message).await.unwrap();
    requester.until(1).await;
    assert_eq!(requester.kinds(), [PlanRejected::KIND]);
    runtime.shutdown().await.unwrap();
    assert_eq!(worker.numbers(), Vec::<u64>::new());
}

on_every_bus!(x32_only_the_approver_decides_and_once);
/// X32: an answer of somebody else, and a second one, are dead letters.
async fn x32_only_the_approver_decides_and_once(backend: &Backend) {
    let (runtime, worker, boss) = office(backend, PlanAnswer::Approve).await;
    let boss = boss.gated();
    runtime.stop(&name("boss")).await.unwrap();
    runtime.start(spec("boss"), boss.clone()).await.unwrap();
    runtime.send(&name("worker"), granted(5, claim(Tier::AskMeFirst))).await.unwrap();
    let proposal = boss.until(1).await.remove(0);
    let reply = PlanApprovalRequest::read(&proposal).unwrap().answered(PlanAnswer::Approve);
    let mut forged = proposal.reply(reply.kind, reply.payload);
    forged.context.from_agent = Some(name("thief"));
    runtime.send(&name("worker"), forged.clone()).await.unwrap();
    let letters = dead(runtime.bus(), 1).await;
    assert_eq!(letters[0].death.class, FailureClass::Permission);
    assert_eq!(worker.seen().len(), 0);
    boss.let_pass(10);
    worker.until(1).await;
    forged.context.from_agent = Some(name("boss"));
    forged.message.id = ostler_bus::next_id();
    runtime.send(&name("worker"), forged).await.unwrap();
    dead(runtime.bus(), 2).await;
    runtime.shutdown().await.unwrap();
    assert_eq!(worker.numbers(), [5]);
}

on_every_bus!(x33_a_bad_claim_refuses_the_message);
/// X33: an expired claim and one of somebody else make a dead letter.
async fn x33_a_bad_claim_refuses_the_message(backend: &Backend) {
    let (runtime, worker, _boss) = office(backend, PlanAnswer::Approve).await;
    let expired = Claim { expires_at: Some(now()), ..claim(Tier::JustDoIt) };
    let foreign = Claim { granted_to: name("boss"), ..claim(Tier::JustDoIt) };
    for bad in [expired, foreign] {
        runtime.send(&name("worker"), granted(1, bad)).await.unwrap();
    }
    let letters = dead(runtime.bus(), 2).await;
    assert!(letters.iter().all(|letter| letter.death.class == FailureClass::Permission));
    assert_eq!(letters[0].death.reason, "the authority that `boss` granted has expired");
    runtime.shutdown().await.unwrap();
    assert_eq!(worker.seen().len(), 0);
}

on_every_bus!(x31_the_stricter_of_task_and_message_holds);
/// X31: an agent that always asks does so for a message without claims too; who
/// is asked is named for all agents, and without anybody it is refused.
async fn x31_the_stricter_of_task_and_message_holds(backend: &Backend) {
    let options = RuntimeOptions { approver: Some(name("boss")), ..RuntimeOptions::default() };
    let runtime = backend.builder().await.options(options).start().await.unwrap();
    let (worker, boss) = (Probe::quiet(), Probe::quiet());
    let mut careful = spec("careful");
    careful.tier = Tier::AskMeFirst;
    runtime.start(careful.clone(), worker.clone()).await.unwrap();
    runtime.start(spec("boss"), boss.clone()).await.unwrap();
    runtime.send(&name("careful"), say(1)).await.unwrap();
    boss.until(1).await;
    runtime.shutdown().await.unwrap();
    assert_eq!((worker.seen().len(), boss.kinds()), (0, vec![PlanApprovalRequest::KIND.into()]));
    let alone = backend.runtime().await;
    alone.start(careful, worker).await.unwrap();
    alone.send(&name("careful"), say(1)).await.unwrap();
    assert_eq!(dead(alone.bus(), 1).await[0].death.class, FailureClass::Permission);
    tokio::time::timeout(Duration::from_secs(60), alone.shutdown()).await.unwrap().unwrap();
}
