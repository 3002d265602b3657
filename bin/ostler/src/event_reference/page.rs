//! The page `docs/EVENTS.md`.

use ostler_domain::event::OrgEventKind;
use serde_json::Value;

use super::EventReference;

const INTRODUCTION: &str = "\
# Events

This page is written by `ostler schema --events --page` from the types of the program; \
`ostler schema --events` prints the same as JSON Schema. Kinds are added, and data gets more \
fields: ignore what you do not know. Nothing is renamed or removed.

There are two families. The events of an organization say what happens in conversations and \
around them; they are on the stream `/v1/events` ([API.md](API.md#events)), and \
[webhooks](WEBHOOKS.md) send them. The events of a thread say what an agent of the \
[interactive harness](HARNESS.md#events) does, step by step; they are on the stream of the \
thread.

A time is in milliseconds since 1970, in UTC.
";

const ORG_EVENTS: &str = "
## Events of an organization

On the stream the name of the event is its kind, and its data is `{\"at\": …, \"data\": …}`. The \
body of a webhook is `{\"type\": …, \"timestamp\": …, \"org\": …, \"data\": …}`; fields marked with \
* hold words of people or agents, and webhooks do not get them.
";

const CONTROL: &str = "
### What the stream says about itself

`open` is the first event; its id is the start position. `pruned` says that events were deleted \
before they were read: read the current state, the stream goes on.
";

const DELTAS: &str = "
### Streamed text

With `deltas=true` the stream has `delta` events: what agents are writing at the moment, and \
which tool they call. They have no id, are not stored and are in no webhook; the `message` event \
replaces them. Ignore a delta that ends before the text that you have of its `run` and `attempt`.
";

const THREAD_EVENTS: &str = "
## Events of a thread

An event is an object with its `type`, the fields of its kind, and `ext` with everything else. \
The terminal UI and the dashboard fold these events into the same list of messages, calls, \
questions, plans and tasks; `crates/api/fixtures/threads` has recorded events, each with the \
view that both make of it (`*.view.json`), to test another user interface with.
";

const OBJECTS: &str = "
## Objects
";

/// Returns the page.
pub(crate) fn render_page(reference: &EventReference) -> String {
    let mut page = String::from(INTRODUCTION);
    page.push_str(ORG_EVENTS);
    for (kind, data) in &reference.org_events {
        push_org_event(&mut page, reference, *kind, data);
    }
    page.push_str(CONTROL);
    push_table(&mut page, reference, &reference.pruned, &[]);
    page.push_str("\nThe query of `/v1/events`:\n");
    push_table(&mut page, reference, &reference.query, &[]);
    page.push_str(DELTAS);
    push_table(&mut page, reference, &reference.delta, &[]);
    push_choices(&mut page, reference, &reference.delta, "delta");
    page.push_str(THREAD_EVENTS);
    push_choices(&mut page, reference, &reference.thread_kind, "type");
    page.push_str("\n### `ext`\n");
    push_table(&mut page, reference, &reference.thread_details, &[]);
    page.push_str(OBJECTS);
    push_objects(&mut page, reference);
    page
}

/// Adds the objects that fields hold.
fn push_objects(page: &mut String, reference: &EventReference) {
    let shown = [&reference.delta, &reference.pruned, &reference.query, &reference.payload];
    let shown = shown.into_iter().chain([&reference.thread_kind, &reference.thread_details]);
    let shown: Vec<&Value> = shown.map(|schema| reference.resolve(schema)).collect();
    let of_kinds: Vec<&Value> =
        reference.org_events.iter().map(|(_, data)| reference.resolve(data)).collect();
    for (name, schema) in &reference.definitions {
        let is_shown = shown.contains(&schema) || of_kinds.contains(&schema);
        if is_shown || !reference.is_object(schema) {
            continue;
        }
        let description = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
        page.push_str(&format!("\n### {name}\n\n{description}\n"));
        push_table(page, reference, schema, &[]);
        for choice in schema["oneOf"].as_array().into_iter().flatten() {
            push_choice(page, reference, choice);
        }
    }
}

/// Adds a choice of an object: words, or an object with a word that names it or one field.
fn push_choice(page: &mut String, reference: &EventReference, choice: &Value) {
    let description = choice["description"].as_str().unwrap_or_default().replace('\n', " ");
    let words = [choice["const"].as_str()].into_iter().flatten();
    let several = choice["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<String> = words.chain(several).map(|word| format!("`{word}`")).collect();
    let tag = choice["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .find_map(|(name, one)| Some(format!("`{name}` is `{}`", one["const"].as_str()?)));
    let heading = match tag {
        Some(tag) => tag,
        None if words.is_empty() => "an object".to_owned(),
        None => words.join(", "),
    };
    let end = if description.is_empty() { String::new() } else { format!(": {description}") };
    page.push_str(&format!("\n- {heading}{end}\n"));
    push_table(page, reference, choice, &[]);
}

fn push_org_event(page: &mut String, reference: &EventReference, kind: OrgEventKind, data: &Value) {
    page.push_str(&format!("\n### `{}`\n\n{}\n", kind.name(), kind.description()));
    push_table(page, reference, data, kind.word_fields());
}

/// Adds the fields of an object, if it has any.
fn push_table(page: &mut String, reference: &EventReference, schema: &Value, marked: &[&str]) {
    let fields = reference.fields(schema);
    if fields.is_empty() {
        return;
    }
    page.push_str("\n| field | value | |\n|---|---|---|\n");
    for field in fields {
        let inner = format!("{}.", field.name);
        let is_marked =
            marked.iter().any(|one| *one == field.name || one.starts_with(inner.as_str()));
        let mark = if is_marked { " *" } else { "" };
        let description = field.description;
        page.push_str(&format!("| `{}`{mark} | {} | {description} |\n", field.name, field.form));
    }
}

/// Adds each choice of an enumeration, named by a field.
fn push_choices(page: &mut String, reference: &EventReference, schema: &Value, name: &str) {
    for choice in reference.resolve(schema)["oneOf"].as_array().into_iter().flatten() {
        let word = choice["properties"][name]["const"].as_str().unwrap_or_default();
        let description = choice["description"].as_str().unwrap_or_default().replace('\n', " ");
        page.push_str(&format!("\n### `{word}`\n\n{description}\n"));
        // The fields of a value that is a type of its own.
        let inner =
            if choice.get("$ref").is_some() { Some(reference.resolve(choice)) } else { None };
        push_table(page, reference, inner.unwrap_or(choice), &[]);
    }
}
