//! `ostler model test`.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use ostler_domain::gate::GateRules;
use ostler_domain::gate::permission::{PermissionFacts, PermissionRules, SessionGrants};
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, Trust};
use ostler_engine::driver::{Driver, Host, Intent, TurnContext, TurnProgress, command_channel};
use ostler_engine::history::{CallId, Item};
use ostler_engine::model::Model;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::ToolSet;
use ostler_engine::turn::{
    AgentPath, KnownOutcomes, Models, NewTurn, Turn, TurnEnd, TurnEvent, TurnLimits, TurnRules,
};
use ostler_runtime::deps::Clock;
use serde_json::json;

use crate::commands::args::OutputArgs;
use crate::config::keys;
use crate::config::redact::redact;
use crate::installation::Installation;
use crate::model_catalogue;
use crate::screen::{BAD, GOOD};

#[derive(Debug, Args)]
pub(crate) struct ModelTestArgs {
    /// Model, as provider/model [default: the one in ostler.toml or OSTLER_MODEL]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Time limit in seconds
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Folder with the ostler.toml whose providers are used [default: the current folder]
    #[arg(long, value_name = "FOLDER", env = keys::HOME)]
    home: Option<std::path::PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The question. Its answer is short and the same for every model.
const PROMPT: &str = "Answer with the word OK and nothing else.";

pub(super) async fn run(args: &ModelTestArgs) -> anyhow::Result<ExitCode> {
    let installation = Installation::find_optional(args.home.as_deref())?;
    let catalogue = model_catalogue::build(&installation)?;
    let name = args.name.as_deref().or(catalogue.default_model()).context(
        "no model: name one, such as anthropic/claude-sonnet-4-5, or set `model` in ostler.toml",
    )?;
    catalogue.check(name)?;
    let model = OnlyModel(catalogue.single(name).context("this model is unknown")?);
    let host = TimedHost { started: Instant::now(), first_text: Mutex::default() };
    let (end, turn) = ask(&model, &host, Duration::from_secs(args.timeout)).await?;
    let took = host.started.elapsed().as_millis();
    let first = *host.first_text.lock().unwrap_or_else(PoisonError::into_inner);
    let first = first.map(|wait| wait.as_millis());
    let usage = turn.account().usage;
    let (answer, error) = match &end {
        TurnEnd::Answer { text, .. } => (Some(text.trim()), None),
        TurnEnd::ModelFailed(error) => (None, Some(error.to_string())),
        TurnEnd::TimedOut => (None, Some(format!("no answer within {} seconds", args.timeout))),
        other => (None, Some(format!("the call ended without an answer: {other:?}"))),
    };
    if args.output.json {
        crate::commands::print_json(&json!({"model": name, "ok": answer.is_some(),
            "answer": answer, "error": error, "first_text_ms": first, "total_ms": took,
            "input_tokens": usage.input, "output_tokens": usage.output}))?;
    } else if let Some(answer) = answer {
        let first =
            first.map_or_else(String::new, |first| format!("first text after {first} ms, "));
        let answer: String = answer.chars().take(60).collect();
        anstream::println!(
            "{GOOD}ok{GOOD:#}  {name} answered \"{answer}\": {first}{took} ms in all, {} tokens in, \
             {} out",
            usage.input,
            usage.output
        );
    } else {
        let error = error.as_deref().unwrap_or_default();
        let url = catalogue.base_url(name).map(redact);
        let place = url.map_or_else(String::new, |url| format!("at {url}, "));
        anstream::println!("{BAD}failed{BAD:#}  {error} ({place}after {took} ms)");
    }
    Ok(if answer.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a turn with one question and no tools.
async fn ask(
    model: &OnlyModel,
    host: &TimedHost,
    timeout: Duration,
) -> anyhow::Result<(TurnEnd, Turn)> {
    let credits = Credits::new(1000);
    let mut turn = Turn::new(NewTurn {
        system: "You are being tested.".into(),
        history: vec![Item::user(PROMPT)],
        approved: None,
        trust: Trust::Trusted,
        budget: TurnBudget {
            reserved: credits,
            top_up: Credits::ZERO,
            session: credits,
            subagent: None,
            read_reserve: Credits::ZERO,
            team: None,
        },
        errors: ErrorState::default(),
        limits: TurnLimits { max_steps: 1, ..TurnLimits::default() },
        now: host.now(),
    });
    let tools = Arc::new(ToolSet::new(Vec::new())?);
    let (scope, no_tools) = (ToolScope::unrestricted([]), BTreeSet::new());
    let (permissions, grants) = (PermissionRules::default(), SessionGrants::default());
    let facts = PermissionFacts { yolo: false, rules: &permissions, grants: &grants };
    let context = TurnContext {
        org: OrgId::from_u128(0),
        agent: AgentId::from_u128(0),
        session: None,
        contact: None,
        audience: Audience::Staff,
        idempotency_prefix: format!("model-test-{}", std::process::id()),
        timeout,
    };
    let rules = TurnRules {
        scope: &scope,
        tools: &tools,
        require_approval_for: &no_tools,
        authority: GateRules::Interactive(&facts),
        errors: ErrorPolicy::default(),
        models: model,
        now: host.now(),
    };
    let (_handle, mut commands) = command_channel();
    let driver = Driver { context: &context, rules, host };
    match driver.drive(&mut turn, &KnownOutcomes::new(), &mut commands).await {
        Ok(TurnProgress::Ended(end)) => Ok((end, turn)),
        Ok(TurnProgress::Suspended(_)) => {
            anyhow::bail!("the model asked for a tool that it has not")
        }
        Err(never) => match never {},
    }
}

/// One model, for every name.
struct OnlyModel(Arc<dyn Model>);

impl Models for OnlyModel {
    fn model(&self, _name: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(self.0.clone())
    }
}

/// Measures when the first text comes; stores nothing.
struct TimedHost {
    started: Instant,
    first_text: Mutex<Option<Duration>>,
}

impl Host for TimedHost {
    type Error = Infallible;

    async fn checkpoint(&self, _turn: &Turn, _intents: &[Intent]) -> Result<(), Infallible> {
        Ok(())
    }

    async fn store_outcome(
        &self,
        _path: &AgentPath,
        _call: &CallId,
        _outcome: &ToolOutcome,
    ) -> Result<(), Infallible> {
        Ok(())
    }

    async fn top_up(&self, _amount: Credits) -> Credits {
        Credits::ZERO
    }

    fn on_event(&self, _path: &AgentPath, event: &TurnEvent) {
        if matches!(event, TurnEvent::Text { .. }) {
            let mut first = self.first_text.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert_with(|| self.started.elapsed());
        }
    }

    fn now(&self) -> Timestamp {
        Clock::system().now()
    }
}
