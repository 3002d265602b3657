//! Stopping a turn, or turning it to something else.

use super::Step;
use super::node::{Node, Phase};
use super::protocol::{End, Event};
use crate::history::{Content, Item};

impl Node {
    /// Ends the turn. What the model had said is kept and marked.
    pub(super) fn stop(&mut self, end: End, step: &mut Step<'_, '_>) {
        self.drop_work(step);
        self.end(end, step);
    }

    /// Drops what it does, and answers this instead.
    pub(super) fn steer(&mut self, content: Vec<Content>, step: &mut Step<'_, '_>) {
        self.drop_work(step);
        self.follow_ups.clear();
        self.repeats.clear();
        self.say(Item::User { content });
        self.phase = Phase::Ready;
        self.ask_model(step);
    }

    /// Keeps this until it has answered.
    pub(super) fn follow_up(&mut self, content: Vec<Content>, step: &mut Step<'_, '_>) {
        self.follow_ups.push_back(content);
        step.event(Event::FollowUpQueued { count: self.follow_ups.len() });
    }

    /// Leaves the conversation as providers accept it: half an answer without
    /// its calls, and a result for every call.
    fn drop_work(&mut self, step: &Step<'_, '_>) {
        match &mut self.phase {
            Phase::Model { draft } if !draft.text.is_empty() => {
                let text = std::mem::take(&mut draft.text);
                self.say(Item::Assistant { text, calls: Vec::new(), partial: true });
            }
            Phase::Tools { .. } => self.close_calls(step),
            _ => {}
        }
    }
}
