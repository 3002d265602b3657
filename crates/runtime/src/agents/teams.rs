//! Stored teams: members, leader and status. The rules are those of [`Team`].

mod memory;

use ostler_bus::BoxFuture;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::{Team, TeamLifecycleEffect};

use super::error::Result;
use super::page::Page;

pub use memory::MemoryTeams;
pub use ostler_domain::queue_agent::team_lifecycle::TeamChange;

/// The teams. All methods may be called concurrently, also from several
/// processes, and each is atomic.
pub trait Teams: Send + Sync + 'static {
    /// Stores a new team, replacing a complete one of the same name. Fails with
    /// [`TeamExists`](super::QueueError::TeamExists) if that one is not
    /// complete.
    fn assemble(&self, team: Team) -> BoxFuture<'_, Result<()>>;

    /// Applies a change to a team and returns its effect.
    fn change<'a>(
        &'a self,
        team: &'a TeamName,
        change: TeamChange,
    ) -> BoxFuture<'a, Result<Option<TeamLifecycleEffect>>>;

    /// Returns a team.
    fn get<'a>(&'a self, team: &'a TeamName) -> BoxFuture<'a, Result<Option<Team>>>;

    /// Returns the teams of an agent ordered by name, including complete ones.
    fn of_member<'a>(
        &'a self,
        agent: &'a AgentName,
        page: Page<TeamName>,
    ) -> BoxFuture<'a, Result<Vec<Team>>>;

    /// Returns teams ordered by name.
    fn list(&self, page: Page<TeamName>) -> BoxFuture<'_, Result<Vec<Team>>>;
}
