//! Replacing a text in a file.

use crate::error::WorkspaceError;

/// A replacement of an exact text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    pub old: String,
    pub new: String,
    /// Whether to replace every occurrence; otherwise there must be exactly one.
    pub all: bool,
}

impl TextEdit {
    /// Returns the content after the replacement.
    pub(crate) fn apply(&self, path: &str, content: &str) -> Result<String, WorkspaceError> {
        if self.old.is_empty() {
            return Err(WorkspaceError::EmptyMatch);
        }
        if self.old == self.new {
            return Err(WorkspaceError::NoChange);
        }
        let (mut old, mut new) = (self.old.clone(), self.new.clone());
        let mut count = content.matches(&old).count();
        // Models write `\n`; the file may have `\r\n`.
        if count == 0 && content.contains("\r\n") && !old.contains('\r') {
            (old, new) = (old.replace('\n', "\r\n"), new.replace('\n', "\r\n"));
            count = content.matches(&old).count();
        }
        let path = path.to_owned();
        match count {
            0 => Err(WorkspaceError::NoMatch { hint: similar_place(content, &self.old), path }),
            1 => Ok(content.replacen(&old, &new, 1)),
            _ if self.all => Ok(content.replace(&old, &new)),
            count => Err(WorkspaceError::AmbiguousMatch { path, count }),
        }
    }
}

/// Returns where the first line of a text is found with other white space.
fn similar_place(content: &str, text: &str) -> Option<String> {
    let wanted = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let number = content.lines().position(|line| line.trim() == wanted)? + 1;
    Some(format!("; a line like its first one is line {number}: compare the white space"))
}

#[cfg(test)]
mod tests {
    use super::TextEdit;

    #[test]
    fn a_text_is_replaced_if_it_is_unique() {
        let check = |content: &str, old: &str, new: &str, all, expected: Result<&str, &str>| {
            let edit = TextEdit { old: old.to_owned(), new: new.to_owned(), all };
            let edited = edit.apply("a.txt", content).map_err(|error| error.to_string());
            assert_eq!(edited.as_deref().map_err(String::as_str), expected, "{old:?}");
        };
        check("a b c", "b", "x", false, Ok("a x c"));
        check("b b", "b", "x", true, Ok("x x"));
        check("a\r\nb\r\n", "a\nb", "x\ny", false, Ok("x\r\ny\r\n"));
        let twice = "the text to replace is 2 times in `a.txt`; add lines around it until it is \
                     unique";
        check("b b", "b", "x", false, Err(twice));
        check("a", "b", "x", false, Err("the text to replace is not in `a.txt`"));
        let spaces = "the text to replace is not in `a.txt`; a line like its first one is line 2: \
                      compare the white space";
        check("a\n\tb = 1;\n", "  b = 1;\n", "x", false, Err(spaces));
        check("a", "", "x", false, Err("the text to replace is empty"));
        let same = "the text to replace and its replacement are the same";
        check("a", "a", "a", false, Err(same));
    }
}
