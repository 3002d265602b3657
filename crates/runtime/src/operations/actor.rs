//! Actors and what they may do in an org.

use ostler_domain::audit;
use ostler_domain::id::{AgentId, KeyId, OrgId, UserId};
use ostler_domain::org::guardrail::{GuardedAction, check};
use ostler_domain::org::layer::{BusinessLayer, BusinessPosition};
use ostler_domain::org::permission::{OrgPermission, role_permits};
use ostler_domain::org::role::Role;
use ostler_domain::org::{Org, Relation};
use ostler_store::{Membership, Store, StoreError};

use super::{OperationError, Result};

/// Who performs an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A logged-in person.
    User(UserId),
    /// A program with an API key of an org.
    Key { id: KeyId, org: OrgId, role: Role },
    /// One of the org's people, in a chat that the org has configured as theirs.
    Chat(UserId),
    /// The operator at the machine, who could open the database anyway.
    Terminal,
    /// An agent of an org, through one of its tools. The guardrail matrix decides what it may
    /// do; it never does the work of people.
    Agent { id: AgentId, org: OrgId },
}

/// The user id that stands for the operator at the machine.
const TERMINAL_USER: UserId = UserId::from_u128(1);

impl Actor {
    /// Returns the user id that conversations and approvals store. A key is stored under its
    /// own id, which no user has.
    pub const fn user_id(self) -> UserId {
        match self {
            Self::User(id) | Self::Chat(id) => id,
            Self::Key { id, .. } => UserId::from_u128(id.as_u128()),
            Self::Terminal => TERMINAL_USER,
            Self::Agent { id, .. } => UserId::from_u128(id.as_u128()),
        }
    }

    pub(super) const fn audit_actor(self) -> audit::AuditActor {
        match self {
            Self::User(id) | Self::Chat(id) => audit::AuditActor::User(id),
            Self::Key { id, .. } => audit::AuditActor::Key(id),
            Self::Terminal => audit::AuditActor::Terminal,
            Self::Agent { id, .. } => audit::AuditActor::Agent(id),
        }
    }

    /// Checks that the actor may do something in an org. To unrelated actors a missing org
    /// looks like a forbidden one.
    pub(super) async fn authorize(
        self,
        store: &Store,
        org: OrgId,
        permission: OrgPermission,
    ) -> Result<()> {
        let (who, memberships) = match self {
            Self::Terminal => return Ok(()),
            Self::Agent { id, org: home } => {
                return authorize_agent(store, home, id, org, permission).await;
            }
            Self::Chat(_) if matches!(permission, OrgPermission::View | OrgPermission::Operate) => {
                return Ok(());
            }
            Self::Chat(_) => ("a chat member".to_owned(), Vec::new()),
            Self::User(id) => ("you".to_owned(), memberships_of(store, id).await?),
            Self::Key { org, role, .. } => {
                (format!("this key (role {role})"), vec![Membership { org, role }])
            }
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
        if memberships.iter().any(|one| role_permits(one.role, relation(one), permission)) {
            return Ok(());
        }
        let (what, holders) = (permission.description(), permission.holders());
        Err(OperationError::Forbidden { who, what, holders })
    }

    /// Checks that the actor may do something that the guardrail matrix has a row for. People
    /// need the permission to configure the org instead.
    pub(super) async fn authorize_guarded(
        self,
        store: &Store,
        org: OrgId,
        action: impl FnOnce(Relation) -> GuardedAction,
    ) -> Result<()> {
        let Self::Agent { id, org: home } = self else {
            return self.authorize(store, org, OrgPermission::Configure).await;
        };
        let (position, relation) = stand(store, home, id, org).await?;
        Ok(check(&position, action(relation))?)
    }

    /// Returns those of the orgs that the actor may view.
    pub(super) async fn visible(self, store: &Store, mut orgs: Vec<Org>) -> Result<Vec<Org>> {
        let memberships = match self {
            Self::Terminal => return Ok(orgs),
            // They work in one org and list none.
            Self::Chat(_) | Self::Agent { .. } => Vec::new(),
            Self::User(id) => memberships_of(store, id).await?,
            Self::Key { org, role, .. } => vec![Membership { org, role }],
        };
        orgs.retain(|org| {
            let views = |one: &Membership| {
                role_permits(one.role, relation(one.org, org), OrgPermission::View)
            };
            memberships.iter().any(views)
        });
        Ok(orgs)
    }

    /// Returns the role by which the actor changes the people of an org. The operator at
    /// the machine counts as a platform admin.
    pub(super) async fn role_in(self, store: &Store, org: OrgId) -> Result<Role> {
        let memberships = match self {
            Self::Terminal => return Ok(Role::PlatformAdmin),
            Self::Chat(_) | Self::Agent { .. } => Vec::new(),
            Self::User(id) => memberships_of(store, id).await?,
            Self::Key { org, role, .. } => vec![Membership { org, role }],
        };
        let is_admin = memberships.iter().any(|one| one.role == Role::PlatformAdmin);
        let own = memberships.iter().find(|one| one.org == org).map(|one| one.role);
        Ok(if is_admin { Role::PlatformAdmin } else { own.unwrap_or(Role::Viewer) })
    }
}

/// Checks an agent by the guardrail matrix. What is for people is refused at every layer.
async fn authorize_agent(
    store: &Store,
    home: OrgId,
    id: AgentId,
    org: OrgId,
    permission: OrgPermission,
) -> Result<()> {
    let (position, relation) = stand(store, home, id, org).await?;
    match permission {
        OrgPermission::View => Ok(check(&position, GuardedAction::ReadData(relation))?),
        OrgPermission::Configure => Ok(check(&position, GuardedAction::ManageSettings(relation))?),
        // Licences are the platform's.
        OrgPermission::GrantCredits if position.guardrail_layer == BusinessLayer::Platform => {
            Ok(())
        }
        OrgPermission::Operate | OrgPermission::GrantCredits | OrgPermission::ManagePeople => {
            let (what, holders) = (permission.description(), permission.holders());
            Err(OperationError::Forbidden { who: "an agent".to_owned(), what, holders })
        }
    }
}

/// Returns where an agent stands, and how an org is related to its own. The agent has to be
/// one of its org, so one that only stands in there has no rights.
pub(super) async fn stand(
    store: &Store,
    home: OrgId,
    id: AgentId,
    org: OrgId,
) -> Result<(BusinessPosition, Relation)> {
    let own = store.org(home).org().await?;
    let agent = store.org(home).agent(id).await?;
    let relation = match store.org(org).org().await {
        Ok(other) => own.relation_to(&other),
        Err(StoreError::NotFound(_)) => Relation::Unrelated,
        Err(other) => return Err(other.into()),
    };
    Ok((BusinessPosition::of(&own, &agent.subtype), relation))
}

async fn memberships_of(store: &Store, id: UserId) -> Result<Vec<Membership>> {
    match store.user_account(id).await {
        Ok(account) => Ok(account.memberships),
        Err(StoreError::NotFound(_)) => Ok(Vec::new()),
        Err(other) => Err(other.into()),
    }
}

/// Returns how an org is related to the actor's own.
fn relation(home: OrgId, org: &Org) -> Relation {
    if org.id == home {
        Relation::Own
    } else if org.parent() == Some(home) {
        Relation::Child
    } else {
        Relation::Unrelated
    }
}
