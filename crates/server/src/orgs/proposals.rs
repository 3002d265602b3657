//! Routes for what is proposed about agents: changes of souls, and autonomy levels.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::hierarchy::{
    AgentFigures, NewSoulProposal, ProposalState, RejectProposalRequest, SoulProposal,
    SoulProposalsQuery, SoulReflection,
};
use ostler_api::page::{MAX_LIMIT, Page, PageQuery};
use ostler_domain::agent::growth::LevelProposal;
use ostler_domain::id::ProposalId;
use ostler_domain::soul::SoulVersion;
use ostler_runtime::operations::reflection;
use ostler_runtime::operations::{OperationError, ProposalDetail};
use ostler_store::{DecisionState, StoredProposal};

use super::{OrgRequest, PathId};
use crate::body::{JsonBody, QueryParams};
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
            "List changes of souls that were proposed, those that wait for a decision by default",
            souls,
        ),
        post(
            Operate,
            "/soul-proposals",
            "proposeSoul",
            "Propose another soul for an agent, on which an admin or an owner decides",
            propose_soul,
        )
        .example(json!({"agent": "gia", "reason": "Customers find it too formal",
            "soul": {"personality": "Warm and brief."}})),
        post(
            Configure,
            "/agents/{agent}/soul/reflect",
            "reflectOnSoul",
            "Look back at conversations of an agent, and propose a change if they call for one",
            reflect,
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
pub(crate) async fn souls(
    request: OrgRequest,
    QueryParams(SoulProposalsQuery { state, limit }): QueryParams<SoulProposalsQuery>,
) -> Result<Json<Page<SoulProposal>>> {
    let state = match state {
        ProposalState::Pending => DecisionState::Pending,
        ProposalState::Applied => DecisionState::Applied,
        ProposalState::Rejected => DecisionState::Rejected,
        ProposalState::Expired => DecisionState::Expired,
        ProposalState::Superseded => DecisionState::Superseded,
    };
    let limit = PageQuery { cursor: None, limit }.page_size();
    let found =
        request.hide_foreign_org(request.operations().soul_proposals(state, limit).await)?;
    Ok(Json(Page { items: found.into_iter().map(wire).collect(), next: None }))
}

pub(crate) async fn propose_soul(
    request: OrgRequest,
    JsonBody(NewSoulProposal { agent, soul, reason }): JsonBody<NewSoulProposal>,
) -> Result<(StatusCode, Json<SoulProposal>)> {
    let made = request.operations().propose_soul(&agent, soul, &reason).await;
    Ok((StatusCode::CREATED, Json(wire(request.hide_foreign_org(made)?))))
}

pub(crate) async fn reflect(
    request: OrgRequest,
    PathId(agent): PathId,
) -> Result<Json<SoulReflection>> {
    let reflection = request.of_named_agent(request.operations().reflect(&agent).await)?;
    Ok(Json(match reflection {
        reflection::SoulReflection::TooLittle { .. } => SoulReflection {
            proposal: None,
            reason: "no recent conversation in which a person had to step in".to_owned(),
            looked_back: false,
        },
        reflection::SoulReflection::NoChange { reason } => {
            SoulReflection { proposal: None, reason, looked_back: true }
        }
        reflection::SoulReflection::Proposed(made) => SoulReflection {
            reason: made.proposal.reason.clone(),
            proposal: Some(wire(*made)),
            looked_back: true,
        },
    }))
}

pub(crate) async fn soul(request: OrgRequest, PathId(id): PathId) -> Result<Json<SoulProposal>> {
    let id = request.proposal_id(&id).await?;
    let found = request.hide_foreign_org(request.operations().soul_proposal(id).await)?;
    let ProposalDetail { stored, before, current_version } = found;
    let (soul_before, current_version) = (Some(before), Some(current_version));
    Ok(Json(SoulProposal { soul_before, current_version, ..wire(stored) }))
}

pub(crate) async fn approve_soul(
    request: OrgRequest,
    PathId(id): PathId,
) -> Result<Json<SoulVersion>> {
    let id = request.proposal_id(&id).await?;
    let applied = request.operations().approve_soul_proposal(id).await;
    Ok(Json(request.hide_foreign_org(applied)?))
}

pub(crate) async fn reject_soul(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(body): JsonBody<RejectProposalRequest>,
) -> Result<Json<SoulProposal>> {
    let id = request.proposal_id(&id).await?;
    let rejected = request.operations().reject_soul_proposal(id, &body.reason).await;
    Ok(Json(wire(request.hide_foreign_org(rejected)?)))
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

fn wire(stored: StoredProposal) -> SoulProposal {
    let StoredProposal { proposal, author } = stored;
    SoulProposal { proposal, author, soul_before: None, current_version: None }
}
