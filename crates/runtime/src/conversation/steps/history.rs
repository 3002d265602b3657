//! Step 6: builds the history that the model reads.

use ostler_engine::history::{Content, Item};

use crate::assembly::history::{history_items, message_content};
use crate::conversation::input::Input;
use crate::conversation::run::Run;
use crate::conversation::steps::turn::FinishedTurn;
use crate::conversation::trace::Trace;
use crate::records::run_step::RunStep;

/// Returns the history with the input at its end, and how many items are from before the
/// input.
pub(crate) fn run(run: &mut Run, input: &Input<'_>) -> (Vec<Item>, usize) {
    let timer = Trace::start(RunStep::History);
    let mut history = history_items(&run.earlier);
    let earlier_items = history.len();
    history.extend(input_item(input, &run.finished_turns));
    run.trace.finish(timer);
    (history, earlier_items)
}

/// Returns the item to answer: the messages or the note of the input, and what the
/// colleagues said who handed the conversation over.
fn input_item(input: &Input<'_>, finished_turns: &[FinishedTurn]) -> Option<Item> {
    let messages = input.messages.iter();
    let mut content: Vec<Content> =
        messages.flat_map(|one| message_content(&one.message.parts)).collect();
    content.extend(input.note.iter().map(|note| Content::text(format!("[{note}]"))));
    for turn in finished_turns {
        let text = turn.new_items.iter().find_map(|item| match item {
            Item::Assistant { text, .. } if !text.trim().is_empty() => Some(text.trim()),
            _ => None,
        });
        if let Some(text) = text {
            content.push(Content::text(format!("[your colleague said: {text}]")));
        }
    }
    (!content.is_empty()).then_some(Item::User { content })
}
