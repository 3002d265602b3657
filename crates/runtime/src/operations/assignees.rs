//! The people to whom a session can be assigned.

use ostler_domain::contact::normalize_email;
use ostler_domain::id::UserId;
use ostler_domain::org::Relation;
use ostler_domain::org::permission::{OrgPermission, role_permits};
use ostler_domain::org::role::Role;
use ostler_store::OrgStore;

use super::{OperationError, OrgOperations, Result};

/// The most people and keys that are looked at.
const MAX_PEOPLE: u32 = 1_000;
/// The word for the actor.
const ME: &str = "me";

/// Somebody who may work in the inbox of an org.
struct Assignee {
    user: UserId,
    name: String,
    email: Option<String>,
}

impl Assignee {
    fn is_exactly(&self, text: &str) -> bool {
        let email = self.email.as_deref().map(normalize_email);
        self.user.to_string() == text.trim()
            || email.is_some_and(|own| own == normalize_email(text))
    }

    fn is_named(&self, text: &str) -> bool {
        let (full, wanted) = (self.name.trim().to_lowercase(), text.trim().to_lowercase());
        full == wanted || full.split_whitespace().next() == Some(&wanted)
    }
}

impl OrgOperations<'_> {
    /// Returns the person that a text names: `me`, an e-mail address, an id or a name. People of
    /// the parent can be named by those who may see the parent.
    pub(super) async fn find_assignee(&self, text: &str) -> Result<UserId> {
        let own = self.actor.user_id();
        if text.trim() == ME || text.trim() == own.to_string() {
            return Ok(own);
        }
        let store = &self.inner().store;
        let org = store.org(self.org).org().await?;
        let mut all = assignees(store.org(self.org), Relation::Own).await?;
        if let Some(parent) = org.parent()
            && self.actor.authorize(store, parent, OrgPermission::View).await.is_ok()
        {
            all.extend(assignees(store.org(parent), Relation::Child).await?);
        }
        all.sort_by_key(|one| one.user);
        all.dedup_by_key(|one| one.user);
        if let Some(found) = all.iter().find(|one| one.is_exactly(text)) {
            return Ok(found.user);
        }
        let named: Vec<&Assignee> = all.iter().filter(|one| one.is_named(text)).collect();
        match named.as_slice() {
            [only] => Ok(only.user),
            [] => Err(OperationError::NoAssignee(text.to_owned())),
            several => Err(OperationError::ManyPeople {
                name: text.to_owned(),
                candidates: several
                    .iter()
                    .map(|one| one.email.clone().unwrap_or_else(|| one.user.to_string()))
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
        }
    }
}

/// Returns who may work in the inbox of an org with this relation to theirs.
async fn assignees(home: OrgStore<'_>, relation: Relation) -> Result<Vec<Assignee>> {
    let may = |role: Role| role_permits(role, relation, OrgPermission::Operate);
    let members = home.members(None, MAX_PEOPLE).await?.into_iter();
    let mut all: Vec<Assignee> = members
        .filter(|member| may(member.role))
        .map(|member| Assignee {
            user: member.user.id,
            name: member.user.name,
            email: Some(member.user.email),
        })
        .collect();
    let keys = home.keys(None, MAX_PEOPLE).await?.into_iter();
    all.extend(keys.filter(|key| may(key.role) && key.revoked_at.is_none()).map(|key| Assignee {
        user: UserId::from_u128(key.id.as_u128()),
        name: key.name,
        email: None,
    }));
    Ok(all)
}
