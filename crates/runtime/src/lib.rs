//! Agents at work: in customers' conversations, on queues, and in workflows.
//!
//! Owns what happens between a message and its answer. The rules are `domain`'s, the turn
//! is `engine`'s, the tables are `store`'s, and messages travel over `bus` and `channels`.
//!
//! | room | what it owns | rooms it may use |
//! |---|---|---|
//! | [`assembly`] | assembling an agent for a turn: scope, prompt, history, credits, snapshot | |
//! | [`team`] | handing a conversation to another agent or to a person, and back | assembly |
//! | [`agent_changes`] | what agents change about agents: soul proposals | |
//! | [`hierarchy`] | issues, delegations, insights and instructions between business layers | |
//! | [`outreach`] | e-mail and text messages of agents to contacts | |
//! | [`conversation`] | receiving messages and answering them, step by step | assembly, team, agent_changes, hierarchy, outreach |
//! | [`workflow`] | running durable workflows | assembly |
//! | [`agents`] | agents on the message bus | |
//! | [`delivery`] | sending outbox entries to channels and to the bus | agents |
//! | [`webhooks`] | sending events to the webhooks of orgs | |
//! | [`operations`] | what operators do, and the sweeper | assembly, team, agent_changes, hierarchy, conversation, workflow, agents |
//! | [`administration`] | what agents administer: clients, orgs, settings and agents | operations |
//! | [`bus_bridge`] | connecting a process to the buses of its installation | agents, conversation |
//!
//! Every room may use the modules below, which use no room:
//!
//! | module | what it owns |
//! |---|---|
//! | [`records`] | the values that are stored as JSON: sessions, messages, runs, entries |
//! | [`inbox`] | accepting an inbox entry, and waking the workers |
//! | [`org_view`] | the configuration of an org, cached |
//! | [`toolbox`] | the built-in tools, and a source of those that orgs define |
//! | [`deps`] | what a process is built with: store, tools, models, clock, settings |
//! | [`running_turns`] | the turns that run in this process |
//! | `turn_tool` | the frame of tools that work inside a conversation |
//! | [`deltas`] | the text that agents are writing at the moment |
//! | [`channel_binding`] | bindings in the form that channels take |
//! | [`shared_bot`] | the platform's bots and web chats, through which people reach other orgs too |
//! | `account_links` | the accounts on channels that belong to users |
//! | `colleagues` | the names of people who work from the org's chats without an account |
//! | `deep_links` | the links that open a conversation with an org |
//! | `sign_up` | making the organization of a stranger who signs up |
//! | [`run_error`] | why a run failed |
//! | `workers` | workers of templates: assigning, creating and archiving them |
//! | `change_audit` | audit entries of the changes that agents' tools make, and notices about them |
//! | `pending_commit` | messages, events and notices that are committed together |
//! | [`metrics`] | what is measured of the work of a process |
//! | `trace_context` | carrying traces across the bus |
//! | `faults`, `ids`, `outage_log` | crash points for tests, new ids, logging an outage once |
//!
//! `tests/house/rooms.rs` fails on an arrow that is not in the first table.

mod account_links;
pub mod administration;
pub mod agent_changes;
pub mod agents;
pub mod assembly;
pub mod bus_bridge;
mod change_audit;
pub mod channel_binding;
mod colleagues;
pub mod conversation;
mod deep_links;
pub mod delivery;
pub mod deltas;
pub mod deps;
mod faults;
pub mod hierarchy;
mod ids;
pub mod inbox;
pub mod metrics;
pub mod operations;
pub mod org_view;
mod outage_log;
pub mod outreach;
mod pending_commit;
pub mod records;
pub mod run_error;
pub mod running_turns;
pub mod shared_bot;
mod sign_up;
pub mod team;
pub mod toolbox;
mod trace_context;
mod turn_tool;
pub mod webhooks;
mod workers;
pub mod workflow;
