//! Threads of e-mail: what an answer needs to stand below its question.

use serde::{Deserialize, Serialize};

/// The most messages that a thread names, so that its header stays short. The
/// first and the latest are what mail programs look at.
const MOST: usize = 20;

/// Where a thread stands after its latest message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// What it is about, without `Re:`.
    pub subject: String,
    /// The ids of its messages without angle brackets, oldest first.
    pub references: Vec<String>,
}

impl Thread {
    /// The thread that a message makes or continues.
    pub fn after(subject: &str, references: Vec<String>, message: Option<&str>) -> Self {
        let mut references: Vec<String> =
            references.into_iter().map(|id| bare(&id)).filter(|id| !id.is_empty()).collect();
        if let Some(id) = message.map(bare).filter(|id| !id.is_empty()) {
            references.retain(|known| *known != id);
            references.push(id);
        }
        if references.len() > MOST {
            references.drain(1..=references.len() - MOST);
        }
        Self { subject: without_re(subject).to_owned(), references }
    }

    /// The message that an answer replies to.
    pub fn latest(&self) -> Option<&str> {
        self.references.last().map(String::as_str)
    }

    /// The subject of an answer.
    pub fn answer_subject(&self) -> String {
        format!("Re: {}", self.subject)
    }
}

/// An id that is safe in a header: without angle brackets, spaces or controls.
fn bare(id: &str) -> String {
    let unsafe_char = |c: char| c.is_whitespace() || c.is_control() || c == '<' || c == '>';
    id.chars().filter(|c| !unsafe_char(*c)).collect()
}

/// A subject without the marks of answers, in the languages that use others.
fn without_re(subject: &str) -> &str {
    let mut rest = subject.trim();
    while let Some((mark, after)) = rest.split_once(':') {
        let known = ["re", "aw", "sv", "antw", "fwd", "fw", "wg", "r"];
        if !known.contains(&mark.trim().to_lowercase().as_str()) {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::Thread;

    #[test]
    fn a_thread_goes_on_below_its_latest_message() {
        let check = |subject: &str, references: &[&str], message, expected: (&str, &[&str])| {
            let references = references.iter().map(|id| (*id).to_owned()).collect();
            let thread = Thread::after(subject, references, message);
            assert_eq!(
                (thread.subject.as_str(), thread.references.as_slice()),
                (
                    expected.0,
                    expected.1.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>().as_slice()
                )
            );
        };
        check("Pizza", &[], Some("<1@x>"), ("Pizza", &["1@x"]));
        check("Re: AW: Pizza", &["<1@x>", "2@x"], Some("3@x"), ("Pizza", &["1@x", "2@x", "3@x"]));
        check("Note: hi", &["1@x"], Some("1@x"), ("Note: hi", &["1@x"]));
        check("RE:", &["1@x\r\nBcc: y"], None, ("", &["1@xBcc:y"]));
    }

    #[test]
    fn a_long_thread_keeps_its_first_and_its_latest() {
        let ids: Vec<String> = (0..100).map(|n| format!("{n}@x")).collect();
        let thread = Thread::after("Pizza", ids, Some("100@x"));
        assert_eq!(thread.references.len(), 20);
        assert_eq!(thread.references[0], "0@x");
        assert_eq!(thread.references[1], "82@x");
        assert_eq!(thread.latest(), Some("100@x"));
        assert_eq!(thread.answer_subject(), "Re: Pizza");
    }
}
