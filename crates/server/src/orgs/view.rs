//! What is stored, in the words of the API.

use ostler_api::approval::Approval;
use ostler_api::credit::{Account, Line, LineKind, Pool};
use ostler_api::dead_letter::{DeadLetter, Fault};
use ostler_api::escalation::Escalation;
use ostler_api::knowledge::Document;
use ostler_api::notice::Notice;
use ostler_api::session::{
    Author, Decision, Message, Run, RunTurn, Session, SessionDetail, Status,
};
use ostler_api::unknown_call::UnknownCall;
use ostler_domain::money::pools::{self, PoolKind};
use ostler_domain::session::status::SessionStatus;
use ostler_runtime::operations;
use ostler_runtime::talk::message::{MessageAuthor, Purpose, ThreadMessage};
use ostler_runtime::talk::run::RunRecord;
use ostler_runtime::talk::session::{self as talk, OpenEscalation};
use ostler_store::{
    DocumentSummary, LedgerLine, LetterId, NewNotice, StoredApproval, StoredNotice,
};
use serde_json::Value;

pub(super) fn session(one: &talk::Session) -> Session {
    let (status, closed) = match one.status {
        SessionStatus::Active => (Status::Active, None),
        SessionStatus::HandedOff => (Status::HandedOff, None),
        SessionStatus::Closed(why) => (Status::Closed, Some(why)),
    };
    Session {
        id: one.id,
        org: one.org,
        conversation: one.conversation,
        channel: one.channel.clone(),
        binding: one.binding,
        peer: one.peer.clone(),
        name: one.name.clone(),
        contact: one.contact,
        status,
        closed,
        agent: one.active_agent(),
        opened_at: one.opened_at,
        messages: one.messages,
        pending_approvals: one.pending_approvals,
        unknown_outcomes: one.unknown_outcomes,
        escalation: one.escalation.as_ref().map(escalation),
        summary: one.summary.clone(),
    }
}

pub(super) fn escalation(one: &OpenEscalation) -> Escalation {
    let state = &one.state;
    Escalation {
        id: one.id,
        status: state.status,
        urgency: state.request.urgency,
        reason: state.request.reason.clone(),
        context_summary: state.request.context_summary.clone(),
        requested_at: state.requested_at,
        taken_over_by: state.human,
        taken_over_at: state.taken_over_at,
    }
}

pub(super) fn detail(one: &operations::SessionDetail) -> SessionDetail {
    SessionDetail {
        session: session(&one.session),
        messages: one.messages.iter().map(message).collect(),
        runs: one.runs.iter().map(run).collect(),
        approvals: one.approvals.iter().map(approval).collect(),
    }
}

fn message(one: &ThreadMessage) -> Message {
    let author = match &one.author {
        MessageAuthor::Customer { name } => Author::Customer { name: name.clone() },
        MessageAuthor::Agent { id } => Author::Agent { agent: *id },
        MessageAuthor::Human { user } => Author::Human { user: *user },
        MessageAuthor::System => Author::System,
    };
    let purpose = match one.purpose {
        Purpose::Talk => "talk",
        Purpose::Transition => "transition",
        Purpose::Hold => "hold",
        Purpose::Notice => "notice",
    };
    Message {
        at: one.at,
        author,
        text: one.text().into_owned(),
        parts: one.parts.clone(),
        purpose: purpose.to_owned(),
        run: one.run,
    }
}

fn run(one: &RunRecord) -> Run {
    let turns = one.turns.iter().map(|turn| RunTurn {
        agent: turn.agent,
        business_layer: turn.harness.identity.business_layer,
        decisions: turn
            .decisions
            .iter()
            .map(|one| Decision { tool: one.tool.clone(), verdict: one.verdict.to_string() })
            .collect(),
    });
    Run {
        id: one.id,
        at: one.at,
        outcome: one.outcome.word().to_owned(),
        turns: turns.collect(),
        credits: one.credits,
    }
}

/// JSON that was stored as a text.
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

pub(super) fn approval(one: &StoredApproval) -> Approval {
    let asked = &one.approval;
    Approval {
        id: asked.id,
        session: asked.session,
        agent: asked.agent,
        tool: asked.tool.clone(),
        arguments: json(&one.payload),
        risk: asked.risk.level().to_owned(),
        why: asked.why,
        requested_at: asked.requested_at,
        expires_at: asked.expires_at,
        status: asked.status.clone(),
    }
}

pub(super) fn dead_letter(one: &ostler_store::DeadLetter) -> DeadLetter {
    DeadLetter {
        id: match one.id {
            LetterId::Inbox(id) => id.to_string(),
            LetterId::Outbox(id) => id.to_string(),
        },
        conversation: one.conversation,
        fault: match one.fault {
            ostler_store::Fault::Dead => Fault::Dead,
            ostler_store::Fault::Unknown => Fault::OutcomeUnknown,
        },
        reason: one.reason.clone(),
        attempts: one.attempts,
        at: one.at,
        message: json(&one.payload),
    }
}

pub(super) fn unknown_call(one: ostler_store::Call) -> UnknownCall {
    UnknownCall {
        id: one.intent.call,
        tool: one.intent.tool,
        arguments: json(&one.intent.arguments),
        conversation: one.conversation,
        run: one.run,
        at: one.intended_at,
    }
}

pub(super) fn account(one: &pools::Account) -> Account {
    let pool = |kind: PoolKind| {
        let pools::Pool { granted, available, reserved, spent, expired, .. } = *one.pool(kind);
        Pool { pool: kind, granted, available, reserved, spent, expired }
    };
    Account { available: one.available(), pools: PoolKind::ALL.map(pool).into() }
}

pub(super) fn line(one: &LedgerLine) -> Line {
    let (kind, pool) = match one.kind {
        ostler_store::LineKind::Grant(pool) => (LineKind::Grant, Some(pool)),
        ostler_store::LineKind::Expense(_) => (LineKind::Expense, None),
    };
    let (id, at, amount) = (one.id, one.at, one.amount);
    Line { id, at, amount, kind, pool, reference: one.reference.clone() }
}

pub(super) fn document(one: DocumentSummary) -> Document {
    let DocumentSummary { id, version, title, tags, size, created_at, updated_at } = one;
    Document { id, version, title, tags, size, created_at, updated_at }
}

pub(super) fn notice(one: StoredNotice) -> Notice {
    let StoredNotice { notice, created_at, read_at } = one;
    let NewNotice { id, kind, subject, data, .. } = notice;
    Notice { id, kind, subject, data: json(&data), created_at, read_at }
}
