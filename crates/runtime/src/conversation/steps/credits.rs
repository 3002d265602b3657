//! Step 7.5: reserves the credits of the turn before any model is called.

use ostler_engine::history::Item;
use ostler_store::StoreError;

use crate::assembly::credits::{FundsShortage, TurnFunds};
use crate::assembly::{AgentHarness, SessionFacts};
use crate::conversation::run::Run;
use crate::conversation::trace::Trace;
use crate::records::run_step::RunStep;

/// Whether a turn can be paid for.
pub(crate) enum CreditsOutcome {
    Reserved(TurnFunds),
    /// The agent has no model here.
    NoModel,
    Short(FundsShortage),
}

/// Reserves what the first answer may cost.
pub(crate) async fn run(
    run: &mut Run,
    harness: &AgentHarness<'_>,
    system: &str,
    history: &[Item],
) -> Result<CreditsOutcome, StoreError> {
    let timer = Trace::start(RunStep::Credits);
    let outcome = match harness.model_price() {
        Some(price) => {
            let session = SessionFacts::from(&*run.session);
            match harness.reserve_credits(&session, price, system, history).await? {
                Ok(funds) => CreditsOutcome::Reserved(funds),
                Err(shortage) => CreditsOutcome::Short(shortage),
            }
        }
        None => CreditsOutcome::NoModel,
    };
    run.trace.finish(timer);
    Ok(outcome)
}
