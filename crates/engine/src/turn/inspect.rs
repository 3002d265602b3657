//! Queries over an agent and its subagents: idleness, questions, attachments.

use std::sync::Arc;

use super::call::CallState;
use super::node::{Node, Phase};
use super::protocol::{AgentPath, Question};
use crate::history::{Content, Item};

impl Node {
    /// Returns whether nothing can happen until a person answers.
    pub(super) fn is_idle(&self) -> bool {
        match &self.phase {
            Phase::Ready | Phase::ToppingUp | Phase::Model { .. } => false,
            Phase::Done { .. } => true,
            Phase::Tools { calls, topping_up } => {
                !topping_up
                    && calls.iter().all(|call| match &call.state {
                        CallState::New { .. } | CallState::Running { .. } => false,
                        CallState::Delegated { agent } => agent.is_idle(),
                        CallState::AwaitingApproval { .. }
                        | CallState::AwaitingAnswer { .. }
                        | CallState::Done { .. } => true,
                    })
            }
        }
    }

    pub(super) fn for_each_attachment(&mut self, each: &mut impl FnMut(&mut Content)) {
        let any = |content: &[Content]| content.iter().any(|part| part.media().is_some());
        let has_some = |item: &Item| matches!(item, Item::User { content } if any(content));
        if self.history.iter().any(has_some) {
            for item in Arc::make_mut(&mut self.history) {
                if let Item::User { content } = item {
                    attachments_in(content, each);
                }
            }
        }
        self.follow_ups
            .iter_mut()
            .for_each(|follow_up| attachments_in(&mut follow_up.content, each));
        if let Phase::Tools { calls, .. } = &mut self.phase {
            for call in calls {
                if let CallState::Delegated { agent } = &mut call.state {
                    agent.for_each_attachment(each);
                }
            }
        }
    }

    pub(super) fn questions(&self, path: &mut AgentPath, all: &mut Vec<(AgentPath, Question)>) {
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

fn attachments_in(content: &mut [Content], each: &mut impl FnMut(&mut Content)) {
    content.iter_mut().filter(|part| part.media().is_some()).for_each(each);
}
