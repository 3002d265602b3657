//! Teams in the store.

use ostler_bus::BoxFuture;
use ostler_domain::dispatch::life::{Team, TeamChange, TeamEffect};
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_store::StoreError;

use super::{Stored, length};
use crate::queue::error::{QueueError, Result};
use crate::queue::page::Page;
use crate::queue::teams::Teams;

impl Teams for Stored {
    fn assemble(&self, team: Team) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let name = team.name.clone();
            match self.there().create_team(team).await {
                Err(StoreError::Conflict(_)) => Err(QueueError::TeamExists(name)),
                created => Ok(created?),
            }
        })
    }

    fn change<'a>(
        &'a self,
        team: &'a TeamName,
        change: TeamChange,
    ) -> BoxFuture<'a, Result<Option<TeamEffect>>> {
        Box::pin(async move {
            match self.there().change_team(team, change).await {
                Err(StoreError::NotFound(_)) => Err(QueueError::UnknownTeam(team.clone())),
                changed => Ok(changed?),
            }
        })
    }

    fn get<'a>(&'a self, team: &'a TeamName) -> BoxFuture<'a, Result<Option<Team>>> {
        Box::pin(async move { Ok(self.there().team(team).await?) })
    }

    fn of_member<'a>(
        &'a self,
        agent: &'a AgentName,
        page: Page<TeamName>,
    ) -> BoxFuture<'a, Result<Vec<Team>>> {
        Box::pin(async move {
            Ok(self.there().teams(Some(agent), page.after.as_ref(), length(&page)).await?)
        })
    }

    fn list(&self, page: Page<TeamName>) -> BoxFuture<'_, Result<Vec<Team>>> {
        Box::pin(
            async move { Ok(self.there().teams(None, page.after.as_ref(), length(&page)).await?) },
        )
    }
}
