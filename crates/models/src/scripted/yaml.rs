//! A YAML document in which everything knows its place, so that whoever reads
//! it can say where it is wrong.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::{Location, Spanned};

use super::error::{Place, Wrong, unknown};

/// The longest that a script may make anybody wait at once.
const LONGEST: Duration = Duration::from_secs(600);

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) at: Place,
    pub(super) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key and its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub(super) at: Place,
    pub(super) name: String,
}

/// Reads a document.
pub(super) fn parse(text: &str) -> Result<Node, Wrong> {
    // `yes` and `no` are things that people say.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let at = error.location().map_or(Place { line: 1, column: 1 }, place);
        let said = error.without_snippet().to_string();
        // The place is said once, in front.
        let what = said.split(" at line ").next().unwrap_or(&said).to_owned();
        Wrong { at, what: format!("this is not YAML: {what}") }
    })
}

fn place(location: Location) -> Place {
    Place { line: location.line().max(1), column: location.column().max(1) }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::deserialize(from)?;
        Ok(Self { at: place(referenced), value })
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Spanned { value: name, referenced, .. } = Spanned::deserialize(from)?;
        Ok(Self { at: place(referenced), name })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, a list or a mapping")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number.map(Value::Number).ok_or_else(|| E::custom("a number without end"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = from.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}

impl Node {
    /// An error at this place.
    pub(super) fn wrong(&self, what: impl fmt::Display) -> Wrong {
        Wrong::new(self.at, what)
    }

    /// An error that says what was expected here, and what is there.
    fn expected(&self, what: &str) -> Wrong {
        let found = match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        };
        self.wrong(format!("{what} is expected here, and this is {found}"))
    }

    pub(super) fn text(&self) -> Result<&str, Wrong> {
        match &self.value {
            Value::Text(text) => Ok(text),
            Value::Bool(_) | Value::Number(_) => {
                Err(self.wrong("a text is expected here; put it into quotes"))
            }
            _ => Err(self.expected("a text")),
        }
    }

    pub(super) fn flag(&self) -> Result<bool, Wrong> {
        match &self.value {
            Value::Bool(flag) => Ok(*flag),
            _ => Err(self.expected("`true` or `false`")),
        }
    }

    /// A whole number of at least `least`.
    pub(super) fn count(&self, least: u64) -> Result<u64, Wrong> {
        let expected = || self.expected(&format!("a whole number from {least} on"));
        match &self.value {
            Value::Number(number) => {
                number.as_u64().filter(|count| *count >= least).ok_or_else(expected)
            }
            _ => Err(expected()),
        }
    }

    /// A time with its unit.
    pub(super) fn duration(&self) -> Result<Duration, Wrong> {
        const EXPECTED: &str = "a time with its unit, like `200ms` or `2s`,";
        let Value::Text(text) = &self.value else { return Err(self.expected(EXPECTED)) };
        let read = |unit: &str| text.strip_suffix(unit)?.trim_end().parse::<u64>().ok();
        let time = match (read("ms"), read("s")) {
            (Some(millis), _) => Duration::from_millis(millis),
            (None, Some(secs)) => Duration::from_secs(secs),
            (None, None) => return Err(self.expected(EXPECTED)),
        };
        if time > LONGEST {
            return Err(self.wrong(format!("at most {} s are waited for", LONGEST.as_secs())));
        }
        Ok(time)
    }

    /// A list, or a single value as a list of one.
    pub(super) fn one_or_more(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => std::slice::from_ref(self),
        }
    }

    /// A mapping with these keys and no others. `what` is what has them.
    pub(super) fn fields(&self, what: &str, known: &[&str]) -> Result<Fields<'_>, Wrong> {
        let Value::Map(entries) = &self.value else {
            return Err(self.expected(&format!("{what} with `{}`", known.join("`, `"))));
        };
        for (key, _) in entries {
            if !known.contains(&key.name.as_str()) {
                let Key { at, name } = key;
                let hint = unknown(name, known);
                return Err(Wrong::new(*at, format!("{what} has no `{name}`; {hint}")));
            }
        }
        Ok(Fields { entries })
    }
}

/// The values of a mapping.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'n> {
    entries: &'n [(Key, Node)],
}

impl<'n> Fields<'n> {
    /// The value of a key, if it is there and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&'n Node> {
        let entry = self.entries.iter().find(|(key, _)| key.name == name);
        entry.map(|(_, node)| node).filter(|node| node.value != Value::Null)
    }

    /// The value of a key as something else.
    pub(super) fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'n Node) -> Result<T, Wrong>,
    ) -> Result<Option<T>, Wrong> {
        self.get(name).map(read).transpose()
    }
}
