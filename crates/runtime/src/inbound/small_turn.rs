//! A small turn beside the answer: a model is asked for a few words, without
//! tools. It is held to the same limits as any other turn, its tokens are paid
//! for, and the run says what they were for. It is a help and no condition: if
//! it cannot be had, whoever asked goes on without it.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::agent::limits::RateVerdict;
use ostler_domain::scope::ToolScope;
use ostler_domain::tool::Trust;
use ostler_engine::history::Item;
use ostler_engine::tokens;
use ostler_engine::turn::{End, ITSELF, Known, Limits, NewTurn, Turn};
use ostler_store::StoreError;

use super::case::Case;
use super::saved::{Open, SoFar};
use super::step_02_rate::Rate;
use super::step_07b_credits as credits_step;
use super::step_08_turn::{self as turn_step, Finished, Setting, Shown};
use super::step_12_record as record_step;
use crate::org_view::AgentView;
use crate::talk::session::Session;

/// The most tokens of what it says.
const MOST_TOKENS: u64 = 400;
/// How long it may take: somebody may be waiting for an answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What is asked.
pub(super) struct Question {
    /// What it is for, in the record: `summary`.
    pub(super) purpose: &'static str,
    /// What the model is told.
    pub(super) system: Arc<str>,
    /// What it reads.
    pub(super) history: Vec<Item>,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Small {
    /// What the model said.
    pub(super) text: Option<String>,
    /// The turn, if one took place.
    pub(super) turn: Option<Finished>,
}

/// Asks an agent's model, if the agent may answer and somebody can pay.
pub(super) async fn ask(
    case: &Case<'_>,
    agent: &AgentView,
    session: &Session,
    rate: &Rate,
    question: Question,
) -> Result<Small, StoreError> {
    if rate.verdict != RateVerdict::Pass {
        return Ok(Small::default());
    }
    match held(case, agent, session, rate, question).await {
        // Somebody else has the conversation.
        Err(StoreError::StaleLease) => Err(StoreError::StaleLease),
        Err(error) => {
            tracing::warn!(%error, run = %case.run, "a small turn failed");
            Ok(Small::default())
        }
        Ok(small) => Ok(small),
    }
}

async fn held(
    case: &Case<'_>,
    agent: &AgentView,
    session: &Session,
    rate: &Rate,
    Question { purpose, system, history }: Question,
) -> Result<Small, StoreError> {
    let parts = &case.desk.parts;
    let models = parts.models.chain(&agent.agent.models);
    let Some(model) = models.model(None) else { return Ok(Small::default()) };
    let size = tokens::of_request(&system, &history, &parts.tools, &[]);
    let price = model.price();
    let Ok(purse) =
        credits_step::hold(parts, &case.view, agent, session, price, size, MOST_TOKENS).await?
    else {
        return Ok(Small::default());
    };
    let scope = Arc::new(ToolScope::unrestricted([]));
    let harness = record_step::snapshot(case, session, agent, &scope, &purse, rate);
    let open = Open::new(agent, harness, &purse);
    let turn = Turn::new(NewTurn {
        system,
        history,
        approved: None,
        trust: Trust::Untrusted,
        budget: purse.budget,
        errors: session.errors.clone(),
        limits: Limits { max_steps: 1, max_tokens: MOST_TOKENS, ..parts.settings.turn },
        now: case.now,
    });
    let (so_far, timeout, shown) = (SoFar::default(), TIMEOUT, Shown::ToNobody);
    let setting = Setting { agent, session, scope, models, so_far, timeout, shown };
    let known = Known::new();
    let mut finished = Box::pin(turn_step::run(case, setting, open, turn, &known)).await?;
    if let Some(spent) = finished.record.spent.remove(ITSELF) {
        finished.record.spent.insert(purpose.to_owned(), spent);
    }
    let text = match &finished.record.end {
        End::Answer { text, .. } => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    };
    Ok(Small { text, turn: Some(finished) })
}
