//! Teams in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_bus::BoxFuture;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::{Team, TeamLifecycleEffect, TeamStatus};

use super::{TeamChange, Teams};
use crate::agents::error::{QueueError, Result};
use crate::agents::page::Page;

/// Teams in memory, lost when the process ends.
#[derive(Debug, Default)]
pub struct MemoryTeams(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    teams: BTreeMap<TeamName, Team>,
    of_member: HashMap<AgentName, BTreeSet<TeamName>>,
}

impl State {
    fn assemble(&mut self, team: Team) -> Result<()> {
        let known = self.teams.get(&team.name);
        if known.is_some_and(|known| known.status() != TeamStatus::Complete) {
            return Err(QueueError::TeamExists(team.name));
        }
        let before = self.teams.insert(team.name.clone(), team.clone());
        self.index(before.as_ref(), &team);
        Ok(())
    }

    fn change(
        &mut self,
        name: &TeamName,
        change: &TeamChange,
    ) -> Result<Option<TeamLifecycleEffect>> {
        let team = self.teams.get_mut(name);
        let team = team.ok_or_else(|| QueueError::UnknownTeam(name.clone()))?;
        let before = team.clone();
        let effect = change.apply(team)?;
        let after = team.clone();
        self.index(Some(&before), &after);
        Ok(effect)
    }

    fn index(&mut self, before: Option<&Team>, after: &Team) {
        for left in before.into_iter().flat_map(Team::members) {
            if let Some(teams) = self.of_member.get_mut(left) {
                teams.remove(&after.name);
                if teams.is_empty() {
                    self.of_member.remove(left);
                }
            }
        }
        for member in after.members() {
            self.of_member.entry(member.clone()).or_default().insert(after.name.clone());
        }
    }
}

impl MemoryTeams {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn after(page: &Page<TeamName>) -> (Bound<&TeamName>, Bound<&TeamName>) {
    (page.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded)
}

impl Teams for MemoryTeams {
    fn assemble(&self, team: Team) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.state().assemble(team) })
    }

    fn change<'a>(
        &'a self,
        team: &'a TeamName,
        change: TeamChange,
    ) -> BoxFuture<'a, Result<Option<TeamLifecycleEffect>>> {
        Box::pin(async move { self.state().change(team, &change) })
    }

    fn get<'a>(&'a self, team: &'a TeamName) -> BoxFuture<'a, Result<Option<Team>>> {
        Box::pin(async move { Ok(self.state().teams.get(team).cloned()) })
    }

    fn of_member<'a>(
        &'a self,
        agent: &'a AgentName,
        page: Page<TeamName>,
    ) -> BoxFuture<'a, Result<Vec<Team>>> {
        Box::pin(async move {
            let state = self.state();
            let names = state.of_member.get(agent).into_iter();
            let names = names.flat_map(|names| names.range::<TeamName, _>(after(&page)));
            let teams = names.filter_map(|name| state.teams.get(name));
            Ok(teams.take(page.limit()).cloned().collect())
        })
    }

    fn list(&self, page: Page<TeamName>) -> BoxFuture<'_, Result<Vec<Team>>> {
        Box::pin(async move {
            let state = self.state();
            let rest = state.teams.range::<TeamName, _>(after(&page));
            Ok(rest.take(page.limit()).map(|(_, team)| team.clone()).collect())
        })
    }
}
