//! Step 10: what is said, and what follows from a turn that is over.

use ostler_domain::agent::limits::RateVerdict;
use ostler_domain::gate::approval::{Approval, ApprovalStatus};
use ostler_domain::gate::{DenyReason, Verdict};
use ostler_domain::hierarchy::chat::testing_greeting;
use ostler_domain::human::escalation::{Effect, EscalationRequest, Event};
use ostler_domain::human::triggers::{AfterReply, Trigger, after_reply, is_uncertain};
use ostler_domain::id::ApprovalId;
use ostler_domain::message::Part;
use ostler_domain::notice::{NoticeKind, Recipient, exhaustion_recipients};
use ostler_domain::session::key::Entry;
use ostler_domain::team::handoff::transition_message;
use ostler_domain::tool::ToolName;
use ostler_engine::history::{CallResult, Item};
use ostler_engine::turn::{End, Judgement, Question, QuestionKind};
use ostler_store::StoredApproval;
use serde_json::json;

use super::case::{Arrived, Case};
use super::draft::Saying;
use super::run::Run;
use super::step_02_rate::Rate;
use super::step_07b_credits::Empty;
use super::step_08_turn::Finished;
use super::{step_11_stats, texts};
use crate::ids::fresh;
use crate::org_view::AgentView;
use crate::talk::message::{MessageAuthor, Purpose};
use crate::talk::run::RunOutcome;
use crate::team::{self, TeamEffect};

/// The most bytes of a tool's answer that are kept in the thread.
const KEPT: usize = 4096;

/// What comes after a turn.
pub(super) enum Next {
    /// Another agent answers.
    Another,
    /// The run is over.
    Done(RunOutcome),
}

/// Takes what was written into the thread.
pub(super) fn receive(case: &Case<'_>, run: &mut Run, arrived: &[Arrived]) {
    if run.session.entry == Entry::Testing && run.session.messages == 0 {
        greet_tester(case, run);
    }
    for Arrived { at, wrote, .. } in arrived {
        if run.session.name.is_none() {
            run.session.name.clone_from(&wrote.from.name);
        }
        let author = MessageAuthor::Customer { name: wrote.from.name.clone() };
        let (parts, work, purpose) = (wrote.parts.clone(), Vec::new(), Purpose::Talk);
        let saying = Saying { author, parts, work, purpose };
        run.draft.keep(&mut run.session, saying, Some(case.run), *at);
        for notice in &wrote.notices {
            run.tell(case, notice, Purpose::Notice);
        }
    }
}

/// Says that this is a test, before anything else is said.
fn greet_tester(case: &Case<'_>, run: &mut Run) {
    let agent = run.session.active_agent().and_then(|id| case.view.agent(id));
    let agent = agent.map_or("nobody yet", |one| one.agent.display_name.as_str());
    let greeting = testing_greeting(&case.view.org.name, agent);
    run.tell(case, &greeting, Purpose::Notice);
}

/// A person answers, or is asked to: the message is handed to them, or the
/// customer is asked to wait.
pub(super) fn with_human(case: &Case<'_>, run: &mut Run) -> RunOutcome {
    let config = case.view.settings.team.clone().unwrap_or_default();
    let effects = match &mut run.session.escalation {
        Some(escalation) => {
            escalation.state.on(&Event::CustomerMessage, &config, case.now).unwrap_or_default()
        }
        None => Vec::new(),
    };
    let session = run.session.id;
    run.draft.happened("customer_waits", json!({"session": session}));
    if effects.contains(&Effect::ForwardToHuman) {
        super::step_13_reply::forward(case, run);
        return RunOutcome::WithHuman;
    }
    if effects.contains(&Effect::TellCustomerToWait) {
        run.tell(case, texts::STILL_WAITING, Purpose::Hold);
    }
    RunOutcome::WaitingForHuman
}

/// Whether the agent has answered enough today; the customer is told once.
pub(super) fn rate_limited(case: &Case<'_>, run: &mut Run, rate: &Rate) -> Option<RunOutcome> {
    let RateVerdict::Limited { tell_customer, .. } = rate.verdict else { return None };
    // Whoever asks on the bus waits for an answer each time.
    if tell_customer || run.way.is_on_the_bus() {
        run.session.told_limit_on = Some(rate.today.day);
        run.tell(case, texts::RATE_LIMITED, Purpose::Notice);
    }
    Some(RunOutcome::RateLimited)
}

/// There is nothing to pay with.
pub(super) fn exhausted(case: &Case<'_>, run: &mut Run, empty: &Empty) -> RunOutcome {
    let kind = match empty {
        Empty::Org | Empty::Team => NoticeKind::CreditsExhausted,
        Empty::ParentCap => NoticeKind::ChildCap,
        Empty::Session => NoticeKind::SessionCap,
    };
    let agents = run.session.team.as_ref().map(|team| team.participants().to_vec());
    let agents = agents.unwrap_or_else(|| run.session.active_agent().into_iter().collect());
    let subject = match empty {
        Empty::Session | Empty::Team => run.session.id.to_string(),
        Empty::Org | Empty::ParentCap => case.org().to_string(),
    };
    for recipient in exhaustion_recipients(agents) {
        let data = json!({"session": run.session.id, "organization": case.org()});
        match recipient {
            Recipient::Customer => run.tell(case, texts::NO_CREDITS, Purpose::Notice),
            other => run.draft.notify(kind, other, subject.clone(), data),
        }
    }
    RunOutcome::CreditsExhausted
}

/// The agent's models are not there.
pub(super) fn no_model(case: &Case<'_>, run: &mut Run, agent: &AgentView) -> RunOutcome {
    let why = format!("there is no model {} here", agent.agent.models.join(", "));
    failed(case, run, agent, why)
}

fn failed(case: &Case<'_>, run: &mut Run, agent: &AgentView, why: String) -> RunOutcome {
    run.tell(case, texts::APOLOGY, Purpose::Notice);
    let data = json!({"session": run.session.id, "agent": agent.agent.id, "why": why});
    let subject = agent.agent.id.to_string();
    run.draft.notify(NoticeKind::ModelsFailed, Recipient::Owner, subject, data);
    RunOutcome::Failed { why }
}

/// What follows from a turn that is over.
pub(super) fn after_turn(
    case: &Case<'_>,
    run: &mut Run,
    agent: &AgentView,
    mut finished: Finished,
) -> Next {
    finished.count_against(&mut run.session);
    step_11_stats::count(run, &finished);
    run.session.unknown_outcomes = run.session.unknown_outcomes.saturating_add(finished.unknown);
    disabled(run, agent, &finished);
    unpaid(run, agent, &finished);
    ask_people(case, run, agent, &mut finished);
    run.session.resolution = None;
    run.draft.settle.push(finished.settle());
    let wants = TeamEffect::among(&finished.effects);
    run.draft.effects.extend(finished.effects.iter().cloned());
    let end = finished.record.end.clone();
    let next = match wants.into_iter().next() {
        Some(effect @ TeamEffect::TagIn { .. }) => handed_over(case, run, agent, &finished, effect),
        Some(TeamEffect::Escalate(request)) => {
            Some(Next::Done(escalated(case, run, agent, &finished, request)))
        }
        None => None,
    };
    let next = next.unwrap_or_else(|| Next::Done(ended(case, run, agent, &finished, end)));
    run.done.push(finished);
    next
}

/// The owner hears of each tool that was switched off.
fn disabled(run: &mut Run, agent: &AgentView, finished: &Finished) {
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
        run.draft.happened("tool_disabled", data.clone());
        run.draft.notify(NoticeKind::ToolDisabled, Recipient::Owner, tool.as_str(), data);
    }
}

/// The owner hears of each tool that could not be paid for.
fn unpaid(run: &mut Run, agent: &AgentView, finished: &Finished) {
    for Judgement { tool, verdict, .. } in &finished.record.decisions {
        let Verdict::Deny(DenyReason::OverBudget(short)) = verdict else { continue };
        let data = json!({"tool": tool, "session": run.session.id, "agent": agent.agent.id,
            "costs": short.wanted, "left": short.remaining, "limit": short.limit});
        run.draft.notify(NoticeKind::ToolUnpaid, Recipient::Owner, tool.as_str(), data);
    }
}

/// Calls that wait for a person become approvals.
fn ask_people(case: &Case<'_>, run: &mut Run, agent: &AgentView, finished: &mut Finished) {
    for Question { call, kind } in &finished.put_off {
        let QuestionKind::Approval { why, risk, arguments } = kind else { continue };
        let Ok(tool) = call.name.parse::<ToolName>() else { continue };
        let id = fresh(ApprovalId::from_u128);
        let approval = Approval {
            id,
            session: run.session.id,
            agent: agent.agent.id,
            tool,
            risk: *risk,
            why: *why,
            arguments: *arguments,
            requested_at: case.now,
            expires_at: case.now + case.view.settings.approvals.expire_after,
            status: ApprovalStatus::Pending,
        };
        let data = json!({"approval": id, "session": run.session.id, "agent": agent.agent.id,
            "tool": call.name, "arguments": call.arguments, "risk": risk.level()});
        run.draft.happened("approval_wanted", data.clone());
        run.draft.notify(NoticeKind::ApprovalWanted, Recipient::Owner, id.to_string(), data);
        run.draft.ask(StoredApproval { approval, payload: call.arguments.to_string() });
        run.session.pending_approvals += 1;
        finished.record.approvals.push(id);
    }
}

/// A colleague answers; what was said beside the call goes out first.
fn handed_over(
    case: &Case<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &Finished,
    effect: TeamEffect,
) -> Option<Next> {
    let available = finished.record.harness.credit_budget.turn.tightest().0;
    let (view, from) = (&case.view, agent.agent.id);
    let handed =
        team::hand_over(view, &mut run.session, &mut run.draft, from, effect, available, case.now);
    if let Err(refused) = handed {
        tracing::warn!(%refused, run = %case.run, "a handoff that was allowed is refused");
        return None;
    }
    if let Some(team) = &mut run.session.team
        && !team.budget.per_agent.contains_key(&from)
    {
        team.budget.record(from, finished.credits());
    }
    say_of(case, run, agent, finished, Purpose::Transition);
    Some(Next::Another)
}

/// A person answers from now on.
fn escalated(
    case: &Case<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &Finished,
    request: EscalationRequest,
) -> RunOutcome {
    let reason = request.reason.clone();
    let said = say_of(case, run, agent, finished, Purpose::Hold);
    let view = &case.view;
    if team::begin(view, &mut run.session, &mut run.draft, request, Vec::new(), case.now) && !said {
        run.tell(case, texts::HOLD, Purpose::Hold);
    }
    RunOutcome::Escalated { reason }
}

/// The turn ended by itself.
fn ended(
    case: &Case<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &Finished,
    end: End,
) -> RunOutcome {
    match end {
        End::Answer { text, .. } => {
            let previous = last_reply(run);
            if !say_of(case, run, agent, finished, Purpose::Talk) {
                run.say(case, Saying::agent(agent.agent.id, texts::NOTHING_SAID, Purpose::Talk));
            }
            replied(case, run, &text, previous.as_deref())
        }
        // Somebody took over: what was said is withdrawn with the commit.
        End::Aborted => {
            say_of(case, run, agent, finished, Purpose::Talk);
            RunOutcome::WithHuman
        }
        End::CreditsExhausted(short) => {
            say_of(case, run, agent, finished, Purpose::Talk);
            exhausted(case, run, &Empty::from(short.limit))
        }
        End::ModelFailed(error) => broke_off(case, run, agent, finished, error.to_string()),
        End::TimedOut => broke_off(case, run, agent, finished, "the turn took too long".to_owned()),
        End::StepLimit { most } => {
            broke_off(case, run, agent, finished, format!("the turn took {most} steps"))
        }
        End::Loop { tool } => {
            broke_off(case, run, agent, finished, format!("`{tool}` was called in a loop"))
        }
    }
}

/// The turn failed. What the agent did until then is kept: the next one is to
/// know of it.
fn broke_off(
    case: &Case<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &Finished,
    why: String,
) -> RunOutcome {
    let (work, _) = work_and_text(&finished.said);
    if !work.is_empty() {
        let author = MessageAuthor::Agent { id: agent.agent.id };
        let saying = Saying { author, parts: Vec::new(), work, purpose: Purpose::Talk };
        run.draft.keep(&mut run.session, saying, Some(case.run), case.now);
    }
    failed(case, run, agent, why)
}

/// What the agent last said before this run, since the last escalation ended.
fn last_reply(run: &Run) -> Option<String> {
    let calm_since = run.session.calm_since;
    let mut replies = run.earlier.iter().rev().filter(|one| {
        matches!(one.author, MessageAuthor::Agent { .. })
            && one.purpose == Purpose::Talk
            && calm_since.is_none_or(|calm| one.at > calm)
    });
    replies.next().map(|one| one.text().into_owned())
}

/// Whether the agent's own reply sends the conversation to a person. The reply
/// is delivered in any case.
fn replied(case: &Case<'_>, run: &mut Run, reply: &str, previous: Option<&str>) -> RunOutcome {
    let settings = &case.view.settings.triggers;
    let facts = AfterReply { reply, previous, uncertain_before: run.session.uncertain };
    let fired: Option<Trigger> = after_reply(&facts, settings);
    if is_uncertain(reply, settings) {
        run.session.uncertain = run.session.uncertain.saturating_add(1);
    }
    let Some(trigger) = fired else { return RunOutcome::Answered };
    let request = EscalationRequest {
        reason: trigger.to_string(),
        urgency: trigger.urgency(),
        context_summary: reply.to_owned(),
    };
    let reason = request.reason.clone();
    let (view, triggers) = (&case.view, vec![trigger]);
    if team::begin(view, &mut run.session, &mut run.draft, request, triggers, case.now) {
        run.tell(case, texts::HOLD, Purpose::Hold);
        return RunOutcome::Escalated { reason };
    }
    RunOutcome::Answered
}

/// Says what an agent said in its turn, with its work; says whether there was
/// anything for the customer.
fn say_of(
    case: &Case<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &Finished,
    purpose: Purpose,
) -> bool {
    let (work, text) = work_and_text(&finished.said);
    let text = transition_message(&text).map(str::to_owned);
    if text.is_none() && work.is_empty() {
        return false;
    }
    let author = MessageAuthor::Agent { id: agent.agent.id };
    match &text {
        Some(text) => {
            run.say(case, Saying { author, parts: vec![Part::text(text)], work, purpose });
        }
        None => {
            let saying = Saying { author, parts: Vec::new(), work, purpose };
            run.draft.keep(&mut run.session, saying, Some(case.run), case.now);
        }
    }
    text.is_some()
}

/// What an agent did, and what it said to the customer in the end.
fn work_and_text(said: &[Item]) -> (Vec<Item>, String) {
    let mut work = said.to_vec();
    let text = match work.last() {
        Some(Item::Assistant { text, calls, .. }) if calls.is_empty() => {
            let text = text.clone();
            work.pop();
            text
        }
        // It ended with a call: what was said beside that.
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
                *outcome = outcome.clone().capped(KEPT);
            }
        }
    }
    (work, text)
}
