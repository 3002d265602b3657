//! The text of conversation entries, as the memory keeps it.

use ostler_domain::memory::MessageOrigin;
use ostler_domain::memory::observation::Speaker;
use ostler_domain::tool::Trust;
use ostler_engine::history::{Content, Item, ToolCall};
use ostler_engine::tokens;
use ostler_store::MemoryMessage;

use super::recall;

/// Returns what the memory keeps of a conversation entry. `trust` is that of the message as
/// a whole; results of calls that come from outside are untrusted in any case.
pub fn memory_message(seq: i64, item: &Item, origin: MessageOrigin, trust: Trust) -> MemoryMessage {
    let (speaker, text) = match item {
        Item::User { content } => (Speaker::User, joined(content.iter().map(Content::describe))),
        Item::Assistant { text, calls, .. } => {
            let texts = std::iter::once(text.clone()).chain(calls.iter().map(call_text));
            (Speaker::Agent, joined(texts))
        }
        Item::Results { results } => {
            let texts =
                results.iter().map(|result| recall::without_recalled(&result.outcome.content));
            (Speaker::Tool, joined(texts.map(str::to_owned)))
        }
    };
    let trust = match item {
        Item::Results { results } => {
            results.iter().fold(trust, |trust, result| trust.after_reading(result.outcome.trust))
        }
        Item::User { .. } | Item::Assistant { .. } => trust,
    };
    let continues = matches!(item, Item::Results { .. });
    MemoryMessage { seq, speaker, origin, trust, continues, tokens: tokens::of_item(item), text }
}

fn call_text(call: &ToolCall) -> String {
    format!("[calls {} {}]", call.name, call.arguments)
}

/// Joins texts by line breaks, without empty ones.
fn joined(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<String> = texts.filter(|text| !text.trim().is_empty()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use ostler_domain::memory::MessageOrigin;
    use ostler_domain::memory::observation::Speaker;
    use ostler_domain::tool::Trust;
    use ostler_engine::history::{CallId, CallResult, Item, ToolCall};
    use ostler_engine::outcome::ToolOutcome;

    use super::memory_message;

    #[test]
    fn z15_results_from_outside_are_untrusted() {
        let of = |item: &Item| memory_message(1, item, MessageOrigin::Conversation, Trust::Trusted);
        let call = ToolCall::new(CallId::new("1"), "web_fetch", "{\"url\":\"x\"}");
        let asked = Item::Assistant { text: String::new(), calls: vec![call], partial: false };
        let result = |outcome| Item::Results {
            results: vec![CallResult { call: CallId::new("1"), outcome }],
        };
        let table = [
            (Item::user("hello"), Speaker::User, Trust::Trusted, "hello"),
            (asked, Speaker::Agent, Trust::Trusted, "[calls web_fetch {\"url\":\"x\"}]"),
            (result(ToolOutcome::ok("ok")), Speaker::Tool, Trust::Trusted, "ok"),
            (result(ToolOutcome::ok("ok").untrusted()), Speaker::Tool, Trust::Untrusted, "ok"),
            (
                result(ToolOutcome::ok("[recall] 1 message\n#3 user: x")),
                Speaker::Tool,
                Trust::Trusted,
                "[recall] 1 message",
            ),
        ];
        for (item, speaker, trust, text) in table {
            let message = of(&item);
            assert_eq!(
                (message.speaker, message.trust, message.text.as_str()),
                (speaker, trust, text)
            );
            assert_eq!(message.continues, speaker == Speaker::Tool);
        }
    }
}
