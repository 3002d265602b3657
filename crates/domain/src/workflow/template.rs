//! Templates and conditions: texts that the runtime evaluates. Only their length is
//! checked here.

use serde::{Deserialize, Serialize};

use super::Task;

/// Maximum length of a template or a condition in bytes.
pub const MAX_TEMPLATE_LEN: usize = 64 * 1024;

/// A text with expressions, such as `Refund order {{ input.order }}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template(String);

/// An expression that is true or false, such as `steps.judge.result == 'yes'`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Condition(Template);

/// The text is too long for a template or a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a text of a workflow has at most {MAX_TEMPLATE_LEN} bytes")]
pub struct TemplateTooLong;

/// Evaluates the conditions and lists of a definition with the results so far.
pub trait Values {
    /// Returns whether a condition holds for a task, or why it cannot be evaluated.
    fn holds(&self, condition: &Condition, task: &Task) -> Result<bool, String>;

    /// Returns the number of items of a list, or why the value is not a list.
    fn count(&self, list: &Template, task: &Task) -> Result<usize, String>;
}

impl TryFrom<String> for Template {
    type Error = TemplateTooLong;

    fn try_from(text: String) -> Result<Self, TemplateTooLong> {
        if text.len() > MAX_TEMPLATE_LEN { Err(TemplateTooLong) } else { Ok(Self(text)) }
    }
}

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template.0
    }
}

impl Template {
    /// Returns the text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Condition {
    /// Returns the expression as written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}
