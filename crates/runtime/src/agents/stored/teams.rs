//! Teams in the store.

use ostler_bus::BoxFuture;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::{Team, TeamChange, TeamLifecycleEffect};
use ostler_store::StoreError;

use super::{StoredRecords, page_limit};
use crate::agents::error::{QueueError, Result};
use crate::agents::page::Page;
use crate::agents::teams::Teams;

impl Teams for StoredRecords {
    fn assemble(&self, team: Team) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let name = team.name.clone();
            match self.org_store().create_team(team).await {
                Err(StoreError::Conflict(_)) => Err(QueueError::TeamExists(name)),
                created => Ok(created?),
            }
        })
    }

    fn change<'a>(
        &'a self,
        team: &'a TeamName,
        change: TeamChange,
    ) -> BoxFuture<'a, Result<Option<TeamLifecycleEffect>>> {
        Box::pin(async move {
            match self.org_store().change_team(team, change).await {
                Err(StoreError::NotFound(_)) => Err(QueueError::UnknownTeam(team.clone())),
                changed => Ok(changed?),
            }
        })
    }

    fn get<'a>(&'a self, team: &'a TeamName) -> BoxFuture<'a, Result<Option<Team>>> {
        Box::pin(async move { Ok(self.org_store().team(team).await?) })
    }

    fn of_member<'a>(
        &'a self,
        agent: &'a AgentName,
        page: Page<TeamName>,
    ) -> BoxFuture<'a, Result<Vec<Team>>> {
        Box::pin(async move {
            Ok(self.org_store().teams(Some(agent), page.after.as_ref(), page_limit(&page)).await?)
        })
    }

    fn list(&self, page: Page<TeamName>) -> BoxFuture<'_, Result<Vec<Team>>> {
        Box::pin(async move {
            Ok(self.org_store().teams(None, page.after.as_ref(), page_limit(&page)).await?)
        })
    }
}
