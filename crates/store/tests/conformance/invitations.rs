//! Invitations, and members whose accounts have no password.

use std::time::Duration;

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AuditId, InvitationId, UserId};
use ostler_domain::org::role::Role;
use ostler_domain::secret::InvitationCode;
use ostler_store::{
    InvitationState, MemberAccount, NewAuditEntry, NewInvitation, Store, StoreError, User,
};

use crate::on_every_backend;
use crate::support::{next, with_org};
use crate::users::with_user;

fn audit(action: &str) -> NewAuditEntry {
    NewAuditEntry {
        id: AuditId::from_u128(next()),
        actor: AuditActor::Terminal,
        action: action.into(),
        subject: "x".into(),
        data: "{}".into(),
    }
}

fn code(word: &str) -> InvitationCode {
    format!("osi_{word:0>32}").parse().unwrap()
}

fn invitation(email: &str, lifetime: Duration) -> NewInvitation {
    NewInvitation {
        id: InvitationId::from_u128(next()),
        email: email.into(),
        role: Role::Operator,
        invited_by: AuditActor::Terminal,
        lifetime,
    }
}

fn new_account(email: &str) -> MemberAccount {
    let id = UserId::from_u128(next());
    MemberAccount::New(User { id, email: email.into(), name: "Tom".into() })
}

const DAY: Duration = Duration::from_secs(86_400);

on_every_backend!(o13_an_invitation_is_accepted_once);
async fn o13_an_invitation_is_accepted_once(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let org = store.org(here);
    let new = invitation("Tom@x.org", DAY);
    org.audited(audit("invite")).create_invitation(new.clone(), &code("a")).await.unwrap();
    assert!(store.org(there).open_invitations(10).await.unwrap().is_empty());
    let open = org.open_invitations(10).await.unwrap();
    assert_eq!((open[0].id, open[0].email.as_str()), (new.id, "Tom@x.org"));
    let (found_in, found, state) = store.invitation(&code("a")).await.unwrap();
    assert_eq!((found_in, &found, state), (here, &open[0], InvitationState::Open));
    let unknown = store.invitation(&code("b")).await;
    assert!(matches!(unknown, Err(StoreError::NotFound("invitation"))));

    let tom = new_account("Tom@x.org");
    let accept =
        |account| org.audited(audit("accept")).accept_invitation(new.id, account, new.role, None);
    accept(tom.clone()).await.unwrap();
    let account = store.user_account_by_email("tom@x.org").await.unwrap();
    assert_eq!(account.user.id, tom.id());
    assert_eq!(account.password, None, "nobody can log in without a password");
    assert_eq!(account.memberships[0].role, Role::Operator);
    assert_eq!(store.invitation(&code("a")).await.unwrap().2, InvitationState::Accepted);
    assert!(org.open_invitations(10).await.unwrap().is_empty());
    let again = accept(new_account("other@x.org")).await;
    assert!(matches!(again, Err(StoreError::NotFound("open invitation"))));
    let nobody = store.user_account_by_email("other@x.org").await;
    assert!(matches!(nobody, Err(StoreError::NotFound("user"))), "no account was made");
    assert_eq!(org.audit_entries(None, None, 10).await.unwrap().len(), 2);
}

on_every_backend!(o13_an_invitation_expires_and_can_be_withdrawn);
async fn o13_an_invitation_expires_and_can_be_withdrawn(store: &Store) {
    let here = with_org(store, 1).await;
    let org = store.org(here);
    let old = invitation("old@x.org", Duration::ZERO);
    org.audited(audit("invite")).create_invitation(old.clone(), &code("a")).await.unwrap();
    assert_eq!(store.invitation(&code("a")).await.unwrap().2, InvitationState::Expired);
    let late = org.audited(audit("accept"));
    let late = late.accept_invitation(old.id, new_account("old@x.org"), old.role, None).await;
    assert!(matches!(late, Err(StoreError::NotFound("open invitation"))));
    // A new invitation replaces the open one for the same address.
    for word in ["b", "c"] {
        let new = invitation("Tom@x.org", DAY);
        org.audited(audit("invite")).create_invitation(new, &code(word)).await.unwrap();
    }
    assert!(matches!(store.invitation(&code("b")).await, Err(StoreError::NotFound(_))));
    org.audited(audit("withdraw")).withdraw_invitation("tom@X.org").await.unwrap();
    assert!(matches!(store.invitation(&code("c")).await, Err(StoreError::NotFound(_))));
    let again = org.audited(audit("withdraw")).withdraw_invitation("tom@x.org").await;
    assert!(matches!(again, Err(StoreError::NotFound("open invitation"))));
}

on_every_backend!(o13_a_change_of_a_role_that_somebody_else_changed_is_refused);
async fn o13_a_change_of_a_role_that_somebody_else_changed_is_refused(store: &Store) {
    let here = with_org(store, 1).await;
    let org = store.org(here);
    let ada = with_user(store, "ada@x.org").await;
    let set = |before, role| {
        org.audited(audit("set")).set_member(MemberAccount::Existing(ada.id), before, role)
    };
    org.audited(audit("invite"))
        .create_invitation(invitation("ada@x.org", DAY), &code("a"))
        .await
        .unwrap();
    set(None, Role::Owner).await.unwrap();
    assert!(org.open_invitations(10).await.unwrap().is_empty(), "a member needs no invitation");
    let stale = set(None, Role::Viewer).await;
    assert!(matches!(stale, Err(StoreError::Conflict(_))), "{stale:?}");
    let last = org.audited(audit("remove")).remove_member(ada.id, Role::Owner).await;
    assert!(matches!(last, Err(StoreError::LastWithRole(Role::Owner))));
    let stale = org.audited(audit("remove")).remove_member(ada.id, Role::Viewer).await;
    assert!(matches!(stale, Err(StoreError::Conflict(_))), "{stale:?}");
    let moved = User { email: "ada@y.org".into(), ..ada.clone() };
    org.audited(audit("user")).update_user(moved.clone()).await.unwrap();
    let accounts = store.users(None, 10).await.unwrap();
    assert_eq!(accounts.iter().map(|one| &one.user).collect::<Vec<_>>(), [&moved]);
    assert_eq!(org.audit_entries(None, None, 10).await.unwrap().len(), 3, "one for each change");
}
