//! Assembles an agent harness: everything an agent needs for one turn.
//!
//! Conversations and workflows alike start here, and so does a colleague who is only
//! consulted. A queue agent is answered as a conversation and goes the same way. Every
//! function takes facts (`SessionFacts`, an org view, an agent), so that a caller
//! without a stored session, such as a workflow step, states what it knows instead of
//! making a session up. Nothing here runs a turn or stores one.
//!
//! | module | what it owns |
//! |---|---|
//! | `harness` | the assembled agent: scope, models, limits, and the rules of its turn |
//! | `session_facts` | what assembly needs to know of a session |
//! | `scope` | the tools of the agent |
//! | `prompt` | the system prompt |
//! | `documents` | the documents for the prompt, cached until one changes |
//! | `history` | the messages of a thread as a model reads them |
//! | `thread_cache` | the last messages of recent threads |
//! | `credits` | the reservation a turn is paid from |
//! | `snapshot` | the record of the harness, stored with the run |
//! | [`erasures`] | forgetting in memory what was erased |
//! | [`services`] | what all turns of a process share |

mod briefing;
pub(crate) mod credits;
pub(crate) mod documents;
pub mod erasures;
mod harness;
pub(crate) mod history;
mod prompt;
mod scope;
pub mod services;
mod session_facts;
pub(crate) mod snapshot;
pub(crate) mod thread_cache;

pub(crate) use briefing::AgentBriefing;
pub(crate) use harness::AgentHarness;
pub(crate) use prompt::build_prompt;
pub(crate) use scope::resolve_scope;
pub use services::Services;
pub(crate) use session_facts::SessionFacts;
