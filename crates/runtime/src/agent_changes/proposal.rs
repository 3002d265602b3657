//! Makes proposals to change a soul, for agents, for people and after a reflection.

use ostler_domain::agent::Agent;
use ostler_domain::event::SoulProposed;
use ostler_domain::id::{NoticeId, OrgId, ProposalId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::soul::proposal::{
    Initiative, Proposal, ProposalAuthor, ProposalDecision, ProposalPolicy, ProposalRefused,
    ProposalStatus, Proposer, check_proposal_limit, decide_proposal,
};
use ostler_domain::soul::{Soul, SoulField};
use ostler_domain::time::Timestamp;
use ostler_store::{NewNotice, OrgStore, Store, StoreError, StoredProposal};
use serde_json::{Map, Value};

use crate::ids::fresh;
use crate::org_view::AgentView;
use crate::records::encode;

/// A change of a soul that an agent wants.
pub(crate) struct ProposalRequest<'a> {
    pub(crate) proposer: &'a AgentView,
    pub(crate) author: ProposalAuthor,
    pub(crate) initiative: Initiative,
    pub(crate) target: &'a AgentView,
    pub(crate) soul: Soul,
    pub(crate) reason: String,
    /// Proposals of this turn, which are not stored yet.
    pub(crate) made_in_turn: u32,
}

/// Decides on a change that an agent wants. Returns the decision with the proposal to store.
pub(crate) async fn decide(
    store: &Store,
    org: OrgId,
    request: ProposalRequest<'_>,
    now: Timestamp,
) -> Result<Result<(ProposalDecision, StoredProposal), ProposalRefused>, StoreError> {
    let ProposalRequest { proposer, author, initiative, target, soul, reason, made_in_turn } =
        request;
    let facts = proposer_facts(store.org(org), proposer, initiative, made_in_turn).await?;
    let policy = ProposalPolicy::default();
    let decision = decide_proposal(&facts, &target.agent, &target.soul, &soul, policy, now);
    let writes = !matches!(decision, Ok(ProposalDecision::SilentlyRejected));
    if decision.is_ok() && writes && target.soul_version == 0 {
        return Ok(Err(ProposalRefused::NoSoul(target.agent.slug.clone())));
    }
    Ok(decision.map(|decision| {
        let base = target.soul_version;
        (
            decision,
            StoredProposal {
                proposal: new_proposal(&target.agent, base, soul, reason, now),
                author,
            },
        )
    }))
}

/// Checks that an agent may make another proposal now, before anything is spent on one.
pub(crate) async fn check_pace(
    store: OrgStore<'_>,
    proposer: &AgentView,
    now: Timestamp,
) -> Result<Result<(), ProposalRefused>, StoreError> {
    let facts = proposer_facts(store, proposer, Initiative::Own, 0).await?;
    Ok(check_proposal_limit(&facts, ProposalPolicy::default(), now))
}

async fn proposer_facts(
    store: OrgStore<'_>,
    proposer: &AgentView,
    initiative: Initiative,
    made_in_turn: u32,
) -> Result<Proposer, StoreError> {
    let activity = store.proposal_activity(proposer.agent.id).await?;
    Ok(Proposer {
        position: proposer.position.clone(),
        org: store.id(),
        autonomy: proposer.agent.autonomy,
        initiative,
        made_today: activity.made_today.saturating_add(made_in_turn),
        pending: activity.pending.saturating_add(made_in_turn),
        last_rejection_at: activity.last_rejection_at,
    })
}

/// Returns a new proposal that waits for a decision.
pub(crate) fn new_proposal(
    target: &Agent,
    base_version: u32,
    soul: Soul,
    reason: String,
    now: Timestamp,
) -> Proposal {
    Proposal {
        id: fresh(ProposalId::from_u128),
        target: target.id,
        base_version,
        soul,
        reason,
        made_at: now,
        expires_at: now + ProposalPolicy::default().expires_after,
        status: ProposalStatus::Pending,
    }
}

/// Returns the notice to the owner that a proposal waits.
pub(crate) fn notice(stored: &StoredProposal, current: &Soul) -> NewNotice {
    NewNotice {
        id: fresh(NoticeId::from_u128),
        kind: NoticeKind::SoulProposal,
        recipient: NoticeRecipient::Owner,
        subject: stored.proposal.id.to_string(),
        data: encode(&describe_proposal(stored, current)),
    }
}

/// Describes a proposal for notices, events and the audit log.
pub(crate) fn describe_proposal(stored: &StoredProposal, current: &Soul) -> SoulProposed {
    let Proposal { id, target, reason, base_version, expires_at, soul, .. } = &stored.proposal;
    SoulProposed {
        proposal: *id,
        agent: *target,
        author: stored.author,
        reason: reason.clone(),
        base_version: *base_version,
        expires_at: *expires_at,
        before: fields(current, soul, current),
        after: fields(current, soul, soul),
    }
}

/// Returns the fields of `soul` in which two souls differ.
fn fields(one: &Soul, other: &Soul, soul: &Soul) -> Value {
    let all = serde_json::to_value(soul).unwrap_or_default();
    let changed = one.changed_fields(other).into_iter().map(SoulField::name);
    changed.map(|name| (name.to_owned(), all[name].clone())).collect::<Map<_, _>>().into()
}
