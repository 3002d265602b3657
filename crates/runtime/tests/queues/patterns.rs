//! Patterns as method calls.

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_runtime::agents::{
    AgentRecord, CouncilOptions, EchoAgent, Placement, QueueError, TeamSpec, TeamWork,
};

use crate::kit::{Backend, TEST_TIMEOUT, eventually, on_every_bus};
use crate::support::{Probe, ask, name, number, said, say, spec, team};

on_every_bus!(x34_direct_messages_are_answered);
/// X34: with and without a reply.
async fn x34_direct_messages_are_answered(backend: &Backend) {
    let runtime = backend.runtime().await;
    let inbox = Probe::answering(|envelope| said(number(envelope) + 1));
    runtime.start(spec("inbox"), inbox.clone()).await.unwrap();
    runtime.send(&name("inbox"), say(1)).await.unwrap();
    assert_eq!(ask(&runtime, "inbox", 2).await.message.payload["n"], 3);
    runtime.shutdown().await.unwrap();
    assert_eq!(inbox.numbers(), [1, 2]);
}

on_every_bus!(x35_a_broadcast_reaches_each_member_once);
/// X35: a member that left gets none.
async fn x35_a_broadcast_reaches_each_member_once(backend: &Backend) {
    let runtime = backend.runtime().await;
    let members: Vec<(&str, Probe)> =
        ["lead", "a", "b"].map(|who| (who, Probe::silent().only_direct())).into();
    for (who, probe) in &members {
        runtime.start_in_team(&team("crew"), spec(who), probe.clone()).await.unwrap();
    }
    runtime.broadcast(&team("crew"), say(1)).await.unwrap();
    for (_, probe) in &members {
        probe.wait_for(1).await;
    }
    runtime.stop(&name("b")).await.unwrap();
    runtime.broadcast(&team("crew"), say(2)).await.unwrap();
    for (_, probe) in &members[..2] {
        probe.wait_for(2).await;
    }
    runtime.start(spec("b"), members[2].1.clone()).await.unwrap();
    runtime.send(&name("b"), say(3)).await.unwrap();
    members[2].1.wait_for(2).await;
    runtime.shutdown().await.unwrap();
    let numbers: Vec<_> = members.iter().map(|(_, probe)| probe.numbers()).collect();
    assert_eq!(numbers, [vec![1, 2], vec![1, 2], vec![1, 3]]);
    assert_eq!(members[0].1.seen()[0].context.team, Some(team("crew")));
}

on_every_bus!(x36_x65_members_from_records_share_the_work);
/// X36, X65: registered agents share their team's work if their records say so;
/// others get only their own messages.
async fn x36_x65_members_from_records_share_the_work(backend: &Backend) {
    let probes: BTreeMap<&str, Probe> =
        ["lead", "w0", "w1"].map(|one| (one, Probe::silent().only_direct().gated())).into();
    let made = probes.clone();
    let builder = backend.builder().await;
    let builder = builder.factory("probe", move |record| Ok(made[record.name.as_str()].clone()));
    let runtime = builder.start().await.unwrap();
    for agent in probes.keys() {
        let team_work = if *agent == "lead" { TeamWork::Own } else { TeamWork::Shared };
        let record = AgentRecord::new(name(agent), "probe", Placement::Pinned);
        runtime.registry().register(AgentRecord { team_work, ..record }).await.unwrap();
    }
    let swarm = TeamSpec::led_by_registered(team("swarm"), name("lead"));
    let swarm = swarm.registered_member(name("w0")).registered_member(name("w1"));
    runtime.assemble_team(swarm).await.unwrap();
    for number in 0..40 {
        runtime.send_to_team(&team("swarm"), say(number)).await.unwrap();
    }
    // Neither continues before both have one.
    for worker in ["w0", "w1"] {
        probes[worker].wait_for(1).await;
    }
    probes.values().for_each(|probe| probe.release(100));
    let shared = || ["w0", "w1"].map(|one| probes[one].numbers()).concat();
    eventually("all to be done", async || shared().len() == 40).await;
    runtime.shutdown().await.unwrap();
    assert!(probes["lead"].seen().is_empty());
}

on_every_bus!(x36_a_swarm_shares_its_work);
/// X36: four workers, 400 messages: each is handled once, and each worker gets
/// a share.
async fn x36_a_swarm_shares_its_work(backend: &Backend) {
    let runtime = backend.runtime().await;
    let workers: Vec<Probe> = (0..4).map(|_| Probe::silent().only_direct().gated()).collect();
    for (index, worker) in workers.iter().enumerate() {
        let spec = spec(&format!("w{index}")).share_team_work();
        runtime.start_in_team(&team("swarm"), spec, worker.clone()).await.unwrap();
    }
    for number in 0..400 {
        runtime.send_to_team(&team("swarm"), say(number)).await.unwrap();
    }
    let total = || workers.iter().map(|worker| worker.seen().len()).sum::<usize>();
    // All messages take equally long: in each round all four workers finish
    // one, as long as there are enough.
    for round in 1..=80 {
        eventually("a round", async || total() >= 4 * round).await;
        workers.iter().for_each(|worker| worker.release(1));
    }
    workers.iter().for_each(|worker| worker.release(400));
    eventually("the rest", async || total() == 400).await;
    runtime.shutdown().await.unwrap();
    let mut all: Vec<u64> = workers.iter().flat_map(Probe::numbers).collect();
    all.sort_unstable();
    assert_eq!(all, (0..400).collect::<Vec<_>>());
    for worker in &workers {
        assert!(worker.seen().len() >= 60, "{}", worker.seen().len());
    }
}

on_every_bus!(x36_a_worker_of_a_swarm_also_gets_its_own_messages);
/// X36: also, one member answers a question to the team.
async fn x36_a_worker_of_a_swarm_also_gets_its_own_messages(backend: &Backend) {
    let runtime = backend.runtime().await;
    let worker = Probe::answering(|envelope| said(number(envelope)));
    let sharing = spec("worker").share_team_work();
    runtime.start_in_team(&team("swarm"), sharing, worker.clone()).await.unwrap();
    assert_eq!(ask(&runtime, "worker", 1).await.message.payload["n"], 1);
    let reply = runtime.ask_team(&team("swarm"), say(2), TEST_TIMEOUT).await.unwrap();
    assert_eq!((number(&reply), &reply.context.from_agent), (2, &Some(name("worker"))));
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x37_a_pipeline_passes_each_reply_to_the_next_stage);
/// X37: the last reply is returned under the code of the first request.
async fn x37_a_pipeline_passes_each_reply_to_the_next_stage(backend: &Backend) {
    let runtime = backend.runtime().await;
    let stages: Vec<Probe> =
        (0..3).map(|_| Probe::answering(|envelope| said(number(envelope) * 10))).collect();
    for (index, stage) in stages.iter().enumerate() {
        runtime.start(spec(&format!("s{index}")), stage.clone()).await.unwrap();
    }
    let names = ["s0", "s1", "s2"].map(name);
    let first = say(7);
    let last = runtime.pipeline(&names, first.clone(), TEST_TIMEOUT).await.unwrap();
    assert_eq!((number(&last), last.reference), (7000, first.reference));
    let seen: Vec<_> = stages.iter().flat_map(Probe::numbers).collect();
    assert_eq!(seen, [7, 70, 700]);
    assert_eq!(stages[1].seen()[0].context.from_agent, Some(name("s0")));
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x38_a_council_returns_answers_and_missing_members);
/// X38: all get the same question; silent members are named, and too few
/// answers are an error.
async fn x38_a_council_returns_answers_and_missing_members(backend: &Backend) {
    let runtime = backend.runtime().await;
    let silent = Probe::silent();
    runtime.start(spec("a"), EchoAgent).await.unwrap();
    runtime.start(spec("b"), EchoAgent).await.unwrap();
    runtime.start(spec("silent"), silent.clone()).await.unwrap();
    let members = ["a", "silent", "b"].map(name);
    let council = CouncilOptions { quorum: 2, timeout: Duration::from_secs(2) };
    let question = say(4);
    let opinions = runtime.council(&members, &question, council).await.unwrap();
    let answered: Vec<_> = opinions.answers.iter().map(|(who, _)| who.clone()).collect();
    assert_eq!(answered, ["a", "b"].map(name));
    assert!(opinions.answers.iter().all(|(_, reply)| number(reply) == 4));
    assert!(opinions.answers.iter().all(|(_, reply)| reply.reference == question.reference));
    let missing: Vec<_> = opinions.missing.iter().map(|(who, _)| who.clone()).collect();
    assert_eq!(missing, [name("silent")]);
    assert_eq!(silent.seen()[0].message.payload, question.message.payload);
    let strict = CouncilOptions { quorum: 3, timeout: Duration::from_millis(100) };
    let refused = runtime.council(&members, &question, strict).await;
    assert!(matches!(refused, Err(QueueError::NoQuorum { quorum: 3, .. })));
    runtime.shutdown().await.unwrap();
}
