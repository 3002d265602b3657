use std::time::Duration;

use super::{
    Initiative, Proposal, ProposalDecision, ProposalError, ProposalPolicy, ProposalRefused,
    ProposalStatus, Proposer, decide_proposal,
};
use crate::agent::autonomy::AutonomyLevel;
use crate::agent::subtype::Subtype;
use crate::agent::{Agent, Protection};
use crate::id::{ProposalId, UserId};
use crate::org::Org;
use crate::org::layer::{BusinessLayer, BusinessPosition};
use crate::soul::{Soul, SoulField, SoulHistory, SoulOrigin};
use crate::testing;
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_000_000_000);
const OWNER: UserId = UserId::from_u128(1);
const ID: ProposalId = ProposalId::from_u128(2);

fn proposer(org: &Org, subtype: &str) -> Proposer {
    Proposer {
        position: BusinessPosition::of(org, &Subtype::from(subtype)),
        org: org.id,
        autonomy: AutonomyLevel::Autonomous,
        initiative: Initiative::Own,
        made_today: 0,
        pending: 0,
        last_rejection_at: None,
    }
}

fn warmer() -> Soul {
    Soul { personality: "warmer".into(), ..Soul::default() }
}

fn gia() -> Agent {
    testing::agent("gia", Subtype::CustomerService)
}

fn decision(proposer: &Proposer, target: &Agent) -> Result<ProposalDecision, ProposalRefused> {
    decide_proposal(proposer, target, &Soul::default(), &warmer(), ProposalPolicy::default(), NOW)
}

/// H09, H10, H11: layer 1 applies, layers 2 and 3 propose in their own org, layer 4 may
/// do neither.
#[test]
fn h09_h10_the_layer_decides_who_may_propose() {
    let (platform, agency, client) = (testing::platform(), testing::agency(), testing::client());
    let of_agency = Agent { org: agency.id, ..testing::agent("mara", Subtype::Pm) };
    let other_org = || Err(ProposalRefused::OtherOrg("gia".into()));
    let table = [
        ("H09", proposer(&platform, "system"), gia(), Ok(ProposalDecision::Apply)),
        ("H09", proposer(&agency, "pm"), of_agency, Ok(ProposalDecision::Pending)),
        ("H10", proposer(&client, "pm"), gia(), Ok(ProposalDecision::Pending)),
        ("H11", proposer(&agency, "pm"), gia(), other_org()),
        (
            "H09",
            proposer(&client, "customer_service"),
            gia(),
            Err(ProposalRefused::Layer(BusinessLayer::EndCustomer)),
        ),
    ];
    for (row, proposer, target, expected) in table {
        assert_eq!(decision(&proposer, &target), expected, "{row} {}", target.slug);
    }
}

/// H09: an agent of layer 1 that may only draft does not apply anything.
#[test]
fn h09_a_drafting_agent_of_layer_1_proposes() {
    let system = proposer(&testing::platform(), "system");
    let drafting = Proposer { autonomy: AutonomyLevel::DraftOnly, ..system };
    assert_eq!(decision(&drafting, &gia()), Ok(ProposalDecision::Pending));
}

/// H01: a proposal to a protected agent is dropped without an error, also when the owner
/// directed it.
#[test]
fn h01_proposals_to_protected_agents_are_dropped() {
    let quinn = Agent { protection: Protection::Protected, ..gia() };
    for (org, subtype) in [
        (testing::platform(), "system"),
        (testing::agency(), "pm"),
        (testing::client(), "customer_service"),
    ] {
        for initiative in [Initiative::Own, Initiative::OwnerDirected] {
            let proposer = Proposer { initiative, ..proposer(&org, subtype) };
            assert_eq!(decision(&proposer, &quinn), Ok(ProposalDecision::SilentlyRejected));
        }
    }
}

/// H01, H04: a proposal to a worker cannot change the soul of its template.
#[test]
fn h04_a_proposal_to_a_worker_is_refused() {
    let worker = Agent { template: Some(gia().id), ..testing::agent("walt", Subtype::Pm) };
    let refused = Err(ProposalRefused::TemplatesSoul("walt".into()));
    assert_eq!(decision(&proposer(&testing::client(), "pm"), &worker), refused);
}

/// H08: three per day, five pending, a day's pause after a rejection.
#[test]
fn h08_proposals_are_limited() {
    let pm = || proposer(&testing::client(), "pm");
    let rejected = |at| Proposer { last_rejection_at: Some(at), ..pm() };
    let day_ago = Timestamp::from_millis(NOW.as_millis() - 24 * 3600 * 1000);
    let pending = || Ok(ProposalDecision::Pending);
    let table = [
        (Proposer { made_today: 2, pending: 4, ..pm() }, pending()),
        (Proposer { made_today: 3, ..pm() }, Err(ProposalRefused::TooManyToday)),
        (Proposer { pending: 5, ..pm() }, Err(ProposalRefused::TooManyPending)),
        (rejected(day_ago + Duration::from_secs(1)), Err(ProposalRefused::RecentlyRejected)),
        (rejected(day_ago), pending()),
    ];
    for (proposer, expected) in table {
        assert_eq!(decision(&proposer, &gia()), expected, "{proposer:?}");
    }
    let same = decide_proposal(&pm(), &gia(), &warmer(), &warmer(), ProposalPolicy::default(), NOW);
    assert_eq!(same, Err(ProposalRefused::NoChange));
}

/// H08: only the owner may change `never_do` and `escalation_triggers`, also for the
/// platform's agent.
#[test]
fn h08_guarded_fields_need_the_owner() {
    let bolder = Soul { escalation_triggers: vec!["never mind".into()], ..warmer() };
    let decision = |proposer: &Proposer| {
        decide_proposal(proposer, &gia(), &Soul::default(), &bolder, ProposalPolicy::default(), NOW)
    };
    let guarded = Err(ProposalRefused::Guarded([SoulField::EscalationTriggers].into()));
    for (org, subtype, directed) in [
        (testing::client(), "pm", ProposalDecision::Pending),
        (testing::platform(), "system", ProposalDecision::Apply),
    ] {
        let own = proposer(&org, subtype);
        assert_eq!(decision(&own), guarded, "{subtype}");
        let instructed = Proposer { initiative: Initiative::OwnerDirected, ..own };
        assert_eq!(decision(&instructed), Ok(directed), "{subtype}");
    }
}

fn proposal() -> Proposal {
    Proposal {
        id: ID,
        target: gia().id,
        base_version: 1,
        soul: warmer(),
        reason: "customers like it".into(),
        made_at: NOW,
        expires_at: NOW + ProposalPolicy::default().expires_after,
        status: ProposalStatus::Pending,
    }
}

/// H08: an approved proposal is applied as a new version; both versions are recorded.
#[test]
fn h08_an_approved_proposal_makes_a_version() {
    let mut history = SoulHistory::new(Soul::default(), NOW);
    let mut proposal = proposal();
    let over = Err(ProposalError::Over(ID));
    assert_eq!(proposal.apply(&gia(), &mut history, NOW), over);
    proposal.approve(OWNER, NOW).unwrap();
    proposal.apply(&gia(), &mut history, NOW).unwrap();
    let applied = ProposalStatus::Applied { by: OWNER, before: 1, after: 2 };
    assert_eq!(proposal.status, applied);
    assert_eq!(history.current().soul, warmer());
    assert_eq!(history.current().origin, SoulOrigin::Proposal(ID));
    assert_eq!(proposal.apply(&gia(), &mut history, NOW), over);
    assert_eq!(history.versions().count(), 2);
}

/// H01, H08: a proposal is applied only to its own unprotected agent, and only to the
/// version it was made against.
#[test]
fn h08_a_stale_or_misdirected_proposal_is_refused() {
    let mut history = SoulHistory::new(Soul::default(), NOW);
    let mut proposal = proposal();
    proposal.approve(OWNER, NOW).unwrap();
    let wrong_target = Err(ProposalError::WrongTarget(ID));
    let other = testing::agent("enzo", Subtype::Pm);
    let protected = Agent { protection: Protection::Protected, ..gia() };
    assert_eq!(proposal.apply(&other, &mut history, NOW), wrong_target);
    assert_eq!(proposal.status, ProposalStatus::Approved { by: OWNER });
    let mut late = proposal.clone();
    assert_eq!(late.apply(&protected, &mut history, NOW), wrong_target);
    assert_eq!(late.status, ProposalStatus::Superseded);
    history.push(warmer(), SoulOrigin::Edited, NOW);
    let stale = Err(ProposalError::Stale { id: ID, base: 1, current: 2 });
    assert_eq!(proposal.apply(&gia(), &mut history, NOW), stale);
    assert_eq!(proposal.status, ProposalStatus::Superseded);
    assert_eq!(history.versions().count(), 2);
}

/// H08: a rejected or expired proposal cannot be decided or applied.
#[test]
fn h08_a_rejected_or_expired_proposal_is_final() {
    let mut rejected = proposal();
    rejected.reject(OWNER, "keep it short", NOW).unwrap();
    assert_eq!(rejected.approve(OWNER, NOW), Err(ProposalError::Over(ID)));
    let mut late = proposal();
    let three_days = Duration::from_secs(72 * 3600);
    assert!(!late.expire(NOW + (three_days - Duration::from_secs(1))));
    assert_eq!(late.approve(OWNER, NOW + three_days), Err(ProposalError::JustExpired(ID)));
    assert_eq!(late.approve(OWNER, NOW + three_days), Err(ProposalError::Over(ID)));
    assert_eq!(late.status, ProposalStatus::Expired);
}
