//! Requests as rules see them: the same for requests of the engine and of the wire.

use std::borrow::Cow;

use ostler_engine::history::{CallResult, Content, Item, ToolCall};
use ostler_engine::tokens;
use ostler_engine::tool::ToolSet;

/// A request to a scripted model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelRequest<'a> {
    pub(crate) model: &'a str,
    pub(crate) system: &'a str,
    pub(crate) history: &'a [Item],
    /// The names of the offered tools.
    pub(crate) offered: &'a [String],
    pub(crate) size: ToolTokens<'a>,
}

/// Where the token count of the offered tools comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToolTokens<'a> {
    Tools(&'a ToolSet),
    /// The estimate for their descriptions on the wire.
    Tokens(u64),
}

impl<'a> ModelRequest<'a> {
    /// Returns the request as it was with only the first entries of the conversation.
    pub(super) fn before(&self, entries: usize) -> Self {
        Self { history: self.history.get(..entries).unwrap_or(self.history), ..*self }
    }

    /// Estimates the tokens of the request.
    pub(super) fn tokens(&self) -> u64 {
        let Self { system, history, offered, .. } = *self;
        match self.size {
            ToolTokens::Tools(tools) => tokens::of_request(system, history, tools, offered),
            ToolTokens::Tokens(tool_tokens) => {
                tool_tokens + tokens::of_request(system, history, &ToolSet::default(), &[])
            }
        }
    }

    /// Returns how many times people have written; several messages in a row count
    /// once.
    pub(super) fn turn(&self) -> u64 {
        let mut turns = 0;
        let mut was_user = false;
        for item in self.history {
            let is_user = matches!(item, Item::User { .. });
            turns += u64::from(is_user && !was_user);
            was_user = is_user;
        }
        turns
    }

    /// Returns the part of the conversation that the answer is about.
    pub(super) fn situation(&self) -> Situation<'a> {
        let history = self.history;
        let is_user = |item: &Item| matches!(item, Item::User { .. });
        let last = history.iter().rposition(is_user);
        let begin = last.map(|last| {
            history.get(..last).unwrap_or_default().iter().rposition(|item| !is_user(item))
        });
        let begin = begin.flatten().map_or(0, |before| before + 1);
        let after = last.map_or(0, |last| last + 1);
        let messages = history.get(begin..after).unwrap_or_default();
        let since = history.get(after..).unwrap_or_default();
        let answers = since.iter().filter(|item| matches!(item, Item::Assistant { .. })).count();
        Situation {
            user: join_texts(messages),
            step: answers as u64 + 1,
            results: results(since),
            is_new: since.is_empty(),
        }
    }
}

/// The last message, and what has happened since.
#[derive(Debug)]
pub(super) struct Situation<'a> {
    /// The last message; several messages in a row are joined by line breaks.
    pub(super) user: Cow<'a, str>,
    /// How often the model was asked about it, including this time.
    pub(super) step: u64,
    /// The results of the last calls.
    pub(super) results: Results<'a>,
    /// Whether nothing has happened since the message.
    pub(super) is_new: bool,
}

/// Results with their calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Results<'a> {
    calls: &'a [ToolCall],
    results: &'a [CallResult],
}

impl<'a> Results<'a> {
    pub(super) fn iter(self) -> impl Iterator<Item = (Option<&'a str>, &'a CallResult)> {
        self.results.iter().map(move |result| {
            let call = self.calls.iter().find(|call| call.id == result.call);
            (call.map(|call| call.name.as_str()), result)
        })
    }
}

fn results(since: &[Item]) -> Results<'_> {
    match since {
        [.., Item::Assistant { calls, .. }, Item::Results { results }] => {
            Results { calls, results }
        }
        [.., Item::Results { results }] => Results { calls: &[], results },
        _ => Results { calls: &[], results: &[] },
    }
}

fn join_texts(messages: &[Item]) -> Cow<'_, str> {
    let mut texts = messages
        .iter()
        .filter_map(|item| match item {
            Item::User { content } => Some(content),
            _ => None,
        })
        .flatten()
        .filter_map(|content| match content {
            Content::Text { text } => Some(text.as_str()),
            _ => None,
        });
    let first = texts.next().unwrap_or_default();
    texts.fold(Cow::Borrowed(first), |all, text| Cow::Owned(format!("{all}\n{text}")))
}
