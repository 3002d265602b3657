//! What can be seen of an agent and of those that work for it.

use std::sync::Arc;

use super::call::CallState;
use super::node::{Node, Phase};
use super::protocol::{Path, Question};
use crate::history::{Content, Item};

impl Node {
    /// Whether it has nothing to do until a person answers.
    pub(super) fn is_idle(&self) -> bool {
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

    pub(super) fn attached(&mut self, each: &mut impl FnMut(&mut Content)) {
        let any = |content: &[Content]| content.iter().any(|one| one.media().is_some());
        let has_some = |item: &Item| matches!(item, Item::User { content } if any(content));
        if self.history.iter().any(has_some) {
            for item in Arc::make_mut(&mut self.history) {
                if let Item::User { content } = item {
                    attached_in(content, each);
                }
            }
        }
        self.follow_ups.iter_mut().for_each(|waiting| attached_in(&mut waiting.content, each));
        if let Phase::Tools { calls, .. } = &mut self.phase {
            for call in calls {
                if let CallState::Delegated { agent } = &mut call.state {
                    agent.attached(each);
                }
            }
        }
    }

    pub(super) fn questions(&self, path: &mut Path, all: &mut Vec<(Path, Question)>) {
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

fn attached_in(content: &mut [Content], each: &mut impl FnMut(&mut Content)) {
    content.iter_mut().filter(|one| one.media().is_some()).for_each(each);
}
