//! Routes for what is proposed about agents: changes of souls, and autonomy levels.

use axum::Json;
use ostler_api::hierarchy::{AgentFigures, AppliedSoul, RejectProposalRequest, SoulProposal};
use ostler_api::page::{MAX_LIMIT, Page};
use ostler_domain::agent::growth::LevelProposal;
use ostler_domain::id::ProposalId;
use ostler_runtime::operations::{OperationError, ProposalDetail};
use ostler_store::{DecisionState, StoredProposal};

use super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::route::{Route, get, post};
use ostler_domain::org::permission::OrgPermission::{Configure, Operate, View};
use serde_json::json;

pub(crate) fn routes() -> Vec<Route> {
    let reason = || json!({"reason": "Too early"});
    vec![
        get(
            View,
            "/soul-proposals",
            "listSoulProposals",
            "List changes of souls that wait for a decision",
            souls,
        ),
        get(
            View,
            "/soul-proposals/{proposal}",
            "getSoulProposal",
            "Show a proposal with the soul before",
            soul,
        ),
        post(
            Configure,
            "/soul-proposals/{proposal}/approve",
            "approveSoulProposal",
            "Approve a change of a soul",
            approve_soul,
        ),
        post(
            Configure,
            "/soul-proposals/{proposal}/reject",
            "rejectSoulProposal",
            "Reject a change of a soul",
            reject_soul,
        )
        .example(reason()),
        get(
            View,
            "/promotions",
            "listPromotions",
            "List autonomy levels that were proposed from measured figures",
            promotions,
        ),
        post(
            Operate,
            "/promotions/review",
            "reviewPromotions",
            "Measure the agents now and propose other levels where the figures call for them",
            review_promotions,
        ),
        post(
            Configure,
            "/promotions/{agent}/approve",
            "approvePromotion",
            "Approve the proposed level of an agent",
            approve_promotion,
        ),
        post(
            Configure,
            "/promotions/{agent}/reject",
            "rejectPromotion",
            "Reject the proposed level of an agent",
            reject_promotion,
        )
        .example(reason()),
    ]
}

/// Lists the proposals that wait, oldest first. They are few, because agents propose at a
/// limited pace.
pub(crate) async fn souls(request: OrgRequest) -> Result<Json<Page<SoulProposal>>> {
    let found = request.pending_proposals().await?;
    Ok(Json(Page { items: found.into_iter().map(|one| wire(one, None)).collect(), next: None }))
}

pub(crate) async fn soul(request: OrgRequest, PathId(id): PathId) -> Result<Json<SoulProposal>> {
    let id = request.proposal_id(&id).await?;
    let found = request.hide_foreign_org(request.operations().soul_proposal(id).await)?;
    let ProposalDetail { stored, before, .. } = found;
    Ok(Json(wire(stored, Some(before))))
}

pub(crate) async fn approve_soul(
    request: OrgRequest,
    PathId(id): PathId,
) -> Result<Json<AppliedSoul>> {
    let id = request.proposal_id(&id).await?;
    let applied = request.operations().approve_soul_proposal(id).await;
    Ok(Json(AppliedSoul { version: request.hide_foreign_org(applied)?.version }))
}

pub(crate) async fn reject_soul(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(body): JsonBody<RejectProposalRequest>,
) -> Result<Json<SoulProposal>> {
    let id = request.proposal_id(&id).await?;
    let rejected = request.operations().reject_soul_proposal(id, &body.reason).await;
    Ok(Json(wire(request.hide_foreign_org(rejected)?, None)))
}

pub(crate) async fn promotions(request: OrgRequest) -> Result<Json<Page<LevelProposal>>> {
    let items = request.hide_foreign_org(request.operations().level_proposals().await)?;
    Ok(Json(Page { items, next: None }))
}

async fn review_promotions(request: OrgRequest) -> Result<Json<Page<AgentFigures>>> {
    let found = request.hide_foreign_org(request.operations().review_levels().await)?;
    let items = found.into_iter().map(|(agent, figures)| AgentFigures { agent, figures });
    Ok(Json(Page { items: items.collect(), next: None }))
}

pub(crate) async fn approve_promotion(
    request: OrgRequest,
    PathId(agent): PathId,
) -> Result<Json<LevelProposal>> {
    request.promotion(request.operations().approve_level(&agent).await)
}

pub(crate) async fn reject_promotion(
    request: OrgRequest,
    PathId(agent): PathId,
    JsonBody(body): JsonBody<RejectProposalRequest>,
) -> Result<Json<LevelProposal>> {
    request.promotion(request.operations().reject_level(&agent, &body.reason).await)
}

impl OrgRequest {
    /// Answers a decision on a promotion. The agent is a part of the path here, so that one that
    /// does not exist is not found.
    fn promotion(
        &self,
        decided: std::result::Result<LevelProposal, OperationError>,
    ) -> Result<Json<LevelProposal>> {
        match decided {
            Err(OperationError::NoAgent(_)) => Err(ApiError::not_found("agent")),
            other => Ok(Json(self.hide_foreign_org(other)?)),
        }
    }

    async fn pending_proposals(&self) -> Result<Vec<StoredProposal>> {
        let pending = DecisionState::Pending;
        self.hide_foreign_org(self.operations().soul_proposals(pending, MAX_LIMIT).await)
    }

    /// Returns the proposal that a path names.
    async fn proposal_id(&self, text: &str) -> Result<ProposalId> {
        super::find_id(text, "proposal", async {
            Ok(self.pending_proposals().await?.iter().map(|one| one.proposal.id).collect())
        })
        .await
    }
}

fn wire(stored: StoredProposal, before: Option<ostler_domain::soul::Soul>) -> SoulProposal {
    let StoredProposal { proposal, author } = stored;
    SoulProposal { proposal, author, before }
}
