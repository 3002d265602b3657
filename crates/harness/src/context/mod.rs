//! What people have written in a workspace for agents (`AGENTS.md`, skills, prompts) and what
//! messages mention, as parts of the prompt.
//!
//! Instructions and the list of skills are read when a thread begins to work in a workspace,
//! and end the system prompt. What changes later comes with the next message, so that the
//! beginning of the prompt stays the same for the caches of providers. Nothing that is read
//! here gives a permission: it is text.

mod read;
mod render;
mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ostler_domain::tool::Trust;
use ostler_engine::history::Content;
use ostler_engine::tokens;
use ostler_workspace::context::InstructionFile;
use ostler_workspace::workspace::Workspace;

use self::read::{ExpandedText, ProjectFiles};
pub use self::report::{ContextBudget, ContextCommand, ContextFile, ContextReport, ContextSkill};
use crate::session::QueuedMessage;

/// What a thread was shown of the files for agents.
#[derive(Debug, Default)]
pub(crate) struct ThreadContext {
    /// The workspace that the system prompt is about.
    root: Option<PathBuf>,
    /// The end of the system prompt.
    appendix: Arc<str>,
    /// The system prompt of an agent, with and without the end.
    system: Option<(Arc<str>, Arc<str>)>,
    /// The instructions that the model has read last, by path.
    instructions: BTreeMap<String, InstructionFile>,
    /// The list of skills that the model has read last.
    skills: String,
    report: ContextReport,
}

/// What the files of a workspace and a message add to a turn.
pub(crate) struct WorkspaceContext {
    project: ProjectFiles,
    expanded: Option<ExpandedText>,
    root: PathBuf,
}

impl WorkspaceContext {
    /// Reads the files of a workspace. `text` is what the person has written.
    pub(crate) async fn read(
        workspace: Arc<Workspace>,
        known: &ThreadContext,
        text: Option<String>,
    ) -> Option<Self> {
        let root = workspace.files().root().to_owned();
        let is_new = known.root.as_ref() != Some(&root);
        let reading = move || {
            let project = ProjectFiles::read(&workspace, is_new);
            let expanded = text.map(|text| read::expand(&workspace, &project, &text));
            Self { project, expanded, root }
        };
        let read = tokio::task::spawn_blocking(reading).await;
        read.inspect_err(|error| tracing::warn!(%error, "the files for agents were not read")).ok()
    }
}

impl ThreadContext {
    /// Takes over what was read. Adds to the message what it mentions and what the model
    /// does not know yet. Returns whether there is anything to report.
    pub(crate) fn update(
        &mut self,
        read: WorkspaceContext,
        trust: Trust,
        message: Option<&mut QueuedMessage>,
    ) -> bool {
        let WorkspaceContext { project, expanded, root } = read;
        let is_new = self.root.as_ref() != Some(&root);
        let mut added = if is_new {
            self.begin(root, &project, trust);
            Vec::new()
        } else {
            self.changes(&project).into_iter().map(Content::text).collect()
        };
        let before = std::mem::take(&mut self.report);
        let mut problems = project.problems.clone();
        let ExpandedText { content, mentions, instructions, problems: of_message } =
            expanded.unwrap_or_default();
        let unknown: Vec<InstructionFile> = instructions
            .into_iter()
            .filter(|file| self.instructions.get(&file.path) != Some(file))
            .collect();
        if !unknown.is_empty() {
            added.push(Content::text(render::project_instructions(&unknown, &[], trust)));
            self.instructions.extend(unknown.into_iter().map(|file| (file.path.clone(), file)));
        }
        if !of_message.is_empty() {
            added.push(Content::text(format!("[{}]", of_message.join("\n"))));
        }
        problems.extend(of_message);
        if let Some(message) = message {
            let mut own = std::mem::take(&mut message.content);
            let rest = if content.is_empty() { own } else { own.split_off(1) };
            message.content = content.into_iter().chain(rest).chain(added).collect();
        }
        self.report = self.build_report(&project, mentions, problems);
        !self.report.mentions.is_empty() || before != self.report
    }

    /// Begins with the files of a workspace.
    fn begin(&mut self, root: PathBuf, project: &ProjectFiles, trust: Trust) {
        let instructions =
            render::project_instructions(&project.instructions, &project.nested, trust);
        self.skills = render::skills(&project.skills);
        let parts = [instructions.as_str(), self.skills.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        self.appendix = parts.join("\n\n").into();
        self.system = None;
        self.instructions = by_path(&project.instructions);
        self.root = Some(root);
    }

    /// Returns what has changed since the model has read the files, if anything has.
    fn changes(&mut self, project: &ProjectFiles) -> Option<String> {
        let current = by_path(&project.instructions);
        let is_changed = |file: &&InstructionFile| self.instructions.get(&file.path) != Some(*file);
        let changed: Vec<InstructionFile> = current.values().filter(is_changed).cloned().collect();
        // Only those of the root are read again; others came with a message.
        let gone: Vec<String> = self
            .instructions
            .keys()
            .filter(|path| !path.contains('/') && !current.contains_key(*path))
            .cloned()
            .collect();
        let skills = render::skills(&project.skills);
        let skills_changed = skills != self.skills;
        if changed.is_empty() && gone.is_empty() && !skills_changed {
            return None;
        }
        let text = render::changes(&changed, &gone, skills_changed.then_some(skills.as_str()));
        self.instructions.retain(|path, _| !gone.contains(path));
        self.instructions.extend(current);
        self.skills = skills;
        Some(text)
    }

    fn build_report(
        &self,
        project: &ProjectFiles,
        mentions: Vec<String>,
        problems: Vec<String>,
    ) -> ContextReport {
        let instructions = self.instructions.values().map(|file| ContextFile {
            path: file.path.clone(),
            tokens: tokens::of_text(&file.text),
            is_truncated: file.is_truncated,
        });
        let skills = project.skills.iter().map(|skill| ContextSkill {
            name: skill.name.clone(),
            description: skill.description.clone(),
            path: skill.path.clone(),
        });
        let prompts = project.prompts.iter().map(|prompt| ContextCommand {
            name: prompt.name.clone(),
            description: prompt.text.lines().next().unwrap_or_default().to_owned(),
        });
        let of_skills = project.skills.iter().map(|skill| ContextCommand {
            name: skill.name.clone(),
            description: skill.description.clone(),
        });
        ContextReport {
            instructions: instructions.collect(),
            skills: skills.collect(),
            commands: prompts.chain(of_skills).collect(),
            mentions,
            problems,
            budget: ContextBudget::default(),
        }
    }

    /// Returns the system prompt of an agent with what the workspace adds to it.
    pub(crate) fn system(&mut self, agent: &Arc<str>) -> Arc<str> {
        if self.appendix.is_empty() {
            return agent.clone();
        }
        match &self.system {
            Some((known, full)) if Arc::ptr_eq(known, agent) => full.clone(),
            _ => {
                let full: Arc<str> = format!("{agent}\n\n{}", self.appendix).into();
                self.system = Some((agent.clone(), full.clone()));
                full
            }
        }
    }

    /// Returns what the model was shown, with the tokens of the next request.
    pub(crate) fn report(&self, budget: ContextBudget) -> ContextReport {
        let workspace = tokens::of_text(&self.appendix);
        let total = budget.agent + workspace + budget.tools + budget.messages;
        let budget = ContextBudget { workspace, total, ..budget };
        ContextReport { budget, ..self.report.clone() }
    }
}

fn by_path(files: &[InstructionFile]) -> BTreeMap<String, InstructionFile> {
    files.iter().map(|file| (file.path.clone(), file.clone())).collect()
}
