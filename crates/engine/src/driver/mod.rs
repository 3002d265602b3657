//! The driver: performs the actions of a turn.
//!
//! One loop serves every use of a turn. It owns the model stream and the running
//! tools and drops them when the turn is stopped. Storage, events and reservations
//! belong to the [`Host`].
//!
//! External calls are journalled: the driver has the host store the turn and an
//! [`Intent`] before such a call, and its outcome after it. Calls with local
//! effects run one after the other, so that each sees the effects of those before
//! it.

mod handle;
mod host;
mod spans;
mod unstored;
mod work;
mod write_queue;

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use ostler_domain::id::{AgentId, ContactId, OrgId, SessionId};
use ostler_domain::tool::{Audience, Reach, Risk, ToolRole};

pub use handle::{CommandRejected, TurnCommands, TurnHandle, UnreadCommands, command_channel};
pub use host::{Host, Intent};
pub use spans::TRACE_TARGET;
pub use unstored::UnstoredHost;

use crate::gate::Authorized;
use crate::history::CallId;
use crate::model::{Chunk, ModelError, ModelErrorKind};
use crate::outcome::{OutcomeStatus, ToolOutcome};
use crate::tool::{ToolContext, ToolDefinition, ToolReply};
use crate::turn::{
    AgentPath, Input, KnownOutcomes, Question, Turn, TurnAction, TurnEnd, TurnOutput, TurnRules,
};
use work::{ChunkStream, Completion, Work, run_tool};
use write_queue::WriteQueue;

/// Chunks of an answer processed before other work is polled.
const MAX_CHUNKS_AT_ONCE: usize = 64;
/// Steps between two checks of the deadline and the commands.
const STEPS_PER_CLOCK_CHECK: u32 = 64;

/// The identity and time limit of a turn.
#[derive(Debug, Clone)]
pub struct TurnContext {
    pub org: OrgId,
    pub agent: AgentId,
    /// `None` outside a conversation.
    pub session: Option<SessionId>,
    /// `None` if the person is not known.
    pub contact: Option<ContactId>,
    /// For whom the turn answers.
    pub audience: Audience,
    /// The prefix of all idempotency keys of this turn; unique per turn, and the same
    /// when the turn is resumed.
    pub idempotency_prefix: String,
    pub timeout: Duration,
}

/// How far a turn has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnProgress {
    Ended(TurnEnd),
    /// The turn waits for people. Store it and resume it with their answers.
    Suspended(Vec<(AgentPath, Question)>),
}

/// Runs a turn with its context, rules and host.
pub struct Driver<'a, H> {
    pub context: &'a TurnContext,
    pub rules: TurnRules<'a>,
    pub host: &'a H,
}

impl<H: Host> Driver<'_, H> {
    /// Runs a turn until it ends or waits for people. `known` holds the outcomes of
    /// calls that were running when the turn was stored.
    ///
    /// # Errors
    ///
    /// Fails with the host's error if storing fails; what the turn did since its last
    /// checkpoint is lost.
    pub async fn drive(
        &self,
        turn: &mut Turn,
        known: &KnownOutcomes,
        commands: &mut TurnCommands,
    ) -> Result<TurnProgress, H::Error> {
        let mut drive_loop = DriveLoop {
            driver: self,
            work: FuturesUnordered::new(),
            external_calls: Vec::new(),
            queue: WriteQueue::default(),
        };
        let mut out = TurnOutput::default();
        turn.resume(known, &self.rules_now(), &mut out);
        let deadline = tokio::time::sleep(self.context.timeout);
        tokio::pin!(deadline);
        let mut steps = 0_u32;
        loop {
            steps = steps.wrapping_add(1);
            drive_loop.perform(turn, &mut out).await?;
            if let Some(end) = turn.end() {
                return Ok(TurnProgress::Ended(end.clone()));
            }
            if let Some((path, input)) = commands.try_next() {
                drive_loop.apply_command(turn, path, input, &mut out).await?;
                continue;
            }
            if drive_loop.work.is_empty() && turn.waits_for_people() {
                return Ok(TurnProgress::Suspended(turn.questions()));
            }
            // Work that is ready needs no check of the clock, except now and then.
            let check_clock = steps.is_multiple_of(STEPS_PER_CLOCK_CHECK);
            let ready =
                if check_clock { None } else { drive_loop.work.next().now_or_never().flatten() };
            if check_clock {
                tokio::task::yield_now().await;
            }
            let completion = match ready {
                Some(completion) => completion,
                None => tokio::select! {
                    biased;
                    (path, input) = commands.next() => {
                        drive_loop.apply_command(turn, path, input, &mut out).await?;
                        continue;
                    }
                    () = &mut deadline => {
                        drive_loop.apply_command(turn, AgentPath::new(), Input::TimedOut, &mut out).await?;
                        continue;
                    }
                    Some(completion) = drive_loop.work.next() => completion,
                },
            };
            drive_loop.handle_completion(turn, completion, &mut out).await?;
        }
    }

    fn rules_now(&self) -> TurnRules<'_> {
        TurnRules { now: self.host.now(), ..self.rules }
    }
}

struct DriveLoop<'d, 'a, H> {
    driver: &'d Driver<'a, H>,
    work: FuturesUnordered<Work<'d>>,
    /// External calls that are running.
    external_calls: Vec<(AgentPath, CallId)>,
    /// Calls that see the effects of those before them.
    queue: WriteQueue,
}

impl<'d, H: Host> DriveLoop<'d, '_, H> {
    /// Publishes events and starts actions. The turn is stored before any external call
    /// is made.
    async fn perform(&mut self, turn: &Turn, out: &mut TurnOutput) -> Result<(), H::Error> {
        for (path, event) in out.events.drain(..) {
            self.driver.host.on_event(&path, &event);
        }
        let intents: Vec<Intent> = out
            .actions
            .iter()
            .filter_map(|(path, action)| match action {
                TurnAction::Run { call, checkpoint: true } => Some(self.intent(path, call)),
                _ => None,
            })
            .collect();
        if !intents.is_empty() || self.driver.host.wants_checkpoint() {
            self.driver.host.checkpoint(turn, &intents).await?;
            self.external_calls
                .extend(intents.into_iter().map(|intent| (intent.path, intent.call.id)));
        }
        for (path, action) in out.actions.drain(..) {
            let action = match action {
                TurnAction::Run { call, checkpoint } if self.is_sequential(&call) => {
                    let Some(call) = self.queue.start_or_queue(&path, call) else { continue };
                    TurnAction::Run { call, checkpoint }
                }
                other => other,
            };
            let work = self.start(turn, path, action);
            self.work.push(work);
        }
        Ok(())
    }

    /// Returns whether a call has to see the effects of those before it, which are stored
    /// with the turn.
    fn is_sequential(&self, call: &Authorized) -> bool {
        let tool = self.driver.rules.tools.definition(&call.call().name);
        tool.is_some_and(|ToolDefinition { spec, sequential, .. }| {
            let writes = spec.risk != Risk::Read && spec.role != ToolRole::Control;
            writes && (spec.reach == Reach::Local || *sequential)
        })
    }

    fn intent(&self, path: &AgentPath, call: &Authorized) -> Intent {
        let tool = self.driver.rules.tools.definition(&call.call().name);
        Intent {
            path: path.clone(),
            call: call.call().clone(),
            idempotency_key: self.idempotency_key(path, &call.call().id),
            timeout: tool.map_or(crate::tool::DEFAULT_TIMEOUT, |tool| tool.timeout),
            idempotent: tool.is_some_and(|tool| tool.idempotent),
        }
    }

    /// Returns the idempotency key of a call.
    fn idempotency_key(&self, path: &AgentPath, call: &CallId) -> String {
        let mut key = self.driver.context.idempotency_prefix.clone();
        for call in path.iter().chain([call]) {
            key.push('/');
            key.push_str(&call.0);
        }
        key
    }

    fn start(&self, turn: &Turn, path: AgentPath, action: TurnAction) -> Work<'d> {
        match action {
            TurnAction::CallModel { model, request } => {
                match self.driver.rules.models.model(model.as_deref()) {
                    Some(found) => {
                        let span = spans::chat(model.as_deref(), &path);
                        let answer = span.in_scope(|| found.answer(request));
                        Work::Model(Some(path), spans::observe(answer, span).into_future())
                    }
                    None => Work::Ready(Some(Completion::Model(
                        path,
                        Some(Err(unknown_model(model))),
                        None,
                    ))),
                }
            }
            TurnAction::Run { call, .. } => {
                let Some(tool) = self.driver.rules.tools.get(&call.call().name) else {
                    let id = call.call().id.clone();
                    let reply =
                        ToolReply::Done(ToolOutcome::failed("This tool is no longer available."));
                    return Work::Ready(Some(Completion::Tool(path, id, reply)));
                };
                let context = self.context(turn, &path, &call.call().id);
                let external =
                    self.external_calls.iter().any(|(at, id)| *at == path && *id == call.call().id);
                Work::Other(run_tool(tool.clone(), path, call, context, external))
            }
            TurnAction::TopUp(amount) => {
                let host = self.driver.host;
                Work::Other(
                    async move { Completion::ToppedUp(path, host.top_up(amount).await) }.boxed(),
                )
            }
        }
    }

    fn context(&self, turn: &Turn, path: &AgentPath, call: &CallId) -> ToolContext {
        let context = self.driver.context;
        ToolContext {
            org: context.org,
            agent: context.agent,
            session: context.session,
            contact: context.contact,
            audience: context.audience,
            now: self.driver.host.now(),
            idempotency_key: self.idempotency_key(path, call),
            pending: turn.account().effects.as_slice().into(),
            extensions: self.driver.host.extensions(),
        }
    }

    /// Passes the result of finished work to the turn.
    async fn handle_completion(
        &mut self,
        turn: &mut Turn,
        completion: Completion,
        out: &mut TurnOutput,
    ) -> Result<(), H::Error> {
        let rules = self.driver.rules_now();
        match completion {
            Completion::Model(path, item, stream) => {
                self.feed_chunks(turn, path, item, stream, out);
            }
            Completion::Tool(path, call, reply) => {
                let at = self.external_calls.iter().position(|(p, id)| *p == path && *id == call);
                if let Some(at) = at {
                    self.external_calls.swap_remove(at);
                    let waiting = ToolOutcome::ok("Waiting for a person.");
                    let outcome =
                        if let ToolReply::Done(outcome) = &reply { outcome } else { &waiting };
                    self.driver.host.store_outcome(&path, &call, outcome).await?;
                }
                let _ = turn.step(&path, Input::Reply(call.clone(), reply), &rules, out);
                if let Some((path, call)) = self.queue.finish(&path, &call) {
                    let next = self.start(turn, path, TurnAction::Run { call, checkpoint: false });
                    self.work.push(next);
                }
            }
            Completion::ToppedUp(path, added) => {
                let _ = turn.step(&path, Input::ToppedUp(added), &rules, out);
            }
        }
        Ok(())
    }

    /// Passes the chunks of an answer to the turn. The stream is dropped before the
    /// last chunk is passed, so that the history has a single owner again and is not
    /// copied.
    fn feed_chunks(
        &mut self,
        turn: &mut Turn,
        path: AgentPath,
        mut item: Option<Result<Chunk, ModelError>>,
        mut stream: Option<ChunkStream>,
        out: &mut TurnOutput,
    ) {
        let (rules, mut count) = (self.driver.rules_now(), 0);
        loop {
            let input = match item {
                Some(Ok(chunk)) => {
                    if matches!(chunk, Chunk::Done(_)) {
                        stream = None;
                    }
                    Input::Chunk(chunk)
                }
                Some(Err(error)) => {
                    stream = None;
                    Input::ModelFailed(error)
                }
                None => {
                    stream = None;
                    Input::ModelFailed(incomplete())
                }
            };
            // The turn no longer waits for this answer.
            if turn.step(&path, input, &rules, out).is_err() {
                return;
            }
            count += 1;
            let Some(rest) = stream.as_mut() else { return };
            let next = if count < MAX_CHUNKS_AT_ONCE { rest.next().now_or_never() } else { None };
            match next {
                Some(next) => item = next,
                None => break,
            }
        }
        if let Some(stream) = stream {
            self.work.push(Work::Model(Some(path), stream.into_future()));
        }
    }

    /// Passes a command to the turn. A command that stops or steers the turn drops all
    /// work.
    async fn apply_command(
        &mut self,
        turn: &mut Turn,
        path: AgentPath,
        input: Input,
        out: &mut TurnOutput,
    ) -> Result<(), H::Error> {
        let stops = matches!(input, Input::Abort | Input::TimedOut | Input::Steer(_));
        let rules = self.driver.rules_now();
        if turn.step(&path, input, &rules, out).is_ok() && stops {
            self.work.clear();
            self.queue = WriteQueue::default();
            for (path, call) in std::mem::take(&mut self.external_calls) {
                let why = "It was stopped while it was running.";
                let unknown = ToolOutcome::new(OutcomeStatus::OutcomeUnknown, why);
                self.driver.host.store_outcome(&path, &call, &unknown).await?;
            }
        }
        Ok(())
    }
}

fn unknown_model(name: Option<String>) -> ModelError {
    let model = name.unwrap_or_default();
    let message = "unknown model".to_owned();
    ModelError { model, kind: ModelErrorKind::UnknownModel, message, retry_after: None }
}

fn incomplete() -> ModelError {
    let message = "the answer ended before it was complete".to_owned();
    ModelError {
        model: String::new(),
        kind: ModelErrorKind::Incomplete,
        message,
        retry_after: None,
    }
}
