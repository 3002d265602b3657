//! Modes that are shipped. Their instructions are files; an embedder may replace them.

use std::borrow::Cow;

use crate::mode::{HarnessAgent, HarnessMode};

/// What the agent of a mode may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModeAccess {
    #[default]
    All,
    /// It has only tools that read, ask the user, or keep the task list.
    ReadOnly,
}

/// The definition of a mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeDefinition {
    pub id: Cow<'static, str>,
    pub name: Cow<'static, str>,
    /// The system prompt.
    pub instructions: Cow<'static, str>,
    pub access: ModeAccess,
    /// The model unless a thread has another one for this mode.
    pub model: Option<String>,
}

/// The id of the shipped mode that a harness begins with, and in which approved plans are
/// carried out.
pub const DEFAULT_MODE: &str = "build";

/// Returns the modes that are shipped.
pub fn shipped_modes() -> Vec<ModeDefinition> {
    let mode = |id, name, instructions, access| ModeDefinition {
        id: Cow::Borrowed(id),
        name: Cow::Borrowed(name),
        instructions: Cow::Borrowed(instructions),
        access,
        model: None,
    };
    vec![
        mode(DEFAULT_MODE, "Build", include_str!("build.md"), ModeAccess::All),
        mode("plan", "Plan", include_str!("plan.md"), ModeAccess::ReadOnly),
        mode("chat", "Chat", include_str!("chat.md"), ModeAccess::ReadOnly),
    ]
}

impl From<ModeDefinition> for HarnessMode {
    fn from(definition: ModeDefinition) -> Self {
        let ModeDefinition { id, name, instructions, access, model } = definition;
        let is_default = id == DEFAULT_MODE;
        let agent = HarnessAgent { access, ..HarnessAgent::new(&*id, instructions) };
        let mut mode = Self::new(id, name, agent);
        mode.default_model_id = model;
        if is_default { mode.default_mode() } else { mode }
    }
}
