//! Tool calls as a client shows them: title, kind, files, differences.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, TextContent, ToolCall, ToolCallContent, ToolCallLocation, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use ostler_engine::ask::{ASK_USER, SUBMIT_PLAN};
use serde_json::Value;

/// The most bytes of a text that is shown.
const MAX_TEXT: usize = 64 * 1024;

/// Returns whether the calls of a tool are shown in another form: as a plan or a question.
pub(super) fn is_hidden(tool: &str) -> bool {
    matches!(tool, "task_write" | "task_check")
        || tool == ASK_USER.as_str()
        || tool == SUBMIT_PLAN.as_str()
}

/// Returns a call as a client shows it. `before` is the text of the file that it writes, if
/// there is one.
pub(super) fn tool_call(
    id: &str,
    tool: &str,
    args: &Value,
    root: &Path,
    before: Option<String>,
) -> ToolCall {
    let argument = |name: &str| args.get(name).and_then(Value::as_str);
    let path = argument("path").filter(|path| !path.is_empty());
    let at = |path: &str| root.join(path);
    let content = match (tool, path, argument("content"), argument("new_text")) {
        ("write_file", Some(path), Some(text), _) => {
            vec![Diff::new(at(path), text).old_text(before).into()]
        }
        ("edit_file", Some(path), _, Some(text)) => {
            vec![Diff::new(at(path), text).old_text(argument("old_text").map(str::to_owned)).into()]
        }
        ("apply_patch", ..) => {
            vec![text_content(&format!(
                "```diff\n{}\n```",
                argument("patch").unwrap_or_default().trim_end()
            ))]
        }
        _ => Vec::new(),
    };
    let locations = path.filter(|_| is_of_workspace(tool)).map(|path| {
        let line = args.get("first_line").and_then(Value::as_u64);
        ToolCallLocation::new(at(path)).line(line.and_then(|line| u32::try_from(line).ok()))
    });
    ToolCall::new(id.to_owned(), title(tool, args))
        .name(tool.to_owned())
        .kind(kind(tool))
        .content(content)
        .locations(locations.into_iter().collect::<Vec<_>>())
        .raw_input(args.clone())
}

/// Returns the same as the update that a permission request has.
pub(super) fn as_update(call: ToolCall) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new()
        .title(call.title)
        .name(call.name)
        .kind(call.kind)
        .status(call.status)
        .content(call.content)
        .locations(call.locations)
        .raw_input(call.raw_input);
    ToolCallUpdate::new(call.tool_call_id, fields)
}

/// Returns a text; of a long one, its end.
pub(super) fn text_content(text: &str) -> ToolCallContent {
    let start = text.len().saturating_sub(MAX_TEXT);
    let start = (start..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    ContentBlock::Text(TextContent::new(&text[start..])).into()
}

fn is_of_workspace(tool: &str) -> bool {
    matches!(tool, "read_file" | "list_files" | "search_files" | "write_file" | "edit_file")
}

fn kind(tool: &str) -> ToolKind {
    match tool {
        "read_file" => ToolKind::Read,
        "list_files" | "search_files" | "recall" => ToolKind::Search,
        "write_file" | "edit_file" | "apply_patch" => ToolKind::Edit,
        "run_command" => ToolKind::Execute,
        "fetch_url" | "web_fetch" => ToolKind::Fetch,
        "submit_plan" => ToolKind::SwitchMode,
        "subagent" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

fn title(tool: &str, args: &Value) -> String {
    let argument = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    let path = match argument("path") {
        "" => ".",
        path => path,
    };
    match tool {
        "read_file" => format!("Read {path}"),
        "list_files" => format!("List {path}"),
        "search_files" => format!("Search for {}", argument("pattern")),
        "write_file" => format!("Write {path}"),
        "edit_file" => format!("Edit {path}"),
        "apply_patch" => "Apply a patch".to_owned(),
        "run_command" => argument("command").to_owned(),
        _ => tool.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use agent_client_protocol::v1::schema::ToolCallContent;
    use serde_json::json;

    use super::{text_content, tool_call};

    #[test]
    fn k06_calls_have_title_kind_files_and_differences() {
        let call = |tool: &str, args| {
            let call = tool_call("c", tool, &args, Path::new("/p"), Some("old".into()));
            serde_json::to_value(call).expect("JSON")
        };
        let read = call("read_file", json!({"path": "a.rs", "first_line": 7}));
        assert_eq!((&read["title"], &read["kind"]), (&json!("Read a.rs"), &json!("read")));
        assert_eq!(read["locations"], json!([{"path": "/p/a.rs", "line": 7}]));
        let write = call("write_file", json!({"path": "a.rs", "content": "new"}));
        let diff = json!([{"type": "diff", "path": "/p/a.rs", "oldText": "old", "newText": "new"}]);
        assert_eq!(write["content"], diff);
        let run = call("run_command", json!({"command": "make"}));
        assert_eq!((&run["title"], &run["kind"]), (&json!("make"), &json!("execute")));
        let other = call("echo__say", json!({"path": "x"}));
        assert_eq!((&other["title"], other.get("locations")), (&json!("echo__say"), None));
    }

    #[test]
    fn k06_of_a_long_output_the_end_is_shown() {
        let ToolCallContent::Content(shown) = text_content(&"ö".repeat(100_000)) else { panic!() };
        let shown = serde_json::to_value(shown).expect("JSON");
        assert_eq!(shown["content"]["text"].as_str().map(str::len), Some(64 * 1024));
    }
}
