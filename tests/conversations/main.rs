//! Conversations of customers, from the incoming message to the delivered reply, with a
//! scripted model. The kit of the tests is in `support`.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod agentdojo;
mod agents_on_bus;
mod approval_outcomes;
mod approval_takeover;
mod approvals;
mod audit;
mod autonomy_growth;
mod budgets;
mod bus_bridge;
mod channels;
mod crash;
mod delivery;
mod doorbell;
mod enforcement;
mod entry_guards;
mod escalation;
#[path = "../../crates/channels/tests/channels/fake_server.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod fake_server;
mod faults;
mod first_org;
mod handoff;
mod identity;
mod identity_check;
mod knowledge;
mod layers;
mod notices;
mod online;
mod operations;
mod ordering;
mod org_tools;
mod own_records;
mod people;
mod pipeline;
mod protected_agents;
#[path = "../../crates/channels/tests/channels/real_servers.rs"]
mod real_servers;
mod receive;
mod receiver_outage;
mod recovery;
mod replay;
mod scope;
mod session_work;
mod sessions;
mod soul_proposals;
mod soul_reflection;
mod support;
mod sweep;
mod takeover;
mod takeover_races;
mod team;
mod team_chats;
mod telegram_updates;
mod triggers;
mod webhooks;
mod workflows;

/// The program of a shop's order system, which [`ostler_testkit::OrderSystem`] starts.
#[test]
fn order_system() {
    ostler_testkit::serve_order_system();
}
