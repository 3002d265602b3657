//! Delivery: outgoing messages, the bindings they use, dead letters and notices.
//!
//! Messages of a conversation are sent in order; messages to the org's own people are
//! outside that order. A send without a report has an unknown outcome. A provider that
//! asks for a pause gets it for the whole binding, and so does one that fails.
//!
//! | file | holds |
//! |---|---|
//! | `bindings`     | which channel account belongs to which org and agent |
//! | `dead_letters` | deliveries and inputs that were given up, to replay or abandon |
//! | `binding_failures` | bindings that do not work at the moment |
//! | `notices`      | notices to people and agents, with cooldowns |
//! | `notice_deliveries` | where and when notices are sent to people, with their receipts |
//! | `outbox`       | messages to send: claiming, receipts, retries |
//! | `send_pauses`  | bindings through which nothing is sent for a while |
//! | `send_state`   | progress of sending, messages in team chats |

pub(crate) mod binding_failures;
pub(crate) mod bindings;
pub(crate) mod dead_letters;
pub(crate) mod notice_deliveries;
pub(crate) mod notices;
pub(crate) mod outbox;
pub(crate) mod send_pauses;
pub(crate) mod send_state;
