//! Teams, kept: who is in them, who leads, and where they stand in their life.
//! The rules are [`Team`]'s.

mod memory;

use ostler_bus::BoxFuture;
use ostler_domain::dispatch::life::{Team, TeamEffect};
use ostler_domain::dispatch::name::{AgentName, TeamName};

use super::error::Result;
use super::page::Page;

pub use memory::MemoryTeams;
pub use ostler_domain::dispatch::life::TeamChange;

/// The teams. All operations may be called from anywhere at the same time, from
/// several processes too, and each is done whole or not at all.
pub trait Teams: Send + Sync + 'static {
    /// Keeps a new team. One of the same name that is complete is replaced; one
    /// that is not is a refusal,
    /// [`TeamExists`](super::QueueError::TeamExists).
    fn assemble(&self, team: Team) -> BoxFuture<'_, Result<()>>;

    /// Lets something happen to a team, and returns what follows from it.
    fn change<'a>(
        &'a self,
        team: &'a TeamName,
        change: TeamChange,
    ) -> BoxFuture<'a, Result<Option<TeamEffect>>>;

    /// One team.
    fn get<'a>(&'a self, team: &'a TeamName) -> BoxFuture<'a, Result<Option<Team>>>;

    /// The teams that an agent is in, by name; those that are over too.
    fn of_member<'a>(
        &'a self,
        agent: &'a AgentName,
        page: Page<TeamName>,
    ) -> BoxFuture<'a, Result<Vec<Team>>>;

    /// Teams by name.
    fn list(&self, page: Page<TeamName>) -> BoxFuture<'_, Result<Vec<Team>>>;
}
