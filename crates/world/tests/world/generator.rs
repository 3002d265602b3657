//! Random worlds: every field of every kind of resource, as the schema describes it.

use std::collections::BTreeSet;

use ostler_world::plan::flatten;
use ostler_world::{Address, Kind, Resource, Resources, schema};
use serde_json::{Map, Value, json};

use crate::support::{WORLD, resources};

/// How often a value is tried until it is valid.
const TRIES: usize = 20;

/// A source of random choices.
struct Dice(u64);

impl Dice {
    /// Returns a number below `sides` (splitmix64).
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((bits ^ (bits >> 31)) % sides as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.roll(all.len())]
    }
}

/// Returns a world in which about half of all fields have random values.
pub(crate) fn world(seed: u64) -> Resources {
    let mut dice = Dice(seed);
    let base = resources(WORLD);
    let vary = |(address, base): (&Address, &Resource)| {
        (address.clone(), resource(&mut dice, address, base))
    };
    base.iter().map(vary).collect()
}

fn resource(dice: &mut Dice, address: &Address, base: &Resource) -> Resource {
    let mut resource = base.clone();
    for (field, schema) in properties(of_kind(address.kind)) {
        let is_identity =
            ["org", "parent", "platform", address.kind.name_key()].contains(&field.as_str());
        if is_identity || dice.roll(2) == 0 {
            continue;
        }
        for _ in 0..TRIES {
            let changed = resource.with(&field, value(dice, schema, &field));
            if let Ok(valid) = Resource::parse(address.kind, changed.value())
                && names_people_once(&valid)
                && signs_up_at_the_platform(&valid)
            {
                resource = valid;
                break;
            }
        }
    }
    let is_own_role =
        ["couriers", "billing"].iter().any(|role| resource.value()["subtype"] == *role);
    match address.kind {
        Kind::Agent => resource.with("custom", json!(is_own_role)),
        _ => resource,
    }
}

/// Whether nobody has notices twice, which the rules refuse.
fn names_people_once(resource: &Resource) -> bool {
    let notices = resource.value()["settings"]["notices"].as_array();
    let mut people = BTreeSet::new();
    notices.into_iter().flatten().all(|one| people.insert(one["person"].as_str()))
}

/// Whether people sign up nowhere but at the platform, which the rules demand.
fn signs_up_at_the_platform(resource: &Resource) -> bool {
    let value = resource.value();
    value["settings"]["sign_up"].is_null() || value["platform"] == true
}

/// Returns every field of a kind that can vary, such as `settings.team.max_handoffs`.
pub(crate) fn fields(kind: Kind) -> BTreeSet<String> {
    fn walk(schema: &Value, prefix: &str, found: &mut BTreeSet<String>) {
        let schema = resolve(schema);
        let parts: Vec<(String, &Value)> = properties(schema);
        for (name, part) in &parts {
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            walk(part, &path, found);
        }
        let variants: Vec<&Value> = variants(schema).collect();
        variants.iter().for_each(|variant| walk(variant, prefix, found));
        let has_parts = !parts.is_empty()
            || variants.iter().any(|variant| !properties(resolve(variant)).is_empty());
        if !has_parts && !prefix.is_empty() {
            found.insert(prefix.to_owned());
        }
    }
    let mut found = BTreeSet::new();
    walk(of_kind(kind), "", &mut found);
    let identity = ["org", "parent", "platform", kind.name_key()];
    found.retain(|path| !identity.contains(&path.as_str()));
    found
}

/// Returns the fields of a resource that differ from their default.
pub(crate) fn set_fields(kind: Kind, resource: &Resource) -> BTreeSet<String> {
    flatten(&resource.sparse(kind)).into_keys().collect()
}

fn of_kind(kind: Kind) -> &'static Value {
    let table = &schema::schema()["properties"][kind.table()];
    resolve(if kind == Kind::Platform { table } else { &table["items"] })
}

fn resolve(schema: &Value) -> &Value {
    let name = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/"));
    name.map_or(schema, |name| &schema::schema()["$defs"][name])
}

fn properties(schema: &Value) -> Vec<(String, &Value)> {
    let fields = schema["properties"].as_object();
    fields.into_iter().flatten().map(|(name, part)| (name.clone(), part)).collect()
}

/// Returns the alternatives of a schema, without null.
fn variants(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array());
    lists.flatten().filter(|variant| variant["type"] != "null")
}

/// Returns a random value of a schema. `hint` is the name of the field or the type.
fn value(dice: &mut Dice, schema: &Value, hint: &str) -> Value {
    let type_name = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next());
    let hint = type_name.unwrap_or(hint);
    let schema = resolve(schema);
    if hint == "step" {
        return steps(dice);
    }
    if let Some(choices) = schema["enum"].as_array() {
        return dice.pick(choices).clone();
    }
    if !schema["const"].is_null() {
        return schema["const"].clone();
    }
    let variants: Vec<&Value> = variants(schema).collect();
    if !variants.is_empty() {
        let variant = *dice.pick(&variants);
        return value(dice, variant, hint);
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("boolean") => json!(dice.roll(2) == 1),
        Some("integer") => {
            let least = schema["minimum"].as_u64().unwrap_or(0);
            let most = schema["maximum"].as_u64().unwrap_or(least + 100_000);
            json!(least + dice.roll(usize::try_from(most - least).unwrap() + 1) as u64)
        }
        Some("array") => {
            let least = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).unwrap();
            let count = least + dice.roll(3);
            (0..count).map(|_| value(dice, &schema["items"], hint)).collect()
        }
        Some("object") => object(dice, schema, hint),
        Some(_) => json!(text(dice, hint)),
        None => json!({"note": text(dice, hint), "list": [1, true, {"deep": "x"}]}),
    }
}

/// Returns the steps of a workflow, which are valid in few combinations.
fn steps(dice: &mut Dice) -> Value {
    let mut steps = vec![json!({"id": "write", "prompt": text(dice, "prompt")})];
    if dice.roll(2) == 0 {
        steps.push(
            json!({"id": "call", "after": ["write"], "tool": "get_order", "agent": "support",
            "with": {"order": text(dice, "order"), "deep": [1, {"x": true}]}, "retries": 3,
            "undo": {"value": "undone"}}),
        );
    }
    Value::Array(steps)
}

fn object(dice: &mut Dice, schema: &Value, hint: &str) -> Value {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut fields = Map::new();
    for (name, part) in properties(schema) {
        if required.contains(&name.as_str()) || dice.roll(2) == 0 {
            fields.insert(
                name.clone(),
                value(dice, part, if hint == "specialists" { hint } else { &name }),
            );
        }
    }
    if let Some(part) = schema.get("additionalProperties").filter(|part| **part != json!(false)) {
        for _ in 0..dice.roll(3) {
            let content = if *part == json!(true) { &json!({"type": "string"}) } else { part };
            fields.insert(key(dice, hint), value(dice, content, hint));
        }
    }
    Value::Object(fields)
}

/// Returns a key of a map.
fn key(dice: &mut Dice, hint: &str) -> String {
    let keys: &[&str] = match hint {
        "lifetimes" | "interviews" => &["sms", "webchat", "my.gateway"],
        "permissions" => &["support", "billing"],
        "overrides" => &["harbour", "platform"],
        "headers" => &["Authorization", "X-Shop"],
        "env" => &["SHOP_TOKEN", "LANG"],
        _ => &["order", "a.b", "with space", "ümlaut", "x"],
    };
    (*dice.pick(keys)).to_owned()
}

/// Returns a text for a field or a type.
fn text(dice: &mut Dice, hint: &str) -> String {
    let texts: &[&str] = match hint {
        "ToolName" | "McpServerName" => &["get_order", "refund_payment", "shop_order"],
        "Channel" => &["webchat", "telegram", "email", "sms", "my.gateway"],
        "SecretRef" => &["env:OSTLER_SECRET_A", "file:token", "file:/run/secrets/token"],
        "SecretText" => &["Bearer file:shop_token", "env:OSTLER_SECRET_B", "plain"],
        "channel" => &["bot"],
        "WorkflowName" | "workflow" => &["remind"],
        "cron" | "CronExpression" => &["0 9 1 3 *", "*/15 * * * *", "30 8 * * MON-FRI"],
        "agent" | "template" | "specialists" => &["support", "billing"],
        "permissions" => &["support", "billing", "*"],
        "profile" => &["*", "general", "support", "sales", "readonly", "admin"],
        "subtype" => &["pm", "customer_service", "booking_agent", "couriers"],
        "time_zone" => &["Europe/Berlin", "Asia/Tokyo", "America/New_York"],
        "url" => &["https://shop.example/a?b={order}", "https://mcp.example/x"],
        "knowledge_tags" | "tags" => &["visit", "bikes", "winter"],
        _ => {
            const LETTERS: [char; 16] = [
                'a', 'Z', '0', ' ', '"', '\'', '\\', '\n', '\t', '#', '=', '[', 'ä', 'ß', '…', '字',
            ];
            let length = 1 + dice.roll(20);
            return (0..length).map(|_| *dice.pick(&LETTERS)).collect();
        }
    };
    (*dice.pick(texts)).to_owned()
}
