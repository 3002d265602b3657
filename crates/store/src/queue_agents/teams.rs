//! Teams of queue agents: their lifecycle and members.
//!
//! A change locks the team's row and lets the domain's `Team` decide.

use ostler_domain::id::OrgId;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::{Team, TeamChange, TeamLifecycleEffect};

use super::{check_count, variant_name};
use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};

/// A name is free again once the team that had it is complete.
const CREATE: Sql = sql!(
    "INSERT INTO queue_teams (org, name, status, data, updated_at)
     VALUES (?1, ?2, ?3, ?4, now_ms())
     ON CONFLICT (org, name) DO UPDATE SET status = excluded.status, data = excluded.data,
       updated_at = excluded.updated_at
     WHERE queue_teams.status = 'complete'"
);
const UPDATE: Sql = sql!(
    "UPDATE queue_teams SET status = ?3, data = ?4, updated_at = now_ms()
     WHERE org = ?1 AND name = ?2"
);
const GET: Sql = sql!("SELECT data FROM queue_teams WHERE org = ?1 AND name = ?2");
/// Locks the row until the transaction ends.
const LOCK: Sql = Sql {
    sqlite: "SELECT data FROM queue_teams WHERE org = ?1 AND name = ?2",
    postgres: "SELECT data FROM queue_teams WHERE org = $1 AND name = $2 FOR UPDATE",
};
const LIST: Sql =
    sql!("SELECT data FROM queue_teams WHERE org = ?1 AND name > ?2 ORDER BY name LIMIT ?3");
const LIST_OF_MEMBER: Sql = sql!(
    "SELECT t.data FROM queue_team_members m
     JOIN queue_teams t ON t.org = m.org AND t.name = m.team
     WHERE m.org = ?1 AND m.agent = ?4 AND m.team > ?2 ORDER BY m.team LIMIT ?3"
);
const ADD_MEMBER: Sql = sql!(
    "INSERT INTO queue_team_members (org, team, agent) VALUES (?1, ?2, ?3)
     ON CONFLICT (org, agent, team) DO NOTHING"
);
const REMOVE_MEMBER: Sql =
    sql!("DELETE FROM queue_team_members WHERE org = ?1 AND team = ?2 AND agent = ?3");
const REMOVE_MEMBERS: Sql = sql!("DELETE FROM queue_team_members WHERE org = ?1 AND team = ?2");

impl OrgStore<'_> {
    /// Stores a new team. Fails with [`StoreError::Conflict`] if its name belongs to a team that
    /// is not complete.
    pub fn create_team(&self, team: Team) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| create_team(tx, org, &team))
    }

    /// Applies a change to a team and returns its effect. Fails with [`StoreError::Team`] if the
    /// rules refuse it.
    pub fn change_team(
        &self,
        name: &TeamName,
        change: TeamChange,
    ) -> StoreFuture<Option<TeamLifecycleEffect>> {
        let (org, name) = (self.org, name.clone());
        self.write(move |tx| change_team(tx, org, &name, &change))
    }

    /// Returns a team by its name.
    pub fn team(&self, name: &TeamName) -> StoreFuture<Option<Team>> {
        self.optional(&GET, [name.as_str().into()], read_team)
    }

    /// Returns the teams after `after`, ordered by name; only those of a member if one is given.
    pub fn teams(
        &self,
        member: Option<&AgentName>,
        after: Option<&TeamName>,
        limit: u32,
    ) -> StoreFuture<Vec<Team>> {
        let (after, limit) = (after.map_or("", TeamName::as_str).into(), limit.into());
        match member {
            Some(member) => {
                self.rows(&LIST_OF_MEMBER, [after, limit, member.as_str().into()], read_team)
            }
            None => self.rows(&LIST, [after, limit], read_team),
        }
    }
}

pub(crate) fn create_team(tx: &Tx, org: OrgId, team: &Team) -> Result<()> {
    check_count("members of a team", team.members().len())?;
    if tx.execute(&CREATE, &team_params(org, team)?)? == 0 {
        return Err(StoreError::Conflict(format!("team `{}`", team.name)));
    }
    let key = [Value::from(org), team.name.as_str().into()];
    let mut batch = vec![Statement { sql: &REMOVE_MEMBERS, params: key.into(), on_no_rows: None }];
    batch.extend(team.members().iter().map(|agent| membership(&ADD_MEMBER, org, team, agent)));
    tx.finish(&batch).map(drop)
}

pub(crate) fn change_team(
    tx: &Tx,
    org: OrgId,
    name: &TeamName,
    change: &TeamChange,
) -> Result<Option<TeamLifecycleEffect>> {
    let row = tx.first(&LOCK, &[org.into(), name.as_str().into()])?;
    let mut team = read_team(&row.ok_or(StoreError::NotFound("team"))?)?;
    let effect = change.apply(&mut team)?;
    check_count("members of a team", team.members().len())?;
    let params = team_params(org, &team)?.into();
    let mut batch = vec![Statement { sql: &UPDATE, params, on_no_rows: None }];
    match change {
        TeamChange::Join(agent) => batch.push(membership(&ADD_MEMBER, org, &team, agent)),
        TeamChange::Leave(agent) => batch.push(membership(&REMOVE_MEMBER, org, &team, agent)),
        TeamChange::Started(_)
        | TeamChange::Stopped(_)
        | TeamChange::Lead(_)
        | TeamChange::Dissolve => {}
    }
    tx.finish(&batch)?;
    Ok(effect)
}

fn team_params(org: OrgId, team: &Team) -> Result<[Value; 4]> {
    Ok([org.into(), team.name.as_str().into(), variant_name(&team.status())?, Value::json(team)?])
}

fn membership(sql: &'static Sql, org: OrgId, team: &Team, agent: &AgentName) -> Statement {
    let params = vec![org.into(), team.name.as_str().into(), agent.as_str().into()];
    Statement { sql, params, on_no_rows: None }
}

fn read_team(row: &Row) -> Result<Team> {
    row.json(0, "team")
}
