//! What a call that waits for a person would touch, as far as its specification and its
//! arguments say. It decides nothing; it tells the person who decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool::{Reach, Risk, ToolGroup, ToolSpec};

/// The longest host or amount that is shown.
const MAX_CHARS: usize = 120;

/// What a call would touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlastRadius {
    /// Where it acts. Tools of an organization always act in another system.
    pub reach: Reach,
    /// Whether nothing can take it back.
    pub is_final: bool,
    /// The lists among the arguments, with the number of their entries.
    pub lists: Vec<ListSize>,
    /// Arguments that are amounts of money or numbers of things.
    pub amounts: Vec<NamedAmount>,
    /// Hosts and mail addresses among the arguments.
    pub addresses: Vec<String>,
}

/// A list among the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListSize {
    pub name: String,
    pub entries: usize,
}

/// An amount among the arguments of a call, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedAmount {
    pub name: String,
    pub amount: String,
}

impl BlastRadius {
    /// Reads it off a call. `spec` is `None` for tools that are not built in.
    pub fn of(spec: Option<&ToolSpec>, risk: Risk, arguments: &Value) -> Self {
        let mut found = Self {
            reach: spec.map_or(Reach::External, reach),
            is_final: risk == Risk::Destructive,
            lists: Vec::new(),
            amounts: Vec::new(),
            addresses: Vec::new(),
        };
        for (name, value) in arguments.as_object().into_iter().flatten() {
            found.add(name, value);
        }
        found
    }

    fn add(&mut self, name: &str, value: &Value) {
        match value {
            Value::Array(entries) => {
                self.lists.push(ListSize { name: name.to_owned(), entries: entries.len() });
                self.addresses.extend(entries.iter().filter_map(Value::as_str).filter_map(address));
            }
            Value::Number(number) => self.add_amount(name, number.to_string()),
            Value::String(text) => match address(text) {
                Some(address) => self.addresses.push(address),
                None if is_amount(text) && is_amount_name(name) => {
                    self.add_amount(name, text.clone());
                }
                None => {}
            },
            Value::Null | Value::Bool(_) | Value::Object(_) => {}
        }
    }

    fn add_amount(&mut self, name: &str, amount: String) {
        self.amounts.push(NamedAmount { name: name.to_owned(), amount });
    }
}

/// Returns where a built-in tool acts. What it sends to people cannot be taken back either.
fn reach(spec: &ToolSpec) -> Reach {
    if spec.group == ToolGroup::Outreach { Reach::External } else { spec.reach }
}

/// Returns the host of a URL, or a mail address.
fn address(text: &str) -> Option<String> {
    let rest = ["https://", "http://"].iter().find_map(|start| text.strip_prefix(start));
    let found = match rest {
        Some(rest) => rest.split(['/', '?', '#']).next().unwrap_or_default(),
        None => {
            let (name, host) = text.split_once('@')?;
            let is_mail = !name.is_empty() && host.contains('.') && !text.contains(' ');
            is_mail.then_some(text)?
        }
    };
    (!found.is_empty()).then(|| found.chars().take(MAX_CHARS).collect())
}

/// Returns whether a text is a number, perhaps with a currency: `10.00`, `EUR 10`.
fn is_amount(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_digit() || ".,' €$£+-".contains(letter);
    let word = text.trim_matches(|letter: char| letter.is_ascii_alphabetic() || letter == ' ');
    text.len() <= MAX_CHARS
        && word.chars().all(is_part)
        && word.contains(|letter: char| letter.is_ascii_digit())
}

/// Returns whether an argument with this name is an amount, and not a number of an order.
fn is_amount_name(name: &str) -> bool {
    let words =
        ["amount", "total", "price", "sum", "value", "quantity", "count", "limit", "credits"];
    words.iter().any(|word| name.to_ascii_lowercase().contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::BlastRadius;
    use crate::tool::{Reach, Risk, catalogue};

    fn summary(tool: &str, risk: Risk, arguments: &Value) -> (Reach, bool, String) {
        let specs = catalogue::built_in();
        let spec = specs.iter().find(|spec| spec.name.as_str() == tool);
        let BlastRadius { reach, is_final, lists, amounts, addresses } =
            BlastRadius::of(spec, risk, arguments);
        let lists = lists.iter().map(|one| format!("{}={}", one.name, one.entries));
        let amounts = amounts.iter().map(|one| format!("{}:{}", one.name, one.amount));
        let words: Vec<String> = lists.chain(amounts).chain(addresses).collect();
        (reach, is_final, words.join(" "))
    }

    /// U05: what a call would touch is read off its arguments; names of orders are no amounts.
    #[test]
    fn u05_a_call_says_what_it_would_touch() {
        use Reach::{External, Local};
        for (tool, risk, arguments, expected) in [
            (
                "refund_payment",
                Risk::Destructive,
                json!({"amount": "10.00", "order": "1234", "reason": "twice"}),
                (Local, true, "amount:10.00"),
            ),
            (
                "send_email",
                Risk::Write,
                json!({"to": "rosa@example.com", "subject": "10.00"}),
                (External, false, "rosa@example.com"),
            ),
            (
                "unknown_tool",
                Risk::Write,
                json!({"ids": [1, 2, 3], "url": "https://shop.example/x?y=1", "deep": {"a": 1}}),
                (External, false, "ids=3 shop.example"),
            ),
            ("unknown_tool", Risk::Read, json!("not an object"), (External, false, "")),
            (
                "unknown_tool",
                Risk::Write,
                json!({"n": 4, "to": ["a@b.example", "c@d.example"], "total_price": "EUR 1,200"}),
                (External, false, "to=2 n:4 total_price:EUR 1,200 a@b.example c@d.example"),
            ),
        ] {
            let found = summary(tool, risk, &arguments);
            assert_eq!((found.0, found.1, &*found.2), expected, "{tool} {arguments}");
        }
    }
}
