//! The actions that were begun: those of a conversation are carried out one after another, those
//! of different conversations at the same time.

use std::collections::HashMap;

use ostler_domain::id::SessionId;
use ostler_tui::inbox::protocol::InboxAction;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// An action of a conversation.
#[derive(Debug)]
pub(super) struct QueuedAction {
    pub(super) number: u64,
    pub(super) org: String,
    pub(super) session: SessionId,
    pub(super) action: InboxAction,
}

/// Whether an action may be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueState {
    Open,
    /// An action that was begun before it in the conversation has failed.
    Failed,
}

/// A queue for each conversation. `carry_out` returns whether the action was done.
pub(super) struct ActionQueues<F> {
    carry_out: F,
    queues: HashMap<SessionId, mpsc::UnboundedSender<QueuedAction>>,
    workers: JoinSet<()>,
}

impl<F, Done> ActionQueues<F>
where
    F: Fn(QueuedAction, QueueState) -> Done + Clone + Send + 'static,
    Done: Future<Output = bool> + Send + 'static,
{
    pub(super) fn new(carry_out: F) -> Self {
        Self { carry_out, queues: HashMap::new(), workers: JoinSet::new() }
    }

    /// Carries an action out behind the others of its conversation.
    pub(super) fn add(&mut self, action: QueuedAction) {
        let (carry_out, workers) = (&self.carry_out, &mut self.workers);
        let queue = self.queues.entry(action.session).or_insert_with(|| {
            let (queue, actions) = mpsc::unbounded_channel();
            workers.spawn(work(carry_out.clone(), actions));
            queue
        });
        // The worker lives as long as its queue.
        let _ = queue.send(action);
    }

    /// Waits for what was begun.
    pub(super) async fn finish(mut self) {
        self.queues.clear();
        while self.workers.join_next().await.is_some() {}
    }
}

async fn work<F, Done>(carry_out: F, mut actions: mpsc::UnboundedReceiver<QueuedAction>)
where
    F: Fn(QueuedAction, QueueState) -> Done,
    Done: Future<Output = bool>,
{
    while let Some(action) = actions.recv().await {
        let is_done = carry_out(action, QueueState::Open).await;
        // What was begun behind it counts on it.
        while !is_done && let Ok(next) = actions.try_recv() {
            carry_out(next, QueueState::Failed).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use ostler_domain::id::SessionId;
    use ostler_tui::inbox::protocol::InboxAction;

    use super::{ActionQueues, QueueState, QueuedAction};

    /// M43: a reply is sent before the conversation is handed back, and what was begun behind an
    /// action that failed is not done.
    #[tokio::test]
    async fn m43_actions_of_a_conversation_keep_their_order() {
        let done = Arc::new(Mutex::new(Vec::new()));
        let mut queues = ActionQueues::new({
            let done = done.clone();
            move |action: QueuedAction, state| {
                let done = done.clone();
                async move {
                    // The first ones take longest.
                    tokio::time::sleep(Duration::from_millis(100 - 15 * action.number)).await;
                    done.lock().expect("no panic").push((action.number, state));
                    action.number != 4
                }
            }
        });
        let action = |number, session| QueuedAction {
            number,
            org: "bella".to_owned(),
            session: SessionId::from_u128(session),
            action: InboxAction::TakeOver,
        };
        for (number, session) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 2)] {
            queues.add(action(number, session));
        }
        queues.finish().await;
        let done = done.lock().expect("no panic").clone();
        let of = |numbers: &[u64]| -> Vec<_> {
            done.iter().filter(|(number, _)| numbers.contains(number)).copied().collect()
        };
        let (open, failed) = (QueueState::Open, QueueState::Failed);
        assert_eq!(of(&[1, 2]), [(1, open), (2, open)]);
        assert_eq!(of(&[3, 4, 5]), [(3, open), (4, open), (5, failed)]);
        assert_eq!(done[0].0, 3, "conversations do not wait for each other");
    }
}
