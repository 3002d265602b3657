//! The audit log, with names instead of ids.

use std::collections::BTreeMap;

use ostler_domain::audit::{AuditActor, REFUSED};
use ostler_domain::contact::normalize_email;
use ostler_domain::id::{AgentId, AuditId, OrgId, UserId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::session::key::Peer;
use ostler_store::{AuditEntry, AuditFilter, NewAuditEntry, RefusedRequest, StoreError};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Operations, OrgOperations, Result};
use crate::colleagues;
use crate::ids::fresh;
use crate::records::decode;
use crate::records::session::Session;

/// The part of an entry that says from which file and line fields were set.
pub(super) const PLACES: &str = "places";
/// The most members and keys that are searched for a name.
const MAX_NAMES: u32 = 10_000;

/// An audit entry with the names of what its ids stand for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedAuditEntry {
    pub entry: AuditEntry,
    pub actor: String,
    /// The affected object; its id if it has no name.
    pub object: String,
    pub changes: Vec<AuditedField>,
}

/// The change of a field. A field that did not change has the same value twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditedField {
    /// Fields of objects are separated by dots.
    pub field: String,
    pub before: Value,
    pub after: Value,
}

impl NamedAuditEntry {
    /// Returns the file and line that a field was set from, if it was applied from a file.
    pub(super) fn place(&self, field: &str) -> Option<String> {
        let data: Value = serde_json::from_str(&self.entry.entry.data).ok()?;
        data[PLACES][field].as_str().map(str::to_owned)
    }
}

impl Operations {
    /// Records that a request of somebody without an account was refused. `source` is what
    /// they came through, by which refusals are limited.
    pub async fn audit_anonymous_refusal(
        &self,
        org: OrgId,
        source: &str,
        subject: &str,
        request: &Value,
    ) -> Result<()> {
        let entry = NewAuditEntry {
            id: fresh(AuditId::from_u128),
            actor: AuditActor::System,
            action: REFUSED.to_owned(),
            subject: subject.to_owned(),
            data: request.to_string(),
        };
        let (source, limit_entry) = (source.to_owned(), fresh(AuditId::from_u128));
        let refused = RefusedRequest { entry, source, limit_entry };
        Ok(self.0.store.org(org).audit_refusal(refused).await?)
    }
}

impl OrgOperations<'_> {
    /// Records that a request of the actor was refused. The log of this org has it, which is
    /// the actor's own, whatever the request was about.
    pub async fn audit_refusal(&self, subject: &str, request: &Value) -> Result<()> {
        let refused = RefusedRequest {
            entry: self.audit_entry(REFUSED, &subject, request),
            source: self.actor.user_id().to_string(),
            limit_entry: fresh(AuditId::from_u128),
        };
        Ok(self.inner().store.org(self.org).audit_refusal(refused).await?)
    }

    /// Returns the audit entries that a filter selects, newest first. `before` is the last
    /// one of the page before.
    pub async fn audit(
        &self,
        filter: &AuditFilter,
        before: Option<AuditId>,
        limit: u32,
    ) -> Result<Vec<NamedAuditEntry>> {
        let store = self.authorize(OrgPermission::View).await?;
        let entries = store.search_audit(filter, before, limit).await?;
        let mut names = BTreeMap::new();
        let mut named = Vec::with_capacity(entries.len());
        for entry in entries {
            let data: Value = serde_json::from_str(&entry.entry.data).unwrap_or_default();
            let actor = self.actor_name(entry.entry.actor).await?;
            let subject = entry.entry.subject.as_str();
            if !names.contains_key(subject) {
                let name = self.object_name(subject, &data).await?;
                names.insert(subject.to_owned(), name);
            }
            let object = names.get(subject).cloned().unwrap_or_default();
            named.push(NamedAuditEntry { actor, object, changes: field_changes(&data), entry });
        }
        Ok(named)
    }

    /// Returns the actor that a name stands for: `terminal`, `system`, a person by e-mail
    /// address, a key or an agent by name or id.
    pub async fn find_audit_actor(&self, name: &str) -> Result<Option<AuditActor>> {
        let store = self.authorize(OrgPermission::View).await?;
        let name = name.trim();
        match name {
            "terminal" => return Ok(Some(AuditActor::Terminal)),
            "system" => return Ok(Some(AuditActor::System)),
            _ => {}
        }
        if let Ok(user) = name.parse::<UserId>() {
            return Ok(Some(AuditActor::User(user)));
        }
        match self.inner().store.user_account_by_email(name).await {
            Ok(account) => return Ok(Some(AuditActor::User(account.user.id))),
            Err(StoreError::NotFound(_)) => {}
            Err(other) => return Err(other.into()),
        }
        let keys = store.keys(None, MAX_NAMES).await?;
        let is_named = |id: String, known: &str| id == name || known == name;
        if let Some(key) = keys.iter().find(|key| is_named(key.id.to_string(), &key.name)) {
            return Ok(Some(AuditActor::Key(key.id)));
        }
        Ok(self.view().await?.find_agent(name).map(|one| AuditActor::Agent(one.agent.id)))
    }

    /// Returns the id that the audit log has for an object: a person by e-mail address, an
    /// agent by slug, a contact by name; everything else by its id.
    pub async fn find_audit_object(&self, name: &str) -> Result<String> {
        let store = self.authorize(OrgPermission::View).await?;
        let members = store.members(None, MAX_NAMES).await?;
        let key = normalize_email(name);
        if let Some(member) = members.iter().find(|one| normalize_email(&one.user.email) == key) {
            return Ok(member.user.id.to_string());
        }
        if let Some(agent) = self.view().await?.find_agent(name) {
            return Ok(agent.agent.id.to_string());
        }
        match self.find_person(name).await {
            Ok(super::Person::Contact(found)) => Ok(found.contact.id.to_string()),
            _ => Ok(name.to_owned()),
        }
    }

    async fn actor_name(&self, actor: AuditActor) -> Result<String> {
        let store = self.inner().store.org(self.org);
        Ok(match actor {
            AuditActor::Terminal => "terminal".to_owned(),
            AuditActor::System => "system".to_owned(),
            AuditActor::User(id) => self.user_name(id).await?,
            AuditActor::Key(id) => match store.key(id).await {
                Ok(key) => format!("key {}", key.name),
                Err(_) => id.to_string(),
            },
            AuditActor::Agent(id) => self.agent_name(id).await?,
        })
    }

    /// Returns the name of a person, also of one who works from the org's chats; else the id.
    pub(super) async fn user_name(&self, id: UserId) -> Result<String> {
        let store = &self.inner().store;
        match store.user_account(id).await {
            Ok(account) => Ok(account.user.name),
            Err(StoreError::NotFound(_)) => {
                let colleague = colleagues::name(store.org(self.org), id).await?;
                Ok(colleague.unwrap_or_else(|| id.to_string()))
            }
            Err(other) => Err(other.into()),
        }
    }

    async fn agent_name(&self, id: AgentId) -> Result<String> {
        let view = self.view().await?;
        Ok(view.agent(id).map_or_else(|| id.to_string(), |one| one.agent.display_name.clone()))
    }

    /// Returns the name of an object, by the kind of its id. What is not there any more is
    /// named by what the entry kept of it.
    async fn object_name(&self, id: &str, data: &Value) -> Result<String> {
        let store = self.inner().store.org(self.org);
        let prefix = id.split('_').next().unwrap_or_default();
        let name = match prefix {
            "agt" => Some(self.agent_name(parse(id)?).await?),
            "usr" => Some(self.user_name(parse(id)?).await?),
            "con" => store.contact(parse(id)?).await.ok().map(|one| one.contact.name),
            "doc" => store.document(parse(id)?).await.ok().map(|one| one.document.title().into()),
            "bnd" => {
                store.binding(parse(id)?).await.ok().map(|one| one.binding.channel.to_string())
            }
            "org" => {
                store.org().await.ok().filter(|org| org.id.to_string() == id).map(|org| org.slug)
            }
            "apr" => store.approval(parse(id)?).await.ok().map(|one| one.approval.tool.to_string()),
            "ses" => match store.session(parse(id)?).await {
                Ok(stored) => Some(peer_name(decode("session", &stored.data)?)),
                Err(_) => None,
            },
            _ => None,
        };
        let kept = ["after", "before"].iter().find_map(|side| kept_name(&data[*side]));
        let kept = kept.or_else(|| kept_name(data));
        Ok(name.filter(|name| name != id).or(kept).unwrap_or_else(|| id.to_owned()))
    }
}

fn parse<T: std::str::FromStr>(id: &str) -> Result<T> {
    id.parse().map_err(|_| StoreError::NotFound("object").into())
}

fn peer_name(session: Session) -> String {
    let (Peer::Person(name) | Peer::Group(name)) = session.peer;
    session.name.unwrap_or(name)
}

/// Returns the name that an entry kept of its object.
fn kept_name(data: &Value) -> Option<String> {
    let fields = ["name", "title", "email", "service", "number", "key", "file"];
    let text = fields.iter().find_map(|field| data[*field].as_str());
    text.map(str::to_owned)
}

/// Returns what an entry says about its change: fields that differ between `before` and
/// `after`, and all other details as they are.
fn field_changes(data: &Value) -> Vec<AuditedField> {
    let Value::Object(fields) = data else { return Vec::new() };
    let side = |name: &str| flatten(fields.get(name).unwrap_or(&Value::Null));
    let (before, after) = (side("before"), side("after"));
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    let value = |side: &Map<String, Value>, name: &str| side.get(name).cloned().unwrap_or_default();
    let changed = names.map(|name| AuditedField {
        field: name.clone(),
        before: value(&before, name),
        after: value(&after, name),
    });
    let changed = changed.filter(|change| change.before != change.after);
    let of_change = ["before", "after", PLACES];
    let details = fields.iter().filter(|(name, _)| !of_change.contains(&name.as_str()));
    let details = details.map(|(name, value)| AuditedField {
        field: name.clone(),
        before: value.clone(),
        after: value.clone(),
    });
    changed.chain(details).collect()
}

/// Returns the fields of an object and of the objects in it, without those that are null.
fn flatten(value: &Value) -> Map<String, Value> {
    let mut flat = Map::new();
    let Value::Object(fields) = value else { return flat };
    for (name, value) in fields {
        match value {
            Value::Null => {}
            Value::Object(_) => flat.extend(
                flatten(value).into_iter().map(|(inner, value)| (format!("{name}.{inner}"), value)),
            ),
            other => {
                flat.insert(name.clone(), other.clone());
            }
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::field_changes;

    #[test]
    fn o15_only_fields_that_differ_are_changes() {
        let check = |data: Value, expected: &[(&str, Value, Value)]| {
            let found: Vec<(String, Value, Value)> = field_changes(&data)
                .into_iter()
                .map(|one| (one.field, one.before, one.after))
                .collect();
            let expected: Vec<(String, Value, Value)> =
                expected.iter().map(|(f, b, a)| ((*f).to_owned(), b.clone(), a.clone())).collect();
            assert_eq!(found, expected, "{data}");
        };
        let null = Value::Null;
        check(
            json!({"before": {"role": "viewer", "name": "Ada"}, "after": {"role": "owner", "name": "Ada"}}),
            &[("role", json!("viewer"), json!("owner"))],
        );
        check(
            json!({"before": null, "after": {"name": "Ada", "by": null}}),
            &[("name", null.clone(), json!("Ada"))],
        );
        check(
            json!({"before": {"a": {"b": 1, "c": 2}}, "after": {"a": {"b": 1}}, "why": "x"}),
            &[("a.c", json!(2), null.clone()), ("why", json!("x"), json!("x"))],
        );
        check(
            json!({"before": null, "after": {"a": 1}, "places": {"a": "world.toml:3"}}),
            &[("a", null, json!(1))],
        );
        check(json!({"amount": 5}), &[("amount", json!(5), json!(5))]);
        check(json!("text"), &[]);
    }
}
