//! Steps 2 to 7.5: what stands before the model, and the turn that comes of it.

use std::sync::Arc;

use futures_util::future::try_join;
use ostler_domain::notice::NoticeKind;
use ostler_engine::history::{Content, Item};
use ostler_engine::tokens;
use ostler_engine::turn::{NewTurn, Turn};

use super::case::Case;
use super::input::Input;
use super::interview;
use super::run::Run;
use super::saved::Open;
use super::step_02_rate::{self as rate_step, Day};
use super::step_04_context as context_step;
use super::step_05_prompt as prompt_step;
use super::step_06_history as history_step;
use super::step_07_tools as tools_step;
use super::step_07b_credits as credits_step;
use super::step_08_turn::Finished;
use super::step_10_messages as messages_step;
use super::step_12_record as record_step;
use super::trace::Trace;
use super::worker::RunError;
use crate::org_view::AgentView;
use crate::talk::run::RunOutcome;
use crate::talk::snapshot::Snapshot;

/// What the steps before the model come to.
pub(super) enum Assembled {
    /// A turn that can begin.
    Ready(Box<Open>, Box<Turn>),
    /// It does not begin, and the customer was told why.
    Stopped(RunOutcome),
}

/// Steps 2 to 7.5: the harness of a turn.
pub(super) async fn assemble(
    case: &Case<'_>,
    run: &mut Run,
    input: &Input<'_>,
    agent: &AgentView,
) -> Result<Assembled, RunError> {
    let began = Trace::begin("2", "rate limit");
    // Asked together, both are answered in one look.
    let (day, contact) = try_join(
        rate_step::look(case, agent, &run.session),
        context_step::contact(case, &run.session),
    )
    .await?;
    let Day { rate, notices } = day;
    run.trace.end(began);
    if let Some(outcome) = messages_step::rate_limited(case, run, &rate) {
        return Ok(Assembled::Stopped(outcome));
    }

    let began = Trace::begin("4", "contact and knowledge");
    let text = input.words(&run.earlier);
    run.session.contact = contact;
    context_step::share(case, &mut run.session).await?;
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
        prompt_step::build(&case.view, agent, &run.session, &scope, &documents, &told).into();
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
            let parts = &case.desk.parts;
            let (price, most) = (model.price(), parts.settings.turn.max_tokens);
            credits_step::hold(parts, &case.view, agent, &run.session, price, size, most).await?
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
