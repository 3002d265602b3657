//! `ostler run`: one prompt, answered by a model with tools, inside the gate.

mod ask;
mod end;
mod interrupt;
mod parts;
mod show;
mod subagents;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ostler_domain::gate::Authority;
use ostler_domain::gate::permission::{
    PermissionFacts, PermissionPolicy, PermissionRules, SessionGrants,
};
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::tool::{Category, Trust};
use ostler_engine::driver::{Driver, Host as _, Place, Progress, commands};
use ostler_engine::history::Item;
use ostler_engine::tool::ToolSet;
use ostler_engine::turn::{End, Known, Limits, NewTurn, Rules, Turn};

use crate::cli::Run;
use interrupt::Interrupt;
use show::Screen;

pub(crate) async fn run(command: &Run) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::watch();
    let models = parts::models(command)?;
    let servers = parts::servers(command).await?;
    let mut tools = parts::tools(command, servers.as_ref())?;
    tools.extend(subagents::tool(command, &models, &tools)?);
    let tools = Arc::new(ToolSet::new(tools)?);
    let screen = Screen::new(command.output.json);
    let mut turn = Turn::new(new_turn(command, &screen));
    let end = drive(command, &models, &tools, &screen, &interrupt, &mut turn).await?;
    if let Some(servers) = servers {
        servers.shutdown().await;
    }
    screen.finish(&end, &turn);
    Ok(end::code(&end))
}

fn new_turn(command: &Run, screen: &Screen) -> NewTurn {
    let credits = Credits::new(command.credits);
    NewTurn {
        system: command.system.as_str().into(),
        history: vec![Item::user(command.prompt.as_str())],
        approved: None,
        trust: Trust::Trusted,
        budget: TurnBudget {
            reserved: credits,
            top_up: Credits::ZERO,
            session: credits,
            kept_for_reading: Credits::ZERO,
            team: None,
        },
        errors: ErrorState::default(),
        limits: Limits::default(),
        now: screen.now(),
    }
}

/// Runs the turn to its end, asking on the terminal whenever it waits.
async fn drive(
    command: &Run,
    models: &parts::Chosen,
    tools: &Arc<ToolSet>,
    screen: &Screen,
    interrupt: &Interrupt,
    turn: &mut Turn,
) -> anyhow::Result<End> {
    // Looking is allowed; everything else is asked.
    let permissions = PermissionRules {
        categories: [(Category::Read, PermissionPolicy::Allow)].into(),
        ..PermissionRules::default()
    };
    let (scope, nothing) = (ToolScope::unrestricted(tools.specs().cloned()), BTreeSet::new());
    let place = Place {
        org: OrgId::from_u128(0),
        agent: AgentId::from_u128(0),
        session: None,
        contact: None,
        key: format!("run-{}", std::process::id()),
        timeout: Duration::from_secs(command.timeout),
    };
    let mut grants = SessionGrants::default();
    let (mut answers, mut stopped) = (Vec::new(), false);
    loop {
        let facts = PermissionFacts { yolo: command.yes, rules: &permissions, grants: &grants };
        let rules = Rules {
            scope: &scope,
            tools,
            require_approval_for: &nothing,
            authority: Authority::Interactive(facts),
            errors: ErrorPolicy::default(),
            models,
            now: screen.now(),
        };
        let driver = Driver { place: &place, rules, host: screen };
        let (handle, mut commands) = commands();
        for answer in answers.drain(..) {
            ask::send(&handle, answer)?;
        }
        if stopped {
            handle.abort();
        }
        let running = interrupt.aborts(&handle);
        let progress = driver.drive(turn, &Known::new(), &mut commands).await;
        drop(running);
        let questions = match progress {
            Ok(Progress::Ended(end)) => return Ok(end),
            Ok(Progress::Suspended(questions)) => questions,
            Err(never) => match never {},
        };
        for (path, question) in questions {
            match interrupt.or(ask::person(&question, path, &scope, &mut grants)).await {
                Some(answer) => answers.push(answer?),
                None => {
                    // Ctrl-C leaves the cursor behind the question.
                    anstream::eprintln!();
                    stopped = true;
                }
            }
        }
    }
}
