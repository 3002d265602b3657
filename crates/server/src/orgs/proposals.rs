//! Routes for what is proposed about agents: changes of souls, and autonomy levels.

use axum::Json;
use ostler_api::hierarchy::{AppliedSoul, RejectProposalRequest, SoulProposal};
use ostler_api::page::{MAX_LIMIT, Page};
use ostler_domain::agent::growth::LevelProposal;
use ostler_domain::id::ProposalId;
use ostler_runtime::operations::{OperationError, ProposalDetail};
use ostler_store::{DecisionState, StoredProposal};

use super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::{ApiError, Result};

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

pub(crate) async fn approve_promotion(
    request: OrgRequest,
    PathId(agent): PathId,
) -> Result<Json<LevelProposal>> {
    let approved = request.operations().approve_level(&agent).await;
    Ok(Json(request.hide_foreign_org(named_in_path(approved)?)?))
}

pub(crate) async fn reject_promotion(
    request: OrgRequest,
    PathId(agent): PathId,
    JsonBody(body): JsonBody<RejectProposalRequest>,
) -> Result<Json<LevelProposal>> {
    let rejected = request.operations().reject_level(&agent, &body.reason).await;
    Ok(Json(request.hide_foreign_org(named_in_path(rejected)?)?))
}

/// Answers that the agent does not exist, if that is what is wrong: it is named by the path.
fn named_in_path<T>(
    result: std::result::Result<T, OperationError>,
) -> Result<std::result::Result<T, OperationError>> {
    match result {
        Err(OperationError::NoAgent(_)) => Err(ApiError::not_found("agent")),
        other => Ok(other),
    }
}

impl OrgRequest {
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
