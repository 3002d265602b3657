//! The API of one org.

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_api::names::ActorNames;
use ostler_api::org::OrgSummary;
use ostler_domain::id::{AgentId, UserId};
use ostler_runtime::operations::Actor;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{ApiClient, LineStream};

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

    /// Posts a body under an idempotency key.
    pub(crate) async fn post_once<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
        key: &str,
    ) -> anyhow::Result<T> {
        self.api.post_once(&self.path(path), body, key).await
    }

    /// Posts a body and waits for what an agent or a model does, beside the usual time.
    pub(crate) async fn post_waiting<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
        extra_time: Duration,
    ) -> anyhow::Result<T> {
        self.api.post_waiting(&self.path(path), body, extra_time).await
    }

    /// Posts a file, which is the body of the request.
    pub(crate) async fn upload<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        bytes: Vec<u8>,
    ) -> anyhow::Result<T> {
        self.api.upload(&self.path(path), query, bytes).await
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

    /// Reads a long list of lines.
    pub(crate) async fn lines(&self, path: &[&str]) -> anyhow::Result<LineStream> {
        self.api.lines(&self.path(path)).await
    }

    /// Reads a file.
    pub(crate) async fn download(&self, path: &[&str]) -> anyhow::Result<Vec<u8>> {
        self.api.download(&self.path(path)).await
    }

    /// Returns the names of agents and people.
    pub(crate) async fn names(&self) -> anyhow::Result<ActorNames> {
        self.get(&["names"]).await
    }

    /// Returns the names of the agents.
    pub(crate) async fn agent_names(&self) -> anyhow::Result<AgentNames> {
        let names = self.names().await?.agents.into_iter();
        Ok(AgentNames(names.map(|agent| (agent.id, agent.name)).collect()))
    }

    fn path<'p>(&'p self, path: &[&'p str]) -> Vec<&'p str> {
        [&["orgs", self.org.slug.as_str()], path].concat()
    }
}

/// Returns the name of a person or key, as people read it.
pub(crate) fn person_name(names: &ActorNames, user: UserId) -> String {
    if user == Actor::Terminal.user_id() {
        return "the terminal".to_owned();
    }
    let person = names.people.iter().find(|person| person.id == user);
    person.map_or_else(|| format!("a person ({})", user.short()), |person| person.name.clone())
}

/// The names of an org's agents.
#[derive(Debug, Default)]
pub(crate) struct AgentNames(BTreeMap<AgentId, String>);

impl AgentNames {
    /// Returns the name of an agent.
    pub(crate) fn find(&self, id: AgentId) -> Option<&str> {
        self.0.get(&id).map(String::as_str)
    }

    /// Returns the name of an agent, or its short id if it is unknown.
    pub(crate) fn get(&self, id: AgentId) -> String {
        self.0.get(&id).cloned().unwrap_or_else(|| id.short())
    }
}

#[cfg(test)]
mod tests {
    use ostler_api::names::{ActorNames, NamedPerson};
    use ostler_domain::id::UserId;
    use ostler_runtime::operations::Actor;

    use super::person_name;

    #[test]
    fn only_the_terminal_is_called_so() {
        let ada = NamedPerson { id: UserId::from_u128(8), name: "Ada".into() };
        let names = ActorNames { agents: Vec::new(), people: vec![ada] };
        let stranger = UserId::from_u128(9);
        assert_eq!(person_name(&names, UserId::from_u128(8)), "Ada");
        assert_eq!(person_name(&names, Actor::Terminal.user_id()), "the terminal");
        assert_eq!(person_name(&names, stranger), format!("a person ({})", stranger.short()));
    }
}
