//! The turn of a task: an agent of the org in its harness, or a single call in
//! that agent's name. It begins, or goes on where it was stored.

use std::sync::Arc;

use ostler_domain::channel::Channel;
use ostler_domain::gate::Authority;
use ostler_domain::id::{BindingId, ConversationId, SessionId, ThreadId};
use ostler_domain::money::Credits;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::ErrorState;
use ostler_domain::session::key::{ConversationKey, Entry, Peer};
use ostler_engine::driver::{Driver, Handle, Place, commands};
use ostler_engine::history::Item;
use ostler_engine::tokens;
use ostler_engine::turn::{Input, Limits, LoadError, Models, NewTurn, OnAsk, Out, Rules, Turn};
use ostler_store::{StoreError, WorkflowLease};

use super::ended;
use super::job::{Job, Todo};
use super::only_call::OnlyCall;
use super::perform::Performed;
use super::question::Given;
use super::saved::Saved;
use super::step_host::StepHost;
use super::tools::StepTools;
use crate::ids::derived;
use crate::inbound::case::Desk;
use crate::inbound::step_05_prompt;
use crate::inbound::step_07_tools;
use crate::inbound::step_07b_credits::{self as credits_step, Empty, Purse};
use crate::org_view::{AgentView, OrgView};
use crate::talk::read;
use crate::talk::session::{Opening, Session};

/// What an agent is told of its step.
const STEP: &str = include_str!("texts/step.md");
/// The channel that steps are on, as policy sees it.
const CHANNEL: &str = "workflow";

/// What a turn runs with.
struct Setting<'v> {
    view: &'v OrgView,
    agent: &'v AgentView,
    session: Session,
    scope: Arc<ToolScope>,
    models: Arc<dyn Models>,
    limits: Limits,
}

/// Runs the turn of a task until it is over or waits for people.
pub(super) async fn run(
    desk: &Desk,
    tools: &StepTools,
    lease: WorkflowLease,
    job: Job,
) -> Result<Performed, StoreError> {
    let store = &desk.parts.store;
    let view = desk.views.get(store, lease.org(), store.config_stamp().await?).await?;
    let named = match &job.todo {
        Todo::Prompt { agent, .. } | Todo::Call { agent, .. } => agent.as_deref(),
        _ => None,
    };
    let working = |one: &&AgentView| one.agent.receives_messages();
    let Some(agent) = named.and_then(|name| view.find_agent(name)).filter(working) else {
        let name = named.unwrap_or_default();
        return Ok(Performed::failed(format!("no agent `{name}` works here"), false));
    };
    let setting = setting(desk, tools, lease, &job, &view, agent);
    let mut saved = job.saved.clone().unwrap_or_default();
    let begun = match saved.turn.as_deref().map(Turn::load).transpose() {
        Ok(begun) => begun,
        Err(error @ LoadError::Newer { .. }) => {
            return Err(StoreError::Unreadable { what: "turn", why: error.to_string() });
        }
        Err(error) => return Ok(Performed::failed(error.to_string(), false)),
    };
    let first = first(&job, &setting);
    let purse = match hold(desk, tools, &setting, &first, begun.as_ref()).await? {
        Ok(purse) => purse,
        Err(why) => return Ok(Performed::failed(why, false)),
    };
    let rules = rules(desk, tools, &setting);
    let mut turn = match begun {
        Some(mut turn) => {
            // It may have waited for long; a turn that is over needs none.
            let _over = turn.step(&[], Input::Budget(purse.budget), &rules, &mut Out::default());
            turn
        }
        None => new_turn(desk, &job, &setting, first, &purse),
    };
    let known = saved.known();
    let (handle, mut commands) = commands();
    let taken = tell(&handle, &saved, &job);
    saved.questions.clear();
    let place = place(desk, lease, &job, agent);
    let host = StepHost::new(&desk.parts, lease, job.task.to_string(), taken, saved, purse);
    let driver = Driver { place: &place, rules, host: &host };
    let progress = driver.drive(&mut turn, &known, &mut commands).await?;
    crate::faults::point("after_step_turn");
    let (saved, purse) = host.into_parts();
    Ok(ended::came(desk, &job, agent, &turn, progress, saved, &purse))
}

fn setting<'v>(
    desk: &Desk,
    tools: &StepTools,
    lease: WorkflowLease,
    job: &Job,
    view: &'v OrgView,
    agent: &'v AgentView,
) -> Setting<'v> {
    let from = lease.workflow().as_u128();
    let key = ConversationKey {
        org: lease.org(),
        binding: derived(BindingId::from_u128, agent.agent.id.as_u128(), CHANNEL),
        peer: Peer::Person(lease.workflow().to_string()),
        entry: Entry::Owner,
    };
    let mut session = Session::open(Opening {
        id: derived(SessionId::from_u128, from, "session"),
        thread: derived(ThreadId::from_u128, from, "thread"),
        conversation: derived(ConversationId::from_u128, from, "conversation"),
        key: &key,
        channel: Channel::from(CHANNEL),
        agent: Some(agent.agent.id),
        budget: view.settings.session_budget,
        now: desk.parts.clock.now(),
    });
    session.budget.record(Credits::new(job.spent));
    let scope = step_07_tools::scope(view, agent, &session, tools);
    let usual = Limits { on_ask: OnAsk::Suspend, ..desk.parts.settings.turn };
    let (models, limits): (Arc<dyn Models>, _) = match &job.todo {
        Todo::Call { tool, arguments, .. } => {
            (Arc::new(OnlyCall::new(tool, arguments)), Limits { max_steps: 2, ..usual })
        }
        _ => (desk.parts.models.chain(&agent.agent.models), usual),
    };
    Setting { view, agent, session, scope, models, limits }
}

/// What an agent is told and asked first.
struct First {
    system: Arc<str>,
    history: Vec<Item>,
}

fn first(job: &Job, setting: &Setting<'_>) -> First {
    let Setting { view, agent, session, scope, .. } = setting;
    let mut system = step_05_prompt::build(view, agent, session, scope, &[], &[]);
    let told = STEP.replace("{step}", job.task.step.as_str()).replace("{workflow}", &job.workflow);
    system.push_str(&told);
    let prompt = match &job.todo {
        Todo::Prompt { prompt, .. } => prompt.clone(),
        _ => format!("Call the tool of the step `{}`.", job.task.step),
    };
    First { system: system.into(), history: vec![Item::user(prompt)] }
}

/// Holds what the next answer may cost, or says why nothing can be had.
async fn hold(
    desk: &Desk,
    tools: &StepTools,
    setting: &Setting<'_>,
    first: &First,
    begun: Option<&Turn>,
) -> Result<Result<Purse, &'static str>, StoreError> {
    let Some(model) = setting.models.model(None) else {
        return Ok(Err("there is no model for its agent here"));
    };
    let offered: Vec<String> =
        setting.scope.active().map(|spec| spec.name.as_str().to_owned()).collect();
    let history = begun.map_or(first.history.as_slice(), Turn::history);
    let size = tokens::of_request(&first.system, history, tools, &offered);
    let (view, agent, session) = (setting.view, setting.agent, &setting.session);
    let (price, most) = (model.price(), setting.limits.max_tokens);
    let held = credits_step::hold(&desk.parts, view, agent, session, price, size, most);
    Ok(held.await?.map_err(Empty::words))
}

fn new_turn(desk: &Desk, job: &Job, setting: &Setting<'_>, first: First, purse: &Purse) -> Turn {
    Turn::new(NewTurn {
        system: first.system,
        history: first.history,
        approved: None,
        trust: job.trust,
        budget: purse.budget,
        errors: ErrorState::default(),
        limits: setting.limits,
        now: desk.parts.clock.now(),
    })
}

fn place(desk: &Desk, lease: WorkflowLease, job: &Job, agent: &AgentView) -> Place {
    let (task, part) = (&job.task, &job.part);
    Place {
        org: lease.org(),
        agent: agent.agent.id,
        session: None,
        contact: None,
        // The same for every try, so that who knows keys does nothing twice.
        key: format!("{}/{task}/{}", lease.workflow(), part.round),
        timeout: job.timeout.unwrap_or(desk.parts.settings.turn_timeout),
    }
}

fn rules<'s>(desk: &Desk, tools: &'s StepTools, setting: &'s Setting<'_>) -> Rules<'s> {
    Rules {
        scope: &setting.scope,
        tools,
        require_approval_for: &setting.agent.agent.require_approval_for,
        authority: Authority::Conversation(setting.agent.agent.autonomy),
        errors: setting.view.settings.errors,
        models: &*setting.models,
        now: desk.parts.clock.now(),
    }
}

/// Tells the turn what people answered to its questions; the names of all answers
/// that are used up by that.
fn tell(handle: &Handle, saved: &Saved, job: &Job) -> Vec<String> {
    for (name, data) in &job.answers {
        let asked = saved.questions.iter().find(|one| one.key == *name);
        let Some((path, call)) = asked.and_then(|one| Some((one.path.clone(), one.call.clone()?)))
        else {
            continue;
        };
        let told = match read("answer", data) {
            Ok(Given::Decision { decision }) => handle.decide(path, call, decision),
            Ok(Given::Answer { answer }) => handle.answer(path, call, answer),
            Ok(Given::Text { .. } | Given::Refused { .. }) => continue,
            Err(error) => {
                tracing::warn!(%error, task = %job.task, "an answer cannot be read");
                continue;
            }
        };
        if told.is_err() {
            tracing::warn!(task = %job.task, "a turn has too many answers at once");
        }
    }
    job.answers.iter().map(|(name, _)| name.clone()).collect()
}
