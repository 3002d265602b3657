//! Packs the events of one commit into one JSON text, and unpacks them unchanged.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::conversation::turn::NewEvent;
use crate::error::{Result, StoreError};

/// A packed event. Valid JSON is embedded as `data`, other text is stored as `text`; neither
/// means `null`.
#[derive(Serialize, Deserialize)]
struct PackedEvent<'t> {
    kind: String,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    data: Option<&'t RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Packs events into one text.
pub(super) fn pack(events: &[NewEvent]) -> Result<String> {
    let packed: Vec<PackedEvent<'_>> = events.iter().map(packed).collect();
    serde_json::to_string(&packed)
        .map_err(|error| StoreError::Backend(format!("cannot be written: {error}")))
}

fn packed(event: &NewEvent) -> PackedEvent<'_> {
    let NewEvent { kind, data } = event;
    // Surrounding white space would be lost.
    let json = serde_json::from_str::<&RawValue>(data).ok().filter(|json| json.get() == data);
    let text = json.is_none().then(|| data.clone());
    PackedEvent { kind: kind.clone(), data: json, text }
}

/// Unpacks the events of a text.
pub(crate) fn unpack(text: &str) -> Result<Vec<NewEvent>> {
    let packed: Vec<PackedEvent<'_>> = serde_json::from_str(text)
        .map_err(|error| StoreError::CorruptValue { what: "event", why: error.to_string() })?;
    Ok(packed.into_iter().map(event).collect())
}

fn event(packed: PackedEvent<'_>) -> NewEvent {
    let PackedEvent { kind, data, text } = packed;
    let data = data.map(|json| json.get().to_owned()).or(text);
    NewEvent { kind, data: data.unwrap_or_else(|| "null".into()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{pack, unpack};
    use crate::conversation::turn::NewEvent;

    fn event(kind: &str, data: &str) -> NewEvent {
        NewEvent { kind: kind.into(), data: data.into() }
    }

    #[test]
    fn json_data_is_embedded_in_the_text() {
        let events = [event("turn_done", r#"{"b": 1.0, "a":[]}"#), event("odd", "not JSON")];
        let expected =
            r#"[{"kind":"turn_done","data":{"b": 1.0, "a":[]}},{"kind":"odd","text":"not JSON"}]"#;
        assert_eq!(pack(&events).unwrap(), expected);
    }

    #[test]
    fn unusual_data_round_trips() {
        for data in ["null", "{}", " {}", "", "\"\"", "1e999", "{\"a\":1,\"a\":2}", "\u{0}"] {
            let events = [event("kind", data), event("\"", "{}")];
            assert_eq!(unpack(&pack(&events).unwrap()).unwrap(), events, "{data:?}");
        }
    }

    proptest! {
        #[test]
        fn any_events_round_trip(texts in prop::collection::vec((".*", ".*"), 0..5)) {
            let events: Vec<NewEvent> =
                texts.iter().map(|(kind, data)| event(kind, data)).collect();
            prop_assert_eq!(unpack(&pack(&events).unwrap()).unwrap(), events);
        }
    }
}
