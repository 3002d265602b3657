//! Buttons below a message.

use serde::{Deserialize, Serialize};

/// The most bytes that a button carries; Telegram takes no more.
const MOST_DATA: usize = 64;
/// The most characters on a button.
const MOST_LABEL: usize = 64;

/// A button that every channel with buttons can show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Button {
    label: String,
    action: Action,
}

/// What a button does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The org gets this text.
    Press(String),
    /// A page opens.
    Link(String),
}

/// Why there is no such button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadButton {
    /// What is on it.
    #[error("a button has 1 to {MOST_LABEL} characters on it")]
    Label,
    /// What it carries.
    #[error("a button carries 1 to {MOST_DATA} bytes")]
    Data,
    /// Where it leads.
    #[error("a button leads to an address that starts with https:// or http://")]
    Link,
}

impl Button {
    /// A button that tells the org something.
    pub fn press(label: impl Into<String>, data: impl Into<String>) -> Result<Self, BadButton> {
        Self::new(label.into(), Action::Press(data.into()))
    }

    /// A button that opens a page.
    pub fn link(label: impl Into<String>, url: impl Into<String>) -> Result<Self, BadButton> {
        Self::new(label.into(), Action::Link(url.into()))
    }

    fn new(label: String, action: Action) -> Result<Self, BadButton> {
        if label.trim().is_empty() || label.chars().count() > MOST_LABEL {
            return Err(BadButton::Label);
        }
        match &action {
            Action::Press(data) if !(1..=MOST_DATA).contains(&data.len()) => Err(BadButton::Data),
            Action::Link(url) if !(url.starts_with("https://") || url.starts_with("http://")) => {
                Err(BadButton::Link)
            }
            Action::Press(_) | Action::Link(_) => Ok(Self { label, action }),
        }
    }

    /// What is on it.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What it does.
    pub const fn action(&self) -> &Action {
        &self.action
    }

    /// The same in words, where there are no buttons.
    pub(crate) fn written_out(&self) -> Option<String> {
        match &self.action {
            Action::Link(url) => Some(format!("{}: {url}", self.label)),
            Action::Press(_) => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Wire {
    label: String,
    #[serde(flatten)]
    action: Action,
}

impl TryFrom<Wire> for Button {
    type Error = BadButton;

    fn try_from(wire: Wire) -> Result<Self, BadButton> {
        Self::new(wire.label, wire.action)
    }
}

impl From<Button> for Wire {
    fn from(Button { label, action }: Button) -> Self {
        Self { label, action }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadButton, Button};

    #[test]
    fn a_button_that_no_channel_could_show_is_not_made() {
        let long = "x".repeat(65);
        assert_eq!(Button::press("", "x"), Err(BadButton::Label));
        assert_eq!(Button::press(&long, "x"), Err(BadButton::Label));
        assert_eq!(Button::press("Yes", ""), Err(BadButton::Data));
        assert_eq!(Button::press("Yes", &long), Err(BadButton::Data));
        assert_eq!(Button::link("Go", "javascript:x"), Err(BadButton::Link));
        let json = r#"{"label":"Yes","press":"esc_1"}"#;
        let button: Button = serde_json::from_str(json).unwrap();
        assert_eq!(button, Button::press("Yes", "esc_1").unwrap());
        assert_eq!(serde_json::to_string(&button).unwrap(), json);
        assert!(serde_json::from_str::<Button>(r#"{"label":"","press":"x"}"#).is_err());
    }
}
