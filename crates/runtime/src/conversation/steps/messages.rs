//! Step 10: turns the outcome of a turn into messages, handovers and escalations.

use ostler_domain::agent::limits::RateLimitDecision;
use ostler_domain::gate::approval::{Approval, ApprovalStatus};
use ostler_domain::gate::{DenyReason, GateDecision};
use ostler_domain::hierarchy::chat::testing_greeting;
use ostler_domain::human::escalation::{
    EscalationEffect, EscalationEvent, EscalationRequest, Urgency,
};
use ostler_domain::human::triggers::{ReplyFacts, Trigger, check_reply, is_uncertain};
use ostler_domain::id::ApprovalId;
use ostler_domain::message::MessagePart;
use ostler_domain::notice::{NoticeKind, NoticeRecipient, exhaustion_recipients};
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::team::handoff::transition_message;
use ostler_domain::tool::ToolName;
use ostler_engine::history::{CallResult, Item};
use ostler_engine::turn::{GateRecord, Question, QuestionKind, TurnEnd};
use ostler_store::StoredApproval;
use serde_json::json;

use crate::assembly::credits::FundsShortage;
use crate::conversation::run::Run;
use crate::conversation::run_context::{ReceivedMessage, RunContext};
use crate::conversation::steps::rate_limit::RateCheck;
use crate::conversation::steps::reply;
use crate::conversation::steps::turn::FinishedTurn;
use crate::conversation::texts;
use crate::ids::fresh;
use crate::org_view::AgentView;
use crate::pending_commit::DraftMessage;
use crate::records::message::{MessageAuthor, Purpose};
use crate::records::run::RunOutcome;
use crate::team::{self, TeamEffect};

/// The maximum number of bytes of a tool result that the thread keeps.
const MAX_RESULT_BYTES: usize = 4096;

/// What follows a turn.
pub(crate) enum NextAction {
    /// Another agent has the conversation.
    NextAgent,
    Finish(RunOutcome),
}

/// Adds the received messages to the thread.
pub(crate) fn receive(context: &RunContext<'_>, run: &mut Run, messages: &[ReceivedMessage]) {
    if run.session.entry == ConversationEntry::Testing && run.session.messages == 0 {
        greet_tester(context, run);
    }
    for ReceivedMessage { received_at, message, .. } in messages {
        if run.session.name.is_none() {
            run.session.name.clone_from(&message.from.name);
        }
        let author = MessageAuthor::Customer { name: message.from.name.clone() };
        let (parts, work, purpose) = (message.parts.clone(), Vec::new(), Purpose::Talk);
        let draft = DraftMessage { author, parts, work, purpose };
        run.pending.add_message(&mut run.session, draft, Some(context.run_id), *received_at);
        for notice in &message.notices {
            run.send_text(context, notice, Purpose::Notice);
        }
    }
}

/// Greets the tester before the first message of a test session.
fn greet_tester(context: &RunContext<'_>, run: &mut Run) {
    let agent = run.session.active_agent().and_then(|id| context.view.agent(id));
    let agent = agent.map_or("nobody yet", |one| one.agent.display_name.as_str());
    let greeting = testing_greeting(&context.view.org.name, agent);
    run.send_text(context, &greeting, Purpose::Notice);
}

/// Handles a message while a person has the conversation: it is forwarded to them, or the
/// customer is asked to wait if nobody has come yet.
pub(crate) fn forward_to_human(context: &RunContext<'_>, run: &mut Run) -> RunOutcome {
    let config = context.view.settings.team.clone().unwrap_or_default();
    let effects = match &mut run.session.escalation {
        Some(escalation) => escalation
            .state
            .apply(&EscalationEvent::CustomerMessage, &config, context.now)
            .unwrap_or_default(),
        None => Vec::new(),
    };
    let session = run.session.id;
    run.pending.add_event("customer_waits", json!({"session": session}));
    if effects.contains(&EscalationEffect::ForwardToHuman) {
        reply::forward_to_team(context, run);
        return RunOutcome::WithHuman;
    }
    if effects.contains(&EscalationEffect::TellCustomerToWait) {
        run.send_text(context, texts::STILL_WAITING, Purpose::Hold);
    }
    RunOutcome::WaitingForHuman
}

/// Returns the outcome of a run whose agent has reached its limits. The customer is told
/// once a day.
pub(crate) fn rate_limited(
    context: &RunContext<'_>,
    run: &mut Run,
    rate: &RateCheck,
) -> Option<RunOutcome> {
    let RateLimitDecision::Limited { notify_customer, .. } = rate.decision else { return None };
    // A bus request is waiting for a reply each time.
    if notify_customer || run.reply_route.is_bus() {
        run.session.limit_notice_day = Some(rate.today.day);
        run.send_text(context, texts::RATE_LIMITED, Purpose::Notice);
    }
    Some(RunOutcome::RateLimited)
}

/// Ends a run that cannot be paid for, notifies everyone concerned, and escalates the
/// conversation, because the customer is told that people answer.
pub(crate) fn credits_exhausted(
    context: &RunContext<'_>,
    run: &mut Run,
    shortage: FundsShortage,
) -> RunOutcome {
    let kind = match shortage {
        FundsShortage::Org | FundsShortage::Team => NoticeKind::CreditsExhausted,
        FundsShortage::ParentCap => NoticeKind::ChildCap,
        FundsShortage::Session => NoticeKind::SessionCap,
    };
    let agents = run.session.team.as_ref().map(|team| team.participants().to_vec());
    let agents = agents.unwrap_or_else(|| run.session.active_agent().into_iter().collect());
    let subject = match shortage {
        FundsShortage::Session | FundsShortage::Team => run.session.id.to_string(),
        FundsShortage::Org | FundsShortage::ParentCap => context.org().to_string(),
    };
    for recipient in exhaustion_recipients(agents) {
        let data = json!({"session": run.session.id, "organization": context.org()});
        match recipient {
            NoticeRecipient::Customer => run.send_text(context, texts::NO_CREDITS, Purpose::Notice),
            other => run.pending.add_notice(kind, other, subject.clone(), data),
        }
    }
    ask_people(context, run, "the credits are used up");
    RunOutcome::CreditsExhausted
}

/// Ends a run whose agent has no model here.
pub(crate) fn no_model(context: &RunContext<'_>, run: &mut Run, agent: &AgentView) -> RunOutcome {
    let why = match context.view.settings.models_of(&agent.agent) {
        [] => "no model is configured for this agent".to_owned(),
        models => format!("there is no model {} here", models.join(", ")),
    };
    fail(context, run, agent, why)
}

/// Ends a run that cannot be answered by its agent.
fn fail(context: &RunContext<'_>, run: &mut Run, agent: &AgentView, why: String) -> RunOutcome {
    apologize(context, run, &why);
    let data = json!({"session": run.session.id, "agent": agent.agent.id, "why": why});
    let subject = agent.agent.id.to_string();
    run.pending.add_notice(NoticeKind::ModelsFailed, NoticeRecipient::Owner, subject, data);
    RunOutcome::Failed { why }
}

/// Tells the customer that a colleague will look, and escalates the conversation so that one
/// does.
pub(crate) fn apologize(context: &RunContext<'_>, run: &mut Run, why: &str) {
    run.send_text(context, texts::APOLOGY, Purpose::Notice);
    ask_people(context, run, why);
}

/// Escalates a conversation that no agent can answer. The customer has been told.
fn ask_people(context: &RunContext<'_>, run: &mut Run, why: &str) {
    let request = EscalationRequest {
        reason: format!("no answer: {why}"),
        urgency: Urgency::Normal,
        context_summary: "The agents could not answer the last message.".into(),
    };
    let (session, pending) = (&mut run.session, &mut run.pending);
    let _wait =
        team::begin_escalation(&context.view, session, pending, request, Vec::new(), context.now);
}

/// Applies a finished turn to the run: its messages, notices, approvals and effects.
pub(crate) fn run(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    mut finished: FinishedTurn,
) -> NextAction {
    finished.charge_session(&mut run.session);
    run.session.unknown_outcomes =
        run.session.unknown_outcomes.saturating_add(finished.unknown_outcomes);
    notify_unknown_outcomes(context, run, agent, &finished);
    notify_disabled_tools(run, agent, &finished);
    notify_unpaid_tools(run, agent, &finished);
    request_approvals(context, run, agent, &mut finished);
    run.session.resolution = None;
    run.pending.charges.push(finished.charges());
    let team_effects = TeamEffect::select(&finished.effects);
    if !finished.effects.is_empty() {
        run.pending.changing_agents.insert(agent.agent.id);
    }
    run.pending.effects.extend(finished.effects.iter().cloned());
    let end = finished.record.end.clone();
    let next = match team_effects.into_iter().next() {
        Some(effect @ TeamEffect::TagIn { .. }) => {
            hand_over(context, run, agent, &finished, effect)
        }
        Some(TeamEffect::Escalate(request)) => {
            Some(NextAction::Finish(escalate(context, run, agent, &finished, request)))
        }
        None => None,
    };
    let next =
        next.unwrap_or_else(|| NextAction::Finish(conclude(context, run, agent, &finished, end)));
    run.finished_turns.push(finished);
    next
}

/// Notifies the owner of each tool that the turn's failures disabled.
fn notify_disabled_tools(run: &mut Run, agent: &AgentView, finished: &FinishedTurn) {
    let before = run.session.errors.disabled().clone();
    run.session.errors = finished.errors.clone();
    let new: Vec<ToolName> = run
        .session
        .errors
        .disabled()
        .keys()
        .filter(|tool| !before.contains_key(*tool))
        .cloned()
        .collect();
    for tool in new {
        let session = run.session.id;
        let data = json!({"tool": tool, "session": session, "agent": agent.agent.id});
        run.pending.add_event("tool_disabled", data.clone());
        run.pending.add_notice(
            NoticeKind::ToolDisabled,
            NoticeRecipient::Owner,
            tool.as_str(),
            data,
        );
    }
}

/// Notifies the owner of calls that may or may not have taken effect.
fn notify_unknown_outcomes(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &FinishedTurn,
) {
    if finished.unknown_outcomes == 0 {
        return;
    }
    let data = json!({"session": run.session.id, "agent": agent.agent.id,
        "calls": finished.unknown_outcomes});
    let (kind, subject) = (NoticeKind::UnknownOutcome, context.run_id.to_string());
    run.pending.add_notice(kind, NoticeRecipient::Owner, subject, data);
}

/// Notifies the owner of each tool that was too expensive.
fn notify_unpaid_tools(run: &mut Run, agent: &AgentView, finished: &FinishedTurn) {
    for GateRecord { tool, verdict, .. } in &finished.record.decisions {
        let GateDecision::Deny(DenyReason::OverBudget(short)) = verdict else { continue };
        let data = json!({"tool": tool, "session": run.session.id, "agent": agent.agent.id,
            "costs": short.wanted, "left": short.remaining, "limit": short.limit});
        run.pending.add_notice(NoticeKind::ToolUnpaid, NoticeRecipient::Owner, tool.as_str(), data);
    }
}

/// Creates an approval for each call that waits for a person.
fn request_approvals(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &mut FinishedTurn,
) {
    for Question { call, kind } in &finished.deferred_questions {
        let QuestionKind::Approval { why, risk, arguments } = kind else { continue };
        let Ok(tool) = call.name.parse::<ToolName>() else { continue };
        let id = fresh(ApprovalId::from_u128);
        let approval = Approval {
            id,
            session: run.session.id,
            agent: agent.agent.id,
            tool,
            risk: *risk,
            ask_reason: *why,
            arguments: *arguments,
            requested_at: context.now,
            expires_at: context.now + context.view.settings.approvals.expire_after,
            status: ApprovalStatus::Pending,
        };
        let data = json!({"approval": id, "session": run.session.id, "agent": agent.agent.id,
            "tool": call.name, "arguments": call.arguments, "risk": risk.level(),
            "expires_at": approval.expires_at});
        run.pending.add_event("approval_wanted", data.clone());
        run.pending.add_notice(
            NoticeKind::ApprovalWanted,
            NoticeRecipient::Owner,
            id.to_string(),
            data,
        );
        run.pending.add_approval(StoredApproval { approval, payload: call.arguments.to_string() });
        run.session.pending_approvals += 1;
        finished.record.approvals.push(id);
    }
}

/// Hands the conversation to a colleague. What the agent wrote next to the call is sent
/// first.
fn hand_over(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &FinishedTurn,
    effect: TeamEffect,
) -> Option<NextAction> {
    let available = finished.record.harness.credit_budget.turn.tightest_limit().0;
    let (view, from) = (&context.view, agent.agent.id);
    let handed_over = team::hand_over(
        view,
        &mut run.session,
        &mut run.pending,
        from,
        effect,
        available,
        context.now,
    );
    if let Err(refused) = handed_over {
        tracing::warn!(run_id = %context.run_id, error = %refused, "handoff refused after the turn");
        return None;
    }
    if let Some(team) = &mut run.session.team
        && !team.budget.per_agent.contains_key(&from)
    {
        team.budget.record(from, finished.credits());
    }
    send_turn_text(context, run, agent, finished, Purpose::Transition);
    Some(NextAction::NextAgent)
}

/// Escalates the conversation to a person.
fn escalate(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &FinishedTurn,
    request: EscalationRequest,
) -> RunOutcome {
    let reason = request.reason.clone();
    let said = send_turn_text(context, run, agent, finished, Purpose::Hold);
    let view = &context.view;
    if team::begin_escalation(
        view,
        &mut run.session,
        &mut run.pending,
        request,
        Vec::new(),
        context.now,
    ) && !said
    {
        run.send_text(context, texts::HOLD, Purpose::Hold);
    }
    RunOutcome::Escalated { reason }
}

/// Handles the end of a turn without a handover or an escalation.
fn conclude(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &FinishedTurn,
    end: TurnEnd,
) -> RunOutcome {
    match end {
        TurnEnd::Answer { text, .. } => {
            let previous = last_reply(run);
            if !send_turn_text(context, run, agent, finished, Purpose::Talk) {
                run.send_message(
                    context,
                    DraftMessage::agent(agent.agent.id, texts::EMPTY_ANSWER, Purpose::Talk),
                );
            }
            check_reply_triggers(context, run, &text, previous.as_deref())
        }
        // A person took over: the commit withdraws what was written.
        TurnEnd::Aborted => {
            send_turn_text(context, run, agent, finished, Purpose::Talk);
            RunOutcome::WithHuman
        }
        TurnEnd::CreditsExhausted(short) => {
            send_turn_text(context, run, agent, finished, Purpose::Talk);
            credits_exhausted(context, run, FundsShortage::from(short.limit))
        }
        TurnEnd::ModelFailed(error) => fail_turn(context, run, agent, finished, error.to_string()),
        TurnEnd::TimedOut => {
            fail_turn(context, run, agent, finished, "the turn took too long".to_owned())
        }
        TurnEnd::StepLimit { limit } => {
            fail_turn(context, run, agent, finished, format!("the turn took {limit} steps"))
        }
        TurnEnd::Loop { tool } => {
            fail_turn(context, run, agent, finished, format!("`{tool}` was called in a loop"))
        }
    }
}

/// Ends a failed turn. The thread keeps what the agent did, so that the next turn knows.
fn fail_turn(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &FinishedTurn,
    why: String,
) -> RunOutcome {
    let (work, _) = work_and_text(&finished.new_items);
    if !work.is_empty() {
        let author = MessageAuthor::Agent { id: agent.agent.id };
        let draft = DraftMessage { author, parts: Vec::new(), work, purpose: Purpose::Talk };
        let at = context.current_time();
        run.pending.add_message(&mut run.session, draft, Some(context.run_id), at);
    }
    fail(context, run, agent, why)
}

/// Returns the last reply of an agent before this run and since the last escalation ended.
fn last_reply(run: &Run) -> Option<String> {
    let escalation_end = run.session.last_escalation_end;
    let mut replies = run.earlier.iter().rev().filter(|one| {
        matches!(one.author, MessageAuthor::Agent { .. })
            && one.purpose == Purpose::Talk
            && escalation_end.is_none_or(|end| one.at > end)
    });
    replies.next().map(|one| one.text().into_owned())
}

/// Escalates the conversation if the agent's own reply fires a trigger. The reply is
/// delivered in any case.
fn check_reply_triggers(
    context: &RunContext<'_>,
    run: &mut Run,
    reply: &str,
    previous: Option<&str>,
) -> RunOutcome {
    let settings = &context.view.settings.triggers;
    let facts = ReplyFacts { reply, previous, uncertain_before: run.session.uncertain_replies };
    let fired: Option<Trigger> = check_reply(&facts, settings);
    if is_uncertain(reply, settings) {
        run.session.uncertain_replies = run.session.uncertain_replies.saturating_add(1);
    }
    let Some(trigger) = fired else { return RunOutcome::Answered };
    let request = EscalationRequest {
        reason: trigger.to_string(),
        urgency: trigger.urgency(),
        context_summary: reply.to_owned(),
    };
    let reason = request.reason.clone();
    let (view, triggers) = (&context.view, vec![trigger]);
    if team::begin_escalation(
        view,
        &mut run.session,
        &mut run.pending,
        request,
        triggers,
        context.now,
    ) {
        run.send_text(context, texts::HOLD, Purpose::Hold);
        return RunOutcome::Escalated { reason };
    }
    RunOutcome::Answered
}

/// Adds the agent's text and work to the thread, and sends the text. Returns whether there
/// was any text.
fn send_turn_text(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &FinishedTurn,
    purpose: Purpose,
) -> bool {
    let (work, text) = work_and_text(&finished.new_items);
    let text = transition_message(&text).map(str::to_owned);
    if text.is_none() && work.is_empty() {
        return false;
    }
    let author = MessageAuthor::Agent { id: agent.agent.id };
    match &text {
        Some(text) => {
            run.send_message(
                context,
                DraftMessage { author, parts: vec![MessagePart::text(text)], work, purpose },
            );
        }
        None => {
            let draft = DraftMessage { author, parts: Vec::new(), work, purpose };
            let at = context.current_time();
            run.pending.add_message(&mut run.session, draft, Some(context.run_id), at);
        }
    }
    text.is_some()
}

/// Splits the items of a turn into the agent's work and its text for the customer.
fn work_and_text(items: &[Item]) -> (Vec<Item>, String) {
    let mut work = items.to_vec();
    let text = match work.last() {
        Some(Item::Assistant { text, calls, .. }) if calls.is_empty() => {
            let text = text.clone();
            work.pop();
            text
        }
        // It ended with a call: takes the text next to it.
        _ => work
            .iter_mut()
            .rev()
            .find_map(|item| match item {
                Item::Assistant { text, .. } => Some(std::mem::take(text)),
                _ => None,
            })
            .unwrap_or_default(),
    };
    for item in &mut work {
        if let Item::Results { results } = item {
            for CallResult { outcome, .. } in results {
                outcome.effects.clear();
                *outcome = outcome.clone().truncated(MAX_RESULT_BYTES);
            }
        }
    }
    (work, text)
}
