//! The route of the inbox across an org and its clients.

use axum::Json;
use ostler_api::inbox::{InboxEntry, InboxHolder};
use ostler_api::page::Page;
use ostler_domain::channel::Channel;
use ostler_domain::human::escalation::Urgency;
use ostler_domain::org::permission::OrgPermission::View;
use ostler_runtime::operations::InboxItem;
use schemars::JsonSchema;
use serde::Deserialize;

use super::OrgRequest;
use crate::body::QueryParams;
use crate::error::Result;
use crate::route::{Route, get};
use crate::wire;

pub(crate) fn routes() -> Vec<Route> {
    let summary = "List what waits for a person in the organization and its clients, those that \
                   nobody has taken over first, then the most urgent, then the oldest";
    vec![get(View, "/inbox", "listInbox", summary, list)]
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct InboxQuery {
    #[serde(default)]
    holder: InboxHolder,
    urgency: Option<Urgency>,
    /// For example `webchat`.
    channel: Option<String>,
    /// One client, by its slug.
    client: Option<String>,
}

/// Lists the whole inbox. It is not paged: it holds only what people can answer.
async fn list(
    request: OrgRequest,
    QueryParams(query): QueryParams<InboxQuery>,
) -> Result<Json<Page<InboxEntry>>> {
    let found = request.hide_foreign_org(request.operations().inbox().await)?;
    let mut items: Vec<InboxEntry> = found.iter().map(entry).collect();
    let channel = query.channel.map(Channel::from);
    items.retain(|one| {
        let is_held = match query.holder {
            InboxHolder::Anybody => true,
            InboxHolder::Me => one.holder == Some(request.caller.actor().user_id()),
            InboxHolder::Nobody => one.holder.is_none(),
        };
        is_held
            && query.urgency.is_none_or(|urgency| one.escalation.urgency == urgency)
            && channel.as_ref().is_none_or(|channel| one.session.channel == *channel)
            && query.client.as_ref().is_none_or(|client| one.org_slug == *client)
    });
    items.sort_by_key(|one| {
        (one.holder.is_some(), std::cmp::Reverse(one.escalation.urgency), one.waiting_since)
    });
    Ok(Json(Page { items, next: None }))
}

fn entry(item: &InboxItem) -> InboxEntry {
    let escalation = wire::escalation(&item.waiting.escalation);
    InboxEntry {
        org: item.org.id,
        org_slug: item.org.slug.clone(),
        org_name: item.org.name.clone(),
        session: wire::session(&item.waiting.session),
        holder: escalation.taken_over_by,
        waiting_since: escalation.requested_at,
        last_message: item.last_message.as_ref().map(wire::message),
        escalation,
    }
}
