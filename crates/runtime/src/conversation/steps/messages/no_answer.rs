//! Runs that end without an answer: the customer is told, and people are asked to answer.

use ostler_domain::agent::limits::RateLimitDecision;
use ostler_domain::human::escalation::{EscalationRequest, Urgency};
use ostler_domain::notice::{NoticeKind, NoticeRecipient, exhaustion_recipients};
use serde_json::json;

use super::turn_text::work_and_text;
use crate::assembly::credits::FundsShortage;
use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::conversation::steps::rate_limit::RateCheck;
use crate::conversation::steps::turn::FinishedTurn;
use crate::conversation::texts;
use crate::org_view::AgentView;
use crate::pending_commit::DraftMessage;
use crate::records::message::{MessageAuthor, Purpose};
use crate::records::run::RunOutcome;
use crate::team;

/// Returns the outcome of a run whose agent has reached its limits. The customer is told
/// once a day.
pub(crate) fn rate_limited(
    context: &RunContext<'_>,
    run: &mut Run,
    rate: &RateCheck,
) -> Option<RunOutcome> {
    let RateLimitDecision::Limited { notify_customer, .. } = rate.decision else { return None };
    // A bus request is waiting for a reply each time.
    if (notify_customer && !run.is_silent) || run.reply_route.is_bus() {
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
            // The caller of the API gets an error instead.
            NoticeRecipient::Customer if run.reply_route.is_api() => {}
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
    let (org, slug) = (&context.view.org.slug, &agent.agent.slug);
    tracing::warn!(
        %org,
        agent = %slug,
        session = %run.session.id,
        why,
        "message not answered, the agent has no model in this process; \
         changes of ostler.toml need a restart"
    );
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
    if !run.reply_route.is_api() {
        run.send_text(context, texts::APOLOGY, Purpose::Notice);
    }
    ask_people(context, run, why);
}

/// Escalates a conversation that no agent can answer. The customer has been told.
/// The caller of the API gets an error instead and decides what follows.
fn ask_people(context: &RunContext<'_>, run: &mut Run, why: &str) {
    if run.reply_route.is_api() {
        return;
    }
    let request = EscalationRequest {
        reason: format!("no answer: {why}"),
        urgency: Urgency::Normal,
        context_summary: "The agents could not answer the last message.".into(),
    };
    let (session, pending) = (&mut run.session, &mut run.pending);
    let _wait =
        team::begin_escalation(&context.view, session, pending, request, Vec::new(), context.now);
}

/// Ends a failed turn. The thread keeps what the agent did, so that the next turn knows.
pub(super) fn fail_turn(
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
