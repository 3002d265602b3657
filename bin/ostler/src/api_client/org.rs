//! The API of one org.

use std::collections::BTreeMap;

use ostler_api::names::ActorNames;
use ostler_api::org::OrgSummary;
use ostler_domain::id::{AgentId, OrgId};
use ostler_store::Store;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ApiClient;

/// The API of an org. Paths are those after `/v1/orgs/ORG`.
#[derive(Clone)]
pub(crate) struct OrgApi {
    pub(crate) api: ApiClient,
    pub(crate) org: OrgSummary,
}

impl OrgApi {
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> anyhow::Result<T> {
        self.query(path, &[]).await
    }

    pub(crate) async fn query<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> anyhow::Result<T> {
        self.api.get(&self.path(path), query).await
    }

    /// Reads a list up to `limit` items.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        limit: usize,
    ) -> anyhow::Result<Vec<T>> {
        self.api.list(&self.path(path), query, limit).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.api.change("POST", &self.path(path), body).await
    }

    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.api.change("PUT", &self.path(path), body).await
    }

    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.api.change("PATCH", &self.path(path), body).await
    }

    pub(crate) async fn delete<T: DeserializeOwned>(&self, path: &[&str]) -> anyhow::Result<T> {
        self.api.change("DELETE", &self.path(path), &()).await
    }

    /// Returns the names of the agents.
    pub(crate) async fn agent_names(&self) -> anyhow::Result<AgentNames> {
        let names: ActorNames = self.get(&["names"]).await?;
        Ok(AgentNames(names.agents.into_iter().map(|agent| (agent.id, agent.name)).collect()))
    }

    fn path<'p>(&'p self, path: &[&'p str]) -> Vec<&'p str> {
        [&["orgs", self.org.slug.as_str()], path].concat()
    }
}

/// The names of an org's agents.
#[derive(Debug, Default)]
pub(crate) struct AgentNames(BTreeMap<AgentId, String>);

impl AgentNames {
    /// Reads the names from the store of a local installation.
    pub(crate) async fn load(store: &Store, org: OrgId) -> anyhow::Result<Self> {
        let agents = store.org(org).agents().await?;
        Ok(Self(agents.into_iter().map(|agent| (agent.id, agent.display_name)).collect()))
    }

    /// Returns the name of an agent, or its short id if it is unknown.
    pub(crate) fn get(&self, id: AgentId) -> String {
        self.0.get(&id).cloned().unwrap_or_else(|| id.short())
    }
}
