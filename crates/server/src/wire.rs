//! Conversions from stored values to wire types, for routes and for the JSON of commands.

use ostler_api::approval::Approval;
use ostler_api::credit::{
    CreditAccount, ExpenseBearer, LedgerExpense, LedgerLine, LedgerLineKind, Pool, SpendReport,
    SpentByAgent, SpentByClient, SpentOnDay, SpentOnName,
};
use ostler_api::dead_letter::{DeadLetter, DeadLetterFault};
use ostler_api::escalation::{Escalation, QueuedEscalation};
use ostler_api::knowledge::{Document, DocumentText};
use ostler_api::run::{PlannedTurn, ReplayPlan, RunReplay, TurnReplay};
use ostler_api::session::{
    Author, CallOutcome, Message, Run, RunTurn, Session, SessionDetail, SessionState, ToolDecision,
};
use ostler_api::session_work::{ListedSession, MessagePreview};
use ostler_api::transcript::SessionEvent;
use ostler_api::unknown_outcome::UnknownOutcome;
use ostler_domain::gate::GateDecision;
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{CostBearer, Expense, LedgerEntry};
use ostler_domain::money::pools::{self, PoolKind};
use ostler_domain::session::status::SessionStatus;
use ostler_runtime::operations;
use ostler_runtime::records::call::{CallRecord, GateRecord};
use ostler_runtime::records::message::{MessageAuthor, Purpose, ThreadMessage};
use ostler_runtime::records::run::RunRecord;
use ostler_runtime::records::session::{self as records, OpenEscalation};
use ostler_store::{DeadLetterId, DocumentSummary, StoredApproval, StoredDocument};
use serde_json::Value;

/// Returns a session.
pub fn session(stored: &records::Session) -> Session {
    let (status, closed) = match stored.status {
        SessionStatus::Active => (SessionState::Active, None),
        SessionStatus::HandedOff => (SessionState::HandedOff, None),
        SessionStatus::Closed(why) => (SessionState::Closed, Some(why)),
    };
    Session {
        id: stored.id,
        org: stored.org,
        conversation: stored.conversation,
        channel: stored.channel.clone(),
        binding: stored.binding,
        peer: stored.peer.clone(),
        name: stored.name.clone(),
        contact: stored.contact,
        status,
        closed,
        agent: stored.active_agent(),
        opened_at: stored.opened_at,
        messages: stored.messages,
        pending_approvals: stored.pending_approvals,
        unknown_outcomes: stored.unknown_outcomes,
        escalation: stored.escalation.as_ref().map(escalation),
        summary: stored.summary.clone(),
        audience: stored.audience(),
        spent: stored.budget.spent,
        credit_cap: stored.budget.cap,
    }
}

/// Returns a session of a list.
pub fn listed_session(listed: &operations::ListedSession) -> ListedSession {
    ListedSession {
        session: session(&listed.session),
        assignee: listed.assignment.map(|one| one.user),
        notes: listed.notes,
        unread: listed.unread,
        last_message: listed.last_message.as_ref().and_then(preview),
    }
}

/// The most characters of the beginning of a message.
const MAX_PREVIEW: usize = 160;

/// Returns the beginning of a message, unless it has no text.
fn preview(stored: &ThreadMessage) -> Option<MessagePreview> {
    let Message { at, author, text, .. } = message(stored);
    let text: String = text.trim().chars().take(MAX_PREVIEW).collect();
    (!text.is_empty()).then_some(MessagePreview { at, author, text })
}

/// Returns an escalation.
pub fn escalation(stored: &OpenEscalation) -> Escalation {
    let state = &stored.state;
    Escalation {
        id: stored.id,
        status: state.status,
        urgency: state.request.urgency,
        reason: state.request.reason.clone(),
        context_summary: state.request.context_summary.clone(),
        requested_at: state.requested_at,
        taken_over_by: state.human,
        taken_over_at: state.taken_over_at,
    }
}

/// Returns an escalation with its session.
pub fn queued_escalation(queued: &operations::WaitingSession) -> QueuedEscalation {
    QueuedEscalation {
        escalation: escalation(&queued.escalation),
        session: session(&queued.session),
    }
}

/// Returns a session with its messages, runs, pending approvals and events.
pub fn detail(stored: &operations::SessionDetail, timeline: Vec<SessionEvent>) -> SessionDetail {
    SessionDetail {
        session: session(&stored.session),
        messages: stored.messages.iter().map(message).collect(),
        runs: stored.runs.iter().map(|one| run(one, &stored.messages)).collect(),
        approvals: stored.approvals.iter().map(approval).collect(),
        timeline,
    }
}

/// Returns a message.
pub fn message(stored: &ThreadMessage) -> Message {
    let author = match &stored.author {
        MessageAuthor::Customer { name } => Author::Customer { name: name.clone() },
        MessageAuthor::Agent { id } => Author::Agent { agent: *id },
        MessageAuthor::Human { user } => Author::Human { user: *user },
        MessageAuthor::System => Author::System,
    };
    let purpose = match stored.purpose {
        Purpose::Talk => "talk",
        Purpose::Transition => "transition",
        Purpose::Hold => "hold",
        Purpose::Notice => "notice",
    };
    Message {
        at: stored.at,
        author,
        text: stored.text().into_owned(),
        parts: stored.parts.clone(),
        purpose: purpose.to_owned(),
        run: stored.run,
    }
}

/// Returns a run; `messages` are those of its session.
pub fn run(stored: &RunRecord, messages: &[ThreadMessage]) -> Run {
    let turns = stored.turns.iter().map(|turn| RunTurn {
        agent: turn.agent,
        business_layer: turn.harness.identity.business_layer,
        decisions: turn
            .decisions
            .iter()
            .map(|decision| {
                let call = CallRecord::find(messages, stored.id, turn.agent, &decision.call);
                tool_decision(decision, call)
            })
            .collect(),
    });
    Run {
        id: stored.id,
        at: stored.at,
        outcome: stored.outcome.as_str().to_owned(),
        turns: turns.collect(),
        credits: stored.credits,
    }
}

/// Returns what a replay would do.
pub fn replay_plan(plan: &operations::ReplayPlan) -> ReplayPlan {
    let operations::ReplayPlan { run, models, turns, estimate } = plan.clone();
    let turns = turns.into_iter().map(|turn| {
        let operations::PlannedTurn { agent, prompt, recorded } = turn;
        PlannedTurn { agent, prompt, recorded }
    });
    ReplayPlan { run, models, turns: turns.collect(), estimate }
}

/// Returns a run that was run again.
pub fn replay(done: operations::RunReplay) -> RunReplay {
    let plan = replay_plan(&done.plan);
    let turns = done.turns.into_iter().map(|turn| {
        let operations::TurnReplay { agent, recorded, replayed, diff, took_ms } = turn;
        TurnReplay { agent, recorded, replayed, diff, took_ms }
    });
    RunReplay { plan, turns: turns.collect(), charged: done.charged, notes: done.notes }
}

/// Returns the name of a decision.
pub const fn decision(verdict: &GateDecision) -> &'static str {
    match verdict {
        GateDecision::Allow(_) => "allow",
        GateDecision::Ask(_) => "ask",
        GateDecision::Deny(_) => "deny",
    }
}

fn tool_decision(stored: &GateRecord, call: CallRecord<'_>) -> ToolDecision {
    ToolDecision {
        call: stored.call.to_string(),
        tool: stored.tool.clone(),
        decision: decision(&stored.verdict).to_owned(),
        verdict: stored.verdict.to_string(),
        arguments: call.arguments.cloned(),
        outcome: call.outcome.map(|outcome| CallOutcome {
            status: outcome.status.name().to_owned(),
            text: outcome.content.clone(),
        }),
    }
}

/// Parses stored JSON; text that is not JSON becomes a string.
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Returns an approval, with the arguments of its call as data.
pub fn approval(stored: &StoredApproval) -> Approval {
    let approval = &stored.approval;
    Approval {
        id: approval.id,
        session: approval.session,
        agent: approval.agent,
        tool: approval.tool.clone(),
        arguments: json(&stored.payload),
        risk: approval.risk.name().to_owned(),
        why: approval.ask_reason.clone(),
        requested_at: approval.requested_at,
        expires_at: approval.expires_at,
        status: approval.status.clone(),
    }
}

/// Returns a dead letter, with its message as data.
pub fn dead_letter(stored: &ostler_store::StoredDeadLetter) -> DeadLetter {
    DeadLetter {
        id: match stored.id {
            DeadLetterId::Inbox(id) => id.to_string(),
            DeadLetterId::Outbox(id) => id.to_string(),
        },
        conversation: stored.conversation,
        fault: match stored.kind {
            ostler_store::DeadLetterKind::Dead => DeadLetterFault::Dead,
            ostler_store::DeadLetterKind::Unknown => DeadLetterFault::OutcomeUnknown,
        },
        reason: stored.reason.clone(),
        attempts: stored.attempts,
        at: stored.failed_at,
        message: json(&stored.payload),
    }
}

/// Returns a call with an unknown outcome.
pub fn unknown_outcome(stored: ostler_store::StoredCall) -> UnknownOutcome {
    UnknownOutcome {
        id: stored.intent.call,
        tool: stored.intent.tool,
        arguments: json(&stored.intent.arguments),
        conversation: stored.conversation,
        run: stored.run,
        at: stored.intended_at,
    }
}

/// Returns a credit account with all its pools.
pub fn account(stored: &pools::CreditAccount) -> CreditAccount {
    let pool = |kind: PoolKind| {
        let pools::CreditPool { granted, available, reserved, spent, expired, .. } =
            *stored.pool(kind);
        Pool { pool: kind, granted, available, reserved, spent, expired }
    };
    CreditAccount { available: stored.available(), pools: PoolKind::ALL.map(pool).into() }
}

/// Returns what an org spent.
pub fn spend(report: &operations::SpendReport) -> SpendReport {
    let spend = &report.spend;
    let named = |(name, credits): (&String, &Credits)| SpentOnName {
        name: Some(name.clone()),
        credits: *credits,
    };
    SpendReport {
        since: report.since.to_iso(),
        total: spend.total,
        tests: spend.tests,
        paid_by_others: spend.paid_by_others,
        for_clients: spend.for_clients,
        days: spend
            .by_day
            .iter()
            .map(|(day, credits)| SpentOnDay { day: day.to_iso(), credits: *credits })
            .collect(),
        agents: largest_first(
            spend
                .by_agent
                .iter()
                .map(|(agent, credits)| SpentByAgent { agent: *agent, credits: *credits }),
            |one| one.credits,
        ),
        models: largest_first(
            spend
                .by_model
                .iter()
                .map(|(name, credits)| SpentOnName { name: name.clone(), credits: *credits }),
            |one| one.credits,
        ),
        tools: largest_first(spend.by_tool.iter().map(named), |one| one.credits),
        clients: largest_first(
            report.clients.iter().map(|(org, credits)| SpentByClient {
                org: org.id,
                slug: org.slug.clone(),
                name: org.name.clone(),
                credits: *credits,
            }),
            |one| one.credits,
        ),
    }
}

fn largest_first<T>(all: impl Iterator<Item = T>, credits: fn(&T) -> Credits) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_by_key(|one| std::cmp::Reverse(credits(one)));
    all
}

/// Returns a line of a ledger.
pub fn line(stored: &ostler_store::LedgerLine) -> LedgerLine {
    let (kind, pool) = match stored.kind {
        ostler_store::LedgerLineKind::Grant(pool) => (LedgerLineKind::Grant, Some(pool)),
        ostler_store::LedgerLineKind::Expense(_) => (LedgerLineKind::Expense, None),
    };
    let expense = match &stored.kind {
        ostler_store::LedgerLineKind::Expense(entry) => Some(ledger_expense(entry)),
        ostler_store::LedgerLineKind::Grant(_) => None,
    };
    let (id, at, amount) = (stored.id, stored.at, stored.amount);
    LedgerLine { id, at, amount, kind, pool, expense, reference: stored.reference.clone() }
}

fn ledger_expense(entry: &LedgerEntry) -> LedgerExpense {
    let (is_test, expense) = match &entry.expense {
        Expense::Test(tested) => (true, tested.as_ref()),
        other => (false, other),
    };
    LedgerExpense {
        bearer: match entry.bearer {
            CostBearer::Own => ExpenseBearer::Own,
            CostBearer::ForChild(_) => ExpenseBearer::ForChild,
            CostBearer::PaidByParent(_) => ExpenseBearer::PaidByParent,
            CostBearer::Overrun => ExpenseBearer::Platform,
        },
        tool: match expense {
            Expense::Tool(tool) => Some(tool.to_string()),
            _ => None,
        },
        model: match expense {
            Expense::ModelCalls(model) => Some(model.clone()),
            _ => None,
        },
        is_test,
    }
}

/// Returns a document with its text.
pub fn document_text(stored: StoredDocument) -> DocumentText {
    let StoredDocument { id, version, document, created_at, updated_at } = stored;
    let body = document.body().to_owned();
    let (title, tags) = (document.title().to_owned(), document.tags().clone());
    let size = body.len() as u64;
    let document = Document { id, version, title, tags, size, created_at, updated_at };
    DocumentText { document, body }
}

/// Returns a document without its text.
pub fn document(stored: DocumentSummary) -> Document {
    let DocumentSummary { id, version, title, tags, size, created_at, updated_at } = stored;
    Document { id, version, title, tags, size, created_at, updated_at }
}
