//! Step 10: turns the outcome of a turn into messages, handovers and escalations.

mod no_answer;
mod turn_notices;
mod turn_text;

use ostler_domain::event::{CustomerWaits, OrgEvent};
use ostler_domain::hierarchy::chat::testing_greeting;
use ostler_domain::human::escalation::{EscalationEffect, EscalationEvent, EscalationRequest};
use ostler_domain::human::triggers::{ReplyFacts, Trigger, check_reply, is_uncertain};
use ostler_domain::session::key::ConversationEntry;
use ostler_engine::turn::TurnEnd;

pub(crate) use no_answer::{apologize, credits_exhausted, no_model, rate_limited};

use crate::agent_changes;
use crate::assembly::credits::FundsShortage;
use crate::conversation::run::Run;
use crate::conversation::run_context::{ReceivedMessage, RunContext};
use crate::conversation::steps::reply;
use crate::conversation::steps::turn::FinishedTurn;
use crate::conversation::texts;
use crate::org_view::AgentView;
use crate::outreach;
use crate::pending_commit::DraftMessage;
use crate::records::message::{MessageAuthor, Purpose};
use crate::records::run::RunOutcome;
use crate::team::{self, TeamEffect};
use no_answer::fail_turn;
use turn_notices::{
    notify_disabled_tools, notify_unknown_outcomes, notify_unpaid_tools, request_approvals,
};
use turn_text::send_turn_text;

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
    run.pending.add_event(&OrgEvent::CustomerWaits(CustomerWaits { session }));
    if effects.contains(&EscalationEffect::ForwardToHuman) {
        reply::forward_to_team(context, run);
        return RunOutcome::WithHuman;
    }
    if effects.contains(&EscalationEffect::TellCustomerToWait) {
        run.send_text(context, texts::STILL_WAITING, Purpose::Hold);
    }
    RunOutcome::WaitingForHuman
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
    run.pending.charges.push(finished.charges(run.session.entry));
    let team_effects = TeamEffect::select(&finished.effects);
    let effects = finished.effects.iter().map(|effect| (agent.agent.id, effect.clone()));
    run.pending.effects.extend(effects);
    let (view, by) = (&context.view, agent.agent.id);
    agent_changes::store_effects(view, &mut run.pending, by, &finished.effects);
    outreach::store_effects(&mut run.pending, by, &finished.effects);
    let end = finished.record.end.clone();
    let next = match team_effects.into_iter().next().filter(|_| !run.is_silent) {
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

/// Hands the conversation to a colleague. What the agent wrote next to the call is sent
/// first.
fn hand_over(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &FinishedTurn,
    effect: TeamEffect,
) -> Option<NextAction> {
    // What is left for the colleague after this turn.
    let limit = finished.record.harness.credit_budget.turn.tightest_limit().0;
    let available = limit.saturating_sub(finished.credits());
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
        if !send_turn_text(context, run, agent, finished, Purpose::Talk) {
            apologize(context, run, &refused.to_string());
        }
        return Some(NextAction::Finish(RunOutcome::Failed { why: refused.to_string() }));
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
    if run.is_silent {
        send_turn_text(context, run, agent, finished, Purpose::Talk);
        return RunOutcome::WithHuman;
    }
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
        TurnEnd::Aborted if context.services.running_turns.is_abandoned(context.run_id) => {
            send_turn_text(context, run, agent, finished, Purpose::Talk);
            RunOutcome::Failed { why: "the caller went away".into() }
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
