//! Teams: their life, their leader, and how their members coordinate.

use std::sync::Arc;

use ostler_domain::dispatch::authority::Tier;
use ostler_domain::dispatch::delegation::DelegationStatus;
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::dispatch::life::TeamStatus;
use ostler_domain::dispatch::name::AgentName;
use ostler_runtime::queue::coordination::{
    Coordination, Idle, JoinApproved, JoinRequest, PlanApprovalRequest, ShutdownApproved,
    ShutdownRequest, TaskCompleted,
};
use ostler_runtime::queue::{AgentRuntime, Assignment, Echo, Page, QueueError, Reply, TeamSpec};
use serde_json::json;

use crate::kit::{Backend, LONG, dead, eventually, on_every_bus};
use crate::world::{Probe, code, name, said, say, spec, team};

async fn status(runtime: &AgentRuntime, name: &str) -> Option<TeamStatus> {
    runtime.teams().get(&team(name)).await.unwrap().map(|team| team.status())
}

on_every_bus!(x41_x42_x67_a_team_is_assembled_and_dissolved);
/// X41, X42, X67: assembling starts the agents and makes the team active,
/// dissolving stops them; the team is found by its name and by each member, and
/// has one leader.
async fn x41_x42_x67_a_team_is_assembled_and_dissolved(backend: &Backend) {
    let runtime = backend.runtime().await;
    let crew = TeamSpec::led_by(team("crew"), spec("lead"), Echo)
        .member(spec("a"), Echo)
        .member(spec("b"), Echo);
    runtime.assemble(crew).await.unwrap();
    assert_eq!(status(&runtime, "crew").await, Some(TeamStatus::Active));
    assert_eq!(runtime.running_in(&team("crew")), ["a", "b", "lead"].map(name));
    for member in ["a", "b", "lead"] {
        let teams = runtime.teams().of_member(&name(member), Page::default()).await.unwrap();
        let leaders: Vec<_> = teams.iter().map(|team| team.leader().clone()).collect();
        assert_eq!(leaders, [name("lead")]);
    }
    let again = TeamSpec::led_by(team("crew"), spec("x"), Echo);
    assert!(matches!(runtime.assemble(again).await, Err(QueueError::TeamExists(_))));
    runtime.stop_team(&team("crew")).await.unwrap();
    assert_eq!(status(&runtime, "crew").await, Some(TeamStatus::Complete));
    assert_eq!(runtime.running(), Vec::<AgentName>::new());
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x41_a_team_that_cannot_be_assembled_is_dissolved);
/// X41: if one member cannot be started, nobody of the team runs.
async fn x41_a_team_that_cannot_be_assembled_is_dissolved(backend: &Backend) {
    let runtime = backend.runtime().await;
    runtime.start(spec("taken"), Echo).await.unwrap();
    let crew = TeamSpec::led_by(team("crew"), spec("lead"), Echo).member(spec("new"), Echo);
    let refused = runtime.assemble(crew.recorded(name("nobody"))).await;
    assert!(matches!(refused, Err(QueueError::UnknownAgent(_))));
    assert_eq!(runtime.running(), [name("taken")]);
    assert_eq!(status(&runtime, "crew").await, Some(TeamStatus::Complete));
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x43_an_agent_is_asked_to_stop);
/// X43: the agent finishes its work, approves and stops; a stranger's request
/// is refused.
async fn x43_an_agent_is_asked_to_stop(backend: &Backend) {
    let runtime = backend.runtime().await;
    let worker = Probe::answering(|_| said(1)).gated();
    runtime.start_in_team(&team("crew"), spec("lead"), Echo).await.unwrap();
    runtime.start_in_team(&team("crew"), spec("a").at_once(2), worker.clone()).await.unwrap();
    let request = |from: &str| {
        let mut request = ShutdownRequest { reason: "done".into() }.envelope(code(9));
        request.context.from_agent = Some(name(from));
        request
    };
    let refused = request("stranger");
    runtime.send(&name("a"), refused).await.unwrap();
    assert_eq!(dead(runtime.bus(), 1).await[0].death.class, FailureClass::Permission);
    runtime.send(&name("a"), say(1)).await.unwrap();
    worker.until(1).await;
    let asking = {
        let (runtime, request) = (runtime.clone(), request("lead"));
        tokio::spawn(async move { runtime.ask(&name("a"), request, LONG).await })
    };
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!(!asking.is_finished());
    worker.let_pass(1);
    let approved = asking.await.unwrap().unwrap();
    assert_eq!(ShutdownApproved::read(&approved).unwrap().agent, name("a"));
    eventually("the agent to stop", async || runtime.running() == [name("lead")]).await;
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x44_a_team_hears_of_finished_work);
/// X44: all members hear that a task is done, and what became ready.
async fn x44_a_team_hears_of_finished_work(backend: &Backend) {
    let runtime = backend.runtime().await;
    let members: Vec<(&str, Probe)> = ["lead", "a", "b"].map(|who| (who, Probe::quiet())).into();
    for (who, probe) in &members {
        runtime.start_in_team(&team("crew"), spec(who), probe.clone()).await.unwrap();
    }
    let first = Assignment::new(name("lead"), name("a"), "first");
    let first = runtime.delegate(first).await.unwrap();
    let second = Assignment::new(name("lead"), name("b"), "second");
    let second = Assignment { blocked_by: [first.id].into(), ..second };
    let second = runtime.delegate(second).await.unwrap();
    runtime.progress(first.id, DelegationStatus::InProgress).await.unwrap();
    runtime.progress(first.id, DelegationStatus::Complete).await.unwrap();
    for (who, probe) in &members {
        let heard = || {
            let seen = probe.seen();
            let done = seen.iter().find(|one| TaskCompleted::is(&one.message.kind))?;
            TaskCompleted::read(done).ok()
        };
        eventually(&format!("{who} to hear"), async || heard().is_some()).await;
        let expected = TaskCompleted { work: first.id, by: name("a"), ready: vec![second.id] };
        assert_eq!(heard(), Some(expected));
    }
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x46_x67_the_leader_hears_once_that_a_member_is_idle);
/// X46, X67: one notification for each change from busy to empty, to the leader.
async fn x46_x67_the_leader_hears_once_that_a_member_is_idle(backend: &Backend) {
    let runtime = backend.runtime().await;
    let (lead, worker) = (Probe::quiet(), Probe::quiet().gated());
    runtime.start_in_team(&team("crew"), spec("lead"), lead.clone()).await.unwrap();
    runtime.start_in_team(&team("crew"), spec("a"), worker.clone()).await.unwrap();
    for round in 1..=2 {
        for number in 0..5 {
            runtime.send(&name("a"), say(number)).await.unwrap();
        }
        worker.let_pass(5);
        lead.until(round).await;
        // Nothing more comes for the same work.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        assert_eq!(lead.kinds(), vec![Idle::KIND.to_owned(); round]);
    }
    let idle = Idle::read(&lead.seen()[0]).unwrap();
    assert_eq!(idle, Idle { agent: name("a"), team: team("crew") });
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x47_x67_the_leader_lets_agents_in);
/// X47, X67: the request reaches the leader, and only what it approves makes a
/// member.
async fn x47_x67_the_leader_lets_agents_in(backend: &Backend) {
    let runtime = backend.runtime().await;
    let lead = Probe::answering(|envelope| {
        let JoinRequest { agent, team } = JoinRequest::read(envelope)?;
        let welcome = agent != name("unwelcome");
        let no = Reply::new("sorry", json!({}));
        Ok(Some(if welcome { JoinApproved { agent, team }.reply() } else { no }))
    })
    .gated();
    runtime.start_in_team(&team("crew"), spec("lead"), lead.clone()).await.unwrap();
    let newcomer = Probe::quiet();
    runtime.start(spec("welcome"), newcomer.clone()).await.unwrap();
    runtime.start(spec("unwelcome"), Echo).await.unwrap();
    let members = async || {
        let team = runtime.teams().get(&team("crew")).await.unwrap().unwrap();
        team.members().iter().cloned().collect::<Vec<_>>()
    };
    let leader = runtime.leader(&team("crew")).await.unwrap().unwrap();
    for who in ["unwelcome", "welcome"] {
        let mut request = JoinRequest { agent: name(who), team: team("crew") }.envelope(code(1));
        request.context.from_agent = Some(name(who));
        request.context.reply_to = Some(format!("agent.{who}").parse().unwrap());
        runtime.send(&leader, request).await.unwrap();
    }
    lead.until(1).await;
    assert_eq!(members().await, [name("lead")]);
    lead.let_pass(2);
    eventually("the newcomer to be in", async || {
        runtime.running_in(&team("crew")) == ["lead", "welcome"].map(name)
    })
    .await;
    assert_eq!(members().await, ["lead", "welcome"].map(name));
    lead.let_pass(10);
    runtime.broadcast(&team("crew"), say(8)).await.unwrap();
    newcomer.until(1).await;
    assert_eq!(newcomer.numbers(), [8]);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x67_plans_of_a_member_reach_its_leader);
/// X67: a member that needs approval asks the leader of its team.
async fn x67_plans_of_a_member_reach_its_leader(backend: &Backend) {
    let runtime = backend.runtime().await;
    let lead = Probe::quiet();
    runtime.start_in_team(&team("crew"), spec("lead"), lead.clone()).await.unwrap();
    let mut careful = spec("careful");
    careful.tier = Tier::AskMeFirst;
    runtime.start_in_team(&team("crew"), careful, Echo).await.unwrap();
    runtime.send(&name("careful"), say(1)).await.unwrap();
    let seen = async || {
        let seen: Vec<Arc<_>> = lead.seen();
        seen.iter().any(|one| PlanApprovalRequest::is(&one.message.kind))
    };
    eventually("the plan to reach the leader", seen).await;
    runtime.shutdown().await.unwrap();
}
