//! What a server offers, as far as it can be used: definitions of tools, and
//! what was left out.

use std::collections::BTreeMap;

use ostler_domain::tool::{Category, Risk, ToolGroup, ToolName, ToolSpec};
use ostler_engine::tool::Definition;
use serde::Deserialize;
use serde_json::Value;

use super::config::{Hints, McpServerConfig};
use super::problem::Trouble;
use super::{name, schema};

/// The most bytes of a name that a server gives to a tool.
const LONGEST_NAME: usize = 256;

/// A tool that a server offers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Offer {
    /// What the server calls it.
    pub(super) remote: String,
    /// What it is here.
    pub(super) definition: Definition,
}

/// A tool that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// What the server calls it, if that can be read.
    pub(super) tool: Option<String>,
    /// Why.
    pub(super) why: Trouble,
}

/// What a list comes to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Offers {
    pub(super) tools: Vec<Offer>,
    pub(super) left_out: Vec<LeftOut>,
}

/// A tool as a server describes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    description: Option<String>,
    input_schema: Value,
    annotations: Option<Annotations>,
}

/// What a server says of a tool.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
}

/// Reads a list of tools. `more` says that the server has still others.
pub(super) fn read(listed: Vec<Value>, more: bool, config: &McpServerConfig) -> Offers {
    let most = config.limits.tools;
    let mut offers = Offers::default();
    if more || listed.len() > most {
        offers.left_out.push(LeftOut { tool: None, why: Trouble::TooManyTools(most) });
    }
    let mut by_name: BTreeMap<ToolName, Vec<Offer>> = BTreeMap::new();
    for tool in listed.into_iter().take(most) {
        let called = tool.get("name").and_then(Value::as_str).map(shown);
        match offer(tool, config) {
            Ok(offer) => {
                by_name.entry(offer.definition.spec.name.clone()).or_default().push(offer);
            }
            Err(why) => offers.left_out.push(LeftOut { tool: called, why }),
        }
    }
    for (name, mut same) in by_name {
        // Which of two the model means cannot be known, so neither is offered.
        if same.len() == 1 {
            offers.tools.append(&mut same);
            continue;
        }
        offers.left_out.extend(same.into_iter().map(|offer| LeftOut {
            tool: Some(shown(&offer.remote)),
            why: Trouble::Collision(name.to_string()),
        }));
    }
    offers
}

fn offer(tool: Value, config: &McpServerConfig) -> Result<Offer, Trouble> {
    let limits = &config.limits;
    let tool: Listed =
        serde_json::from_value(tool).map_err(|error| Trouble::Unreadable(error.to_string()))?;
    if tool.name.len() > LONGEST_NAME {
        let why = format!("its name has more than {LONGEST_NAME} bytes");
        return Err(Trouble::Unreadable(why));
    }
    schema::check(&tool.input_schema, limits.schema).map_err(Trouble::Schema)?;
    let name = name::namespaced(&config.name, &tool.name)
        .ok_or_else(|| Trouble::Unreadable("its name cannot be used".to_owned()))?;
    let said = tool.annotations.unwrap_or_default();
    let spec = ToolSpec {
        category: Category::Mcp,
        risk: risk(said, config.hints),
        ..ToolSpec::write(name, ToolGroup::Custom).external().untrusted().priced(config.price)
    };
    let description = capped(&tool.description.unwrap_or_default(), limits.description);
    let definition = Definition {
        timeout: limits.call,
        max_output: limits.output,
        idempotent: config.hints == Hints::Believed && said.idempotent_hint == Some(true),
        ..Definition::new(spec, description, tool.input_schema)
    };
    Ok(Offer { remote: tool.name, definition })
}

/// A server can make its tool look worse. Only one that is believed can make it
/// look harmless.
fn risk(said: Annotations, hints: Hints) -> Risk {
    if said.destructive_hint == Some(true) {
        Risk::Destructive
    } else if hints == Hints::Believed && said.read_only_hint == Some(true) {
        Risk::Read
    } else {
        Risk::Write
    }
}

/// A description, without characters that a model reads and a person does not
/// see.
fn capped(text: &str, most: usize) -> String {
    let mut text: String = text.chars().filter(|c| is_visible(*c)).collect();
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}

fn is_visible(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        // Marks of direction, joiners, and letters that are drawn as nothing.
        '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => false,
        c => !c.is_control(),
    }
}

/// A name that is fit for a message.
fn shown(name: &str) -> String {
    name.chars().filter(|c| *c != '\n' && is_visible(*c)).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::{Annotations, Offers, capped, read, risk};
    use crate::mcp::config::{Hints, McpServerConfig, McpTransport, StdioServer};
    use ostler_domain::tool::{Category, Reach, Risk, ToolGroup, Trust};
    use serde_json::{Value, json};

    fn config() -> McpServerConfig {
        let transport = McpTransport::Stdio(StdioServer::default());
        McpServerConfig::new("s".parse().unwrap(), transport)
    }

    fn tool(name: &str) -> Value {
        json!({"name": name, "description": "d", "inputSchema": {"type": "object"}})
    }

    fn names(offers: &Offers) -> Vec<&str> {
        offers.tools.iter().map(|offer| offer.definition.spec.name.as_str()).collect()
    }

    fn left_out(offers: &Offers) -> Vec<String> {
        offers
            .left_out
            .iter()
            .map(|left| format!("{}: {}", left.tool.as_deref().unwrap_or("-"), left.why))
            .collect()
    }

    #[test]
    fn a_tool_of_a_server_is_external_and_untrusted() {
        let offers = read(vec![tool("echo")], false, &config());
        let spec = &offers.tools[0].definition.spec;
        assert_eq!(spec.name.as_str(), "mcp__s__echo");
        assert_eq!(
            (spec.category, spec.group, spec.risk, spec.reach, spec.output),
            (Category::Mcp, ToolGroup::Custom, Risk::Write, Reach::External, Trust::Untrusted)
        );
        assert_eq!(offers.left_out, []);
    }

    #[test]
    fn what_a_server_says_makes_its_tools_stricter_only() {
        use Hints::{Believed, Doubted};
        let table = [
            (None, None, Doubted, Risk::Write),
            (None, None, Believed, Risk::Write),
            (Some(true), None, Doubted, Risk::Write),
            (Some(true), None, Believed, Risk::Read),
            (Some(true), Some(false), Doubted, Risk::Write),
            (Some(true), Some(true), Believed, Risk::Destructive),
            (Some(false), Some(false), Believed, Risk::Write),
            (None, Some(true), Doubted, Risk::Destructive),
        ];
        for (read_only_hint, destructive_hint, hints, expected) in table {
            let said = Annotations { read_only_hint, destructive_hint, idempotent_hint: None };
            assert_eq!(risk(said, hints), expected, "{read_only_hint:?} {destructive_hint:?}");
        }
    }

    #[test]
    fn only_a_server_that_is_believed_has_idempotent_tools() {
        let mut listed = tool("echo");
        listed["annotations"] = json!({"idempotentHint": true});
        let idempotent = |hints| {
            let config = McpServerConfig { hints, ..config() };
            read(vec![listed.clone()], false, &config).tools[0].definition.idempotent
        };
        assert!(!idempotent(Hints::Doubted));
        assert!(idempotent(Hints::Believed));
    }

    #[test]
    fn what_cannot_be_used_is_left_out_and_said() {
        let bad = json!({"name": "bad", "inputSchema": {"type": "string"}});
        let none = json!({"name": "none"});
        let offers = read(vec![bad, tool("good"), none, json!(7)], false, &config());
        assert_eq!(names(&offers), ["mcp__s__good"]);
        let said = left_out(&offers);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].starts_with("bad: left out, since its schema cannot be used"), "{said:?}");
        assert!(said[1].starts_with("none: left out, since it cannot be read"), "{said:?}");
        assert!(said[2].starts_with("-: left out, since it cannot be read"), "{said:?}");
    }

    #[test]
    fn two_tools_of_one_name_are_both_left_out() {
        let long = "x".repeat(57);
        let short = read(vec![tool(&long)], false, &config());
        let shortened = names(&short)[0].strip_prefix("mcp__s__").unwrap().to_owned();
        let listed = [&long, &shortened, "other", "twice", "twice"].map(tool);
        let offers = read(listed.to_vec(), false, &config());
        assert_eq!(names(&offers), ["mcp__s__other"]);
        assert_eq!(offers.left_out.len(), 4);
    }

    #[test]
    fn there_is_a_limit_to_tools() {
        let mut config = config();
        config.limits.tools = 2;
        let offers = read(["a", "b", "c"].map(tool).to_vec(), false, &config);
        assert_eq!(names(&offers), ["mcp__s__a", "mcp__s__b"]);
        let expected = ["-: it offers more than 2 tools; the others were left out"];
        assert_eq!(left_out(&offers), expected);
    }

    #[test]
    fn descriptions_are_cut_between_characters() {
        assert_eq!(capped("short", 5), "short");
        assert_eq!(capped("aß", 2), "a…");
        assert_eq!(capped("a\u{1b}[2K\u{202e}b\n", 99), "a[2Kb\n");
    }
}
