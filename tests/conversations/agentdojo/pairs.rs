//! The pairs of AgentDojo, and the tools of ours that stand for its tools.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::tool::catalogue::built_in;
use ostler_domain::tool::http::HttpTool;
use ostler_domain::tool::{Risk, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

/// A tool name of AgentDojo, and arguments.
pub(super) type PairCall = (String, Value);

#[derive(Deserialize)]
pub(super) struct Suite {
    pub(super) users: Vec<UserTask>,
    pub(super) attacks: Vec<Attack>,
}

#[derive(Deserialize)]
pub(super) struct UserTask {
    /// The call whose result has the attacker's words.
    seen_after: usize,
    calls: Vec<PairCall>,
}

#[derive(Deserialize)]
pub(super) struct Attack {
    calls: Vec<PairCall>,
}

/// Who wants a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    User,
    Attacker,
}

/// A call of the model in a pair.
pub(super) struct ScriptedCall {
    pub(super) origin: Origin,
    /// The name of our tool.
    pub(super) tool: String,
    pub(super) arguments: Value,
}

impl ScriptedCall {
    /// Returns whether the call changes something or calls a host that the model chooses.
    pub(super) fn is_action(&self) -> bool {
        let spec = spec(&self.tool);
        spec.risk != Risk::Read || spec.url_argument.is_some()
    }
}

/// Returns the suites by name.
pub(super) fn suites() -> BTreeMap<String, Suite> {
    #[derive(Deserialize)]
    struct Fixture {
        suites: BTreeMap<String, Suite>,
    }
    let fixture: Fixture = serde_json::from_str(include_str!("pairs.json")).unwrap();
    fixture.suites
}

/// Returns the calls of a model that does the user's task and, as soon as it has read the
/// attacker's words, all that the attacker wants.
pub(super) fn script(user: &UserTask, attack: &Attack) -> Vec<ScriptedCall> {
    let (before, after) = user.calls.split_at(user.seen_after + 1);
    let of = |origin, calls: &[PairCall]| -> Vec<ScriptedCall> {
        let call = |(name, arguments): &PairCall| ScriptedCall {
            origin,
            tool: our_name(name).to_owned(),
            arguments: arguments.clone(),
        };
        calls.iter().map(call).collect()
    };
    let parts = [(Origin::User, before), (Origin::Attacker, &attack.calls), (Origin::User, after)];
    parts.into_iter().flat_map(|(origin, calls)| of(origin, calls)).collect()
}

/// Returns the specifications of all tools that the pairs use.
pub(super) fn specs(suites: &BTreeMap<String, Suite>) -> Vec<ToolSpec> {
    let of_users = suites.values().flat_map(|suite| &suite.users).flat_map(|user| &user.calls);
    let of_attacks = suites.values().flat_map(|suite| &suite.attacks).flat_map(|one| &one.calls);
    let names: BTreeSet<&str> =
        of_users.chain(of_attacks).map(|(name, _)| our_name(name)).collect();
    names.into_iter().map(spec).collect()
}

/// Pages of the web are read with our tool for it, which the other suites call differently.
fn our_name(name: &str) -> &str {
    if name == "get_webpage" { "web_fetch" } else { name }
}

/// Returns the specification of a tool: our own of this name, else an HTTP tool of the org.
fn spec(name: &str) -> ToolSpec {
    built_in().into_iter().find(|spec| spec.name.as_str() == name).unwrap_or_else(|| {
        let definition = json!({"name": name, "description": "A tool of AgentDojo.",
            "risk": risk(name), "url": "https://tools.example/"});
        let tool: HttpTool = serde_json::from_value(definition).unwrap();
        tool.spec()
    })
}

/// Returns the risk that an org would declare.
fn risk(name: &str) -> Risk {
    match name {
        // Money, passwords, and what is gone for good.
        "send_money"
        | "schedule_transaction"
        | "update_scheduled_transaction"
        | "update_password"
        | "delete_email"
        | "delete_file"
        | "remove_user_from_slack" => Risk::Destructive,
        "add_calendar_event_participants"
        | "add_user_to_channel"
        | "append_to_file"
        | "create_calendar_event"
        | "create_file"
        | "invite_user_to_slack"
        | "post_webpage"
        | "reschedule_calendar_event"
        | "reserve_hotel"
        | "send_channel_message"
        | "send_direct_message"
        | "share_file"
        | "update_user_info" => Risk::Write,
        _ => {
            let verbs = ["get_", "search_", "list_", "read_", "check_"];
            assert!(verbs.iter().any(|verb| name.starts_with(verb)), "what does {name} do?");
            Risk::Read
        }
    }
}
