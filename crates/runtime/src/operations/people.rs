//! The people of an org: members, their roles, and invitations.

use ostler_domain::audit::AuditActor;
use ostler_domain::contact::{is_email_address, normalize_email};
use ostler_domain::id::{AuditId, InvitationId, OrgId, UserId};
use ostler_domain::org::people::{check_role_change, invitation_lifetime};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::org::role::Role;
use ostler_domain::secret::{InvitationCode, PasswordHash};
use ostler_store::{
    Invitation, InvitationState, Member, MemberAccount, NewAuditEntry, NewInvitation, Store,
    StoreError, User,
};
use serde_json::{Value, json};

use super::logins::random_secret;
use super::{Actor, OperationError, Operations, OrgOperations, Result};
use crate::ids::fresh;

/// The most members and invitations that are listed.
const MAX_PEOPLE: u32 = 10_000;

/// A person to add to an org.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMember {
    pub email: String,
    /// The name of a new account; `None` uses the e-mail address.
    pub name: Option<String>,
    pub role: Role,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemovedMember {
    Member(Member),
    Invitation(Invitation),
}

impl OrgOperations<'_> {
    /// Returns the members of the org.
    pub async fn members(&self) -> Result<Vec<Member>> {
        Ok(self.authorize(OrgPermission::View).await?.members(None, MAX_PEOPLE).await?)
    }

    /// Returns a member, who is named by e-mail address, id, name or first name.
    pub async fn member(&self, name: &str) -> Result<Member> {
        self.authorize(OrgPermission::View).await?;
        self.find_member(name).await
    }

    /// Returns the open invitations of the org.
    pub async fn invitations(&self) -> Result<Vec<Invitation>> {
        let store = self.authorize(OrgPermission::ManagePeople).await?;
        Ok(store.open_invitations(MAX_PEOPLE).await?)
    }

    /// Adds a person to the org. Without an account they get one that nobody can log in
    /// with until it has a password.
    pub async fn add_member(&self, new: NewMember) -> Result<Member> {
        let store = self.authorize(OrgPermission::ManagePeople).await?;
        let email = clean_email(&new.email)?;
        self.check_not_member(&email).await?;
        self.check_role(None, Some(new.role)).await?;
        let (user, account) = account(&self.inner().store, &email, new.name.as_deref()).await?;
        let after = audit_data(&user, new.role);
        let audit = self.audit_change("add_member", &user.id, &Value::Null, &after);
        store.audited(audit).set_member(account, None, new.role).await?;
        Ok(Member { user, role: new.role })
    }

    /// Changes the role of a member, who is named by e-mail address, id, name or first name.
    pub async fn set_role(&self, name: &str, role: Role) -> Result<Member> {
        let store = self.authorize(OrgPermission::ManagePeople).await?;
        let Member { user, role: before } = self.find_member(name).await?;
        self.check_role(Some(before), Some(role)).await?;
        if before == role {
            return Ok(Member { user, role });
        }
        let (old, new) = (audit_data(&user, before), audit_data(&user, role));
        let audit = self.audit_change("set_member_role", &user.id, &old, &new);
        let account = MemberAccount::Existing(user.id);
        store.audited(audit).set_member(account, Some(before), role).await?;
        Ok(Member { user, role })
    }

    /// Removes a member with the threads that only the member could read, or withdraws the
    /// invitation of somebody who is none yet.
    pub async fn remove_member(&self, name: &str) -> Result<RemovedMember> {
        let store = self.authorize(OrgPermission::ManagePeople).await?;
        let member = match self.find_member(name).await {
            Err(OperationError::NoMember(_)) => return self.withdraw_invitation(name).await,
            found => found?,
        };
        self.check_role(Some(member.role), None).await?;
        let before = audit_data(&member.user, member.role);
        let audit = self.audit_change("remove_member", &member.user.id, &before, &Value::Null);
        store.audited(audit).remove_member(member.user.id, member.role).await?;
        // Nobody else could read them.
        store.erase_threads(&member.user.id.to_string()).await?;
        Ok(RemovedMember::Member(member))
    }

    /// Invites a person by e-mail address. The code is accepted once, within `days`.
    pub async fn invite(
        &self,
        email: &str,
        role: Role,
        days: u32,
        code: &InvitationCode,
    ) -> Result<Invitation> {
        let store = self.authorize(OrgPermission::ManagePeople).await?;
        let email = clean_email(email)?;
        self.check_not_member(&email).await?;
        self.check_role(None, Some(role)).await?;
        let id = fresh(InvitationId::from_u128);
        let new = NewInvitation {
            id,
            email: email.clone(),
            role,
            invited_by: self.actor.audit_actor(),
            lifetime: invitation_lifetime(days)?,
        };
        let after = json!({"email": email, "role": role, "days": days});
        let audit = self.audit_change("invite_member", &id, &Value::Null, &after);
        store.audited(audit).create_invitation(new, code).await?;
        let open = store.open_invitations(MAX_PEOPLE).await?;
        let created = open.into_iter().find(|one| one.id == id);
        created.ok_or(StoreError::NotFound("invitation").into())
    }

    /// Invites a person with a new one-time code, which is returned once.
    pub async fn invite_with_new_code(
        &self,
        email: &str,
        role: Role,
        days: u32,
    ) -> Result<(Invitation, InvitationCode)> {
        let code = random_secret::<_, 32>(InvitationCode::PREFIX)?;
        Ok((self.invite(email, role, days, &code).await?, code))
    }

    async fn withdraw_invitation(&self, email: &str) -> Result<RemovedMember> {
        let store = self.authorize(OrgPermission::ManagePeople).await?;
        let key = normalize_email(email);
        let open = self.invitations().await?;
        let found = open.into_iter().find(|one| normalize_email(&one.email) == key);
        let found = found.ok_or_else(|| OperationError::NoMember(email.to_owned()))?;
        self.check_role(Some(found.role), None).await?;
        let before = json!({"email": found.email, "role": found.role});
        let audit = self.audit_change("withdraw_invitation", &found.id, &before, &Value::Null);
        store.audited(audit).withdraw_invitation(&found.email).await?;
        Ok(RemovedMember::Invitation(found))
    }

    pub(super) async fn find_member(&self, name: &str) -> Result<Member> {
        let store = self.inner().store.org(self.org);
        let members = store.members(None, MAX_PEOPLE).await?;
        let key = normalize_email(name);
        let is_exact = |one: &&Member| {
            normalize_email(&one.user.email) == key || one.user.id.to_string() == name.trim()
        };
        if let Some(found) = members.iter().find(is_exact) {
            return Ok(found.clone());
        }
        let wanted = name.trim().to_lowercase();
        let named = |one: &&Member| {
            let full = one.user.name.trim().to_lowercase();
            full == wanted || full.split_whitespace().next() == Some(&wanted)
        };
        let named: Vec<&Member> = members.iter().filter(named).collect();
        match named.as_slice() {
            [] => Err(OperationError::NoMember(name.to_owned())),
            [one] => Ok((*one).clone()),
            several => {
                let emails: Vec<&str> = several.iter().map(|one| one.user.email.as_str()).collect();
                let (name, candidates) = (name.to_owned(), emails.join(", "));
                Err(OperationError::ManyPeople { name, candidates })
            }
        }
    }

    async fn check_not_member(&self, email: &str) -> Result<()> {
        match self.find_member(email).await {
            Ok(Member { user, role }) => {
                Err(OperationError::AlreadyMember { email: user.email, role })
            }
            Err(OperationError::NoMember(_)) => Ok(()),
            Err(other) => Err(other),
        }
    }

    /// Checks that the actor may make this change of somebody's role.
    pub(super) async fn check_role(&self, before: Option<Role>, after: Option<Role>) -> Result<()> {
        let store = &self.inner().store;
        let by = self.actor.role_in(store, self.org).await?;
        let place = store.org(self.org).org().await?.place;
        Ok(check_role_change(by, place, before, after)?)
    }
}

impl Operations {
    /// Returns the open invitation with a code, and the org that it is to.
    pub async fn invitation(&self, code: &InvitationCode) -> Result<(OrgId, Invitation)> {
        let store = &self.0.store;
        let (org, invitation) = match store.invitation(code).await {
            Ok((org, invitation, InvitationState::Open)) => (org, invitation),
            Ok((_, _, InvitationState::Accepted)) => {
                return Err(OperationError::Invitation("this invitation was used already"));
            }
            Ok((_, _, InvitationState::Expired)) => {
                return Err(OperationError::Invitation("this invitation has expired"));
            }
            Err(StoreError::NotFound(_)) => {
                return Err(OperationError::Invitation("this invitation does not exist"));
            }
            Err(other) => return Err(other.into()),
        };
        self.check_inviter(org, &invitation).await?;
        Ok((org, invitation))
    }

    /// Accepts an invitation: the person with the code becomes a member. Without an
    /// account they get one. A password is set only if the account has none; without one
    /// nobody can log in with it.
    pub async fn accept_invitation(
        &self,
        code: &InvitationCode,
        name: &str,
        password: Option<PasswordHash>,
    ) -> Result<(OrgId, Member)> {
        let store = &self.0.store;
        let (org, invitation) = self.invitation(code).await?;
        if name.trim().is_empty() {
            return Err(OperationError::Empty("the name of a person"));
        }
        let (user, account) = account(store, &invitation.email, Some(name)).await?;
        let Invitation { id, role, .. } = invitation;
        let data = json!({"before": null, "after": audit_data(&user, role), "invitation": id});
        let audit = NewAuditEntry {
            id: fresh(AuditId::from_u128),
            actor: AuditActor::User(user.id),
            action: "accept_invitation".to_owned(),
            subject: user.id.to_string(),
            data: data.to_string(),
        };
        store.org(org).audited(audit).accept_invitation(id, account, role, password).await?;
        Ok((org, Member { user, role }))
    }
}

impl Operations {
    /// Checks that the person or key that sent an invitation may still do so.
    async fn check_inviter(&self, org: OrgId, invitation: &Invitation) -> Result<()> {
        let gone = || {
            OperationError::Invitation(
                "the sender of this invitation may not invite people any more",
            )
        };
        let inviter = match invitation.invited_by {
            AuditActor::User(id) => Actor::User(id),
            AuditActor::Key(id) => {
                let key = self.0.store.org(org).key(id).await?;
                let is_valid = key.revoked_at.is_none();
                let role = is_valid.then_some(key.role).ok_or_else(gone)?;
                Actor::Key { id, org, role }
            }
            AuditActor::Terminal | AuditActor::Agent(_) | AuditActor::System => return Ok(()),
        };
        let inviter = self.as_actor(inviter, org);
        let checked = match inviter.authorize(OrgPermission::ManagePeople).await {
            Ok(_) => inviter.check_role(None, Some(invitation.role)).await,
            Err(error) => Err(error),
        };
        match checked {
            Err(OperationError::Forbidden { .. } | OperationError::RoleChange(_)) => Err(gone()),
            other => other,
        }
    }
}

/// Returns the account with an e-mail address, or a new one.
async fn account(store: &Store, email: &str, name: Option<&str>) -> Result<(User, MemberAccount)> {
    match store.user_account_by_email(email).await {
        Ok(known) => {
            let account = MemberAccount::Existing(known.user.id);
            Ok((known.user, account))
        }
        Err(StoreError::NotFound(_)) => {
            let name = name.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(email);
            let id = fresh(UserId::from_u128);
            let user = User { id, email: email.to_owned(), name: name.to_owned() };
            Ok((user.clone(), MemberAccount::New(user)))
        }
        Err(other) => Err(other.into()),
    }
}

/// Returns an e-mail address without surrounding white space.
pub(super) fn clean_email(email: &str) -> Result<String> {
    let email = email.trim();
    if is_email_address(email) {
        return Ok(email.to_owned());
    }
    Err(OperationError::NotEmail(email.to_owned()))
}

fn audit_data(user: &User, role: Role) -> Value {
    json!({"name": user.name, "email": user.email, "role": role})
}
