//! Prompts as files: `.ostler/prompts/NAME.md`.

use crate::error::WorkspaceError;
use crate::files::Files;

const DIRECTORY: &str = ".ostler/prompts";
const MAX_BYTES: u64 = 64 * 1024;
const ARGUMENTS: &str = "$ARGUMENTS";

/// A prompt that people can use by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptFile {
    pub name: String,
    /// The path relative to the root.
    pub path: String,
    pub text: String,
}

impl PromptFile {
    /// Returns the prompt with these arguments in the place of `$ARGUMENTS`, or after it.
    pub fn with_arguments(&self, arguments: &str) -> String {
        fill_arguments(&self.text, arguments)
    }
}

/// Reads the prompts of a workspace, sorted by name.
pub fn find_prompts(files: &Files) -> Result<Vec<PromptFile>, WorkspaceError> {
    let failed = |error| WorkspaceError::from_io(DIRECTORY, error);
    let entries = match files.dir().read_dir(DIRECTORY) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut prompts = Vec::new();
    for entry in entries {
        let file_name = entry.map_err(failed)?.file_name();
        let Some(name) = file_name.to_str().and_then(|name| name.strip_suffix(".md")) else {
            continue;
        };
        let path = format!("{DIRECTORY}/{name}.md");
        let bytes = files.read_bytes(&path, MAX_BYTES)?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        prompts.push(PromptFile { name: name.to_owned(), path, text });
    }
    prompts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(prompts)
}

/// Puts arguments in the place of `$ARGUMENTS`, or after the prompt if it has no such place.
/// The arguments themselves are taken as they are.
pub fn fill_arguments(prompt: &str, arguments: &str) -> String {
    let arguments = arguments.trim();
    if prompt.contains(ARGUMENTS) {
        prompt.split(ARGUMENTS).collect::<Vec<_>>().join(arguments)
    } else if arguments.is_empty() {
        prompt.to_owned()
    } else {
        format!("{prompt}\n\n{arguments}")
    }
}

#[cfg(test)]
mod tests {
    use super::fill_arguments;

    #[test]
    fn arguments_are_put_in_their_place() {
        for (prompt, arguments, expected) in [
            ("Review $ARGUMENTS now", "src", "Review src now"),
            ("$ARGUMENTS and $ARGUMENTS", "a", "a and a"),
            ("Review $ARGUMENTS", "$ARGUMENTS", "Review $ARGUMENTS"),
            ("Review", "", "Review"),
            ("Review", " src ", "Review\n\nsrc"),
        ] {
            assert_eq!(fill_arguments(prompt, arguments), expected, "{prompt}");
        }
    }
}
