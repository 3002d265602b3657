//! The tools of a server that only run as MCP tasks. The library drops what a server says
//! about tasks when it parses a page of tools, so the raw messages are read first.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};

/// The key that a message about such tools contains.
const KEY: &str = "\"taskSupport\"";

/// The names of the tools that only run as tasks. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct TaskTools(Arc<Mutex<BTreeSet<String>>>);

/// The parts of a message that matter. A message that has other ones is not a page of tools.
#[derive(Deserialize)]
struct ToolPageMessage {
    result: ToolPage,
}

#[derive(Deserialize)]
struct ToolPage {
    tools: Vec<Value>,
}

impl TaskTools {
    /// Reads a message of the server before the library does.
    pub(super) fn observe(&self, message: &[u8]) {
        if !str::from_utf8(message).is_ok_and(|text| text.contains(KEY)) {
            return;
        }
        let Ok(page) = serde_json::from_slice::<ToolPageMessage>(message) else { return };
        let mut names = self.lock();
        for tool in &page.result.tools {
            let Some(name) = tool["name"].as_str() else { continue };
            if tool["execution"]["taskSupport"] == "required" {
                names.insert(name.to_owned());
            } else {
                names.remove(name);
            }
        }
    }

    /// Adds to tools of a page what the library has dropped.
    pub(super) fn restore(&self, tools: &mut [Value]) {
        let names = self.lock();
        for tool in tools {
            if tool["name"].as_str().is_some_and(|name| names.contains(name)) {
                tool["execution"] = json!({"taskSupport": "required"});
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::TaskTools;
    use serde_json::{Value, json};

    fn page(tools: &Value) -> Vec<u8> {
        json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}).to_string().into_bytes()
    }

    /// A tool that needs tasks is known until the server lists it without.
    #[test]
    fn the_last_page_with_a_tool_counts() {
        let names = TaskTools::default();
        let restored = || {
            let mut tools = vec![json!({"name": "slow"}), json!({"name": "quick"}), json!(7)];
            names.restore(&mut tools);
            tools.iter().filter(|tool| tool.get("execution").is_some()).count()
        };
        let slow = |support: &str| {
            page(&json!([{"name": "slow", "execution": {"taskSupport": support}}, 7]))
        };
        names.observe(b"{\"taskSupport\"");
        names.observe(&page(&json!([{"name": "quick"}])));
        assert_eq!(restored(), 0);
        names.observe(&slow("required"));
        assert_eq!(restored(), 1);
        names.observe(&slow("optional"));
        assert_eq!(restored(), 0);
    }
}
