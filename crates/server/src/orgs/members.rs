//! Routes for the members of an org. A member may be named by e-mail address, id, name or
//! first name.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use ostler_api::org::{
    AddedMember, CreatedInvitation, Invitation, Member, NewInvitationRequest, NewMemberRequest,
    RemovedPerson, RoleChange,
};
use ostler_api::page::Page;
use ostler_domain::org::people::DEFAULT_INVITATION_DAYS;
use ostler_domain::org::permission::OrgPermission::{ManagePeople, View};
use ostler_runtime::operations::{NewMember, RemovedMember};
use serde_json::json;

use super::tagged::{IfMatch, Versioned};
use super::{OrgRequest, PathId};
use crate::account::members::{activation_link, password_link};
use crate::body::JsonBody;
use crate::error::Result;
use crate::route::describe::schema_of;
use crate::route::{Route, delete, get, patch, post};
use crate::shown_once::ShownOnce;

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
        post(
            ManagePeople,
            "/invitations",
            "inviteMember",
            "Invite a person; the answer has a one-time code, once",
            invite,
        )
        .example(json!({"email": "tom@example.com", "role": "operator"})),
        post(ManagePeople, "/members", "addMember", "Add a member", add)
            .returns(schema_of::<AddedMember>)
            .statuses(&[201])
            .example(new),
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
    Ok(Json(Page { items: open.map(invitation).collect(), next: None }))
}

async fn add(request: OrgRequest, JsonBody(body): JsonBody<NewMemberRequest>) -> Result<Response> {
    let NewMemberRequest { email, name, role, password_link: wants_link } = body;
    let (operations, new) = (request.operations(), NewMember { email, name, role });
    if !wants_link {
        let added = request.hide_foreign_org(operations.add_member(new).await)?;
        let added = AddedMember { member: wire(added), password_link: None };
        return Ok((StatusCode::CREATED, Json(added)).into_response());
    }
    let added = operations.add_member_with_code(new).await;
    let (added, code) = request.hide_foreign_org(added)?;
    let password_link = code.map(|code| password_link(&request, code));
    let added = AddedMember { member: wire(added), password_link };
    Ok(ShownOnce::<_, 201>(added).into_response())
}

async fn invite(
    request: OrgRequest,
    JsonBody(body): JsonBody<NewInvitationRequest>,
) -> Result<ShownOnce<CreatedInvitation>> {
    let NewInvitationRequest { email, role, days } = body;
    let days = days.unwrap_or(DEFAULT_INVITATION_DAYS);
    let invited = request.operations().invite_with_new_code(&email, role, days).await;
    let (invited, code) = request.hide_foreign_org(invited)?;
    let (code, link) = (code.expose().to_owned(), activation_link(&request, code.expose()));
    Ok(ShownOnce(CreatedInvitation { invitation: invitation(invited), code, link }))
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
) -> Result<Json<RemovedPerson>> {
    let _turn = based_on.turn(request.server()).await;
    based_on.check_current(async { Ok(json!(current(&request, &member).await?)) }).await?;
    let removed = request.operations().remove_member(&member).await;
    Ok(Json(match request.hide_foreign_org(removed)? {
        RemovedMember::Member(member) => {
            let Member { user: id, name, email, role } = wire(member);
            RemovedPerson::Removed { id, email, name, role }
        }
        RemovedMember::Invitation(withdrawn) => {
            let Invitation { id, email, role, .. } = invitation(withdrawn);
            RemovedPerson::Withdrawn { id, email, role }
        }
    }))
}

fn invitation(stored: ostler_store::Invitation) -> Invitation {
    let ostler_store::Invitation { id, email, role, created_at, expires_at, .. } = stored;
    Invitation { id, email, role, created_at, expires_at }
}

fn wire(stored: ostler_store::Member) -> Member {
    let ostler_store::Member { user, role } = stored;
    Member { user: user.id, name: user.name, email: user.email, role }
}
