//! Broadcasts and the shared work of a team.

use std::sync::Arc;

use ostler_bus::QueueName;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::priority::Priority;

use crate::kit::{Backend, eventually, on_every_bus};
use crate::support::{RecordingHandler, envelope, publish, wait_for_depth};

on_every_bus!(x35_each_member_gets_one_copy);
/// X35: each member gets exactly delivery copy, of any class, also after joining
/// twice; after leaving it gets none, and a team without members accepts
/// broadcasts.
async fn x35_each_member_gets_one_copy(backend: &Backend) {
    let bus = backend.bus().await;
    let team: TeamName = "crew".parse().unwrap();
    let members: Vec<AgentName> = ["a", "b", "c"].map(|name| name.parse().unwrap()).into();
    bus.broadcast(&team, Arc::new(envelope(0))).await.unwrap();
    let seen: Vec<RecordingHandler> = members.iter().map(|_| RecordingHandler::open()).collect();
    let mut consumers = Vec::new();
    for (member, seen) in members.iter().zip(&seen) {
        bus.join_team(&team, member).await.unwrap();
        consumers.push(seen.consume(&bus, &QueueName::agent(member)).await);
    }
    bus.join_team(&team, &members[0]).await.unwrap();
    bus.broadcast(&team, Arc::new(envelope(1))).await.unwrap();
    for delivery in &seen {
        delivery.wait_for(1).await;
    }
    bus.leave_team(&team, &members[2]).await.unwrap();
    bus.leave_team(&team, &members[2]).await.unwrap();
    let mut urgent = envelope(2);
    urgent.priority = Priority::Critical;
    bus.broadcast(&team, Arc::new(urgent)).await.unwrap();
    publish(&bus, &QueueName::agent(&members[2]), [3]).await;
    for delivery in &seen {
        delivery.wait_for(2).await;
    }
    for consumer in consumers {
        consumer.close().await;
    }
    let numbers: Vec<_> = seen.iter().map(RecordingHandler::numbers).collect();
    assert_eq!(numbers, [vec![1, 2], vec![1, 2], vec![1, 3]]);
}

on_every_bus!(x36_a_team_shares_its_work);
/// X36: four workers, 400 messages: each is handled once and no worker is idle.
async fn x36_a_team_shares_its_work(backend: &Backend) {
    let bus = backend.bus().await;
    let work = QueueName::team_work(&"swarm".parse().unwrap());
    publish(&bus, &work, 0..400).await;
    wait_for_depth(&bus, &work, 400).await;
    let workers: Vec<RecordingHandler> = (0..4).map(|_| RecordingHandler::gated()).collect();
    let mut consumers = Vec::new();
    for worker in &workers {
        consumers.push(worker.consume(&bus, &work).await);
        worker.wait_for(1).await;
    }
    let total = || workers.iter().map(|worker| worker.deliveries().len()).sum::<usize>();
    // All messages take equally long: in each round all four workers finish
    // delivery, as long as there are enough.
    for round in 1..=80 {
        for worker in &workers {
            worker.gate.add_permits(1);
        }
        eventually("the round", async || total() >= 4 * (round + 1)).await;
    }
    workers.iter().for_each(RecordingHandler::open_gate);
    eventually("the rest", async || total() == 400).await;
    for consumer in consumers {
        consumer.close().await;
    }
    let mut all: Vec<u64> = workers.iter().flat_map(RecordingHandler::numbers).collect();
    all.sort_unstable();
    assert_eq!(all, (0..400).collect::<Vec<_>>());
    for worker in &workers {
        assert!(worker.deliveries().len() >= 60, "{}", worker.deliveries().len());
    }
}
