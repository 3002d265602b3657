//! Buttons below a message.

use serde::{Deserialize, Serialize};

use crate::limits::MAX_DATA_BYTES;

/// The limit of Telegram.
const MAX_LABEL_CHARS: usize = 64;

/// A button that every channel with buttons can show. Constructors check its
/// limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ButtonJson", into = "ButtonJson")]
pub struct Button {
    label: String,
    action: ButtonAction,
}

/// What happens when a button is pressed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ButtonAction {
    /// The channel reports the press with this data.
    Press(String),
    /// A page opens at this URL.
    Link(String),
}

/// Why a button is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidButton {
    #[error("a button's label has 1 to {MAX_LABEL_CHARS} characters")]
    Label,
    #[error("a button's data has 1 to {MAX_DATA_BYTES} bytes")]
    Data,
    #[error("a button's link starts with https:// or http://")]
    Link,
}

impl Button {
    /// Creates a button that reports `data` when it is pressed.
    pub fn press(label: impl Into<String>, data: impl Into<String>) -> Result<Self, InvalidButton> {
        Self::new(label.into(), ButtonAction::Press(data.into()))
    }

    /// Creates a button that opens a page.
    pub fn link(label: impl Into<String>, url: impl Into<String>) -> Result<Self, InvalidButton> {
        Self::new(label.into(), ButtonAction::Link(url.into()))
    }

    fn new(label: String, action: ButtonAction) -> Result<Self, InvalidButton> {
        if label.trim().is_empty() || label.chars().count() > MAX_LABEL_CHARS {
            return Err(InvalidButton::Label);
        }
        match &action {
            ButtonAction::Press(data) if !(1..=MAX_DATA_BYTES).contains(&data.len()) => {
                Err(InvalidButton::Data)
            }
            ButtonAction::Link(url)
                if !(url.starts_with("https://") || url.starts_with("http://")) =>
            {
                Err(InvalidButton::Link)
            }
            ButtonAction::Press(_) | ButtonAction::Link(_) => Ok(Self { label, action }),
        }
    }

    /// Returns the text on the button.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns what a press does.
    pub const fn action(&self) -> &ButtonAction {
        &self.action
    }

    /// Returns the text that replaces a link on channels without buttons.
    pub(crate) fn link_text(&self) -> Option<String> {
        match &self.action {
            ButtonAction::Link(url) => Some(format!("{}: {url}", self.label)),
            ButtonAction::Press(_) => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct ButtonJson {
    label: String,
    #[serde(flatten)]
    action: ButtonAction,
}

impl TryFrom<ButtonJson> for Button {
    type Error = InvalidButton;

    fn try_from(json: ButtonJson) -> Result<Self, InvalidButton> {
        Self::new(json.label, json.action)
    }
}

impl From<Button> for ButtonJson {
    fn from(Button { label, action }: Button) -> Self {
        Self { label, action }
    }
}

#[cfg(test)]
mod tests {
    use super::{Button, InvalidButton};

    #[test]
    fn invalid_buttons_are_rejected() {
        let long = "x".repeat(65);
        assert_eq!(Button::press("", "x"), Err(InvalidButton::Label));
        assert_eq!(Button::press(&long, "x"), Err(InvalidButton::Label));
        assert_eq!(Button::press("Yes", ""), Err(InvalidButton::Data));
        assert_eq!(Button::press("Yes", &long), Err(InvalidButton::Data));
        assert_eq!(Button::link("Go", "javascript:x"), Err(InvalidButton::Link));
        let json = r#"{"label":"Yes","press":"esc_1"}"#;
        let button: Button = serde_json::from_str(json).unwrap();
        assert_eq!(button, Button::press("Yes", "esc_1").unwrap());
        assert_eq!(serde_json::to_string(&button).unwrap(), json);
        assert!(serde_json::from_str::<Button>(r#"{"label":"","press":"x"}"#).is_err());
    }
}
