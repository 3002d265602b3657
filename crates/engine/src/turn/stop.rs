//! Stopping a turn, or turning it to something else.

use super::Step;
use super::node::{FollowUp, Node, Phase};
use super::protocol::{End, Event, NotTaken};
use crate::history::{Item, ToolCall};
use crate::outcome::Outcome;

/// The most that waits to be answered.
const MOST_WAITING: usize = 64;

impl Node {
    /// Ends the turn. What the model had said is kept and marked.
    pub(super) fn stop(&mut self, end: End, step: &mut Step<'_, '_>) {
        self.drop_work(step);
        self.end(end, step);
    }

    /// Drops what it does, and answers this instead.
    pub(super) fn steer(&mut self, to: FollowUp, step: &mut Step<'_, '_>) {
        self.drop_work(step);
        self.follow_ups.clear();
        self.repeats.clear();
        self.trust = self.trust.after_reading(to.trust);
        self.say(Item::User { content: to.content });
        self.phase = Phase::Ready;
        self.ask_model(step);
    }

    /// Keeps this until it has answered.
    pub(super) fn follow_up(
        &mut self,
        what: FollowUp,
        step: &mut Step<'_, '_>,
    ) -> Result<(), NotTaken> {
        if self.follow_ups.len() >= MOST_WAITING {
            return Err(NotTaken::NotExpected);
        }
        self.follow_ups.push_back(what);
        step.event(Event::FollowUpQueued { count: self.follow_ups.len() });
        Ok(())
    }

    /// Leaves the conversation as providers accept it: half an answer without
    /// its calls, and a result for every call.
    fn drop_work(&mut self, step: &mut Step<'_, '_>) {
        match &self.phase {
            Phase::Model { .. } => {
                let text = self.give_up_answer(step).text;
                if !text.trim().is_empty() {
                    self.say(Item::Assistant { text, calls: Vec::new(), partial: true });
                }
            }
            Phase::Tools { .. } => self.close_calls(step),
            Phase::Ready | Phase::ToppingUp | Phase::Done { .. } => {}
        }
    }

    /// Stops an agent that works on a call.
    pub(super) fn stop_agent(
        &mut self,
        call: &ToolCall,
        mut agent: Self,
        step: &mut Step<'_, '_>,
    ) -> Outcome {
        step.path.push(call.id.clone());
        agent.stop(End::Aborted, step);
        step.path.pop();
        self.result_of(call, agent, step)
    }
}
