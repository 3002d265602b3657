//! Who the caller is, and what a user does with their own account.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use ostler_api::account::{ChangePasswordRequest, LoginSession};
use ostler_api::me::{KeyIdentity, Me, OrgAccess, UserIdentity};
use ostler_api::problem::ProblemCode;
use ostler_domain::login::attempts::{AddressFamiliarity, attempt_counters};
use ostler_domain::org::role::Role;
use ostler_domain::org::{Org, Relation};
use ostler_store::{ApiKey, Login, Membership, UserAccount};

use super::activation;
use crate::body::{self, JsonBody};
use crate::caller::{Caller, no_account};
use crate::error::{ApiError, Result};
use crate::orgs::PathId;
use crate::server::{ClientAddress, Server};

/// `GET /v1/me`.
pub(super) async fn me(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Me>> {
    match caller {
        Caller::Key { org, key } => {
            let slug = server.deps.store.org(org).org().await?.slug;
            let ApiKey { id, name, role, scopes, expires_at, .. } = key;
            Ok(Json(Me::Key(KeyIdentity { key: id, name, org, slug, role, scopes, expires_at })))
        }
        Caller::User { login, account } => Ok(Json(identity(&server, &login, &account).await?)),
        Caller::Terminal => Err(no_account()),
    }
}

/// Returns who a user is and where they work.
pub(super) async fn identity(server: &Server, login: &Login, account: &UserAccount) -> Result<Me> {
    let orgs = server.deps.store.orgs().await?;
    let user = account.user.clone();
    Ok(Me::User(UserIdentity {
        user: user.id,
        email: user.email,
        name: user.name,
        login: login.id,
        orgs: reachable_orgs(&orgs, &account.memberships),
    }))
}

/// Returns the orgs that somebody with these memberships works in, by name.
fn reachable_orgs(orgs: &[Org], memberships: &[Membership]) -> Vec<OrgAccess> {
    let access = |org: &Org| {
        let own = memberships.iter().find(|one| one.org == org.id);
        let parent = memberships.iter().find(|one| Some(one.org) == org.parent());
        let admin = memberships.iter().find(|one| one.role == Role::PlatformAdmin);
        let (membership, relation) = match (own, parent, admin) {
            (Some(own), ..) => (own, Relation::Own),
            (None, Some(parent), _) => (parent, Relation::Child),
            (None, None, admin) => (admin?, Relation::Unrelated),
        };
        let (slug, name) = (org.slug.clone(), org.name.clone());
        Some(OrgAccess { org: org.id, slug, name, role: membership.role, relation })
    };
    let mut found: Vec<OrgAccess> = orgs.iter().filter_map(access).collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// `GET /v1/me/sessions`.
pub(super) async fn sessions(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<LoginSession>>> {
    let (current, account) = caller.user()?;
    let logins = server.deps.operations.own_logins(account.user.id).await?;
    Ok(Json(logins.into_iter().map(|login| session(login, Some(current))).collect()))
}

/// Returns a log-in as a wire type.
pub(super) fn session(login: Login, current: Option<&Login>) -> LoginSession {
    let Login { id, method, address, client, created_at, used_at, expires_at, .. } = login;
    let current = current.is_some_and(|current| current.id == id);
    LoginSession { id, current, method, address, client, created_at, used_at, expires_at }
}

/// `DELETE /v1/me/sessions/{login}`.
pub(super) async fn end_session(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Result<StatusCode> {
    let (_, account) = caller.user()?;
    let id = body::parse_id(&id, "session")?;
    server.deps.operations.end_own_login(account.user.id, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `PUT /v1/me/password`: the other log-ins of the user end.
pub(super) async fn change_password(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    ClientAddress(from): ClientAddress,
    JsonBody(ChangePasswordRequest { current, new }): JsonBody<ChangePasswordRequest>,
) -> Result<StatusCode> {
    let (login, account) = caller.user()?;
    let operations = &server.deps.operations;
    // Who finds an open browser does not get to guess the password either.
    let id = account.user.id.to_string();
    let counters = attempt_counters(&id, from, AddressFamiliarity::Known);
    if !operations.count_login_attempt(counters).await? {
        let detail = "too many attempts; wait for an hour";
        return Err(ApiError::new(ProblemCode::TooMany, detail));
    }
    let passwords = &server.accounts.passwords;
    if !passwords.verify(current, account.password.clone()).await? {
        let detail = "the current password is not right";
        return Err(ApiError::new(ProblemCode::Invalid, detail));
    }
    let hash = activation::new_password(&server, Some(new), &account.user.email).await?;
    operations.change_password(account.user.id, &hash, login.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use ostler_domain::id::OrgId;
    use ostler_domain::org::Relation::{Child, Own, Unrelated};
    use ostler_domain::org::role::Role;
    use ostler_domain::org::role::Role::{Operator, Owner, PlatformAdmin, Viewer};
    use ostler_domain::org::{Org, OrgPlace, Relation};
    use ostler_store::Membership;

    use super::reachable_orgs;

    /// S13: a user works in the orgs of their memberships and in the clients of these.
    #[test]
    fn s13_a_user_reaches_members_orgs_and_their_clients() {
        let id = OrgId::from_u128;
        let org =
            |number, slug: &str, place| Org { place, ..ostler_testkit::org(id(number), slug) };
        let orgs = [
            org(1, "platform", OrgPlace::Platform),
            org(2, "agency", OrgPlace::TopLevel),
            org(3, "client", OrgPlace::SubOrg { parent: id(2) }),
            org(4, "other", OrgPlace::TopLevel),
        ];
        let check = |memberships: &[(u128, Role)], expected: &[(u128, Role, Relation)]| {
            let memberships: Vec<Membership> =
                memberships.iter().map(|&(org, role)| Membership { org: id(org), role }).collect();
            let mut found: Vec<(OrgId, Role, Relation)> = reachable_orgs(&orgs, &memberships)
                .into_iter()
                .map(|one| (one.org, one.role, one.relation))
                .collect();
            found.sort_by_key(|one| one.0);
            let expected: Vec<_> =
                expected.iter().map(|&(org, role, relation)| (id(org), role, relation)).collect();
            assert_eq!(found, expected, "{memberships:?}");
        };
        check(&[], &[]);
        check(&[(3, Operator)], &[(3, Operator, Own)]);
        check(&[(2, Owner)], &[(2, Owner, Own), (3, Owner, Child)]);
        check(&[(2, Owner), (3, Viewer)], &[(2, Owner, Own), (3, Viewer, Own)]);
        check(
            &[(1, PlatformAdmin)],
            &[
                (1, PlatformAdmin, Own),
                (2, PlatformAdmin, Unrelated),
                (3, PlatformAdmin, Unrelated),
                (4, PlatformAdmin, Unrelated),
            ],
        );
    }
}
