//! The turn: a state machine that awaits nothing.
//!
//! It is told what happened ([`Input`]) and says what to do next ([`Action`]).
//! It owns counting, limits, the conversation and what it costs. Its state can be
//! stored at any moment and taken up again by another process, under the rules of
//! that moment. An agent that works for another inside the turn is a node of the
//! same tree, with the same gate and the same account.

mod account;
mod call;
mod delegate;
mod draft;
mod node;
mod protocol;
mod resume;
mod rules;
mod stop;

use std::collections::VecDeque;
use std::sync::Arc;

use ostler_domain::money::caps::TurnBudget;
use ostler_domain::session::errors::{ErrorState, FailureEffect};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolName, Trust};
use serde::{Deserialize, Serialize};

pub use account::{Account, ITSELF, Spent};
pub use delegate::{SubagentMeta, parse_subagent_meta};
pub use protocol::{
    Action, Answer, Decision, End, Event, Input, Judgement, NotTaken, Out, Path, Question,
    QuestionKind,
};
pub use resume::Known;
pub use rules::{Models, Rules};

use crate::gate::fingerprint;
use crate::history::{CallId, Content, Image, Item, ToolCall};
use crate::outcome::{Outcome, Status};
use crate::tool::Reply;
use call::CallState;
use node::{Node, Phase};

pub use node::FollowUp;

/// The form in which turns are stored; a newer program reads older forms.
pub const STATE_VERSION: u32 = 1;

/// What holds for every agent of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How often models are asked, at most.
    pub max_steps: u32,
    /// How deep agents may call agents.
    pub max_depth: usize,
    /// How often in a row the same call may be made. Then it is refused, and
    /// after twice as many the turn ends.
    pub max_repeats: u32,
    /// The most tokens of an answer.
    pub max_tokens: u64,
    /// What happens to a call that a person must decide on.
    pub on_ask: OnAsk,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 1000,
            max_depth: 5,
            max_repeats: 3,
            max_tokens: 4096,
            on_ask: OnAsk::Suspend,
        }
    }
}

/// What happens to a call that a person must decide on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnAsk {
    /// The turn waits: somebody is there.
    Suspend,
    /// The turn goes on without it: nobody keeps a customer waiting.
    Defer,
}

/// How a turn begins.
#[derive(Debug, Clone)]
pub struct NewTurn {
    /// The system prompt.
    pub system: Arc<str>,
    /// What was said before, and last what is to be answered.
    pub history: Vec<Item>,
    /// Whether any of that is from outside.
    pub trust: Trust,
    /// What it may spend.
    pub budget: TurnBudget,
    /// What went wrong in the session before.
    pub errors: ErrorState,
    /// Its limits.
    pub limits: Limits,
    /// The time.
    pub now: Timestamp,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    version: u32,
    limits: Limits,
    account: Account,
    root: Node,
    /// How many entries of the conversation were there before.
    before: usize,
}

/// Why a stored turn cannot be taken up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A newer program wrote it; that one is to go on with it.
    #[error("this turn was stored in form {found}, and this program knows {known}")]
    Newer {
        /// Its form.
        found: u32,
        /// What this program knows.
        known: u32,
    },
    /// It cannot be read.
    #[error("this turn cannot be read: {0}")]
    Unreadable(String),
}

impl Turn {
    /// A turn that has not begun; [`Turn::resume`] begins it.
    pub fn new(new: NewTurn) -> Self {
        let before = new.history.len();
        let root = Node {
            kind: None,
            model: None,
            system: new.system,
            allowed: None,
            history: Arc::new(new.history),
            phase: Phase::Ready,
            trust: new.trust,
            follow_ups: VecDeque::new(),
            corrected: false,
            repeats: Vec::new(),
            calls: 0,
            began: new.now,
        };
        let account = Account::new(new.budget, new.errors);
        Self { version: STATE_VERSION, limits: new.limits, account, root, before }
    }

    /// Reads a stored turn.
    pub fn load(text: &str) -> Result<Self, LoadError> {
        #[derive(Deserialize)]
        struct Form {
            version: u32,
        }
        let unreadable = |error: serde_json::Error| LoadError::Unreadable(error.to_string());
        let Form { version: found } = serde_json::from_str(text).map_err(unreadable)?;
        if found > STATE_VERSION {
            return Err(LoadError::Newer { found, known: STATE_VERSION });
        }
        serde_json::from_str(text).map_err(unreadable)
    }

    /// Writes the turn down.
    pub fn store(&self) -> Result<String, LoadError> {
        serde_json::to_string(self).map_err(|error| LoadError::Unreadable(error.to_string()))
    }

    /// Tells an agent of the turn what happened, and learns what to do. What
    /// nothing waited for changes nothing.
    pub fn step(
        &mut self,
        path: &[CallId],
        input: Input,
        rules: &Rules<'_>,
        out: &mut Out,
    ) -> Result<(), NotTaken> {
        if self.end().is_some() {
            return Err(NotTaken::NotExpected);
        }
        let limits = self.limits;
        let mut step = Step::new(rules, &mut self.account, &limits, out);
        match input {
            Input::Abort => self.root.stop(End::Aborted, &mut step),
            Input::TimedOut => self.root.stop(End::TimedOut, &mut step),
            Input::Steer(to) => self.root.steer(to, &mut step),
            Input::FollowUp(what) => return self.root.follow_up(what, &mut step),
            Input::Budget(budget) => step.account.budget = budget,
            input => return self.root.route(path, input, &mut step),
        }
        Ok(())
    }

    /// How it ended, if it has.
    pub const fn end(&self) -> Option<&End> {
        match &self.root.phase {
            Phase::Done { end } => Some(end),
            _ => None,
        }
    }

    /// Whether there is nothing to do until a person answers.
    pub fn waits_for_people(&self) -> bool {
        self.end().is_none() && self.root.is_idle()
    }

    /// The questions that are open, and of which agent.
    pub fn questions(&self) -> Vec<(Path, Question)> {
        let mut all = Vec::new();
        self.root.questions(&mut Path::new(), &mut all);
        all
    }

    /// What it has used and may still use.
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// The whole conversation of the turn's own agent.
    pub fn history(&self) -> &[Item] {
        &self.root.history
    }

    /// What the turn has added to the conversation.
    pub fn said(&self) -> &[Item] {
        self.root.history.get(self.before..).unwrap_or_default()
    }

    /// What was written meanwhile and was not answered before the end.
    pub fn take_follow_ups(&mut self) -> Vec<FollowUp> {
        self.root.follow_ups.drain(..).collect()
    }

    /// Every picture of the turn. Their bytes are not stored with it, so whoever
    /// takes a turn up again loads them.
    pub fn images(&mut self, mut each: impl FnMut(&mut Image)) {
        self.root.images(&mut each);
    }

    /// Whether it has read anything from outside.
    pub const fn trust(&self) -> Trust {
        self.root.trust
    }
}

/// One step: what may be looked at and where results go.
pub(crate) struct Step<'r, 's> {
    pub(crate) rules: &'r Rules<'r>,
    pub(crate) account: &'s mut Account,
    pub(crate) limits: &'s Limits,
    out: &'s mut Out,
    path: Path,
}

impl<'r, 's> Step<'r, 's> {
    const fn new(
        rules: &'r Rules<'r>,
        account: &'s mut Account,
        limits: &'s Limits,
        out: &'s mut Out,
    ) -> Self {
        Self { rules, account, limits, out, path: Path::new() }
    }

    fn act(&mut self, action: Action) {
        self.out.actions.push((self.path.clone(), action));
    }

    fn event(&mut self, event: Event) {
        self.out.events.push((self.path.clone(), event));
    }

    fn offered(&self, node: &Node) -> Arc<[String]> {
        node.offered(self.rules).into()
    }

    /// Counts a failure of a tool.
    fn failed(&mut self, tool: &ToolName) {
        let effect = self.account.errors.record_failure(tool, self.rules.errors, self.rules.now);
        if effect == FailureEffect::Disabled {
            self.event(Event::ToolDisabled { tool: tool.clone() });
        }
    }
}

impl Node {
    /// Gives an input to the agent it is for.
    fn route(
        &mut self,
        path: &[CallId],
        input: Input,
        step: &mut Step<'_, '_>,
    ) -> Result<(), NotTaken> {
        let Some((call, rest)) = path.split_first() else { return self.take(input, step) };
        let Phase::Tools { calls, .. } = &mut self.phase else { return Err(NotTaken::NotExpected) };
        let agent = calls.iter_mut().find_map(|each| match &mut each.state {
            CallState::Delegated { agent } if each.call.id == *call => Some(agent),
            _ => None,
        });
        let agent = agent.ok_or(NotTaken::NotExpected)?;
        step.path.push(call.clone());
        let taken = agent.route(rest, input, step);
        step.path.pop();
        taken?;
        self.collect(call, step);
        Ok(())
    }

    fn take(&mut self, input: Input, step: &mut Step<'_, '_>) -> Result<(), NotTaken> {
        match input {
            Input::Chunk(chunk) => self.chunk(chunk, step),
            Input::ModelFailed(error) => self.model_failed(error, step),
            Input::ToppedUp(added) => self.topped_up(added, step),
            Input::Reply(call, reply) => self.replied(&call, reply, step),
            Input::Decision(call, decision) => self.decided(&call, decision, step),
            Input::Answer(call, answer) => self.told(&call, answer, step),
            // These are for the whole turn and never get here.
            Input::Budget(_)
            | Input::FollowUp(_)
            | Input::Steer(_)
            | Input::Abort
            | Input::TimedOut => Err(NotTaken::NotExpected),
        }
    }

    /// The call that waits in a certain state, taken out to be changed.
    fn waiting(
        &mut self,
        id: &CallId,
        expected: impl Fn(&CallState) -> bool,
    ) -> Result<usize, NotTaken> {
        let Phase::Tools { calls, .. } = &self.phase else { return Err(NotTaken::NotExpected) };
        let found = calls.iter().position(|call| call.call.id == *id && expected(&call.state));
        found.ok_or(NotTaken::NotExpected)
    }

    fn set_call(&mut self, at: usize, state: CallState, step: &mut Step<'_, '_>) {
        if let Phase::Tools { calls, .. } = &mut self.phase
            && let Some(call) = calls.get_mut(at)
        {
            call.state = state;
        }
        self.calls_changed(step);
    }

    fn call_at(&self, at: usize) -> Option<ToolCall> {
        match &self.phase {
            Phase::Tools { calls, .. } => calls.get(at).map(|call| call.call.clone()),
            _ => None,
        }
    }

    /// A tool has answered.
    fn replied(
        &mut self,
        id: &CallId,
        reply: Reply,
        step: &mut Step<'_, '_>,
    ) -> Result<(), NotTaken> {
        let at = self.waiting(id, |state| matches!(state, CallState::Running { .. }))?;
        let call = self.call_at(at).ok_or(NotTaken::NotExpected)?;
        let state = match reply {
            Reply::Done(outcome) => {
                let outcome = labelled(&call, outcome, step);
                self.done(&call, outcome, step)
            }
            Reply::Ask(ask) => {
                let kind = QuestionKind::Ask(ask.clone());
                step.event(Event::Asked(Question { call, kind }));
                CallState::Asking { ask }
            }
            Reply::Delegate(sub) => self.delegate(&call, sub, step),
        };
        self.set_call(at, state, step);
        self.collect(id, step);
        Ok(())
    }

    /// A person has decided on a call. What they saw is what is asked, and it
    /// runs under the rules of now.
    fn decided(
        &mut self,
        id: &CallId,
        decision: Decision,
        step: &mut Step<'_, '_>,
    ) -> Result<(), NotTaken> {
        let at = self.waiting(id, |state| matches!(state, CallState::Undecided { .. }))?;
        let mut call = self.call_at(at).ok_or(NotTaken::NotExpected)?;
        match decision {
            Decision::Approve { seen, arguments } => {
                if seen != fingerprint(&call.name, &call.arguments) {
                    return Err(NotTaken::OtherArguments);
                }
                if let Some(arguments) = arguments {
                    if let Some(why) = step.rules.tools.problem_with(&call.name, &arguments) {
                        return Err(NotTaken::BadArguments { why });
                    }
                    call.arguments = arguments;
                    self.rewrite(at, &call);
                }
                self.set_call(at, CallState::New { approved: true, begun: false }, step);
                self.decide_calls(step);
            }
            Decision::Reject { reason } => {
                let why = format!("A person said no to this: {reason}");
                let state = self.done(&call, Outcome::of(Status::Rejected, why), step);
                self.set_call(at, state, step);
            }
        }
        Ok(())
    }

    /// Writes the arguments that a person chose into the call and into what the
    /// model is said to have called, so that the record says what ran.
    fn rewrite(&mut self, at: usize, call: &ToolCall) {
        if let Phase::Tools { calls, .. } = &mut self.phase
            && let Some(waiting) = calls.get_mut(at)
        {
            waiting.call = call.clone();
        }
        if let Some(Item::Assistant { calls, .. }) = Arc::make_mut(&mut self.history).last_mut()
            && let Some(said) = calls.iter_mut().find(|said| said.id == call.id)
        {
            *said = call.clone();
        }
    }

    /// A person has answered.
    fn told(
        &mut self,
        id: &CallId,
        answer: Answer,
        step: &mut Step<'_, '_>,
    ) -> Result<(), NotTaken> {
        let at = self.waiting(id, |state| matches!(state, CallState::Asking { .. }))?;
        let call = self.call_at(at).ok_or(NotTaken::NotExpected)?;
        let state = self.done(&call, Outcome::ok(answer.text()), step);
        self.set_call(at, state, step);
        Ok(())
    }

    /// Whether it has nothing to do until a person answers.
    fn is_idle(&self) -> bool {
        match &self.phase {
            Phase::Ready | Phase::ToppingUp | Phase::Model { .. } => false,
            Phase::Done { .. } => true,
            Phase::Tools { calls, topping_up } => {
                !topping_up
                    && calls.iter().all(|call| match &call.state {
                        CallState::New { .. } | CallState::Running { .. } => false,
                        CallState::Delegated { agent } => agent.is_idle(),
                        CallState::Undecided { .. }
                        | CallState::Asking { .. }
                        | CallState::Done { .. } => true,
                    })
            }
        }
    }

    fn images(&mut self, each: &mut impl FnMut(&mut Image)) {
        let has_images = |item: &Item| matches!(item, Item::User { content } if content.iter().any(Content::is_image));
        if self.history.iter().any(has_images) {
            for item in Arc::make_mut(&mut self.history) {
                if let Item::User { content } = item {
                    images_in(content, each);
                }
            }
        }
        self.follow_ups.iter_mut().for_each(|waiting| images_in(&mut waiting.content, each));
        if let Phase::Tools { calls, .. } = &mut self.phase {
            for call in calls {
                if let CallState::Delegated { agent } = &mut call.state {
                    agent.images(each);
                }
            }
        }
    }

    fn questions(&self, path: &mut Path, all: &mut Vec<(Path, Question)>) {
        let Phase::Tools { calls, .. } = &self.phase else { return };
        for call in calls {
            if let Some(question) = call.question() {
                all.push((path.clone(), question));
            } else if let CallState::Delegated { agent } = &call.state {
                path.push(call.call.id.clone());
                agent.questions(path, all);
                path.pop();
            }
        }
    }
}

/// What a call came to, within the tool's limits and as trustworthy as the tool.
pub(crate) fn labelled(call: &ToolCall, outcome: Outcome, step: &Step<'_, '_>) -> Outcome {
    let Some(definition) = step.rules.tools.definition(&call.name) else { return outcome };
    let trust = outcome.trust.after_reading(definition.spec.output);
    Outcome { trust, ..outcome.capped(definition.max_output) }
}

fn images_in(content: &mut [Content], each: &mut impl FnMut(&mut Image)) {
    for content in content {
        if let Content::Image(image) = content {
            each(image);
        }
    }
}

impl Answer {
    /// What the model is told.
    fn text(self) -> String {
        match self {
            Self::Text { text } => text,
            Self::Plan { approved: true, feedback: None } => "The plan was approved.".into(),
            Self::Plan { approved: true, feedback: Some(feedback) } => {
                format!("The plan was approved: {feedback}")
            }
            Self::Plan { approved: false, feedback } => {
                let why = feedback.unwrap_or_else(|| "no reason was given".into());
                format!("The plan was not approved: {why}")
            }
        }
    }
}
