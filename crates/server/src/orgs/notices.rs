//! Routes for notices to the owner.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::notice::{Notice, NoticeDelivery, NoticeDetail};
use ostler_api::page::{Page, PageQuery};
use ostler_domain::id::NoticeId;
use ostler_domain::notice::schedule::NoticeStage;
use ostler_runtime::delivery::notices::text::{AgentNames, describe};
use ostler_runtime::delivery::notices::{settled_reason, unsent_reasons};
use ostler_store::{NoticeDeliveryState, StoredNotice, StoredNoticeDelivery};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{OrgRequest, PathId};
use crate::body::{self, QueryParams};
use crate::error::Result;
use crate::route::{Route, get, post};
use ostler_domain::org::permission::OrgPermission::{Operate, View};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/notices",
            "listNotices",
            "List unread notices, oldest first, or the newest of all",
            list,
        ),
        get(View, "/notices/{notice}", "getNotice", "Show a notice and where it was sent", show),
        post(Operate, "/notices/{notice}/read", "readNotice", "Mark a notice as read", read),
    ]
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NoticesQuery {
    /// Lists the newest notices, also those that were read, without a cursor.
    #[serde(default)]
    all: bool,
    cursor: Option<String>,
    limit: Option<u32>,
}

async fn list(
    request: OrgRequest,
    QueryParams(query): QueryParams<NoticesQuery>,
) -> Result<Json<Page<Notice>>> {
    let NoticesQuery { all, cursor, limit } = query;
    let limit = PageQuery { cursor: None, limit }.page_size();
    let operations = request.operations();
    let found = match all {
        true => operations.notices(limit).await,
        false => operations.unread_notices(body::parse_cursor(cursor.as_deref())?, limit).await,
    };
    let found = request.hide_foreign_org(found)?;
    let names = request.agent_names().await?;
    let mut notices = Vec::new();
    for stored in found {
        notices.push(request.notice(stored, &names).await?);
    }
    let page = Page::from_items(notices, limit, |item: &Notice| item.id.to_string());
    Ok(Json(if all { Page { next: None, ..page } } else { page }))
}

async fn show(request: OrgRequest, PathId(id): PathId) -> Result<Json<NoticeDetail>> {
    let id = request.notice_id(&id).await?;
    let found = request.operations().notice(id).await;
    let (stored, deliveries) = request.hide_foreign_org(found)?;
    let unsent = if deliveries.is_empty() { request.unsent(&stored).await? } else { None };
    let names = request.agent_names().await?;
    let notice = request.notice(stored, &names).await?;
    Ok(Json(NoticeDetail {
        notice,
        deliveries: deliveries.into_iter().map(delivery).collect(),
        unsent,
    }))
}

async fn read(request: OrgRequest, PathId(id): PathId) -> Result<StatusCode> {
    let id = request.notice_id(&id).await?;
    request.hide_foreign_org(request.operations().acknowledge_notice(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}

fn delivery(stored: StoredNoticeDelivery) -> NoticeDelivery {
    let (state, reason) = match stored.state {
        NoticeDeliveryState::Planned => ("planned", None),
        NoticeDeliveryState::Skipped(why) => ("skipped", Some(why)),
        NoticeDeliveryState::Sending => ("sending", None),
        NoticeDeliveryState::Delivered => ("delivered", None),
        NoticeDeliveryState::Unknown => ("unknown", None),
        NoticeDeliveryState::Failed(why) => ("failed", Some(why)),
    };
    NoticeDelivery {
        person: stored.key.person,
        destination: stored.key.destination,
        only_if_unanswered: stored.key.stage == NoticeStage::Next,
        state: state.to_owned(),
        reason,
        due_at: stored.due_at,
    }
}

impl OrgRequest {
    async fn agent_names(&self) -> Result<AgentNames> {
        Ok(self.hide_foreign_org(self.operations().actor_names().await)?.agents)
    }

    /// Returns a notice as people read it.
    async fn notice(&self, stored: StoredNotice, names: &AgentNames) -> Result<Notice> {
        let settled = settled_reason(&self.server.deps.store.org(self.org), &stored).await?;
        let StoredNotice { notice, created_at, read_at, read_by } = stored;
        let data = serde_json::from_str(&notice.data);
        let data = data.unwrap_or_else(|_| Value::String(notice.data.clone()));
        Ok(Notice {
            id: notice.id,
            kind: notice.kind,
            topic: notice.kind.topic(),
            message: describe(&notice, &data, names),
            subject: notice.subject,
            data,
            created_at,
            read_at,
            read_by,
            settled: settled.map(str::to_owned),
        })
    }

    /// Returns why a notice without deliveries was sent nowhere; `None` until that is decided.
    async fn unsent(&self, stored: &StoredNotice) -> Result<Option<String>> {
        let store = &self.server.deps.store;
        if !store.org(self.org).is_notice_planned(stored.notice.id).await? {
            return Ok(None);
        }
        let why = unsent_reasons(store, self.org, stored).await?;
        Ok(Some(match why.is_empty() {
            true => "nobody is to be notified".to_owned(),
            false => why.join("; "),
        }))
    }

    /// Returns the notice that a path names.
    async fn notice_id(&self, text: &str) -> Result<NoticeId> {
        super::find_id(text, "notice", async {
            let recent = self.operations().notices(super::SEARCH_LIMIT).await;
            Ok(self.hide_foreign_org(recent)?.iter().map(|notice| notice.notice.id).collect())
        })
        .await
    }
}
