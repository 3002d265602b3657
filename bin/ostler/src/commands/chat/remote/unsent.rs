//! A message whose sending failed. It may have arrived, so the same message is sent again under
//! the same idempotency key.

use anyhow::Result;
use ostler_api::thread::ThreadInput;
use ostler_domain::id::{BlobId, ThreadId};
use ostler_tui::protocol::ComposedMessage;

use crate::random;

/// A message that is being sent.
pub(super) struct UnsentMessage {
    thread: ThreadId,
    verb: &'static str,
    message: ComposedMessage,
    /// The body of the request: images are uploaded once.
    pub(super) input: ThreadInput,
    pub(super) key: String,
}

impl UnsentMessage {
    /// Returns a message with a key of its own.
    pub(super) fn new(
        thread: ThreadId,
        verb: &'static str,
        message: ComposedMessage,
        images: Vec<BlobId>,
    ) -> Result<Self> {
        let input = ThreadInput { text: message.text.clone(), images };
        Ok(Self { thread, verb, message, input, key: random::hex()? })
    }

    /// Returns whether a message is this one.
    pub(super) fn is_of(&self, thread: ThreadId, verb: &str, message: &ComposedMessage) -> bool {
        self.thread == thread && self.verb == verb && self.message == *message
    }
}

#[cfg(test)]
mod tests {
    use ostler_domain::id::ThreadId;
    use ostler_tui::protocol::ComposedMessage;

    use super::UnsentMessage;

    /// M43: only the same message of the same thread is a repeat.
    #[test]
    fn m43_a_message_that_is_sent_again_is_known() {
        let message = |text: &str| ComposedMessage { text: text.to_owned(), images: Vec::new() };
        let (one, other) = (ThreadId::from_u128(1), ThreadId::from_u128(2));
        let unsent = UnsentMessage::new(one, "steer", message("hello"), Vec::new()).expect("a key");
        assert!(unsent.is_of(one, "steer", &message("hello")));
        assert!(!unsent.is_of(one, "steer", &message("hello!")));
        assert!(!unsent.is_of(one, "follow-ups", &message("hello")));
        assert!(!unsent.is_of(other, "steer", &message("hello")));
    }
}
