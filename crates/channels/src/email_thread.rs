//! E-mail threads: what a reply needs so that mail programs show it in the thread.

use serde::{Deserialize, Serialize};

use crate::limits::MAX_REFERENCES;

/// An e-mail thread up to its latest message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmailThread {
    /// Without `Re:`.
    pub subject: String,
    /// Message ids without angle brackets, oldest first.
    pub references: Vec<String>,
}

impl EmailThread {
    /// Returns the thread that ends with a message. `references` are the ids before
    /// it.
    pub fn with_message(subject: &str, references: Vec<String>, message_id: Option<&str>) -> Self {
        let mut references: Vec<String> =
            references.into_iter().map(|id| clean_id(&id)).filter(|id| !id.is_empty()).collect();
        if let Some(id) = message_id.map(clean_id).filter(|id| !id.is_empty()) {
            references.retain(|other| *other != id);
            references.push(id);
        }
        // Mail programs use the first and the latest ids.
        if references.len() > MAX_REFERENCES {
            references.drain(1..=references.len() - MAX_REFERENCES);
        }
        Self { subject: strip_reply_prefixes(subject).to_owned(), references }
    }

    /// Returns the id of the message that a reply answers.
    pub fn latest_message_id(&self) -> Option<&str> {
        self.references.last().map(String::as_str)
    }

    /// Returns a thread that begins with the next mail.
    pub fn new(subject: &str) -> Self {
        Self { subject: subject.trim().to_owned(), references: Vec::new() }
    }

    /// Returns whether there is a message to reply to.
    pub const fn is_new(&self) -> bool {
        self.references.is_empty()
    }

    /// Returns the subject of the next mail.
    pub fn next_subject(&self) -> String {
        match self.is_new() {
            true => self.subject.clone(),
            false => format!("Re: {}", self.subject),
        }
    }
}

/// Removes what is unsafe in a header: angle brackets, spaces, control characters.
fn clean_id(id: &str) -> String {
    let unsafe_char = |c: char| c.is_whitespace() || c.is_control() || c == '<' || c == '>';
    id.chars().filter(|c| !unsafe_char(*c)).collect()
}

/// Removes the prefixes of replies and forwards, in several languages.
fn strip_reply_prefixes(subject: &str) -> &str {
    let mut rest = subject.trim();
    while let Some((prefix, after)) = rest.split_once(':') {
        let known = ["re", "aw", "sv", "antw", "fwd", "fw", "wg", "r"];
        if !known.contains(&prefix.trim().to_lowercase().as_str()) {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::EmailThread;

    #[test]
    fn a_message_is_appended_to_its_thread() {
        let check = |subject: &str, references: &[&str], message, expected: (&str, &[&str])| {
            let references = references.iter().map(|id| (*id).to_owned()).collect();
            let thread = EmailThread::with_message(subject, references, message);
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
    fn a_long_thread_keeps_its_first_and_latest_references() {
        let ids: Vec<String> = (0..100).map(|n| format!("{n}@x")).collect();
        let thread = EmailThread::with_message("Pizza", ids, Some("100@x"));
        assert_eq!(thread.references.len(), 20);
        assert_eq!(thread.references[0], "0@x");
        assert_eq!(thread.references[1], "82@x");
        assert_eq!(thread.latest_message_id(), Some("100@x"));
        assert_eq!(thread.next_subject(), "Re: Pizza");
    }
}
