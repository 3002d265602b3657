//! Teams of queue agents.

use ostler_domain::queue_agent::name::TeamName;
use ostler_domain::queue_agent::team_lifecycle::{
    Team, TeamChange, TeamChangeRefused, TeamLifecycleEffect, TeamStatus,
};
use ostler_store::{Store, StoreError};
use tokio::task::JoinSet;

use super::name;
use crate::on_every_backend;
use crate::support::{TestDatabase, with_org};

fn team(called: &str, members: &[&str]) -> Team {
    let members = members.iter().map(|member| name(member));
    Team::assemble(called.parse().unwrap(), name("lead"), members).0
}

fn called(text: &str) -> TeamName {
    text.parse().unwrap()
}

fn names(teams: Vec<Team>) -> Vec<String> {
    teams.into_iter().map(|team| team.name.to_string()).collect()
}

on_every_backend!(
    /// X41, X42: a team follows its lifecycle and is found by its name and by its
    /// members.
    x41_x42_teams_follow_their_lifecycle_and_are_found_by_name_and_member
);
async fn x41_x42_teams_follow_their_lifecycle_and_are_found_by_name_and_member(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let org_store = store.org(org);
    org_store.create_team(team("crew", &["a", "b"])).await.unwrap();
    org_store.create_team(team("band", &["b"])).await.unwrap();
    let taken = org_store.create_team(team("crew", &["x"])).await.unwrap_err();
    assert!(matches!(&taken, StoreError::Conflict(what) if what == "team `crew`"), "{taken}");
    let missing = org_store.change_team(&called("none"), TeamChange::Dissolve).await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound("team")), "{missing}");

    let change = async |change| org_store.change_team(&called("crew"), change).await;
    assert_eq!(change(TeamChange::Started(name("a"))).await.unwrap(), None);
    assert_eq!(change(TeamChange::Started(name("b"))).await.unwrap(), None);
    let became = change(TeamChange::Started(name("lead"))).await.unwrap();
    assert_eq!(became, Some(TeamLifecycleEffect::StatusChanged(TeamStatus::Active)));
    change(TeamChange::Join(name("late"))).await.unwrap();
    change(TeamChange::Leave(name("b"))).await.unwrap();
    change(TeamChange::Lead(name("a"))).await.unwrap();
    let stays = change(TeamChange::Leave(name("a"))).await.unwrap_err();
    assert!(matches!(stays, StoreError::Team(TeamChangeRefused::IsLeader(_))), "{stays}");

    let of =
        async |member: &str| names(org_store.teams(Some(&name(member)), None, 10).await.unwrap());
    assert_eq!(of("b").await, ["band"]);
    assert_eq!(of("late").await, ["crew"]);
    assert_eq!(of("lead").await, ["band", "crew"]);
    assert_eq!(names(org_store.teams(None, Some(&called("band")), 1).await.unwrap()), ["crew"]);

    change(TeamChange::Dissolve).await.unwrap();
    for member in ["a", "lead", "late"] {
        change(TeamChange::Stopped(name(member))).await.unwrap();
    }
    let over = org_store.team(&called("crew")).await.unwrap().unwrap();
    assert_eq!((over.status(), over.leader()), (TeamStatus::Complete, &name("a")));
    // The name is free again and the former members are gone.
    org_store.create_team(team("crew", &["b"])).await.unwrap();
    assert_eq!(of("late").await, [] as [String; 0]);
    assert_eq!(of("b").await, ["band", "crew"]);

    assert_eq!(store.org(other).team(&called("crew")).await.unwrap(), None);
    assert!(store.org(other).teams(Some(&name("b")), None, 10).await.unwrap().is_empty());
}

/// X41: members started concurrently by several processes activate the team once.
#[tokio::test(flavor = "multi_thread")]
async fn x41_concurrent_starts_activate_a_team_once() {
    for backend in TestDatabase::both().await {
        let stores = [backend.migrated().await, Store::open(&backend.url).await.unwrap()];
        let org = with_org(&stores[0], 1).await;
        let members: Vec<String> = (0..50).map(|n| format!("m{n}")).collect();
        let crew = team("crew", &members.iter().map(String::as_str).collect::<Vec<_>>());
        stores[0].org(org).create_team(crew.clone()).await.unwrap();
        let mut running = JoinSet::new();
        for (n, member) in crew.members().iter().cloned().enumerate() {
            let store = stores[n % 2].clone();
            running.spawn(async move {
                let change = TeamChange::Started(member);
                store.org(org).change_team(&called("crew"), change).await.unwrap()
            });
        }
        let mut effects = Vec::new();
        while let Some(done) = running.join_next().await {
            effects.extend(done.unwrap());
        }
        assert_eq!(effects, [TeamLifecycleEffect::StatusChanged(TeamStatus::Active)]);
    }
}
