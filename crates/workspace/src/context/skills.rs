//! Skills: directories with a `SKILL.md` that tells agents how to do something.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::context::front_matter::{self, ContextError};
use crate::error::WorkspaceError;
use crate::files::Files;

/// Where skills are, relative to the root; the first of a name wins.
const DIRECTORIES: [&str; 2] = [".ostler/skills", ".agents/skills"];
const FILE_NAME: &str = "SKILL.md";
const MAX_BYTES: u64 = 256 * 1024;
const MAX_NAME_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// A skill that an agent can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillDefinition {
    pub name: String,
    /// What it does and when to use it; agents always see this.
    pub description: String,
    /// The instructions, which an agent reads when it uses the skill.
    pub body: String,
    /// The path of the file relative to the root.
    pub path: String,
}

/// The skills of a workspace, and the mistakes in those that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillList {
    pub skills: Vec<SkillDefinition>,
    pub errors: Vec<ContextError>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Fields {
    name: String,
    description: String,
    #[serde(default, rename = "license")]
    _license: Option<String>,
    #[serde(default, rename = "compatibility")]
    _compatibility: Option<String>,
    #[serde(default, rename = "allowed-tools")]
    _allowed_tools: Option<String>,
    #[serde(default, rename = "metadata")]
    _metadata: BTreeMap<String, String>,
}

/// Reads the skills of a workspace, sorted by name.
pub fn find_skills(files: &Files) -> Result<SkillList, WorkspaceError> {
    let mut skills: BTreeMap<String, SkillDefinition> = BTreeMap::new();
    let mut errors = Vec::new();
    for directory in DIRECTORIES {
        for name in subdirectories(files, directory)? {
            let path = format!("{directory}/{name}/{FILE_NAME}");
            let text = match read(files, &path) {
                Ok(text) => text,
                Err(why) => {
                    errors.push(ContextError { path, line: 1, why });
                    continue;
                }
            };
            match parse_skill(&path, &name, &text) {
                Ok(skill) => {
                    skills.entry(skill.name.clone()).or_insert(skill);
                }
                Err(error) => errors.push(error),
            }
        }
    }
    Ok(SkillList { skills: skills.into_values().collect(), errors })
}

/// Parses a `SKILL.md` in a directory of this name. Fails with the line of the mistake.
pub fn parse_skill(
    path: &str,
    directory: &str,
    text: &str,
) -> Result<SkillDefinition, ContextError> {
    let parsed = front_matter::parse::<Fields>(path, text)?;
    let Fields { name, description, .. } = parsed.fields;
    let wrong = |field, why: String| {
        Err(ContextError { path: path.to_owned(), line: front_matter::line_of(text, field), why })
    };
    let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_name = !name.is_empty()
        && name.chars().count() <= MAX_NAME_CHARS
        && name.chars().all(is_valid)
        && !name.starts_with('-')
        && !name.ends_with('-');
    if !is_name {
        let why = format!(
            "the name `{name}` must have 1 to {MAX_NAME_CHARS} lower-case letters, digits and \
             hyphens in between"
        );
        return wrong("name", why);
    }
    if name != directory {
        return wrong(
            "name",
            format!("the name `{name}` differs from its directory `{directory}`"),
        );
    }
    let length = description.trim().chars().count();
    if !(1..=MAX_DESCRIPTION_CHARS).contains(&length) {
        let why = format!(
            "the description has {length} characters; 1 to {MAX_DESCRIPTION_CHARS} are allowed"
        );
        return wrong("description", why);
    }
    let (description, body) = (description.trim().to_owned(), parsed.body.trim().to_owned());
    Ok(SkillDefinition { name, description, body, path: path.to_owned() })
}

fn read(files: &Files, path: &str) -> Result<String, String> {
    let bytes = files.read_bytes(path, MAX_BYTES).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_owned())
}

/// Returns the names of the directories in a directory, sorted.
fn subdirectories(files: &Files, directory: &str) -> Result<Vec<String>, WorkspaceError> {
    let failed = |error| WorkspaceError::from_io(directory, error);
    let entries = match files.dir().read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if let Some(name) = entry.file_name().to_str().filter(|_| is_directory) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::parse_skill;

    #[test]
    fn a_skill_is_validated_with_the_line_of_the_mistake() {
        let check = |text: &str, expected: Result<(&str, &str), &str>| {
            let parsed = parse_skill("s/pdf/SKILL.md", "pdf", text);
            let found = parsed.map(|skill| (skill.description, skill.body));
            let found = found.map_err(|error| error.to_string());
            let found = found.as_ref().map(|(description, body)| (&**description, &**body));
            match (found, expected) {
                (Err(error), Err(start)) => assert!(error.starts_with(start), "{error}"),
                (found, expected) => assert_eq!(found.map_err(|error| &**error), expected),
            }
        };
        let valid =
            "---\nname: pdf\ndescription: Fills in forms.\nlicense: MIT\n---\n# Steps\n1.\n";
        check(valid, Ok(("Fills in forms.", "# Steps\n1.")));
        check("# Steps", Err("s/pdf/SKILL.md:1: the file must begin with a line `---`"));
        check("---\nname: pdf\n", Err("s/pdf/SKILL.md:1: the block that begins here has no"));
        let other = "---\ndescription: x\nname: png\n---\n";
        check(other, Err("s/pdf/SKILL.md:3: the name `png` differs from its directory `pdf`"));
        let case = "---\nname: PDF\ndescription: x\n---\n";
        check(case, Err("s/pdf/SKILL.md:2: the name `PDF` must have"));
        let empty = "---\nname: pdf\ndescription: ' '\n---\n";
        check(empty, Err("s/pdf/SKILL.md:3: the description has 0 characters"));
        let unknown = "---\nname: pdf\ndescription: x\nmodel: big\n---\n";
        check(unknown, Err("s/pdf/SKILL.md:4: "));
        check("---\nname: [\n---\n", Err("s/pdf/SKILL.md:"));
    }
}
