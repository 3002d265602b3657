//! Checks what real providers check: each call has one result, in the next message.

use ostler_engine::history::{CallId, Item};

/// Returns the error of a provider for calls and results that do not match.
pub(super) fn check_call_results(history: &[Item]) -> Result<(), String> {
    let mut open: Vec<&CallId> = Vec::new();
    for item in history {
        if let Item::Results { results } = item {
            for result in results {
                let call = &result.call;
                let at = open.iter().position(|open| *open == call);
                let at =
                    at.ok_or_else(|| format!("the result of `{call}` follows no such call"))?;
                open.swap_remove(at);
            }
        }
        if let Some(call) = open.first() {
            return Err(format!("the call `{call}` has no result"));
        }
        if let Item::Assistant { calls, .. } = item {
            open.extend(calls.iter().map(|call| &call.id));
        }
    }
    match open.first() {
        Some(call) => Err(format!("the call `{call}` has no result")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::check_call_results;
    use ostler_engine::history::{CallId, CallResult, Item, ToolCall};
    use ostler_engine::outcome::ToolOutcome;

    fn calls(ids: &[&str]) -> Item {
        let call = |id: &&str| ToolCall::new(CallId::new(id), "look", "");
        let calls = ids.iter().map(call).collect();
        Item::Assistant { text: String::new(), calls, partial: false }
    }

    fn results(ids: &[&str]) -> Item {
        let result = |id: &&str| CallResult { call: CallId::new(id), outcome: ToolOutcome::ok("") };
        Item::Results { results: ids.iter().map(result).collect() }
    }

    #[test]
    fn each_call_has_one_result() {
        let check = |history: &[Item], expected: Result<(), &str>| {
            assert_eq!(check_call_results(history), expected.map_err(str::to_owned));
        };
        let user = || Item::user("hi");
        check(&[user(), calls(&["a", "b"]), results(&["b", "a"]), user()], Ok(()));
        check(&[user(), calls(&["a"])], Err("the call `a` has no result"));
        check(&[user(), calls(&["a"]), user()], Err("the call `a` has no result"));
        check(&[calls(&["a", "b"]), results(&["a"])], Err("the call `b` has no result"));
        check(
            &[calls(&["a"]), results(&["a", "a"])],
            Err("the result of `a` follows no such call"),
        );
        check(&[user(), results(&["a"])], Err("the result of `a` follows no such call"));
    }
}
