//! Routes for the members of an org. A member may be named by e-mail address, id, name or
//! first name.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::org::{Invitation, Member, NewMemberRequest, RoleChange};
use ostler_api::page::Page;
use ostler_domain::org::permission::OrgPermission::{ManagePeople, View};
use ostler_runtime::operations::NewMember;
use serde_json::json;

use super::tagged::{IfMatch, Versioned};
use super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::Result;
use crate::route::{Route, delete, get, patch, post};

pub(crate) fn routes() -> Vec<Route> {
    let new = json!({"email": "rosa@example.com", "name": "Rosa", "role": "operator"});
    vec![
        get(View, "/members", "listMembers", "List members with their roles", list),
        get(
            ManagePeople,
            "/invitations",
            "listInvitations",
            "List the people who are invited, with their roles",
            invitations,
        ),
        post(ManagePeople, "/members", "addMember", "Add a member", add).example(new),
        get(View, "/members/{member}", "getMember", "Show a member with their role", show),
        patch(
            ManagePeople,
            "/members/{member}",
            "changeMemberRole",
            "Change the role of a member",
            change_role,
        )
        .example(json!({"role": "admin"})),
        delete(
            ManagePeople,
            "/members/{member}",
            "removeMember",
            "Remove a member, or withdraw an invitation by its e-mail address",
            remove,
        ),
    ]
}

async fn list(request: OrgRequest) -> Result<Json<Page<Member>>> {
    let members = request.hide_foreign_org(request.operations().members().await)?;
    Ok(Json(Page { items: members.into_iter().map(wire).collect(), next: None }))
}

async fn show(request: OrgRequest, PathId(member): PathId) -> Result<Versioned<Member>> {
    Ok(versioned(current(&request, &member).await?))
}

async fn current(request: &OrgRequest, name: &str) -> Result<Member> {
    Ok(wire(request.hide_foreign_org(request.operations().member(name).await)?))
}

fn versioned(value: Member) -> Versioned<Member> {
    Versioned { basis: json!(value), value }
}

async fn invitations(request: OrgRequest) -> Result<Json<Page<Invitation>>> {
    let open = request.hide_foreign_org(request.operations().invitations().await)?.into_iter();
    let items = open.map(|one| {
        let ostler_store::Invitation { id, email, role, created_at, expires_at, .. } = one;
        Invitation { id, email, role, created_at, expires_at }
    });
    Ok(Json(Page { items: items.collect(), next: None }))
}

async fn add(
    request: OrgRequest,
    JsonBody(body): JsonBody<NewMemberRequest>,
) -> Result<(StatusCode, Json<Member>)> {
    let NewMemberRequest { email, name, role } = body;
    let added = request.operations().add_member(NewMember { email, name, role }).await;
    Ok((StatusCode::CREATED, Json(wire(request.hide_foreign_org(added)?))))
}

async fn change_role(
    request: OrgRequest,
    PathId(member): PathId,
    based_on: IfMatch,
    JsonBody(RoleChange { role }): JsonBody<RoleChange>,
) -> Result<Versioned<Member>> {
    let _turn = based_on.turn(request.server()).await;
    based_on.check_current(async { Ok(json!(current(&request, &member).await?)) }).await?;
    let changed = request.operations().set_role(&member, role).await;
    Ok(versioned(wire(request.hide_foreign_org(changed)?)))
}

async fn remove(
    request: OrgRequest,
    PathId(member): PathId,
    based_on: IfMatch,
) -> Result<StatusCode> {
    let _turn = based_on.turn(request.server()).await;
    based_on.check_current(async { Ok(json!(current(&request, &member).await?)) }).await?;
    request.hide_foreign_org(request.operations().remove_member(&member).await)?;
    Ok(StatusCode::NO_CONTENT)
}

fn wire(stored: ostler_store::Member) -> Member {
    let ostler_store::Member { user, role } = stored;
    Member { user: user.id, name: user.name, email: user.email, role }
}
