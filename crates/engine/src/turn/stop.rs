//! Stopping a turn, or steering it to another message.

use super::Step;
use super::node::{FollowUp, Node, Phase};
use super::protocol::{InputRejected, TurnEnd, TurnEvent};
use crate::history::{Item, ToolCall};
use crate::outcome::ToolOutcome;

/// How many follow-ups may be queued.
const MAX_FOLLOW_UPS: usize = 64;

impl Node {
    /// Ends the turn. Text the model has already written is kept and marked as partial.
    pub(super) fn stop(&mut self, end: TurnEnd, step: &mut Step<'_, '_>) {
        self.abandon_work(step);
        self.end(end, step);
    }

    /// Abandons the current work and answers this message instead.
    pub(super) fn steer(&mut self, message: FollowUp, step: &mut Step<'_, '_>) {
        self.abandon_work(step);
        self.follow_ups.clear();
        self.repeats.clear();
        self.trust = self.trust.after_reading(message.trust);
        self.push_item(Item::User { content: message.content });
        self.phase = Phase::Ready;
        self.ask_model(step);
    }

    /// Queues a message to answer later.
    pub(super) fn follow_up(
        &mut self,
        message: FollowUp,
        step: &mut Step<'_, '_>,
    ) -> Result<(), InputRejected> {
        if self.follow_ups.len() >= MAX_FOLLOW_UPS {
            return Err(InputRejected::NotExpected);
        }
        self.follow_ups.push_back(message);
        step.event(TurnEvent::FollowUpQueued { count: self.follow_ups.len() });
        Ok(())
    }

    /// Leaves the history in a form that providers accept: a partial answer without its
    /// calls, and a result for every call.
    fn abandon_work(&mut self, step: &mut Step<'_, '_>) {
        match &self.phase {
            Phase::Model { .. } => {
                let text = self.abandon_answer(step).text;
                if !text.trim().is_empty() {
                    self.push_item(Item::Assistant { text, calls: Vec::new(), partial: true });
                }
            }
            Phase::Tools { .. } => self.close_calls(step),
            Phase::Ready | Phase::ToppingUp | Phase::Done { .. } => {}
        }
    }

    pub(super) fn stop_subagent(
        &mut self,
        call: &ToolCall,
        mut agent: Self,
        step: &mut Step<'_, '_>,
    ) -> ToolOutcome {
        step.path.push(call.id.clone());
        agent.stop(TurnEnd::Aborted, step);
        step.path.pop();
        self.finish_subagent(call, agent, step)
    }
}
