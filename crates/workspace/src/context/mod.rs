//! What people have written for agents: instructions, skills, prompts, mentions of files.
//!
//! Parsing is pure; files are read through the workspace, so nothing outside is reached.

mod front_matter;
pub mod images;
mod instructions;
mod mentions;
mod prompts;
mod skills;

pub use front_matter::ContextError;
pub use instructions::{InstructionFile, find_instructions, find_nested_instructions};
pub use mentions::{ExpandedPrompt, FileMention, expand_mentions, find_mentions};
pub use prompts::{PromptFile, fill_arguments, find_prompts};
pub use skills::{SkillDefinition, SkillList, find_skills, parse_skill};
