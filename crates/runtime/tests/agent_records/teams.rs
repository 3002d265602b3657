//! Teams.

use ostler_domain::queue_agent::team_lifecycle::{
    Team, TeamChangeRefused, TeamLifecycleEffect, TeamStatus,
};
use ostler_runtime::agents::{Page, QueueError, TeamChange};
use tokio::task::JoinSet;

use crate::on_every_store;
use crate::support::{RecordStores, name, team_name};

fn team(text: &str, members: &[&str]) -> Team {
    Team::assemble(team_name(text), name("lead"), members.iter().map(|member| name(member))).0
}

on_every_store!(
    /// X41, X42: found by name and by member.
    x41_x42_teams_follow_their_life_cycle_and_are_found
);
async fn x41_x42_teams_follow_their_life_cycle_and_are_found(stores: RecordStores) {
    let teams = stores.teams;
    teams.assemble(team("crew", &["a"])).await.unwrap();
    teams.assemble(team("band", &["b"])).await.unwrap();
    let taken = teams.assemble(team("crew", &[])).await;
    assert!(matches!(taken, Err(QueueError::TeamExists(which)) if which == team_name("crew")));
    let missing = teams.change(&team_name("none"), TeamChange::Dissolve).await;
    assert!(matches!(missing, Err(QueueError::UnknownTeam(which)) if which == team_name("none")));
    let crew = team_name("crew");
    teams.change(&crew, TeamChange::Started(name("a"))).await.unwrap();
    let became = teams.change(&crew, TeamChange::Started(name("lead"))).await.unwrap();
    assert_eq!(became, Some(TeamLifecycleEffect::StatusChanged(TeamStatus::Active)));
    teams.change(&crew, TeamChange::Join(name("b"))).await.unwrap();
    let stays = teams.change(&crew, TeamChange::Leave(name("lead"))).await;
    assert!(matches!(stays, Err(QueueError::Team(TeamChangeRefused::IsLeader(_)))));

    let of = async |member: &str, page| {
        let found = teams.of_member(&name(member), page).await.unwrap();
        found.into_iter().map(|team| team.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of("b", Page::default()).await, ["band", "crew"]);
    assert_eq!(of("b", Page::after(team_name("band"), 5)).await, ["crew"]);
    teams.change(&crew, TeamChange::Leave(name("b"))).await.unwrap();
    assert_eq!(of("b", Page::default()).await, ["band"]);
    assert_eq!(teams.list(Page::first(1)).await.unwrap(), [team("band", &["b"])]);

    teams.change(&crew, TeamChange::Dissolve).await.unwrap();
    for member in ["a", "lead"] {
        teams.change(&crew, TeamChange::Stopped(name(member))).await.unwrap();
    }
    assert_eq!(teams.get(&crew).await.unwrap().unwrap().status(), TeamStatus::Complete);
    teams.assemble(team("crew", &["c"])).await.unwrap();
    assert_eq!(teams.get(&crew).await.unwrap(), Some(team("crew", &["c"])));
    assert_eq!(of("a", Page::default()).await, [] as [&str; 0]);
}

on_every_store!(
    /// X41: of those who start the last member, one is told that the team is
    /// active.
    x41_a_team_becomes_active_once
);
async fn x41_a_team_becomes_active_once(stores: RecordStores) {
    let members: Vec<String> = (0..30).map(|n| format!("m{n}")).collect();
    let crew = team("crew", &members.iter().map(String::as_str).collect::<Vec<_>>());
    stores.teams.assemble(crew.clone()).await.unwrap();
    let mut running = JoinSet::new();
    for member in crew.members().clone() {
        let teams = stores.teams.clone();
        running.spawn(async move {
            teams.change(&team_name("crew"), TeamChange::Started(member)).await.unwrap()
        });
    }
    let effects: Vec<_> = running.join_all().await.into_iter().flatten().collect();
    assert_eq!(effects, [TeamLifecycleEffect::StatusChanged(TeamStatus::Active)]);
}
