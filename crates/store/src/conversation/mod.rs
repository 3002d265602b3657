//! Conversations: input, the worker that handles it, and what its turn stores.
//!
//! A message is accepted when its inbox row is committed. A worker claims a
//! conversation with a lease whose token only grows, and the attempt is counted in the
//! claim's own commit. A turn is one transaction, fenced by that token; it includes the
//! changes of local tools, and fails as a whole if one of them is stale. Accepting a
//! message and committing a turn both write the conversation's row first, so that one
//! waits for the other and no message is overlooked. The row also numbers incoming and
//! outgoing messages, so that their order does not depend on clocks. A takeover raises
//! the epoch of the conversation: messages of agents from an older epoch are not sent.
//!
//! | file | holds |
//! |---|---|
//! | `approvals`      | decisions of people on tool calls that wait for one |
//! | `backlog`        | the limit of unanswered messages of an org |
//! | `checkpoint`     | the state of a turn that is not finished |
//! | `claim`          | finding the next conversation to work on, across all orgs |
//! | `decisions`      | pending decisions: what approvals and proposals have in common |
//! | `history`        | the messages of a thread, as the next turn reads them |
//! | `inbox`          | accepting input once, in order |
//! | `journal`        | external calls with their intents and outcomes |
//! | `lease`          | the right to work on one conversation, with a fencing token |
//! | `message_search` | finding messages in the sessions of an org |
//! | `notes`          | notes of people about a session |
//! | `record_changes` | writes of local tools, committed with the turn |
//! | `runs`           | storing runs, and once what their harnesses share |
//! | `sessions`       | reading and listing sessions and runs |
//! | `session_work`   | who looks after a session, and how far people have read it |
//! | `side_effects`   | what a turn commits besides its messages |
//! | `operator_change`       | changes that a person makes in a conversation |
//! | `transcript`     | what the person in a web chat reads of their conversation |
//! | `turn`           | the one commit of a turn |

pub(crate) mod approvals;
pub(crate) mod backlog;
pub(crate) mod checkpoint;
pub(crate) mod claim;
pub(crate) mod decisions;
pub(crate) mod history;
pub(crate) mod inbox;
pub(crate) mod journal;
pub(crate) mod lease;
pub(crate) mod message_search;
pub(crate) mod notes;
pub(crate) mod operator_change;
pub(crate) mod record_changes;
pub(crate) mod runs;
pub(crate) mod session_work;
pub(crate) mod sessions;
pub(crate) mod side_effects;
pub(crate) mod transcript;
pub(crate) mod turn;
