//! Who acts, and what they may do in an org.

use ostler_domain::audit;
use ostler_domain::id::{KeyId, OrgId, UserId};
use ostler_domain::org::duty::{Duty, may};
use ostler_domain::org::role::Role;
use ostler_domain::org::{Org, Relation};
use ostler_store::{Membership, Store, StoreError};

use super::{OperationError, Result};

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A person who is logged in.
    User(UserId),
    /// A program with an API key, as it was found by its secret.
    Key {
        /// The key.
        id: KeyId,
        /// The org that it belongs to.
        org: OrgId,
        /// The role that it acts in.
        role: Role,
    },
    /// Whoever sits at the machine itself, and could open the database anyway.
    Terminal,
}

/// As whom the machine's own operator is kept where a person is.
const AT_THE_TERMINAL: UserId = UserId::from_u128(1);

impl Actor {
    /// The person that conversations and approvals know them as. A key is known
    /// by its own number, which no person has.
    pub const fn person(self) -> UserId {
        match self {
            Self::User(id) => id,
            Self::Key { id, .. } => UserId::from_u128(id.as_u128()),
            Self::Terminal => AT_THE_TERMINAL,
        }
    }

    pub(super) const fn in_the_log(self) -> audit::Actor {
        match self {
            Self::User(id) => audit::Actor::User(id),
            Self::Key { id, .. } => audit::Actor::Key(id),
            Self::Terminal => audit::Actor::Terminal,
        }
    }

    /// Refuses what the actor may not do in an org. Whether there is such an org
    /// is not told to those who have nothing to do with it.
    pub(super) async fn check(self, store: &Store, org: OrgId, duty: Duty) -> Result<()> {
        let (who, memberships) = match self {
            Self::Terminal => return Ok(()),
            Self::User(id) => ("you", of_user(store, id).await?),
            Self::Key { org, role, .. } => ("this key", vec![Membership { org, role }]),
        };
        let org = match store.org(org).org().await {
            Ok(org) => Some(org),
            Err(StoreError::NotFound(_)) => None,
            Err(other) => return Err(other.into()),
        };
        let relation = |one: &Membership| match &org {
            Some(org) => relation(one.org, org),
            None => Relation::Unrelated,
        };
        if memberships.iter().any(|one| may(one.role, relation(one), duty)) {
            return Ok(());
        }
        Err(OperationError::Forbidden { who, what: duty.words() })
    }
}

async fn of_user(store: &Store, id: UserId) -> Result<Vec<Membership>> {
    match store.account(id).await {
        Ok(account) => Ok(account.memberships),
        Err(StoreError::NotFound(_)) => Ok(Vec::new()),
        Err(other) => Err(other.into()),
    }
}

/// How an org is related to the one that somebody belongs to.
fn relation(home: OrgId, org: &Org) -> Relation {
    if org.id == home {
        Relation::Own
    } else if org.parent() == Some(home) {
        Relation::Child
    } else {
        Relation::Unrelated
    }
}
