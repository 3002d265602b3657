//! The driver: performs what a turn asks for.
//!
//! One loop serves every use of a turn. It owns the model's stream and the tools
//! that run, and drops them when the turn is stopped; what is stored, shown and
//! reserved is the host's.

mod handle;
mod host;
mod queue;
mod work;

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use ostler_domain::id::{AgentId, ContactId, OrgId, SessionId};
use ostler_domain::tool::{Reach, Risk, ToolRole};

pub use handle::{Commands, Gone, Handle, LeftOver, commands};
pub use host::{Host, Intent};

use crate::gate::Authorized;
use crate::history::CallId;
use crate::model::{Chunk, ModelError, ModelErrorKind};
use crate::outcome::{Outcome, Status};
use crate::tool::{Definition, Reply, ToolContext};
use crate::turn::{Action, End, Input, Known, Out, Path, Question, Rules, Turn};
use queue::Queue;
use work::{Answer, Done, Work, run_tool};

/// Pieces of an answer that are taken at once; then others have their turn.
const AT_ONCE: usize = 64;
/// Steps that are taken without a look at the clock.
const UNWATCHED: u32 = 64;

/// Where a turn happens.
#[derive(Debug, Clone)]
pub struct Place {
    /// The org.
    pub org: OrgId,
    /// The agent.
    pub agent: AgentId,
    /// The session, in a conversation.
    pub session: Option<SessionId>,
    /// The person it is with, if they are known.
    pub contact: Option<ContactId>,
    /// What makes the calls of this turn differ from those of every other; the
    /// same when it is taken up again.
    pub key: String,
    /// How long the turn may take.
    pub timeout: Duration,
}

/// How far a turn has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It is over.
    Ended(End),
    /// It waits for people; store it, and take it up again with their answers.
    Suspended(Vec<(Path, Question)>),
}

/// All that a turn runs with.
pub struct Driver<'a, H> {
    /// Where it happens.
    pub place: &'a Place,
    /// What it is allowed.
    pub rules: Rules<'a>,
    /// Who stores, shows and reserves.
    pub host: &'a H,
}

impl<H: Host> Driver<'_, H> {
    /// Runs a turn until it is over or waits for people. `known` is what is
    /// known of calls that had begun when the turn was stored. An error is the
    /// host's: what the turn did since it was last stored is void.
    pub async fn drive(
        &self,
        turn: &mut Turn,
        known: &Known,
        commands: &mut Commands,
    ) -> Result<Progress, H::Error> {
        let mut loop_ = Loop {
            driver: self,
            work: FuturesUnordered::new(),
            outside: Vec::new(),
            queue: Queue::default(),
        };
        let mut out = Out::default();
        turn.resume(known, &self.rules_now(), &mut out);
        let deadline = tokio::time::sleep(self.place.timeout);
        tokio::pin!(deadline);
        let mut steps = 0_u32;
        loop {
            steps = steps.wrapping_add(1);
            loop_.perform(turn, &mut out).await?;
            if let Some(end) = turn.end() {
                return Ok(Progress::Ended(end.clone()));
            }
            if let Some((path, input)) = commands.at_hand() {
                loop_.command(turn, path, input, &mut out).await?;
                continue;
            }
            if loop_.work.is_empty() && turn.waits_for_people() {
                return Ok(Progress::Suspended(turn.questions()));
            }
            // What is ready without waiting needs no look at the clock, mostly.
            let watched = steps.is_multiple_of(UNWATCHED);
            let ready = if watched { None } else { loop_.work.next().now_or_never().flatten() };
            if watched {
                tokio::task::yield_now().await;
            }
            let done = match ready {
                Some(done) => done,
                None => tokio::select! {
                    biased;
                    (path, input) = commands.next() => {
                        loop_.command(turn, path, input, &mut out).await?;
                        continue;
                    }
                    () = &mut deadline => {
                        loop_.command(turn, Path::new(), Input::TimedOut, &mut out).await?;
                        continue;
                    }
                    Some(done) = loop_.work.next() => done,
                },
            };
            loop_.done(turn, done, &mut out).await?;
        }
    }

    fn rules_now(&self) -> Rules<'_> {
        Rules { now: self.host.now(), ..self.rules }
    }
}

struct Loop<'d, 'a, H> {
    driver: &'d Driver<'a, H>,
    work: FuturesUnordered<Work<'d>>,
    /// Calls with an effect outside that are running.
    outside: Vec<(Path, CallId)>,
    /// Calls that want something stored.
    queue: Queue,
}

impl<'d, H: Host> Loop<'d, '_, H> {
    /// Shows what happened and starts what is to be done. The turn is stored
    /// before anything has an effect outside.
    async fn perform(&mut self, turn: &Turn, out: &mut Out) -> Result<(), H::Error> {
        for (path, event) in out.events.drain(..) {
            self.driver.host.event(&path, &event);
        }
        let intents: Vec<Intent> = out
            .actions
            .iter()
            .filter_map(|(path, action)| match action {
                Action::Run { call, checkpoint: true } => Some(self.intent(path, call)),
                _ => None,
            })
            .collect();
        if !intents.is_empty() {
            self.driver.host.checkpoint(turn, &intents).await?;
            self.outside.extend(intents.into_iter().map(|intent| (intent.path, intent.call.id)));
        }
        for (path, action) in out.actions.drain(..) {
            let action = match action {
                Action::Run { call, checkpoint: false } if self.is_local_write(&call) => {
                    let Some(call) = self.queue.enter(&path, call) else { continue };
                    Action::Run { call, checkpoint: false }
                }
                other => other,
            };
            let work = self.start(turn, path, action);
            self.work.push(work);
        }
        Ok(())
    }

    /// Whether a call may want something stored with the turn.
    fn is_local_write(&self, call: &Authorized) -> bool {
        let tool = self.driver.rules.tools.definition(&call.call().name);
        tool.is_some_and(|Definition { spec, .. }| {
            spec.reach == Reach::Local && spec.risk != Risk::Read && spec.role != ToolRole::Control
        })
    }

    fn intent(&self, path: &Path, call: &Authorized) -> Intent {
        let tool = self.driver.rules.tools.definition(&call.call().name);
        Intent {
            path: path.clone(),
            call: call.call().clone(),
            key: self.key(path, &call.call().id),
            timeout: tool.map_or(crate::tool::TIMEOUT, |tool| tool.timeout),
            idempotent: tool.is_some_and(|tool| tool.idempotent),
        }
    }

    /// The same for every try of the same call.
    fn key(&self, path: &Path, call: &CallId) -> String {
        let mut key = self.driver.place.key.clone();
        for call in path.iter().chain([call]) {
            key.push('/');
            key.push_str(&call.0);
        }
        key
    }

    fn start(&self, turn: &Turn, path: Path, action: Action) -> Work<'d> {
        match action {
            Action::CallModel { model, request } => {
                match self.driver.rules.models.model(model.as_deref()) {
                    Some(model) => Work::Model(Some(path), model.answer(request).into_future()),
                    None => Work::Ready(Some(Done::Model(path, Some(Err(no_model(model))), None))),
                }
            }
            Action::Run { call, .. } => {
                let Some(tool) = self.driver.rules.tools.get(&call.call().name) else {
                    let id = call.call().id.clone();
                    let reply = Reply::Done(Outcome::failed("There is no such tool any more."));
                    return Work::Ready(Some(Done::Tool(path, id, reply)));
                };
                let context = self.context(turn, &path, &call.call().id);
                let outside =
                    self.outside.iter().any(|(at, id)| *at == path && *id == call.call().id);
                Work::Other(run_tool(tool.clone(), path, call, context, outside))
            }
            Action::TopUp(more) => {
                let host = self.driver.host;
                Work::Other(async move { Done::ToppedUp(path, host.top_up(more).await) }.boxed())
            }
        }
    }

    fn context(&self, turn: &Turn, path: &Path, call: &CallId) -> ToolContext {
        let place = self.driver.place;
        ToolContext {
            org: place.org,
            agent: place.agent,
            session: place.session,
            contact: place.contact,
            now: self.driver.host.now(),
            idempotency_key: self.key(path, call),
            pending: turn.account().effects.as_slice().into(),
        }
    }

    /// Tells the turn what came of something.
    async fn done(&mut self, turn: &mut Turn, done: Done, out: &mut Out) -> Result<(), H::Error> {
        let rules = self.driver.rules_now();
        match done {
            Done::Model(path, item, stream) => self.pieces(turn, path, item, stream, out),
            Done::Tool(path, call, reply) => {
                let at = self.outside.iter().position(|(p, id)| *p == path && *id == call);
                if let Some(at) = at {
                    self.outside.swap_remove(at);
                    let asks = Outcome::ok("It asks first.");
                    let outcome = if let Reply::Done(outcome) = &reply { outcome } else { &asks };
                    self.driver.host.outcome(&path, &call, outcome).await?;
                }
                let _ = turn.step(&path, Input::Reply(call.clone(), reply), &rules, out);
                if let Some((path, call)) = self.queue.leave(&path, &call) {
                    let next = self.start(turn, path, Action::Run { call, checkpoint: false });
                    self.work.push(next);
                }
            }
            Done::ToppedUp(path, added) => {
                let _ = turn.step(&path, Input::ToppedUp(added), &rules, out);
            }
        }
        Ok(())
    }

    /// Gives the turn what has come of an answer. Its stream is dropped before
    /// its last piece is taken, so that the conversation has one owner again.
    fn pieces(
        &mut self,
        turn: &mut Turn,
        path: Path,
        mut item: Option<Result<Chunk, ModelError>>,
        mut stream: Option<Answer>,
        out: &mut Out,
    ) {
        let (rules, mut taken) = (self.driver.rules_now(), 0);
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
                    Input::ModelFailed(cut())
                }
            };
            // What nothing waits for is late, and void.
            if turn.step(&path, input, &rules, out).is_err() {
                return;
            }
            taken += 1;
            let Some(rest) = stream.as_mut() else { return };
            let next = if taken < AT_ONCE { rest.next().now_or_never() } else { None };
            match next {
                Some(next) => item = next,
                None => break,
            }
        }
        if let Some(stream) = stream {
            self.work.push(Work::Model(Some(path), stream.into_future()));
        }
    }

    /// Tells the turn what somebody wants. What stops it drops all work.
    async fn command(
        &mut self,
        turn: &mut Turn,
        path: Path,
        input: Input,
        out: &mut Out,
    ) -> Result<(), H::Error> {
        let stops = matches!(input, Input::Abort | Input::TimedOut | Input::Steer(_));
        let rules = self.driver.rules_now();
        if turn.step(&path, input, &rules, out).is_ok() && stops {
            self.work.clear();
            self.queue = Queue::default();
            for (path, call) in std::mem::take(&mut self.outside) {
                let why = "It was stopped while it was running.";
                let unknown = Outcome::of(Status::OutcomeUnknown, why);
                self.driver.host.outcome(&path, &call, &unknown).await?;
            }
        }
        Ok(())
    }
}

fn no_model(name: Option<String>) -> ModelError {
    let model = name.unwrap_or_default();
    let message = "there is no such model here".to_owned();
    ModelError { model, kind: ModelErrorKind::UnknownModel, message, retry_after: None }
}

fn cut() -> ModelError {
    let message = "the answer ended in the middle".to_owned();
    ModelError { model: String::new(), kind: ModelErrorKind::Cut, message, retry_after: None }
}
