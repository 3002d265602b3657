//! Tools are called, and models asked, in one place. The types see to it that
//! nobody makes an `Authorized` or a `Request`; this sees to it that nobody who is
//! handed one uses it elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use crate::metadata::root;

/// A method, told apart from others of its name by how many arguments it takes.
struct Method {
    of: &'static str,
    name: &'static str,
    arguments: usize,
    /// Where it may be called, how often, and why.
    callers: &'static [(&'static str, usize, &'static str)],
}

const TOOL: Method = Method {
    of: "Tool",
    name: "call",
    arguments: 2,
    callers: &[
        ("crates/engine/src/driver/work.rs", 1, "the driver"),
        (
            "crates/tools/src/orders/provider_refund.rs",
            2,
            "an authorized refund, checked by the records and made by the provider",
        ),
        ("crates/tools/src/mcp/tool.rs", 1, "a message to an MCP server, from inside its tool"),
    ],
};

const MODEL: Method = Method {
    of: "Model",
    name: "answer",
    arguments: 1,
    callers: &[
        ("crates/engine/src/driver/mod.rs", 1, "the driver"),
        ("crates/models/src/fallback.rs", 1, "a model that passes the question on"),
        ("crates/models/src/retry.rs", 1, "a model that passes the question on"),
        ("crates/models/src/modalities.rs", 1, "a model that passes the question on"),
        ("crates/models/src/catalogue/usage.rs", 1, "a model that passes the question on"),
        ("crates/models/src/metrics.rs", 1, "a model that passes the question on"),
    ],
};

/// Z02: subagents, approved calls, workflow steps and MCP tools have no way to a
/// tool but through the driver, which takes from the gate alone.
#[test]
fn z02_one_place_calls_tools_and_one_asks_models() {
    let sources = sources();
    assert!(sources.len() > 200, "only {} files were found", sources.len());
    for method in [TOOL, MODEL] {
        let mut found: Vec<(String, usize)> = sources
            .iter()
            .map(|(path, text)| (path.clone(), method.calls_in(text)))
            .filter(|(_, calls)| *calls > 0)
            .collect();
        found.sort();
        let mut allowed: Vec<(String, usize)> =
            method.callers.iter().map(|(path, calls, _)| ((*path).to_owned(), *calls)).collect();
        allowed.sort();
        assert_eq!(
            found, allowed,
            "`{}::{}` is called elsewhere; if it is another method of that name with as many \
             arguments, call it something else",
            method.of, method.name
        );
    }
}

/// The search finds what it is to find.
#[test]
fn a_call_is_recognized() {
    let check = |method: &Method, text: &str, calls| {
        assert_eq!(method.calls_in(&code(text)), calls, "{text}");
    };
    check(&TOOL, "tool.call(&call, &context).await", 1);
    check(&TOOL, "tool\n    .call(\n  &call,\n  &context,\n )", 1);
    check(&TOOL, "Tool::call(&*tool, &call, &context)", 1);
    check(&TOOL, "<T as Tool>::call(tool, f(a, b), c)", 1);
    check(&TOOL, "let run = Tool::call;", 1);
    check(&TOOL, "x.call(f(1, 2)); call.call().id; fn call(a: u8, b: u8) {}; recall(a, b)", 0);
    check(&TOOL, "// tool.call(a, b)\n\"tool.call(a, b)\"; '\"'; /* x.call(a, b) */", 0);
    check(&TOOL, "'\"'; tool.call(a, b); '\"'", 1);
    check(&TOOL, "#[cfg(test)]\nmod tests { fn x() { tool.call(a, b) } }", 0);
    check(&MODEL, "model.answer(request).into_future(); handle.answer(path, call, answer)", 1);
    check(&MODEL, "model.answer(Request { a, b })", 1);
}

impl Method {
    fn calls_in(&self, code: &str) -> usize {
        let named = |before: &str| {
            let before = before.trim_end();
            if before.ends_with("::") {
                let of = before.trim_end_matches("::").trim_end_matches('>');
                return Some(of.ends_with(self.of));
            }
            before.ends_with('.').then_some(false)
        };
        let starts = code.match_indices(self.name).map(|(at, name)| (at, at + name.len()));
        let calls = starts.filter(|(start, end)| {
            let after = &code[*end..];
            let whole = !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            match named(&code[..*start]) {
                Some(true) => whole,
                Some(false) => whole && arguments(after) == Some(self.arguments),
                None => false,
            }
        });
        calls.count()
    }
}

/// How many arguments follow, if it is a call.
fn arguments(after: &str) -> Option<usize> {
    let list = after.trim_start().strip_prefix('(')?;
    let (mut depth, mut count, mut something) = (0_usize, 0, false);
    for sign in list.chars() {
        match sign {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => return Some(count + usize::from(something)),
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                count += 1;
                something = false;
                continue;
            }
            _ => {}
        }
        something |= !sign.is_whitespace();
    }
    None
}

/// Every file of our crates, without comments, texts and tests.
fn sources() -> Vec<(String, String)> {
    let (root, mut found) = (root(), Vec::new());
    let mut folders: Vec<PathBuf> = vec![root.join("crates"), root.join("bin")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("tests") {
                folders.push(path);
            } else if is_source(&path) {
                let text = fs::read_to_string(&path).expect("a file of text");
                let name = path.strip_prefix(&root).expect("below the root").display().to_string();
                found.push((name, code(&text)));
            }
        }
    }
    found
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs")
}

/// The code alone. Tests are the last module of a file.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(sign) = rest.chars().next() {
        let passed = match sign {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => text_length(rest),
            '\'' if rest.starts_with("'\"'") => 3,
            _ => {
                code.push(sign);
                sign.len_utf8()
            }
        };
        rest = &rest[passed..];
    }
    code
}

/// How long the text is that begins here.
fn text_length(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, sign)| {
        let ends = *sign == '"' && !escaped;
        escaped = *sign == '\\' && !escaped;
        ends
    });
    end.map_or(rest.len(), |(at, _)| at + 1)
}
