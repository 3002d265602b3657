//! Teams of queue agents: their lifecycle and members.
//!
//! A change locks the team's row and lets the domain's `Team` decide.

use ostler_domain::id::OrgId;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::{Team, TeamChange, TeamLifecycleEffect};

use super::{check_count, variant_name};
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Statement, Tx};
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
    pub async fn create_team(&self, team: Team) -> Result<()> {
        self.store.write(Create(self.org, team)).await
    }

    /// Applies a change to a team and returns its effect. Fails with [`StoreError::Team`] if the
    /// rules refuse it.
    pub async fn change_team(
        &self,
        name: &TeamName,
        change: TeamChange,
    ) -> Result<Option<TeamLifecycleEffect>> {
        self.store.write(Apply(self.org, name.clone(), change)).await
    }

    /// Returns a team by its name.
    pub async fn team(&self, name: &TeamName) -> Result<Option<Team>> {
        self.store.read(Get(self.org, name.clone())).await
    }

    /// Returns the teams after `after`, ordered by name; only those of a member if one is given.
    pub async fn teams(
        &self,
        member: Option<&AgentName>,
        after: Option<&TeamName>,
        limit: u32,
    ) -> Result<Vec<Team>> {
        let (member, after) = (member.cloned(), after.cloned());
        self.store.read(List { org: self.org, member, after, limit }).await
    }
}

struct Create(OrgId, Team);

impl Operation for Create {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let Self(org, team) = self;
        check_count("members of a team", team.members().len())?;
        if tx.execute(&CREATE, &team_params(*org, team)?)? == 0 {
            return Err(StoreError::Conflict(format!("team `{}`", team.name)));
        }
        let key = [Value::from(*org), team.name.as_str().into()];
        let mut batch =
            vec![Statement { sql: &REMOVE_MEMBERS, params: key.into(), on_no_rows: None }];
        batch.extend(team.members().iter().map(|agent| membership(&ADD_MEMBER, *org, team, agent)));
        tx.finish(&batch).map(drop)
    }
}

struct Apply(OrgId, TeamName, TeamChange);

impl Operation for Apply {
    type Output = Option<TeamLifecycleEffect>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Option<TeamLifecycleEffect>> {
        let Self(org, name, change) = self;
        let row = tx.first(&LOCK, &[(*org).into(), name.as_str().into()])?;
        let mut team = read_team(&row.ok_or(StoreError::NotFound("team"))?)?;
        let effect = change.apply(&mut team)?;
        check_count("members of a team", team.members().len())?;
        let params = team_params(*org, &team)?.into();
        let mut batch = vec![Statement { sql: &UPDATE, params, on_no_rows: None }];
        match change {
            TeamChange::Join(agent) => batch.push(membership(&ADD_MEMBER, *org, &team, agent)),
            TeamChange::Leave(agent) => batch.push(membership(&REMOVE_MEMBER, *org, &team, agent)),
            TeamChange::Started(_)
            | TeamChange::Stopped(_)
            | TeamChange::Lead(_)
            | TeamChange::Dissolve => {}
        }
        tx.finish(&batch)?;
        Ok(effect)
    }
}

struct Get(OrgId, TeamName);

impl Operation for Get {
    type Output = Option<Team>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Option<Team>> {
        let row = tx.first(&GET, &[self.0.into(), self.1.as_str().into()])?;
        row.as_ref().map(read_team).transpose()
    }
}

struct List {
    org: OrgId,
    member: Option<AgentName>,
    after: Option<TeamName>,
    limit: u32,
}

impl Operation for List {
    type Output = Vec<Team>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<Team>> {
        let after = self.after.as_ref().map_or("", TeamName::as_str);
        let mut params = vec![self.org.into(), after.into(), self.limit.into()];
        let member = self.member.as_ref().map(|agent| Value::from(agent.as_str()));
        let sql = if member.is_some() { &LIST_OF_MEMBER } else { &LIST };
        params.extend(member);
        tx.query(sql, &params)?.iter().map(read_team).collect()
    }
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
