//! Soul proposals: decided once and applied once as a new version.

use std::time::Duration;

use ostler_domain::agent::Protection;
use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AgentId, AuditId, NoticeId, OrgId, ProposalId, UserId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::soul::proposal::{Proposal, ProposalAuthor, ProposalError, ProposalStatus};
use ostler_domain::soul::{Soul, SoulHistory, SoulOrigin};
use ostler_domain::time::Timestamp;
use ostler_store::{
    DecisionState, NewAuditEntry, NewNotice, ProposalActivity, Store, StoreError, StoredProposal,
};

use crate::on_every_backend;
use crate::support::{agent, next, with_org};

const OWNER: UserId = UserId::from_u128(1);
const DAYS: Duration = Duration::from_secs(72 * 3600);

fn soul(text: &str) -> Soul {
    Soul { personality: text.into(), ..Soul::default() }
}

/// An agent with version 1 of a soul.
async fn with_soul(store: &Store, org: OrgId, slug: &str) -> AgentId {
    let made = agent(org, slug);
    let id = made.id;
    store.org(org).save_agent(made).await.unwrap();
    let history = SoulHistory::new(soul("warm"), Timestamp::from_millis(1));
    store.org(org).push_soul(id, history.current().clone()).await.unwrap();
    id
}

async fn propose(store: &Store, org: OrgId, target: AgentId, time: Duration) -> ProposalId {
    let (id, made_at) = (ProposalId::from_u128(next()), Timestamp::from_millis(5));
    let proposal = Proposal {
        reason: "customers like it".into(),
        id,
        target,
        base_version: 1,
        soul: soul("warmer"),
        made_at,
        expires_at: made_at + time,
        status: ProposalStatus::Pending,
    };
    let stored = StoredProposal { proposal, author: ProposalAuthor::Agent(target) };
    store.org(org).audited(entry()).create_proposal(stored, notice(id)).await.unwrap();
    id
}

fn entry() -> NewAuditEntry {
    NewAuditEntry {
        id: AuditId::from_u128(next()),
        actor: AuditActor::Terminal,
        action: "test".into(),
        subject: "a proposal".into(),
        data: "{}".into(),
    }
}

fn notice(proposal: ProposalId) -> NewNotice {
    NewNotice {
        id: NoticeId::from_u128(next()),
        kind: NoticeKind::SoulProposal,
        recipient: NoticeRecipient::Owner,
        subject: proposal.to_string(),
        data: "{}".into(),
    }
}

async fn approve(store: &Store, org: OrgId, id: ProposalId) -> Result<StoredProposal, StoreError> {
    store.org(org).audited(entry()).approve_proposal(id, OWNER).await
}

async fn reject(store: &Store, org: OrgId, id: ProposalId) -> Result<StoredProposal, StoreError> {
    store.org(org).audited(entry()).reject_proposal(id, OWNER, "too warm").await
}

fn why(result: Result<StoredProposal, StoreError>) -> ProposalError {
    match result {
        Err(StoreError::Proposal(why)) => why,
        other => panic!("{other:?}"),
    }
}

on_every_backend!(
    /// H08: pending, approved, applied as a new version that names the one it
    /// replaced; a rejection stores its reason.
    h08_an_approved_proposal_becomes_a_soul_version_once
);
async fn h08_an_approved_proposal_becomes_a_soul_version_once(store: &Store) {
    let org = with_org(store, 1).await;
    let gia = with_soul(store, org, "gia").await;
    let id = propose(store, org, gia, DAYS).await;
    let twenty_times = |_| {
        let store = store.clone();
        tokio::spawn(async move { approve(&store, org, id).await })
    };
    let mut applied = Vec::new();
    for done in (0..20).map(twenty_times).collect::<Vec<_>>() {
        match done.await.unwrap() {
            Ok(stored) => applied.push(stored.proposal.status),
            other => assert_eq!(why(other), ProposalError::Over(id)),
        }
    }
    assert_eq!(applied, [ProposalStatus::Applied { by: OWNER, before: 1, after: 2 }]);
    let versions = store.org(org).soul_versions(gia).await.unwrap();
    assert_eq!(versions.len(), 2);
    assert_eq!(
        (&versions[1].soul, versions[1].origin),
        (&soul("warmer"), SoulOrigin::Proposal(id))
    );
    // One entry for the proposal, one for the decision that counted.
    assert_eq!(store.org(org).audit_entries(None, None, 9).await.unwrap().len(), 2);

    let stale = propose(store, org, gia, DAYS).await;
    let refused = why(approve(store, org, stale).await);
    assert_eq!(refused, ProposalError::Stale { id: stale, base: 1, current: 2 });
    let superseded = store.org(org).proposals(DecisionState::Superseded, None, 9).await.unwrap();
    assert_eq!(superseded.len(), 1);
    assert_eq!(store.org(org).soul_versions(gia).await.unwrap().len(), 2);

    let no = propose(store, org, gia, DAYS).await;
    reject(store, org, no).await.unwrap();
    let reason = "too warm".to_owned();
    let stored = store.org(org).proposal(no).await.unwrap();
    assert_eq!(stored.proposal.status, ProposalStatus::Rejected { by: OWNER, reason });
    assert_eq!(why(approve(store, org, no).await), ProposalError::Over(no));
}

on_every_backend!(a_proposal_for_a_protected_agent_is_not_applied);
async fn a_proposal_for_a_protected_agent_is_not_applied(store: &Store) {
    let org = with_org(store, 1).await;
    let gia = with_soul(store, org, "gia").await;
    let id = propose(store, org, gia, DAYS).await;
    let mut protected = store.org(org).agent(gia).await.unwrap();
    protected.protection = Protection::Protected;
    store.org(org).save_agent(protected).await.unwrap();
    assert_eq!(why(approve(store, org, id).await), ProposalError::WrongTarget(id));
    assert_eq!(store.org(org).soul_versions(gia).await.unwrap().len(), 1);
}

on_every_backend!(proposal_activity_is_counted_per_proposer);
async fn proposal_activity_is_counted_per_proposer(store: &Store) {
    let org = with_org(store, 1).await;
    let (gia, leo) = (with_soul(store, org, "gia").await, with_soul(store, org, "leo").await);
    let none = ProposalActivity { made_today: 0, pending: 0, last_rejection_at: None };
    assert_eq!(store.org(org).proposal_activity(gia).await.unwrap(), none);
    propose(store, org, gia, DAYS).await;
    let no = propose(store, org, gia, DAYS).await;
    let before = store.org(org).proposal(no).await.unwrap().proposal.made_at;
    reject(store, org, no).await.unwrap();
    let pace = store.org(org).proposal_activity(gia).await.unwrap();
    assert_eq!(pace.pending, 1);
    // A new day may have begun since.
    assert!(matches!(pace.made_today, 0..=2));
    assert!(pace.last_rejection_at.is_some_and(|at| at >= before));
    assert_eq!(store.org(org).proposal_activity(leo).await.unwrap(), none);
    assert_eq!(store.org(org).count_pending_proposals(Some(gia)).await.unwrap(), 1);
    assert_eq!(store.org(org).count_pending_proposals(None).await.unwrap(), 1);
}

on_every_backend!(proposals_expire_and_are_not_found_from_another_org);
async fn proposals_expire_and_are_not_found_from_another_org(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let gia = with_soul(store, here, "gia").await;
    let id = propose(store, here, gia, Duration::ZERO).await;
    for refused in [
        store.org(there).proposal(id).await,
        approve(store, there, id).await,
        reject(store, there, id).await,
    ] {
        assert!(matches!(refused, Err(StoreError::NotFound("proposal"))), "{refused:?}");
    }
    assert!(
        store.expire_approvals(9, |_| None).await.unwrap().is_empty(),
        "a proposal is no approval"
    );
    let expired = store.expire_proposals(9).await.unwrap();
    assert_eq!(expired.len(), 1);
    assert_eq!((expired[0].0, expired[0].1.proposal.id), (here, id));
    assert_eq!(why(approve(store, here, id).await), ProposalError::Over(id));
    let late = propose(store, here, gia, Duration::ZERO).await;
    let refused = why(approve(store, here, late).await);
    assert_eq!(refused, ProposalError::JustExpired(late));
    assert!(store.expire_proposals(9).await.unwrap().is_empty(), "it is expired already");
}
