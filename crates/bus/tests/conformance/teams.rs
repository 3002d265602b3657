//! Broadcasts and work that a team shares.

use std::sync::Arc;

use ostler_bus::QueueName;
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_domain::dispatch::priority::Priority;

use crate::kit::{Backend, eventually, on_every_bus};
use crate::world::{Seen, envelope, publish, until_waiting};

on_every_bus!(x35_each_member_gets_one_copy);
/// X35: each member gets exactly one copy, of whatever class; who joined twice
/// too, who left gets none, and a team of nobody takes a broadcast.
async fn x35_each_member_gets_one_copy(backend: &Backend) {
    let bus = backend.bus().await;
    let team: TeamName = "crew".parse().unwrap();
    let members: Vec<AgentName> = ["a", "b", "c"].map(|name| name.parse().unwrap()).into();
    bus.broadcast(&team, Arc::new(envelope(0))).await.unwrap();
    let seen: Vec<Seen> = members.iter().map(|_| Seen::open()).collect();
    let mut consumers = Vec::new();
    for (member, seen) in members.iter().zip(&seen) {
        bus.join(&team, member).await.unwrap();
        consumers.push(seen.consume(&bus, &QueueName::agent(member)).await);
    }
    bus.join(&team, &members[0]).await.unwrap();
    bus.broadcast(&team, Arc::new(envelope(1))).await.unwrap();
    for one in &seen {
        one.until(1).await;
    }
    bus.leave(&team, &members[2]).await.unwrap();
    bus.leave(&team, &members[2]).await.unwrap();
    let mut urgent = envelope(2);
    urgent.priority = Priority::Critical;
    bus.broadcast(&team, Arc::new(urgent)).await.unwrap();
    publish(&bus, &QueueName::agent(&members[2]), [3]).await;
    for one in &seen {
        one.until(2).await;
    }
    for consumer in consumers {
        consumer.close().await;
    }
    let numbers: Vec<_> = seen.iter().map(Seen::numbers).collect();
    assert_eq!(numbers, [vec![1, 2], vec![1, 2], vec![1, 3]]);
}

on_every_bus!(x36_a_team_shares_its_work);
/// X36: four workers, 400 messages, each handled once and each worker busy.
async fn x36_a_team_shares_its_work(backend: &Backend) {
    let bus = backend.bus().await;
    let work = QueueName::team_work(&"swarm".parse().unwrap());
    publish(&bus, &work, 0..400).await;
    until_waiting(&bus, &work, 400).await;
    let workers: Vec<Seen> = (0..4).map(|_| Seen::gated()).collect();
    let mut consumers = Vec::new();
    for worker in &workers {
        consumers.push(worker.consume(&bus, &work).await);
        worker.until(1).await;
    }
    let total = || workers.iter().map(|worker| worker.all().len()).sum::<usize>();
    // Equal messages take equally long: each round all four finish one, as long
    // as there are enough for all of them.
    for round in 1..=80 {
        for worker in &workers {
            worker.gate.add_permits(1);
        }
        eventually("the round", async || total() >= 4 * (round + 1)).await;
    }
    workers.iter().for_each(Seen::let_pass);
    eventually("the rest", async || total() == 400).await;
    for consumer in consumers {
        consumer.close().await;
    }
    let mut all: Vec<u64> = workers.iter().flat_map(Seen::numbers).collect();
    all.sort_unstable();
    assert_eq!(all, (0..400).collect::<Vec<_>>());
    for worker in &workers {
        assert!(worker.all().len() >= 60, "{}", worker.all().len());
    }
}
