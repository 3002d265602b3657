//! A run: the steps in order.

use std::sync::Arc;

use ostler_domain::channel::Channel;
use ostler_domain::gate::approval::{ApprovalError, ArgumentsHash};
use ostler_domain::human::escalation::EscalationRequest;
use ostler_domain::human::triggers::Trigger;
use ostler_domain::id::{AgentId, ApprovalId, InboxId, SessionId, ThreadId};
use ostler_domain::message::Part;
use ostler_domain::notice::NoticeKind;
use ostler_domain::session::key::Entry;
use ostler_domain::session::status::SessionStatus;
use ostler_domain::team::TeamSession;
use ostler_engine::history::{Content, Item, ToolCall};
use ostler_engine::tokens;
use ostler_engine::turn::{Known, Models, NewTurn, Turn};
use ostler_store::{AfterTurn, StoreError};
use serde_json::json;

use super::case::{Arrived, Case};
use super::draft::{Draft, Saying};
use super::housekeeping::recount;
use super::saved::{Open, Saved};
use super::step_01_agent as agent_step;
use super::step_02_rate::{self as rate_step, Day};
use super::step_03_session::{self as session_step, Found, Old};
use super::step_04_context as context_step;
use super::step_05_prompt as prompt_step;
use super::step_06_history as history_step;
use super::step_07_tools as tools_step;
use super::step_07b_credits as credits_step;
use super::step_08_turn::{self as turn_step, Finished, Setting};
use super::step_10_messages::{self as messages_step, Next};
use super::step_12_record as record_step;
use super::step_13_reply::Way;
use super::trace::Trace;
use super::worker::RunError;
use super::{interview, step_11_stats, summary, texts, triggers};
use crate::ids::fresh;
use crate::org_view::AgentView;
use crate::talk::asked;
use crate::talk::message::{MessageAuthor, Purpose, ThreadMessage};
use crate::talk::run::RunOutcome;
use crate::talk::session::{Interview, Opening, Previous, Session};
use crate::talk::snapshot::Snapshot;
use crate::team;

/// The most turns of one run: agents may hand over, but not for ever.
const MOST_TURNS: usize = 4;

/// What a run answers.
pub(super) struct Input<'a> {
    /// The rows that are answered by it.
    pub(super) rows: Vec<InboxId>,
    /// What somebody wrote.
    pub(super) arrived: &'a [Arrived],
    /// What the agent is told instead.
    pub(super) note: Option<String>,
    /// A call that a person has approved.
    pub(super) approved: Option<Approved>,
    /// Whose answer it is, if it is not simply the active agent's: whoever asked
    /// for a call makes it.
    pub(super) agent: Option<AgentId>,
    /// Triggers that have been dealt with.
    pub(super) settled: &'a [Trigger],
    /// What becomes of the conversation afterwards.
    pub(super) then: AfterTurn,
}

/// A call that a person has approved.
pub(super) struct Approved {
    /// The approval, which is used up just before the call is made.
    pub(super) id: ApprovalId,
    /// The arguments it is bound to.
    pub(super) arguments: ArgumentsHash,
    /// The call.
    pub(super) call: ToolCall,
}

impl<'a> Input<'a> {
    /// What somebody wrote.
    pub(super) fn wrote(arrived: &'a [Arrived], then: AfterTurn) -> Self {
        let rows = arrived.iter().map(|one| one.id).collect();
        Self { rows, arrived, note: None, approved: None, agent: None, settled: &[], then }
    }
}

/// A run as it comes together.
pub(super) struct Run {
    pub(super) trace: Trace,
    pub(super) draft: Draft,
    pub(super) session: Session,
    /// What was said before, oldest first.
    pub(super) earlier: Vec<ThreadMessage>,
    /// The turns that are over.
    pub(super) done: Vec<Finished>,
    /// Small turns beside those.
    pub(super) beside: Vec<Finished>,
    /// How replies go out.
    pub(super) way: Way,
}

impl Run {
    /// Says something in the conversation, and sends it.
    pub(super) fn say(&mut self, case: &Case<'_>, saying: Saying) {
        let author = match saying.author {
            MessageAuthor::Agent { .. } => ostler_store::Author::Agent,
            MessageAuthor::Human { .. } => ostler_store::Author::Human,
            MessageAuthor::Customer { .. } | MessageAuthor::System => ostler_store::Author::System,
        };
        // Whoever asked on the bus gets one answer, from the agent that has it.
        let only_kept = saying.purpose == Purpose::Transition && self.way.is_on_the_bus();
        let parts = saying.parts.clone();
        let message = self.draft.keep(&mut self.session, saying, Some(case.run), case.now);
        if !only_kept {
            self.way.send(&mut self.draft, author, parts, Some(message));
        }
    }

    /// Takes a small turn up into the record, and what it cost.
    pub(super) fn beside(&mut self, turn: Finished) {
        step_11_stats::count_cost(self, &turn);
        self.draft.settle.push(turn.settle());
        self.beside.push(turn);
    }

    /// A session has ended, now or earlier, and was summed up by this turn.
    pub(super) fn ended(&mut self, session: &Session, summing_up: Option<Finished>, now: bool) {
        if let Some(turn) = summing_up {
            self.beside(turn);
        }
        if let (true, SessionStatus::Closed(reason)) = (now, session.status) {
            let closed = json!({"session": session.id, "reason": reason});
            self.draft.happened("session_closed", closed);
        }
    }

    /// Says something on the runtime's own account.
    pub(super) fn tell(&mut self, case: &Case<'_>, text: &str, purpose: Purpose) {
        self.say(case, Saying::system(text, purpose));
    }
}

/// Answers, and commits.
pub(super) async fn answer(
    case: &Case<'_>,
    input: Input<'_>,
    saved: Option<(Saved, Known)>,
) -> Result<(), RunError> {
    let mut trace = Trace::new();
    let began = Trace::begin("3", "session");
    let Found { current, old } = session_step::find(case)?;
    let mut earlier = history_step::messages(&case.beginning.messages)?;
    let mut session = match current {
        Some(mut session) => {
            recount(case, &mut session).await?;
            session
        }
        None => open(case, &input),
    };
    if let Some((saved, _)) = &saved {
        // A session that was new when the run was stored is the same one now.
        (session.id, session.thread) = (saved.session.id, saved.session.thread);
    }
    session.clock.touch(case.now);
    trace.end(began);

    if let Some(asked) = input.arrived.last().and_then(|one| one.wrote.asked.as_ref()) {
        session.asked = Some(asked.clone());
    }
    let way = Way::of(&case.view, &session, input.arrived.last().map(|one| &one.wrote));
    let before = if old.is_some() { std::mem::take(&mut earlier) } else { Vec::new() };
    let (draft, done, beside) = (Draft::default(), Vec::new(), Vec::new());
    let mut run = Run { trace, draft, session, earlier, done, beside, way };
    if let Some(old) = old {
        Box::pin(follow(case, &mut run, old, &before)).await?;
    }
    messages_step::receive(case, &mut run, input.arrived);
    let outcome = if run.session.status.agent_answers() {
        let mut saved = saved;
        Box::pin(turns(case, &mut run, &input, &mut saved)).await?
    } else if input.arrived.is_empty() {
        RunOutcome::Housekeeping { what: "a person has the conversation".into() }
    } else {
        messages_step::with_human(case, &mut run)
    };
    record_step::commit(case, run, outcome, input.rows, input.then).await
}

/// A new session follows an old one: that is closed and summed up, and the new
/// one may go on with what it was about.
async fn follow(
    case: &Case<'_>,
    run: &mut Run,
    Old { mut session, ends_now, resumed }: Old,
    messages: &[ThreadMessage],
) -> Result<(), RunError> {
    let had_summary = session.summary.is_some();
    let summing_up = summary::write(case, &mut session, messages).await?;
    if ends_now || session.summary.is_some() != had_summary {
        run.draft.aside.closes = Some(session_step::state(&session));
    }
    run.ended(&session, summing_up, ends_now);
    if resumed {
        run.session.previous = Some(Previous { session: session.id, summary: session.summary });
    }
    Ok(())
}

/// A session that opens with this message.
fn open(case: &Case<'_>, input: &Input<'_>) -> Session {
    let wrote = input.arrived.first().map(|one| &one.wrote);
    let named = wrote.and_then(|wrote| wrote.named_agent);
    let bound = wrote.map_or(&[][..], |wrote| wrote.bound.as_slice());
    let binding = case.view.bindings.iter().find(|one| one.binding.id == case.key.binding);
    let on_the_bus = wrote.is_some_and(|wrote| wrote.asked.is_some());
    let channel = match binding {
        Some(one) => one.binding.channel.clone(),
        None if on_the_bus => asked::channel(),
        None => Channel::Webchat,
    };
    let agent = if on_the_bus {
        named
    } else {
        agent_step::first(case, case.key.entry, named).map(|one| one.agent.id)
    };
    let settings = &case.view.settings;
    let interview = settings.interviews.get(&channel).cloned();
    let mut session = Session::open(Opening {
        id: fresh(SessionId::from_u128),
        thread: fresh(ThreadId::from_u128),
        conversation: case.lease.conversation(),
        key: case.key,
        channel,
        agent,
        budget: settings.session_budget,
        now: case.now,
    });
    if case.key.entry == Entry::Customer {
        session.interview =
            interview.map(|template| Interview { template, state: Default::default() });
    }
    with_bound(case, &mut session, bound);
    session
}

/// Makes a team of the agents that are bound to a group.
fn with_bound(case: &Case<'_>, session: &mut Session, bound: &[AgentId]) {
    let agents = bound.iter().filter_map(|id| case.view.agent(*id)).map(|one| &one.agent);
    let agents: Vec<_> = agents.filter(|agent| agent.receives_messages()).collect();
    let [first, _, ..] = agents.as_slice() else { return };
    session.agent = Some(first.id);
    let Some(config) = &case.view.settings.team else { return };
    match TeamSession::assemble(session.id, session.org, &agents, config.budget) {
        Ok(team) => session.team = Some(team),
        Err(refused) => tracing::warn!(%refused, "a group's agents are no team"),
    }
}

/// Steps 1 to 9, once for each agent that has the conversation.
async fn turns(
    case: &Case<'_>,
    run: &mut Run,
    input: &Input<'_>,
    saved: &mut Option<(Saved, Known)>,
) -> Result<RunOutcome, RunError> {
    if let Some((saved, known)) = saved.take() {
        take_up(case, run, saved.before)?;
        run.session = saved.session;
        let agent = agent_of(case, saved.open.agent)?;
        let finished = go_on(case, run, &agent, saved.open, saved.turn, &known).await?;
        if let Next::Done(outcome) = messages_step::after_turn(case, run, &agent, finished) {
            return Ok(outcome);
        }
    }
    while run.done.len() < MOST_TURNS {
        let began = Trace::begin("1", "agent");
        let asked = input.agent.filter(|_| run.done.is_empty()).and_then(|id| case.view.agent(id));
        let agent = match asked.filter(|one| one.agent.receives_messages()) {
            Some(agent) => Some(agent.clone()),
            None => agent_step::answering(case, &run.session).await?,
        };
        run.trace.end(began);
        let Some(agent) = agent else {
            run.tell(case, texts::NOBODY, Purpose::Notice);
            return Ok(RunOutcome::NoAgent);
        };
        if run.session.agent.is_none() {
            run.session.agent = Some(agent.agent.id);
        }
        match before_model(case, run, input, &agent) {
            Before::GoOn => {}
            Before::Another => continue,
            Before::Escalated(reason) => return Ok(RunOutcome::Escalated { reason }),
        }
        let finished = match Box::pin(assemble(case, run, input, &agent)).await? {
            Assembled::Ready(open, turn) => {
                use_up(case, run, input).await?;
                go_on(case, run, &agent, *open, *turn, &Known::new()).await?
            }
            Assembled::Stopped(outcome) => return Ok(outcome),
        };
        if let Next::Done(outcome) = messages_step::after_turn(case, run, &agent, finished) {
            return Ok(outcome);
        }
    }
    run.tell(case, texts::APOLOGY, Purpose::Notice);
    Ok(RunOutcome::Failed { why: "agents kept handing over to each other".into() })
}

/// Takes up the turns that were over when the run was stored: what they said,
/// changed and cost is committed with the rest. What they did to the session is
/// in the session that was stored.
fn take_up(case: &Case<'_>, run: &mut Run, before: Vec<Finished>) -> Result<(), StoreError> {
    for mut finished in before {
        finished.record.approvals.clear();
        let agent = agent_of(case, finished.agent)?;
        messages_step::after_turn(case, run, &agent, finished);
    }
    Ok(())
}

fn agent_of(case: &Case<'_>, id: AgentId) -> Result<AgentView, StoreError> {
    case.view.agent(id).cloned().ok_or(StoreError::NotFound("agent"))
}

/// Uses up the approval that the run goes on with, now that nothing stands in the
/// way of the call: the credits are held and the tools are known.
async fn use_up(case: &Case<'_>, run: &Run, input: &Input<'_>) -> Result<(), StoreError> {
    let Some(approved) = input.approved.as_ref().filter(|_| run.done.is_empty()) else {
        return Ok(());
    };
    match case.store().use_approval(approved.id, approved.arguments).await {
        // A try before this one had got so far.
        Ok(_) | Err(StoreError::Approval(ApprovalError::NotUsable(_))) => Ok(()),
        Err(other) => Err(other),
    }
}

/// What becomes of a message before any model is asked.
enum Before {
    GoOn,
    /// Another agent has it now.
    Another,
    Escalated(String),
}

/// Whether the message goes to a person, or to a specialist.
fn before_model(case: &Case<'_>, run: &mut Run, input: &Input<'_>, agent: &AgentView) -> Before {
    if !run.done.is_empty() || (input.arrived.is_empty() && input.settled.is_empty()) {
        return Before::GoOn;
    }
    let (session, settled) = (&run.session, input.settled);
    let text = words(input, &run.earlier);
    let Some(sent) = triggers::look(case, agent, session, &run.earlier, &text, settled) else {
        return Before::GoOn;
    };
    let reason = sent.fired.to_string();
    if let Some(to) = sent.to {
        let from = agent.agent.id;
        let view = &case.view;
        let handed = team::to_specialist(
            view,
            &mut run.session,
            &mut run.draft,
            from,
            to,
            &reason,
            case.now,
        );
        if handed.is_ok() {
            return Before::Another;
        }
    }
    let request = EscalationRequest {
        reason: reason.clone(),
        urgency: sent.fired.urgency(),
        context_summary: text,
    };
    let triggers = sent.fired.triggers().to_vec();
    let view = &case.view;
    if team::begin(view, &mut run.session, &mut run.draft, request, triggers, case.now) {
        run.tell(case, texts::HOLD, Purpose::Hold);
    }
    Before::Escalated(reason)
}

/// The words that are to be answered.
fn words(input: &Input<'_>, earlier: &[ThreadMessage]) -> String {
    if input.arrived.is_empty() {
        let last = earlier.iter().rev();
        let mut last = last.filter(|one| matches!(one.author, MessageAuthor::Customer { .. }));
        return last.next().map(ThreadMessage::text).unwrap_or_default();
    }
    let texts: Vec<String> = input.arrived.iter().map(|one| one.wrote.text()).collect();
    texts.join("\n")
}

/// What the steps before the model come to.
enum Assembled {
    /// A turn that can begin.
    Ready(Box<Open>, Box<Turn>),
    /// It does not begin, and the customer was told why.
    Stopped(RunOutcome),
}

/// Steps 2 to 7.5: the harness of a turn.
async fn assemble(
    case: &Case<'_>,
    run: &mut Run,
    input: &Input<'_>,
    agent: &AgentView,
) -> Result<Assembled, RunError> {
    let began = Trace::begin("2", "rate limit");
    let Day { rate, notices } = rate_step::look(case, agent, &run.session).await?;
    run.trace.end(began);
    if let Some(outcome) = messages_step::rate_limited(case, run, &rate) {
        return Ok(Assembled::Stopped(outcome));
    }

    let began = Trace::begin("4", "contact and knowledge");
    let text = words(input, &run.earlier);
    run.session.contact = context_step::contact(case, &run.session).await?;
    let (documents, note) = context_step::documents(case, agent, &text).await;
    run.trace.end_with(began, Some(note));
    if run.session.interview.is_some() && run.done.is_empty() && !input.arrived.is_empty() {
        Box::pin(interview::listen(case, run, agent, &rate, &text)).await?;
    }

    let began = Trace::begin("7", "tools");
    let tools = &case.desk.parts.tools;
    let scope = tools_step::scope(&case.view, agent, &run.session, tools);
    run.trace.end(began);

    let began = Trace::begin("5", "prompt");
    let told: Vec<NoticeKind> = notices.iter().map(|one| one.notice.kind).collect();
    let system: Arc<str> =
        prompt_step::build(case, agent, &run.session, &scope, &documents, &told).into();
    run.trace.end(began);

    let began = Trace::begin("6", "history");
    let mut history = history_step::items(&run.earlier);
    let read = history.len();
    history.extend(asked(input, &run.done));
    run.trace.end(began);

    let began = Trace::begin("7.5", "credits");
    let models = case.desk.parts.models.chain(&agent.agent.models);
    let offered: Vec<String> = scope.active().map(|spec| spec.name.as_str().to_owned()).collect();
    let size = tokens::of_request(&system, &history, tools, &offered);
    let purse = match models.model(None) {
        Some(model) => {
            let (price, most) = (model.price(), case.desk.parts.settings.turn.max_tokens);
            credits_step::hold(case, agent, &run.session, price, size, most).await?
        }
        None => {
            run.trace.end(began);
            return Ok(Assembled::Stopped(messages_step::no_model(case, run, agent)));
        }
    };
    run.trace.end(began);
    let purse = match purse {
        Ok(purse) => purse,
        Err(empty) => {
            return Ok(Assembled::Stopped(messages_step::exhausted(case, run, &empty)));
        }
    };
    run.draft.aside.read.extend(notices.iter().map(|one| one.notice.id));
    let snapshot = record_step::snapshot(case, &run.session, agent, &scope, &purse, &rate);
    let harness = Snapshot {
        session_context: record_step::context(&run.session, read, &documents),
        ..snapshot
    };
    let turn = Turn::new(NewTurn {
        system,
        trust: history_step::trust(&run.session.channel, &history),
        history,
        approved: input
            .approved
            .as_ref()
            .filter(|_| run.done.is_empty())
            .map(|approved| approved.call.clone()),
        budget: purse.budget,
        errors: run.session.errors.clone(),
        limits: case.desk.parts.settings.turn,
        now: case.now,
    });
    let open = Open::new(agent, harness, &purse);
    Ok(Assembled::Ready(Box::new(open), Box::new(turn)))
}

/// What the agent is to answer: what was written, or what it is told; and how
/// the colleague who tagged it in took leave.
fn asked(input: &Input<'_>, done: &[Finished]) -> Vec<Item> {
    let mut content: Vec<Content> =
        input.arrived.iter().flat_map(|one| history_step::content(&one.wrote.parts)).collect();
    content.extend(input.note.iter().map(|note| Content::text(format!("[{note}]"))));
    for before in done {
        let said = before.said.iter().find_map(|item| match item {
            Item::Assistant { text, .. } if !text.trim().is_empty() => Some(text.trim()),
            _ => None,
        });
        if let Some(said) = said {
            content.push(Content::text(format!("[your colleague said: {said}]")));
        }
    }
    if content.is_empty() { Vec::new() } else { vec![Item::User { content }] }
}

/// Steps 8 and 9.
async fn go_on(
    case: &Case<'_>,
    run: &mut Run,
    agent: &AgentView,
    open: Open,
    turn: Turn,
    known: &Known,
) -> Result<Finished, RunError> {
    let began = Trace::begin("8", "model and tools");
    let scope = tools_step::scope(&case.view, agent, &run.session, &case.desk.parts.tools);
    let models: Arc<dyn Models> = case.desk.parts.models.chain(&agent.agent.models);
    let timeout = case.desk.parts.settings.turn_timeout;
    let (session, before) = (&run.session, &run.done);
    let setting = Setting { agent, session, scope, models, before, timeout };
    let turn = super::media::load(case, turn).await;
    let finished = Box::pin(turn_step::run(case, setting, open, turn, known)).await?;
    run.trace.end(began);
    Ok(finished)
}

/// Words as parts.
pub(super) fn parts(text: &str) -> Vec<Part> {
    vec![Part::text(text)]
}
