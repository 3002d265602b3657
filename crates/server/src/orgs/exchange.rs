//! Routes for what the business layers exchange: issues, delegations and insights.

use axum::Json;
use ostler_api::hierarchy::{CompleteRequest, DelegateRequest, Exchanged, ResolveIssueRequest};
use ostler_api::page::{Page, PageQuery};
use ostler_domain::hierarchy::delegation::{OrgDelegation, OrgDelegationAnswer};
use ostler_domain::hierarchy::insight::Insight;
use ostler_domain::hierarchy::issue::{Issue, IssueDecision};
use ostler_domain::id::RecordId;
use ostler_runtime::operations::{ExchangeRecord, OperationError};

use super::{OrgRequest, PathId, match_id};
use crate::body::{self, JsonBody, QueryParams};
use crate::error::{ApiError, Result};
use crate::route::{Route, get, post};
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use serde_json::json;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(View, "/issues", "listIssues", "List issues sent or received, newest first", issues),
        post(
            Operate,
            "/issues/{issue}/acknowledge",
            "acknowledgeIssue",
            "Acknowledge an issue",
            acknowledge_issue,
        ),
        post(Operate, "/issues/{issue}/resolve", "resolveIssue", "Resolve an issue", resolve_issue)
            .example(json!({"resolution": "The limit was raised"})),
        post(Operate, "/issues/{issue}/dismiss", "dismissIssue", "Dismiss an issue", dismiss_issue),
        get(
            View,
            "/org-delegations",
            "listOrgDelegations",
            "List work given to clients or received, newest first",
            delegations,
        ),
        post(Operate, "/org-delegations", "createOrgDelegation", "Give work to a client", delegate)
            .example(json!({"to": "bella", "instruction": "Update the opening hours"})),
        post(
            Operate,
            "/org-delegations/{delegation}/accept",
            "acceptOrgDelegation",
            "Accept work",
            accept_delegation,
        ),
        post(
            Operate,
            "/org-delegations/{delegation}/reject",
            "rejectOrgDelegation",
            "Reject work",
            reject_delegation,
        ),
        post(
            Operate,
            "/org-delegations/{delegation}/complete",
            "completeOrgDelegation",
            "Complete work",
            complete_delegation,
        )
        .example(json!({"result": "The hours are updated"})),
        get(View, "/insights", "listInsights", "List insights, newest first", insights),
        post(
            Operate,
            "/insights/{insight}/acknowledge",
            "acknowledgeInsight",
            "Take note of an insight",
            acknowledge_insight,
        ),
    ]
}

type Records<T> = std::result::Result<Vec<ExchangeRecord<T>>, OperationError>;

pub(crate) async fn issues(
    request: OrgRequest,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Json<Page<Exchanged<Issue>>>> {
    list(&request, &page, request.operations().issues().await)
}

pub(crate) async fn acknowledge_issue(
    request: OrgRequest,
    PathId(id): PathId,
) -> Result<Json<Exchanged<Issue>>> {
    request.decide_issue(&id, IssueDecision::Acknowledge).await
}

pub(crate) async fn resolve_issue(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(body): JsonBody<ResolveIssueRequest>,
) -> Result<Json<Exchanged<Issue>>> {
    request.decide_issue(&id, IssueDecision::Resolve(body.resolution)).await
}

pub(crate) async fn dismiss_issue(
    request: OrgRequest,
    PathId(id): PathId,
) -> Result<Json<Exchanged<Issue>>> {
    request.decide_issue(&id, IssueDecision::Dismiss).await
}

pub(crate) async fn delegations(
    request: OrgRequest,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Json<Page<Exchanged<OrgDelegation>>>> {
    list(&request, &page, request.operations().org_delegations().await)
}

pub(crate) async fn delegate(
    request: OrgRequest,
    JsonBody(body): JsonBody<DelegateRequest>,
) -> Result<Json<Exchanged<OrgDelegation>>> {
    let DelegateRequest { to, instruction, priority } = body;
    let made = request.operations().delegate_to_org(&to, &instruction, priority).await;
    let id = request.hide_foreign_org(made)?;
    find(&request, id, request.operations().org_delegations().await)
}

pub(crate) async fn accept_delegation(
    request: OrgRequest,
    PathId(id): PathId,
) -> Result<Json<Exchanged<OrgDelegation>>> {
    request.answer_delegation(&id, OrgDelegationAnswer::Accept).await
}

pub(crate) async fn reject_delegation(
    request: OrgRequest,
    PathId(id): PathId,
) -> Result<Json<Exchanged<OrgDelegation>>> {
    request.answer_delegation(&id, OrgDelegationAnswer::Reject).await
}

pub(crate) async fn complete_delegation(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(body): JsonBody<CompleteRequest>,
) -> Result<Json<Exchanged<OrgDelegation>>> {
    request.answer_delegation(&id, OrgDelegationAnswer::Complete(body.result)).await
}

pub(crate) async fn insights(
    request: OrgRequest,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Json<Page<Exchanged<Insight>>>> {
    list(&request, &page, request.operations().insights().await)
}

pub(crate) async fn acknowledge_insight(
    request: OrgRequest,
    PathId(id): PathId,
) -> Result<Json<Exchanged<Insight>>> {
    let id = record_id(&request, &id, "insight", request.operations().insights().await)?;
    request.hide_foreign_org(request.operations().acknowledge_insight(id).await)?;
    find(&request, id, request.operations().insights().await)
}

impl OrgRequest {
    async fn decide_issue(
        &self,
        id: &str,
        decision: IssueDecision,
    ) -> Result<Json<Exchanged<Issue>>> {
        let id = record_id(self, id, "issue", self.operations().issues().await)?;
        self.hide_foreign_org(self.operations().decide_issue(id, decision).await)?;
        find(self, id, self.operations().issues().await)
    }

    async fn answer_delegation(
        &self,
        id: &str,
        answer: OrgDelegationAnswer,
    ) -> Result<Json<Exchanged<OrgDelegation>>> {
        let id = record_id(self, id, "delegation", self.operations().org_delegations().await)?;
        self.hide_foreign_org(self.operations().answer_delegation(id, answer).await)?;
        find(self, id, self.operations().org_delegations().await)
    }
}

/// Returns a page of records, newest first.
fn list<T>(
    request: &OrgRequest,
    page: &PageQuery,
    all: Records<T>,
) -> Result<Json<Page<Exchanged<T>>>> {
    let after: Option<RecordId> = body::parse_cursor(page.cursor.as_deref())?;
    let all = request.hide_foreign_org(all)?;
    let begin = after.and_then(|id| all.iter().position(|one| one.id == id));
    let begin = begin.map_or(0, |last| last + 1);
    let limit = page.page_size();
    let items = all.into_iter().skip(begin).take(limit as usize).map(exchanged).collect();
    Ok(Json(Page::from_items(items, limit, |item: &Exchanged<T>| item.id.to_string())))
}

/// Returns the record that was changed.
fn find<T>(request: &OrgRequest, id: RecordId, all: Records<T>) -> Result<Json<Exchanged<T>>> {
    let found = request.hide_foreign_org(all)?.into_iter().find(|one| one.id == id);
    found.map(|one| Json(exchanged(one))).ok_or_else(|| ApiError::not_found("record"))
}

/// Returns the record that a path names.
fn record_id<T>(request: &OrgRequest, text: &str, what: &str, all: Records<T>) -> Result<RecordId> {
    let all = request.hide_foreign_org(all)?;
    match text.parse() {
        Ok(id) => Ok(id),
        Err(_) => match_id(text, all.iter().map(|one| one.id), what),
    }
}

fn exchanged<T>(stored: ExchangeRecord<T>) -> Exchanged<T> {
    let ExchangeRecord { id, created_at, record } = stored;
    Exchanged { id, created_at, record }
}
