//! Teams: life cycle, leader, and coordination of members.

use std::sync::Arc;

use ostler_domain::queue_agent::authority::AuthorityTier;
use ostler_domain::queue_agent::delegation::DelegationStatus;
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::team_lifecycle::TeamStatus;
use ostler_runtime::agents::coordination::{
    CoordinationMessage, IdleNotice, JoinApproved, JoinRequest, PlanApprovalRequest,
    ShutdownApproved, ShutdownRequest, TaskCompleted,
};
use ostler_runtime::agents::{
    AgentReply, AgentRuntime, EchoAgent, Page, QueueError, TaskAssignment, TeamSpec,
};
use serde_json::json;

use crate::kit::{Backend, TEST_TIMEOUT, eventually, on_every_bus, wait_for_dead_letters};
use crate::support::{Probe, code, name, said, say, spec, team};

async fn status(runtime: &AgentRuntime, name: &str) -> Option<TeamStatus> {
    runtime.teams().get(&team(name)).await.unwrap().map(|team| team.status())
}

on_every_bus!(x41_x42_x67_a_team_is_assembled_and_dissolved);
/// X41, X42, X67: assembling starts the agents and activates the team,
/// dissolving stops them; the team is found by its name and by each member, and
/// has one leader.
async fn x41_x42_x67_a_team_is_assembled_and_dissolved(backend: &Backend) {
    let runtime = backend.runtime().await;
    let crew = TeamSpec::led_by(team("crew"), spec("lead"), EchoAgent)
        .member(spec("a"), EchoAgent)
        .member(spec("b"), EchoAgent);
    runtime.assemble_team(crew).await.unwrap();
    assert_eq!(status(&runtime, "crew").await, Some(TeamStatus::Active));
    assert_eq!(runtime.running_in(&team("crew")), ["a", "b", "lead"].map(name));
    for member in ["a", "b", "lead"] {
        let teams = runtime.teams().of_member(&name(member), Page::default()).await.unwrap();
        let leaders: Vec<_> = teams.iter().map(|team| team.leader().clone()).collect();
        assert_eq!(leaders, [name("lead")]);
    }
    let again = TeamSpec::led_by(team("crew"), spec("x"), EchoAgent);
    assert!(matches!(runtime.assemble_team(again).await, Err(QueueError::TeamExists(_))));
    runtime.stop_team(&team("crew")).await.unwrap();
    assert_eq!(status(&runtime, "crew").await, Some(TeamStatus::Complete));
    assert_eq!(runtime.running(), Vec::<AgentName>::new());
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x41_a_team_that_cannot_be_assembled_is_dissolved);
/// X41: if one member cannot be started, no agent of the team runs.
async fn x41_a_team_that_cannot_be_assembled_is_dissolved(backend: &Backend) {
    let runtime = backend.runtime().await;
    runtime.start(spec("taken"), EchoAgent).await.unwrap();
    let crew =
        TeamSpec::led_by(team("crew"), spec("lead"), EchoAgent).member(spec("new"), EchoAgent);
    let refused = runtime.assemble_team(crew.registered_member(name("nobody"))).await;
    assert!(matches!(refused, Err(QueueError::UnknownAgent(_))));
    assert_eq!(runtime.running(), [name("taken")]);
    assert_eq!(status(&runtime, "crew").await, Some(TeamStatus::Complete));
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x43_an_agent_stops_on_an_authorized_shutdown_request);
/// X43: the agent finishes its work, approves and stops; a request by another
/// agent is refused.
async fn x43_an_agent_stops_on_an_authorized_shutdown_request(backend: &Backend) {
    let runtime = backend.runtime().await;
    let worker = Probe::answering(|_| said(1)).gated();
    runtime.start_in_team(&team("crew"), spec("lead"), EchoAgent).await.unwrap();
    runtime.start_in_team(&team("crew"), spec("a").concurrency(2), worker.clone()).await.unwrap();
    let request = |from: &str| {
        let mut request = ShutdownRequest { reason: "done".into() }.envelope(code(9));
        request.context.from_agent = Some(name(from));
        request
    };
    let refused = request("stranger");
    runtime.send(&name("a"), refused).await.unwrap();
    assert_eq!(
        wait_for_dead_letters(runtime.bus(), 1).await[0].cause.class,
        FailureClass::Permission
    );
    runtime.send(&name("a"), say(1)).await.unwrap();
    worker.wait_for(1).await;
    let asking = {
        let (runtime, request) = (runtime.clone(), request("lead"));
        tokio::spawn(async move { runtime.ask(&name("a"), request, TEST_TIMEOUT).await })
    };
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!(!asking.is_finished());
    worker.release(1);
    let approved = asking.await.unwrap().unwrap();
    assert_eq!(ShutdownApproved::decode(&approved).unwrap().agent, name("a"));
    eventually("the agent to stop", async || runtime.running() == [name("lead")]).await;
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x44_a_team_is_informed_of_finished_work);
/// X44: all members are told which work is finished and what became ready.
async fn x44_a_team_is_informed_of_finished_work(backend: &Backend) {
    let runtime = backend.runtime().await;
    let members: Vec<(&str, Probe)> =
        ["lead", "a", "b"].map(|member| (member, Probe::silent())).into();
    for (member, probe) in &members {
        runtime.start_in_team(&team("crew"), spec(member), probe.clone()).await.unwrap();
    }
    let first = TaskAssignment::new(name("lead"), name("a"), "first");
    let first = runtime.delegate(first).await.unwrap();
    let second = TaskAssignment::new(name("lead"), name("b"), "second");
    let second = TaskAssignment { blocked_by: [first.id].into(), ..second };
    let second = runtime.delegate(second).await.unwrap();
    runtime.update_delegation(first.id, DelegationStatus::InProgress).await.unwrap();
    runtime.update_delegation(first.id, DelegationStatus::Complete).await.unwrap();
    for (member, probe) in &members {
        let notice = || {
            let seen = probe.seen();
            let done = seen.iter().find(|one| TaskCompleted::is(&one.message.kind))?;
            TaskCompleted::decode(done).ok()
        };
        eventually(&format!("{member} to be informed"), async || notice().is_some()).await;
        let expected = TaskCompleted { work: first.id, by: name("a"), ready: vec![second.id] };
        assert_eq!(notice(), Some(expected));
    }
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x46_x67_the_leader_gets_one_notice_per_idle_period);
/// X46, X67: one notice for each change from busy to idle, to the leader.
async fn x46_x67_the_leader_gets_one_notice_per_idle_period(backend: &Backend) {
    let runtime = backend.runtime().await;
    let (lead, worker) = (Probe::silent(), Probe::silent().gated());
    runtime.start_in_team(&team("crew"), spec("lead"), lead.clone()).await.unwrap();
    runtime.start_in_team(&team("crew"), spec("a"), worker.clone()).await.unwrap();
    for round in 1..=2 {
        for number in 0..5 {
            runtime.send(&name("a"), say(number)).await.unwrap();
        }
        worker.release(5);
        lead.wait_for(round).await;
        // Nothing more is sent for the same work.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        assert_eq!(lead.kinds(), vec![IdleNotice::KIND.to_owned(); round]);
    }
    let idle = IdleNotice::decode(&lead.seen()[0]).unwrap();
    assert_eq!(idle, IdleNotice { agent: name("a"), team: team("crew") });
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x47_x67_only_the_leader_admits_members);
/// X47, X67: the request reaches the leader, and only with its approval the
/// agent becomes a member.
async fn x47_x67_only_the_leader_admits_members(backend: &Backend) {
    let runtime = backend.runtime().await;
    let lead = Probe::answering(|envelope| {
        let JoinRequest { agent, team } = JoinRequest::decode(envelope)?;
        let welcome = agent != name("unwelcome");
        let no = AgentReply::new("sorry", json!({}));
        Ok(Some(if welcome { JoinApproved { agent, team }.reply() } else { no }))
    })
    .gated();
    runtime.start_in_team(&team("crew"), spec("lead"), lead.clone()).await.unwrap();
    let newcomer = Probe::silent();
    runtime.start(spec("welcome"), newcomer.clone()).await.unwrap();
    runtime.start(spec("unwelcome"), EchoAgent).await.unwrap();
    let members = async || {
        let team = runtime.teams().get(&team("crew")).await.unwrap().unwrap();
        team.members().iter().cloned().collect::<Vec<_>>()
    };
    let leader = runtime.team_leader(&team("crew")).await.unwrap().unwrap();
    for member in ["unwelcome", "welcome"] {
        let mut request = JoinRequest { agent: name(member), team: team("crew") }.envelope(code(1));
        request.context.from_agent = Some(name(member));
        request.context.reply_to = Some(format!("agent.{member}").parse().unwrap());
        runtime.send(&leader, request).await.unwrap();
    }
    lead.wait_for(1).await;
    assert_eq!(members().await, [name("lead")]);
    lead.release(2);
    eventually("the newcomer to be in", async || {
        runtime.running_in(&team("crew")) == ["lead", "welcome"].map(name)
    })
    .await;
    assert_eq!(members().await, ["lead", "welcome"].map(name));
    lead.release(10);
    runtime.broadcast(&team("crew"), say(8)).await.unwrap();
    newcomer.wait_for(1).await;
    assert_eq!(newcomer.numbers(), [8]);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x67_a_member_proposes_plans_to_its_leader);
/// X67: a member that needs approval asks its team leader.
async fn x67_a_member_proposes_plans_to_its_leader(backend: &Backend) {
    let runtime = backend.runtime().await;
    let lead = Probe::silent();
    runtime.start_in_team(&team("crew"), spec("lead"), lead.clone()).await.unwrap();
    let mut careful = spec("careful");
    careful.tier = AuthorityTier::AskMeFirst;
    runtime.start_in_team(&team("crew"), careful, EchoAgent).await.unwrap();
    runtime.send(&name("careful"), say(1)).await.unwrap();
    let seen = async || {
        let seen: Vec<Arc<_>> = lead.seen();
        seen.iter().any(|one| PlanApprovalRequest::is(&one.message.kind))
    };
    eventually("the plan to reach the leader", seen).await;
    runtime.shutdown().await.unwrap();
}
