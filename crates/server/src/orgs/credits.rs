//! Routes for credits.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::credit::{CreditAccount, GrantRequest, LedgerLine, SpendReport};
use ostler_api::page::{Page, PageQuery};
use ostler_domain::id::AgentId;
use ostler_domain::money::spend::SpendFilter;
use ostler_store::NewGrant;
use schemars::JsonSchema;
use serde::Deserialize;

use super::OrgRequest;
use crate::body::{self, JsonBody, QueryParams};
use crate::error::Result;
use crate::route::{Route, get, post};
use crate::wire;
use ostler_domain::org::permission::OrgPermission::{GrantCredits, View};
use serde_json::json;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(View, "/credits", "getCredits", "Show the credit account", show),
        get(View, "/credits/ledger", "listLedger", "List the ledger, newest first", ledger),
        get(
            View,
            "/credits/spend",
            "getSpend",
            "Show what was spent by agent, model, tool, client and day",
            spend,
        ),
        post(GrantCredits, "/credits/grants", "grantCredits", "Grant credits", grant)
            .example(json!({"reference": "invoice-7", "pool": "purchased", "amount": 1000})),
    ]
}

pub(crate) async fn show(request: OrgRequest) -> Result<Json<CreditAccount>> {
    Ok(Json(wire::account(&request.hide_foreign_org(request.operations().credits().await)?)))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SpendQuery {
    /// Today and the days before, in UTC: 30 without it, 366 at most.
    days: Option<u32>,
    /// Only the costs of this agent.
    agent: Option<AgentId>,
    /// Only the costs of this model, by its name.
    model: Option<String>,
    /// Only the costs of this tool.
    tool: Option<String>,
}

async fn spend(
    request: OrgRequest,
    QueryParams(query): QueryParams<SpendQuery>,
) -> Result<Json<SpendReport>> {
    let SpendQuery { days, agent, model, tool } = query;
    let filter = SpendFilter { agent, model, tool };
    let found = request.operations().spend_of(days.unwrap_or(30), &filter).await;
    Ok(Json(wire::spend(&request.hide_foreign_org(found)?)))
}

pub(crate) async fn ledger(
    request: OrgRequest,
    QueryParams(turn): QueryParams<PageQuery>,
) -> Result<Json<Page<LedgerLine>>> {
    let limit = turn.page_size();
    let before = body::parse_cursor(turn.cursor.as_deref())?;
    let found = request.hide_foreign_org(request.operations().ledger(before, limit).await)?;
    let found = found.iter().map(wire::line).collect();
    Ok(Json(Page::from_items(found, limit, |item: &LedgerLine| item.id.to_string())))
}

pub(crate) async fn grant(
    request: OrgRequest,
    JsonBody(grant): JsonBody<GrantRequest>,
) -> Result<StatusCode> {
    let GrantRequest { reference, pool, amount } = grant;
    request.hide_foreign_org(
        request.operations().grant_credits(NewGrant { reference, pool, amount }).await,
    )?;
    Ok(StatusCode::NO_CONTENT)
}
