//! The turn: a state machine that does no I/O and never waits.
//!
//! [`Turn::step`] takes what happened ([`Input`]) and returns what to do next
//! ([`TurnAction`]) and what to tell others ([`TurnEvent`]). The turn counts steps,
//! tokens and credits, answers unknown tools and invalid arguments, detects loops,
//! and keeps the history in the form that providers accept. Its state can be stored
//! after any step and resumed by another process.
//!
//! [`TurnRules`] are not part of the state: scope, tools, autonomy, models and the
//! time come with each step, so a stored turn continues under the current rules.
//!
//! A subagent is a node of the same tree, with the same gate and the same account.
//! It has no tool that its caller lacks, and its questions are reported with the
//! path to it.

mod account;
mod answer;
mod call;
mod delegate;
mod draft;
mod input;
mod inspect;
mod node;
mod protocol;
mod resume;
mod rules;
mod spending;
mod stop;

use std::collections::VecDeque;
use std::sync::Arc;

use ostler_domain::money::caps::TurnBudget;
use ostler_domain::session::errors::{ErrorState, FailureEffect};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolName, Trust};
use serde::{Deserialize, Serialize};

pub use account::{AgentUsage, ROOT_AGENT, TurnAccount};
pub use delegate::{SubagentMeta, parse_subagent_meta};
pub use protocol::{
    AgentPath, Answer, Decision, EndReason, GateRecord, Input, InputRejected, Question,
    QuestionKind, TurnAction, TurnEnd, TurnEvent, TurnOutput,
};
pub use resume::KnownOutcomes;
pub use rules::{ModelChains, Models, TurnRules};

use crate::history::{CallId, Content, Item, ToolCall};
use call::TrackedCall;
use node::{Node, Phase};

pub use node::FollowUp;

/// The version of the stored form. Older versions can still be loaded.
pub const STATE_VERSION: u32 = 2;

/// Limits that apply to all agents of a turn together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnLimits {
    /// The most model calls.
    pub max_steps: u32,
    /// How deep subagents may be nested.
    pub max_depth: usize,
    /// How often in a row the same call may be made. Further ones are denied, and after
    /// twice as many the turn ends.
    pub max_repeats: u32,
    /// The most tokens of one answer.
    pub max_tokens: u64,
    pub approval_mode: ApprovalMode,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            max_steps: 1000,
            max_depth: 5,
            max_repeats: 3,
            max_tokens: 4096,
            approval_mode: ApprovalMode::Suspend,
        }
    }
}

/// What happens to a call that needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// The turn waits for the decision.
    Suspend,
    /// The turn continues without the call, for conversations in which nobody should
    /// wait.
    Defer,
}

/// The start of a turn.
#[derive(Debug, Clone)]
pub struct NewTurn {
    pub system: Arc<str>,
    /// The conversation so far; the last entry is the one to answer.
    pub history: Vec<Item>,
    /// A call that a person approved after an earlier turn. It is made before the model
    /// is asked, under the current rules.
    pub approved: Option<ToolCall>,
    /// Whether the history contains anything from outside.
    pub trust: Trust,
    pub budget: TurnBudget,
    /// The failures of the session so far.
    pub errors: ErrorState,
    pub limits: TurnLimits,
    pub now: Timestamp,
}

/// The state of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    version: u32,
    limits: TurnLimits,
    account: TurnAccount,
    root: Node,
    /// How many history entries existed before the turn.
    initial_items: usize,
}

/// The reason why a stored turn cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The turn was stored by a newer version of the program.
    #[error(
        "this turn was stored in version {found}, but this program only supports versions up to {supported}"
    )]
    Newer { found: u32, supported: u32 },
    #[error("this turn cannot be read: {0}")]
    Unreadable(String),
}

impl Turn {
    /// Creates a turn; [`Turn::resume`] starts it.
    pub fn new(new: NewTurn) -> Self {
        let initial_items = new.history.len();
        let mut history = new.history;
        let phase = new.approved.map_or(Phase::Ready, |call| {
            let calls = vec![call.clone()];
            history.push(Item::Assistant { text: String::new(), calls, partial: false });
            Phase::Tools { calls: vec![TrackedCall::approved(call)], topping_up: false }
        });
        let root = Node {
            agent_type: None,
            model: None,
            system: new.system,
            allowed: None,
            history: Arc::new(history),
            inherited: 0,
            phase,
            trust: new.trust,
            follow_ups: VecDeque::new(),
            tools_listed: false,
            repeats: Vec::new(),
            call_count: 0,
            max_steps: None,
            steps: 0,
            started_at: new.now,
        };
        let account = TurnAccount::new(new.budget, new.errors);
        Self { version: STATE_VERSION, limits: new.limits, account, root, initial_items }
    }

    /// Limits the turn's own agent to these tools. Subagents may have others.
    #[must_use]
    pub fn with_tools(mut self, tools: Vec<ToolName>) -> Self {
        self.root.allowed = Some(tools);
        self
    }

    /// Serializes the turn without the history that existed before it, which the host
    /// has stored already.
    pub fn store_without_past(&self) -> Result<String, LoadError> {
        let root = Node { history: Arc::new(self.new_items().to_vec()), ..self.root.clone() };
        let account = self.account.clone();
        Self { root, account, initial_items: 0, ..*self }.store()
    }

    /// Deserializes a turn that was stored without its past.
    pub fn load_with_past(text: &str, past: Vec<Item>) -> Result<Self, LoadError> {
        let mut turn = Self::load(text)?;
        turn.initial_items = past.len();
        let new_items = Arc::unwrap_or_clone(std::mem::take(&mut turn.root.history));
        turn.root.history = Arc::new(past.into_iter().chain(new_items).collect());
        Ok(turn)
    }

    /// Deserializes a stored turn.
    pub fn load(text: &str) -> Result<Self, LoadError> {
        #[derive(Deserialize)]
        struct StoredVersion {
            version: u32,
        }
        let unreadable = |error: serde_json::Error| LoadError::Unreadable(error.to_string());
        let StoredVersion { version: found } = serde_json::from_str(text).map_err(unreadable)?;
        if found > STATE_VERSION {
            return Err(LoadError::Newer { found, supported: STATE_VERSION });
        }
        serde_json::from_str(text).map_err(unreadable)
    }

    /// Serializes the turn.
    pub fn store(&self) -> Result<String, LoadError> {
        serde_json::to_string(self).map_err(|error| LoadError::Unreadable(error.to_string()))
    }

    /// Applies an input for the agent at `path` and adds the resulting actions and
    /// events to `out`.
    ///
    /// # Errors
    ///
    /// A rejected input changes nothing.
    pub fn step(
        &mut self,
        path: &[CallId],
        input: Input,
        rules: &TurnRules<'_>,
        out: &mut TurnOutput,
    ) -> Result<(), InputRejected> {
        if self.end().is_some() {
            return Err(InputRejected::NotExpected);
        }
        let limits = self.limits;
        let mut step = Step::new(rules, &mut self.account, &limits, out);
        match input {
            Input::Abort => self.root.stop(TurnEnd::Aborted, &mut step),
            Input::TimedOut => self.root.stop(TurnEnd::TimedOut, &mut step),
            Input::Steer(message) => self.root.steer(message, &mut step),
            Input::FollowUp(message) => return self.root.follow_up(message, &mut step),
            Input::Budget(budget) => step.account.budget = budget,
            input => return self.root.route(path, input, &mut step),
        }
        Ok(())
    }

    /// Returns how the turn ended, if it has.
    pub const fn end(&self) -> Option<&TurnEnd> {
        match &self.root.phase {
            Phase::Done { end } => Some(end),
            _ => None,
        }
    }

    /// Returns whether nothing can happen until a person answers.
    pub fn waits_for_people(&self) -> bool {
        self.end().is_none() && self.root.is_idle()
    }

    /// Returns the open questions, each with the agent that asked it.
    pub fn questions(&self) -> Vec<(AgentPath, Question)> {
        let mut all = Vec::new();
        self.root.questions(&mut AgentPath::new(), &mut all);
        all
    }

    /// Returns the account.
    pub const fn account(&self) -> &TurnAccount {
        &self.account
    }

    /// Returns the whole history of the turn's own agent.
    pub fn history(&self) -> &[Item] {
        &self.root.history
    }

    /// Returns the history, for the next turn.
    pub fn into_history(self) -> Vec<Item> {
        Arc::unwrap_or_clone(self.root.history)
    }

    /// Returns the history entries added by the turn.
    pub fn new_items(&self) -> &[Item] {
        self.root.history.get(self.initial_items..).unwrap_or_default()
    }

    /// Removes and returns the follow-ups that were not answered before the end.
    pub fn take_follow_ups(&mut self) -> Vec<FollowUp> {
        self.root.follow_ups.drain(..).collect()
    }

    /// Calls `each` for every attachment of the turn. Their bytes are not stored, so a
    /// resumed turn has to load them.
    pub fn for_each_attachment(&mut self, mut each: impl FnMut(&mut Content)) {
        self.root.for_each_attachment(&mut each);
    }

    /// Returns whether the turn has read anything from outside.
    pub const fn trust(&self) -> Trust {
        self.root.trust
    }
}

/// One step: the rules, the account and the output.
pub(crate) struct Step<'r, 's> {
    pub(crate) rules: &'r TurnRules<'r>,
    pub(crate) account: &'s mut TurnAccount,
    pub(crate) limits: &'s TurnLimits,
    out: &'s mut TurnOutput,
    path: AgentPath,
}

impl<'r, 's> Step<'r, 's> {
    const fn new(
        rules: &'r TurnRules<'r>,
        account: &'s mut TurnAccount,
        limits: &'s TurnLimits,
        out: &'s mut TurnOutput,
    ) -> Self {
        Self { rules, account, limits, out, path: AgentPath::new() }
    }

    fn act(&mut self, action: TurnAction) {
        self.out.actions.push((self.path.clone(), action));
    }

    fn event(&mut self, event: TurnEvent) {
        self.out.events.push((self.path.clone(), event));
    }

    fn offered(&self, node: &Node) -> Arc<[String]> {
        node.offered(self.rules).into()
    }

    /// Counts a failure of a tool, and disables the tool if there were too many.
    fn record_failure(&mut self, tool: &ToolName) {
        let effect = self.account.errors.record_failure(tool, self.rules.errors, self.rules.now);
        if effect == FailureEffect::Disabled {
            self.event(TurnEvent::ToolDisabled { tool: tool.clone() });
        }
    }
}
