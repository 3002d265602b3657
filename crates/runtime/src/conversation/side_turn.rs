//! A side turn: a short question to the agent's model besides the answer, without tools.
//!
//! It obeys the same limits as any other turn, its tokens are charged, and the record says
//! what they were for. It is optional: if it fails, the caller continues without it.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::agent::limits::RateLimitDecision;
use ostler_domain::tool::Trust;
use ostler_engine::history::Item;
use ostler_engine::turn::{KnownOutcomes, NewTurn, ROOT_AGENT, Turn, TurnEnd, TurnLimits};
use ostler_store::StoreError;

use super::checkpoint::{OpenTurn, RunProgress};
use super::run_context::RunContext;
use super::steps::rate_limit::RateCheck;
use super::steps::turn::{self, DraftVisibility, FinishedTurn, TurnSetup};
use crate::assembly::{AgentHarness, SessionFacts};
use crate::org_view::AgentView;
use crate::records::session::Session;

const MAX_TOKENS: u64 = 400;
/// Short, because a customer may be waiting for the answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A question to an agent's model.
pub(crate) struct SideQuestion {
    /// The purpose in the record, such as `summary`.
    pub(crate) purpose: &'static str,
    pub(crate) system: Arc<str>,
    pub(crate) history: Vec<Item>,
}

/// The answer to a [`SideQuestion`].
#[derive(Default)]
pub(crate) struct SideAnswer {
    /// `None` if the model could not be asked or said nothing.
    pub(crate) text: Option<String>,
    /// The turn, if one took place.
    pub(crate) turn: Option<FinishedTurn>,
}

/// Asks an agent's model, if the agent's limits allow it and the credits suffice. Fails
/// only if the worker has lost the conversation.
pub(crate) async fn ask(
    context: &RunContext<'_>,
    agent: &AgentView,
    session: &Session,
    rate: &RateCheck,
    question: SideQuestion,
) -> Result<SideAnswer, StoreError> {
    if rate.decision != RateLimitDecision::Pass {
        return Ok(SideAnswer::default());
    }
    match run_side_turn(context, agent, session, rate, question).await {
        Err(StoreError::StaleLease) => Err(StoreError::StaleLease),
        Err(error) => {
            tracing::warn!(run_id = %context.run_id, %error, "side turn failed");
            Ok(SideAnswer::default())
        }
        Ok(answer) => Ok(answer),
    }
}

async fn run_side_turn(
    context: &RunContext<'_>,
    agent: &AgentView,
    session: &Session,
    rate: &RateCheck,
    SideQuestion { purpose, system, history }: SideQuestion,
) -> Result<SideAnswer, StoreError> {
    let mut harness = AgentHarness::without_tools(&context.services.deps, &context.view, agent);
    harness.limits = TurnLimits { max_steps: 1, max_tokens: MAX_TOKENS, ..harness.limits };
    let Some(price) = harness.model_price() else { return Ok(SideAnswer::default()) };
    let facts = SessionFacts::from(session);
    let Ok(funds) = harness.reserve_credits(&facts, price, &system, &history).await? else {
        return Ok(SideAnswer::default());
    };
    let snapshot = turn::snapshot(context, session, &harness, &funds, rate, (0, &[]));
    let open = OpenTurn::new(agent, snapshot, &funds);
    let turn = Turn::new(NewTurn {
        system,
        history,
        approved: None,
        trust: Trust::Untrusted,
        budget: funds.budget,
        errors: session.errors.clone(),
        limits: harness.limits,
        now: context.now,
    });
    let (progress, visibility) = (RunProgress::default(), DraftVisibility::Hidden);
    let setup = TurnSetup { harness: &harness, session, progress, timeout: TIMEOUT, visibility };
    let known = KnownOutcomes::new();
    let mut finished = Box::pin(turn::drive(context, setup, open, turn, &known)).await?;
    if let Some(spent) = finished.record.spent.remove(ROOT_AGENT) {
        finished.record.spent.insert(purpose.to_owned(), spent);
    }
    let text = match &finished.record.end {
        TurnEnd::Answer { text, .. } => Some(text.trim().to_owned()),
        _ => None,
    };
    let text = text.filter(|text| !text.is_empty());
    Ok(SideAnswer { text, turn: Some(finished) })
}
