//! Checks, before any model is called, whether a message goes to a person or to a
//! specialist.

use std::borrow::Cow;

use ostler_domain::human::escalation::EscalationRequest;
use ostler_domain::human::triggers::{
    FiredTriggers, MessageFacts, Trigger, TriggerRoute, check_message,
};
use ostler_domain::id::AgentId;
use ostler_domain::time::Timestamp;

use crate::conversation::input::Input;
use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::conversation::texts;
use crate::org_view::AgentView;
use crate::records::message::{MessageAuthor, Purpose, ThreadMessage};
use crate::records::session::Session;
use crate::team;

/// What the triggers decide about a message.
pub(crate) enum TriggerOutcome {
    /// The agent answers.
    Continue,
    /// A specialist has the conversation now.
    HandedOver,
    /// A person was asked for, with this reason.
    Escalated(String),
}

/// Checks the triggers once per run, for messages that people wrote.
pub(crate) fn run(
    context: &RunContext<'_>,
    run: &mut Run,
    input: &Input<'_>,
    agent: &AgentView,
) -> TriggerOutcome {
    let handled = input.handled_triggers;
    if !run.finished_turns.is_empty() || (input.messages.is_empty() && handled.is_empty()) {
        return TriggerOutcome::Continue;
    }
    let text = input.text(&run.earlier);
    let fired = fired_triggers(context, agent, &run.session, &run.earlier, &text, handled);
    let Some(fired) = fired else { return TriggerOutcome::Continue };
    let (view, now, reason) = (&context.view, context.now, fired.to_string());
    if let Some(to) = specialist(context, agent, &fired) {
        let (session, pending, from) = (&mut run.session, &mut run.pending, agent.agent.id);
        let handed_over =
            team::hand_over_to_specialist(view, session, pending, from, to, &reason, now);
        if handed_over.is_ok() {
            return TriggerOutcome::HandedOver;
        }
    }
    let request = EscalationRequest {
        reason: reason.clone(),
        urgency: fired.urgency(),
        context_summary: text,
    };
    let triggers = fired.triggers().to_vec();
    let (session, pending) = (&mut run.session, &mut run.pending);
    if team::begin_escalation(view, session, pending, request, triggers, now) {
        run.send_text(context, texts::HOLD, Purpose::Hold);
    }
    TriggerOutcome::Escalated(reason)
}

/// Returns the triggers that a message fires. Messages before the end of the last
/// escalation do not count.
fn fired_triggers(
    context: &RunContext<'_>,
    agent: &AgentView,
    session: &Session,
    earlier: &[ThreadMessage],
    message: &str,
    handled: &[Trigger],
) -> Option<FiredTriggers> {
    let since = session.last_escalation_end.unwrap_or(Timestamp::from_millis(i64::MIN));
    let triggers = &context.view.settings.triggers;
    let mut recent: Vec<Cow<'_, str>> = earlier
        .iter()
        .rev()
        .filter(|one| matches!(one.author, MessageAuthor::Customer { .. }) && one.at > since)
        .map(ThreadMessage::text)
        .take(triggers.policy.negative_window)
        .collect();
    recent.reverse();
    let earlier: Vec<&str> = recent.iter().map(Cow::as_ref).collect();
    let facts = MessageFacts {
        message,
        earlier_messages: &earlier,
        blocked_topics: &agent.agent.blocked_topics,
        soul_triggers: &agent.soul.escalation_triggers,
        failed_tools: session.errors.disabled_since(since),
        handled_triggers: handled,
    };
    check_message(&facts, triggers)
}

/// Returns the specialist for the most urgent trigger, if the org has one who can answer.
fn specialist(
    context: &RunContext<'_>,
    agent: &AgentView,
    fired: &FiredTriggers,
) -> Option<AgentId> {
    let team = context.view.settings.team.as_ref()?;
    let can_answer = |id| context.view.agent(id).is_some_and(|one| one.agent.receives_messages());
    match fired.triggers().first()?.route(agent.agent.id, &team.specialists, can_answer) {
        TriggerRoute::Specialist(id) => Some(id),
        TriggerRoute::Human => None,
    }
}
