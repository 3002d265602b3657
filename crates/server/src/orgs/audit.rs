//! Routes for the audit log.

use axum::Json;
use ostler_api::audit::{AuditEntry, AuditedChange};
use ostler_api::page::{Page, PageQuery};
use ostler_api::problem::ProblemCode;
use ostler_domain::id::{AuditId, WorkflowId};
use ostler_domain::org::permission::OrgPermission::View;
use ostler_domain::time::Timestamp;
use ostler_runtime::operations::{AuditedField, NamedAuditEntry};
use ostler_store::AuditFilter;
use schemars::JsonSchema;
use serde::Deserialize;

use super::OrgRequest;
use crate::body::{self, QueryParams};
use crate::error::{ApiError, Result};
use crate::route::{Route, get};

pub(crate) fn routes() -> Vec<Route> {
    vec![get(View, "/audit", "listAuditEntries", "List the audit log, newest first", list)]
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct AuditQuery {
    /// `terminal`, `system`, a person by e-mail address, a key or an agent by name or id.
    actor: Option<String>,
    /// For example `add_member`.
    action: Option<String>,
    /// The changed object: an agent, a contact or a person by name, others by id. A workflow
    /// includes its steps.
    object: Option<String>,
    /// At or after this time.
    since: Option<i64>,
    /// Before this time.
    until: Option<i64>,
    cursor: Option<String>,
    limit: Option<u32>,
}

async fn list(
    request: OrgRequest,
    QueryParams(query): QueryParams<AuditQuery>,
) -> Result<Json<Page<AuditEntry>>> {
    let AuditQuery { actor, action, object, since, until, cursor, limit } = query;
    let limit = PageQuery { cursor: None, limit }.page_size();
    let before: Option<AuditId> = body::parse_cursor(cursor.as_deref())?;
    let operations = request.operations();
    let mut filter = AuditFilter {
        action,
        since: since.map(Timestamp::from_millis),
        until: until.map(Timestamp::from_millis),
        ..AuditFilter::default()
    };
    if let Some(name) = actor {
        filter.actor = request.hide_foreign_org(operations.find_audit_actor(&name).await)?;
        if filter.actor.is_none() {
            let detail = format!(
                "no actor `{name}`; use terminal, system, an e-mail address, or the name of a key \
                 or agent"
            );
            return Err(ApiError::new(ProblemCode::Invalid, detail));
        }
    }
    if let Some(name) = object {
        let subject = request.hide_foreign_org(operations.find_audit_object(&name).await)?;
        filter.with_parts = subject.parse::<WorkflowId>().is_ok();
        filter.subject = Some(subject);
    }
    let found = request.hide_foreign_org(operations.audit(&filter, before, limit).await)?;
    let found = found.into_iter().map(wire).collect();
    Ok(Json(Page::from_items(found, limit, |item: &AuditEntry| item.id.to_string())))
}

fn wire(named: NamedAuditEntry) -> AuditEntry {
    let NamedAuditEntry { entry, actor, object, changes } = named;
    let changes = changes.into_iter();
    AuditEntry {
        id: entry.entry.id,
        at: entry.at,
        actor,
        actor_id: entry.entry.actor,
        data: serde_json::from_str(&entry.entry.data).unwrap_or_default(),
        action: entry.entry.action,
        object,
        subject: entry.entry.subject,
        changes: changes
            .map(|AuditedField { field, before, after }| AuditedChange { field, before, after })
            .collect(),
    }
}
