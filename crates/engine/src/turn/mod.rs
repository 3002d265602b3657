//! The turn: a state machine that awaits nothing.
//!
//! It is told what happened ([`Input`]) and says what to do next ([`Action`]).
//! It owns counting, limits, the conversation and what it costs. Its state can be
//! stored at any moment and taken up again by another process, under the rules of
//! that moment. An agent that works for another inside the turn is a node of the
//! same tree, with the same gate and the same account.

mod account;
mod answer;
mod call;
mod delegate;
mod draft;
mod look;
mod node;
mod protocol;
mod resume;
mod rules;
mod stop;
mod take;

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
    Action, Answer, Decision, End, EndReason, Event, Input, Judgement, NotTaken, Out, Path,
    Question, QuestionKind,
};
pub use resume::Known;
pub use rules::{ModelChains, Models, Rules};

use crate::history::{CallId, Content, Item, ToolCall};
use call::Call;
use node::{Node, Phase};

pub use node::FollowUp;

/// The form in which turns are stored; a newer program reads older forms.
pub const STATE_VERSION: u32 = 2;

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
    /// A call that a person approved since it was asked for: it is made before
    /// the model is asked, under the rules of now.
    pub approved: Option<ToolCall>,
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
        let mut history = new.history;
        let phase = new.approved.map_or(Phase::Ready, |call| {
            let calls = vec![call.clone()];
            history.push(Item::Assistant { text: String::new(), calls, partial: false });
            Phase::Tools { calls: vec![Call::approved(call)], topping_up: false }
        });
        let root = Node {
            kind: None,
            model: None,
            system: new.system,
            allowed: None,
            history: Arc::new(history),
            phase,
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

    /// Every picture, recording and file of the turn. Their bytes are not stored
    /// with it, so whoever takes a turn up again loads them.
    pub fn attached(&mut self, mut each: impl FnMut(&mut Content)) {
        self.root.attached(&mut each);
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
