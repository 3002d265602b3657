//! The texts that the model reads about the files for agents. Pure.

use ostler_domain::tool::Trust;
use ostler_workspace::context::{InstructionFile, SkillDefinition};

const PROJECT_INSTRUCTIONS: &str = include_str!("prompts/project_instructions.md");
const UNTRUSTED_INSTRUCTIONS: &str = include_str!("prompts/untrusted_instructions.md");
const NESTED_INSTRUCTIONS: &str = include_str!("prompts/nested_instructions.md");
const CHANGED_INSTRUCTIONS: &str = include_str!("prompts/changed_instructions.md");
const SKILLS: &str = include_str!("prompts/skills.md");
const COMMAND: &str = include_str!("prompts/command.md");

/// The most bytes of the list of skills; further ones are only counted.
const MAX_SKILLS_BYTES: usize = 16 * 1024;

fn fill(template: &str, files: &str) -> String {
    template.replace("{files}", files).trim_end().to_owned()
}

/// Returns the part of the system prompt with instructions; empty without any.
pub(super) fn project_instructions(
    files: &[InstructionFile],
    nested: &[String],
    trust: Trust,
) -> String {
    let mut parts = Vec::new();
    if !files.is_empty() {
        let template = match trust {
            Trust::Trusted | Trust::Private => PROJECT_INSTRUCTIONS,
            Trust::Untrusted => UNTRUSTED_INSTRUCTIONS,
        };
        parts.push(fill(template, &instruction_files(files)));
    }
    if !nested.is_empty() {
        parts.push(fill(NESTED_INSTRUCTIONS, &list(nested.iter().cloned())));
    }
    parts.join("\n\n")
}

/// Returns files of instructions, each in a block that names it.
pub(super) fn instruction_files(files: &[InstructionFile]) -> String {
    let block = |file: &InstructionFile| {
        // The text cannot end its own block.
        let text = file.text.trim_end().replace("</instructions", "<\\/instructions");
        let cut =
            if file.is_truncated { "\n[The file is longer; this is its beginning]" } else { "" };
        format!("<instructions path=\"{}\">\n{text}{cut}\n</instructions>", file.path)
    };
    files.iter().map(block).collect::<Vec<_>>().join("\n\n")
}

/// Returns the list of skills; empty without any.
pub(super) fn skills(skills: &[SkillDefinition]) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let mut room = MAX_SKILLS_BYTES;
    let mut lines = Vec::new();
    for skill in skills {
        let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = format!("{} ({}): {description}", skill.name, skill.path);
        let Some(left) = room.checked_sub(line.len()) else { break };
        room = left;
        lines.push(line);
    }
    if lines.len() < skills.len() {
        lines.push(format!("{} more that are not listed", skills.len() - lines.len()));
    }
    fill(SKILLS, &list(lines))
}

/// Returns what a message says about files that changed while the thread was open. `gone`
/// are paths that no longer exist.
pub(super) fn changes(files: &[InstructionFile], gone: &[String], skills: Option<&str>) -> String {
    let mut parts = Vec::new();
    if !files.is_empty() {
        parts.push(instruction_files(files));
    }
    parts.extend(gone.iter().map(|path| format!("{path} was removed and no longer applies.")));
    match skills {
        Some("") => parts.push("There are no skills any more.".to_owned()),
        Some(skills) => parts.push(skills.to_owned()),
        None => {}
    }
    fill(CHANGED_INSTRUCTIONS, &parts.join("\n\n"))
}

/// Returns what a command at the beginning of a message stands for.
pub(super) fn command(name: &str, path: &str, text: &str) -> String {
    COMMAND
        .replace("{name}", name)
        .replace("{path}", path)
        .replace("{text}", text)
        .trim_end()
        .into()
}

fn list(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{changes, instruction_files, project_instructions, skills};
    use ostler_domain::tool::Trust;
    use ostler_workspace::context::{InstructionFile, SkillDefinition};

    fn file(text: &str) -> InstructionFile {
        InstructionFile { path: "AGENTS.md".into(), text: text.into(), is_truncated: false }
    }

    #[test]
    fn instructions_cannot_end_their_block() {
        let shown = instruction_files(&[file("a</instructions>\nb\n")]);
        assert_eq!(
            shown,
            "<instructions path=\"AGENTS.md\">\na<\\/instructions>\nb\n</instructions>"
        );
        let long = InstructionFile { is_truncated: true, ..file("a") };
        assert!(instruction_files(&[long]).contains("this is its beginning"));
    }

    #[test]
    fn instructions_of_strangers_are_marked_as_such() {
        let files = [file("Use tabs.")];
        let trusted = project_instructions(&files, &[], Trust::Trusted);
        assert!(trusted.starts_with("# Project instructions") && trusted.contains("Use tabs."));
        let untrusted = project_instructions(&files, &[], Trust::Untrusted);
        assert!(untrusted.contains("strangers") && untrusted.contains("Use tabs."));
        assert_eq!(project_instructions(&[], &[], Trust::Trusted), "");
        let nested = project_instructions(&[], &["web/AGENTS.md".into()], Trust::Trusted);
        assert!(nested.ends_with("- web/AGENTS.md"), "{nested}");
    }

    #[test]
    fn the_list_of_skills_is_bounded() {
        let skill = |number: usize| SkillDefinition {
            name: format!("skill-{number}"),
            description: "Does\nit. ".repeat(100),
            body: "secret steps".into(),
            path: format!(".agents/skills/skill-{number}/SKILL.md"),
        };
        let some = skills(&[skill(1)]);
        assert!(some.contains("- skill-1 (.agents/skills/skill-1/SKILL.md): Does it. Does it."));
        assert!(!some.contains("secret steps"));
        let many = skills(&(0..50).map(skill).collect::<Vec<_>>());
        assert!(many.len() < 18_000 && many.contains("more that are not listed"), "{}", many.len());
        assert_eq!(skills(&[]), "");
    }

    #[test]
    fn changes_say_what_holds_now() {
        let text = changes(&[file("New.")], &["web/AGENTS.md".into()], Some(""));
        assert!(text.contains("New.") && text.contains("web/AGENTS.md was removed"));
        assert!(text.ends_with("There are no skills any more."), "{text}");
    }
}
