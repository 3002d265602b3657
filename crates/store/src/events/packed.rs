//! The events of one commit as one JSON text, and back: each as it was written.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Result, StoreError};
use crate::turn::NewEvent;

/// An event in the text. What it says is a part of the JSON, or a string if it
/// is none; nothing at all is `null`.
#[derive(Serialize, Deserialize)]
struct Packed<'t> {
    kind: String,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    data: Option<&'t RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// All of them as one text.
pub(super) fn pack(events: &[NewEvent]) -> Result<String> {
    let packed: Vec<Packed<'_>> = events.iter().map(packed).collect();
    serde_json::to_string(&packed)
        .map_err(|error| StoreError::Backend(format!("cannot be written: {error}")))
}

fn packed(event: &NewEvent) -> Packed<'_> {
    let NewEvent { kind, data } = event;
    // White space around it would be lost.
    let json = serde_json::from_str::<&RawValue>(data).ok().filter(|json| json.get() == data);
    let text = json.is_none().then(|| data.clone());
    Packed { kind: kind.clone(), data: json, text }
}

/// Each of them.
pub(crate) fn unpack(text: &str) -> Result<Vec<NewEvent>> {
    let packed: Vec<Packed<'_>> = serde_json::from_str(text)
        .map_err(|error| StoreError::Unreadable { what: "event", why: error.to_string() })?;
    Ok(packed.into_iter().map(event).collect())
}

fn event(packed: Packed<'_>) -> NewEvent {
    let Packed { kind, data, text } = packed;
    let data = data.map(|json| json.get().to_owned()).or(text);
    NewEvent { kind, data: data.unwrap_or_else(|| "null".into()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{pack, unpack};
    use crate::turn::NewEvent;

    fn event(kind: &str, data: &str) -> NewEvent {
        NewEvent { kind: kind.into(), data: data.into() }
    }

    #[test]
    fn what_happened_is_part_of_the_text() {
        let events = [event("turn_done", r#"{"b": 1.0, "a":[]}"#), event("odd", "not JSON")];
        let expected =
            r#"[{"kind":"turn_done","data":{"b": 1.0, "a":[]}},{"kind":"odd","text":"not JSON"}]"#;
        assert_eq!(pack(&events).unwrap(), expected);
    }

    #[test]
    fn each_event_comes_back_as_it_was_written() {
        for data in ["null", "{}", " {}", "", "\"\"", "1e999", "{\"a\":1,\"a\":2}", "\u{0}"] {
            let events = [event("kind", data), event("\"", "{}")];
            assert_eq!(unpack(&pack(&events).unwrap()).unwrap(), events, "{data:?}");
        }
    }

    proptest! {
        #[test]
        fn any_events_come_back(texts in prop::collection::vec((".*", ".*"), 0..5)) {
            let events: Vec<NewEvent> =
                texts.iter().map(|(kind, data)| event(kind, data)).collect();
            prop_assert_eq!(unpack(&pack(&events).unwrap()).unwrap(), events);
        }
    }
}
