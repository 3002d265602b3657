//! A small valid world, and its parts.

use ostler_world::Resources;
use ostler_world::file::parse;
use ostler_world::rules::{KnownNames, check};

/// A world with one resource of every kind.
pub(crate) const WORLD: &str = r#"[platform]
tools = { deny = ["delete_contact"] }

[[org]]
slug = "platform"
name = "The platform"
platform = true
plan = "enterprise"

[[org]]
slug = "harbour"
name = "Harbour Agency"
plan = "agency"
sub_orgs = true

[[org]]
slug = "nordlicht"
name = "Nordlicht Bikes"
parent = "harbour"
plan = "professional"
time_zone = "Europe/Berlin"
retention_days = 90
tools = { deny = ["send_bulk_email"] }

[org.settings.team]
max_handoffs = 3
specialists = { angry = "billing" }

[org.settings.people]
owner = { channel = "bot", identifier = "4711" }

[[agent]]
org = "nordlicht"
slug = "support"
name = "Ida"
subtype = "customer_service"
autonomy = "semi_autonomous"
require_approval_for = ["refund_payment"]

[[agent]]
org = "nordlicht"
slug = "billing"
name = "Jon"
subtype = "billing"
custom = true
autonomy = "supervised"

[agent.soul]
personality = "Exact and kind."

[[channel]]
org = "nordlicht"
name = "bot"
kind = "telegram"
agent = "support"
secret = "env:OSTLER_SECRET_X"

[[integration]]
org = "nordlicht"
service = "payments"

[[document]]
org = "nordlicht"
title = "Opening hours"
text = "Nine to five."

[[member]]
org = "nordlicht"
email = "owner@nordlicht.example"
name = "Ole"
role = "owner"

[[tool]]
org = "nordlicht"
name = "shop_order"
description = "Looks up an order."
risk = "read"
url = "https://shop.example/orders/{order}"
headers = { Authorization = "Bearer file:shop_token" }

[tool.input]
required = ["order"]
properties.order = { type = "string" }

[[mcp_server]]
org = "nordlicht"
name = "stock"
command = "stock-mcp"

[[workflow]]
org = "nordlicht"
name = "remind"
agent = "support"
inputs = ["season"]

[[workflow.step]]
id = "write"
prompt = "Write to everybody whose bike waits for its {{ input.season }} check."
retries = 2

[[workflow.step]]
id = "end"
after = ["write"]
value = "{{ steps.write.result }}"

[[schedule]]
org = "nordlicht"
name = "spring"
workflow = "remind"
input = { season = "spring" }
cron = "0 9 1 3 *"
"#;

pub(crate) fn known() -> KnownNames {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    KnownNames {
        tools: names(&["delete_contact", "send_bulk_email", "refund_payment", "get_order"]),
        services: names(&["payments"]),
    }
}

/// Returns the resources of a valid world.
pub(crate) fn resources(text: &str) -> Resources {
    parse([("world.toml", text)]).unwrap().resources
}

/// Returns everything that is wrong in a world, as it is printed.
pub(crate) fn problems(text: &str) -> Vec<String> {
    let parsed = match parse([("world.toml", text)]) {
        Ok(parsed) => parsed,
        Err(problems) => return problems.0.iter().map(ToString::to_string).collect(),
    };
    let addresses: Vec<_> = parsed.resources.keys().cloned().collect();
    let violations = check(&Resources::new(), &parsed.resources, &addresses, &known());
    let located = violations.iter().map(|violation| match parsed.locate(violation) {
        Some(problem) => problem.to_string(),
        None => format!("{violation:?}"),
    });
    located.collect()
}
