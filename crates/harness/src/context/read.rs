//! Reading what a workspace says to agents, and what a message brings along. Blocks.

use std::path::Path;

use ostler_engine::history::Content;
use ostler_workspace::context::{
    InstructionFile, PromptFile, SkillDefinition, expand_mentions, find_instructions,
    find_nested_instructions, find_prompts, find_skills,
};
use ostler_workspace::workspace::Workspace;

use super::render;

/// What the files of a workspace say to agents.
#[derive(Debug, Default)]
pub(super) struct ProjectFiles {
    /// Instructions for the whole workspace.
    pub(super) instructions: Vec<InstructionFile>,
    /// Paths of instructions for a directory; only read for a new thread.
    pub(super) nested: Vec<String>,
    pub(super) skills: Vec<SkillDefinition>,
    pub(super) prompts: Vec<PromptFile>,
    /// Mistakes in the files, in sentences.
    pub(super) problems: Vec<String>,
}

impl ProjectFiles {
    /// Reads the files. What cannot be read is a problem and not an error.
    pub(super) fn read(workspace: &Workspace, with_nested: bool) -> Self {
        let files = workspace.files();
        let mut found = Self::default();
        match find_instructions(files, ".") {
            Ok(instructions) => found.instructions = instructions,
            Err(error) => found.problems.push(error.to_string()),
        }
        if with_nested {
            match find_nested_instructions(files) {
                Ok(nested) => found.nested = nested,
                Err(error) => found.problems.push(error.to_string()),
            }
        }
        match find_skills(files) {
            Ok(list) => {
                found.skills = list.skills;
                found.problems.extend(list.errors.iter().map(ToString::to_string));
            }
            Err(error) => found.problems.push(error.to_string()),
        }
        match find_prompts(files) {
            Ok(prompts) => found.prompts = prompts,
            Err(error) => found.problems.push(error.to_string()),
        }
        found
    }
}

/// A text that a person has written, with everything it stands for.
#[derive(Debug, Default)]
pub(super) struct ExpandedText {
    /// The text as it was written, then the files that it mentions, then its command.
    pub(super) content: Vec<Content>,
    /// The files that were added.
    pub(super) mentions: Vec<String>,
    /// Instructions of the directories of these files, the root's excluded.
    pub(super) instructions: Vec<InstructionFile>,
    /// What could not be added, in sentences.
    pub(super) problems: Vec<String>,
}

/// Adds what a text mentions (`@path`) and what its command (`/name`) stands for.
pub(super) fn expand(workspace: &Workspace, project: &ProjectFiles, text: &str) -> ExpandedText {
    let files = workspace.files();
    let expanded = expand_mentions(files, text);
    let mut found = ExpandedText {
        content: expanded.content,
        mentions: expanded.files,
        problems: expanded.problems,
        ..ExpandedText::default()
    };
    if let Some(command) = command_text(project, text) {
        let of_command = expand_mentions(files, &command);
        found.content.extend(of_command.content);
        found.mentions.extend(of_command.files);
        found.problems.extend(of_command.problems);
    }
    for mention in &found.mentions {
        let directory = Path::new(mention).parent().map(|parent| parent.display().to_string());
        let Some(directory) = directory.filter(|directory| !directory.is_empty()) else { continue };
        for file in find_instructions(files, &directory).unwrap_or_default() {
            let is_known = project.instructions.iter().chain(&found.instructions);
            if !is_known.into_iter().any(|known| known.path == file.path) {
                found.instructions.push(file);
            }
        }
    }
    found
}

/// Returns what the command at the beginning of a text stands for: a prompt with its
/// arguments, or the instructions of a skill.
fn command_text(project: &ProjectFiles, text: &str) -> Option<String> {
    let command = text.trim_start().strip_prefix('/')?;
    let (name, arguments) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    if let Some(prompt) = project.prompts.iter().find(|prompt| prompt.name == name) {
        return Some(render::command(name, &prompt.path, &prompt.with_arguments(arguments)));
    }
    let skill = project.skills.iter().find(|skill| skill.name == name)?;
    Some(render::command(name, &skill.path, &skill.body))
}
