use ostler_domain::agent::limits::DailyUsage;
use ostler_domain::id::{ApprovalId, ContactId, DocumentId, InboxId, RunId, SessionId};
use ostler_domain::money::ledger::{Charge, Expense};
use ostler_domain::money::{Credits, Usd};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::ToolName;
use ostler_engine::model::{StopReason, Usage};
use ostler_engine::turn::{AgentUsage, ROOT_AGENT, TurnEnd};
use ostler_store::{NewRun, StoredRun};
use serde_json::json;

use crate::records::encode;
use crate::records::run::{RunOutcome, RunRecord, StepRecord, TurnRecord};
use crate::records::snapshot::Snapshot;

const SESSION: SessionId = SessionId::from_u128(2);

fn snapshot() -> Snapshot {
    serde_json::from_value(json!({
        "identity": {"agent_id": "agt_0000000000000000000000000b", "agent_version": 3,
            "display_name": "Gia", "subtype": "pm", "protected": "open",
            "organization_id": "org_00000000000000000000000001", "business_layer": 2},
        "soul": {"owner": "agt_0000000000000000000000000b", "version": 4},
        "tool_scope": {"active_tools": ["look"], "disabled_for_session": [],
            "integration_requirements": [["look", "crm"]], "platform_policy": 1, "org_policy": 2},
        "credit_budget": {"session_budget": 90, "org_budget": null, "parent_budget": null,
            "turn": {"reserved": 7, "top_up": 80, "session": 90, "read_reserve": 0, "team": null},
            "budget_owner": "agt_0000000000000000000000000b"},
        "autonomy": {"autonomy_level": "autonomous", "require_approval_for": ["pay"],
            "blocked_topics": ["law"]},
        "rate_limits": {"max_messages_per_day": 500, "max_cost_per_day": 1_000_000,
            "today": {"day": 20776, "messages": 367, "cost": 165_150}},
        "session_context": {"session_id": SESSION, "channel": "webhook",
            "external_contact_identifier": "customer-0", "conversation_history": 20,
            "crm_contact": null, "knowledge_base_docs": [], "session_mode": "freeform",
            "testing_mode": false},
        "error_state": {"failed_tools_this_session": {}, "llm_retries_used": 0,
            "is_degraded_mode": false, "degraded_reason": null},
        "escalation_state": {"human_escalation_requested": false, "escalation_reason": null,
            "pending_approvals": 0, "team_budget_remaining": null}
    }))
    .unwrap()
}

/// A plain answer.
fn turn() -> TurnRecord {
    let usage = Usage { input: 100, output: 10, cached: 0, written: 0 };
    TurnRecord {
        agent: snapshot().identity.agent_id,
        harness: snapshot(),
        decisions: Vec::new(),
        approvals: Vec::new(),
        usage,
        spent: [(ROOT_AGENT.to_owned(), AgentUsage { usage, credits: Credits::new(1) })].into(),
        cost: Usd::from_micros(450),
        charges: vec![Charge { expense: Expense::Model, amount: Credits::new(1) }],
        models: vec!["large".into()],
        restarts: Vec::new(),
        end: TurnEnd::Answer { text: "Yes.".into(), stop: StopReason::End },
    }
}

fn record(turns: Vec<TurnRecord>) -> RunRecord {
    let step = |step: &'static str, name: &'static str, note: Option<&str>| StepRecord {
        step: step.into(),
        name: name.into(),
        began_us: 157,
        took_us: 3932,
        note: note.map(str::to_owned),
    };
    RunRecord {
        v: 1,
        id: RunId::from_u128(1),
        session: SESSION,
        at: Timestamp::from_millis(1_795_122_499_411),
        input: vec![InboxId::from_u128(3)],
        outcome: RunOutcome::Answered,
        steps: vec![
            step("3", "session", None),
            step("4", "contact and knowledge", Some("0 documents")),
            step("7.5", "credits", None),
        ],
        turns,
        side_turns: Vec::new(),
        credits: Credits::new(1),
    }
}

fn stored(record: &RunRecord) -> StoredRun {
    let NewRun { id, data, harness } = record.to_stored();
    StoredRun { id, session: record.session, data, harness }
}

#[track_caller]
fn assert_round_trip(record: &RunRecord) {
    assert_eq!(RunRecord::from_stored(&stored(record)).unwrap(), *record);
}

#[test]
fn records_round_trip() {
    assert_round_trip(&record(Vec::new()));
    assert_round_trip(&record(vec![turn()]));
    let mut busy = turn();
    busy.usage.cached = 9;
    busy.spent.insert("explore".into(), AgentUsage::default());
    busy.approvals = vec![ApprovalId::from_u128(8)];
    busy.end = TurnEnd::StepLimit { limit: 3 };
    let harness = &mut busy.harness;
    harness.tool_scope.disabled_for_session = vec![ToolName::from_static("pay")];
    harness.credit_budget.left.org_budget = Some(Credits::new(5));
    harness.credit_budget.turn.team = Some(Credits::new(6));
    harness.session_context.session_id = SessionId::from_u128(77);
    harness.session_context.crm_contact = Some(ContactId::from_u128(4));
    harness.session_context.knowledge_base_docs = vec![DocumentId::from_u128(5)];
    harness.error_state.llm_retries_used = 2;
    harness.escalation_state.pending_approvals = 1;
    let mut several = record(vec![turn(), busy.clone()]);
    several.side_turns = vec![busy];
    several.outcome = RunOutcome::Escalated { reason: "asked".into() };
    assert_round_trip(&several);
}

#[test]
fn records_of_older_programs_are_read() {
    let record = record(vec![turn()]);
    let stored = StoredRun { data: encode(&record), harness: None, ..stored(&record) };
    assert_eq!(RunRecord::from_stored(&stored).unwrap(), record);
}

#[test]
fn what_changes_from_turn_to_turn_is_not_in_the_shared_text() {
    let first = turn();
    let mut next = first.clone();
    next.harness.rate_limits.today = DailyUsage::default();
    next.harness.credit_budget.left.session_budget = Credits::new(3);
    next.harness.session_context.external_contact_identifier = "customer-1".into();
    next.harness.session_context.conversation_history = 4;
    let [first, next] = [first, next].map(|turn| stored(&record(vec![turn])));
    assert_eq!(first.harness, next.harness);
    assert_ne!(first.data, next.data);
}

#[test]
fn a_plain_answer_is_short() {
    let record = record(vec![turn()]);
    let (before, after) = (encode(&record).len(), stored(&record).data.len());
    assert!(after * 3 < before, "{after} of {before} bytes");
}

#[test]
fn a_harness_of_another_run_is_refused() {
    let mut stored = stored(&record(vec![turn()]));
    stored.harness = Some("[]".into());
    assert!(RunRecord::from_stored(&stored).is_err());
}
