//! Movements and deletions in the composer.

use unicode_segmentation::UnicodeSegmentation as _;

use super::Composer;

/// A movement or a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edit {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    /// To the line above; does nothing in the first.
    Up,
    Down,
    DeleteBack,
    DeleteForward,
    DeleteWord,
    DeleteToStart,
    DeleteToEnd,
}

impl Composer {
    /// Carries an edit out. Returns false if there was nothing to do.
    pub(crate) fn edit(&mut self, edit: Edit) -> bool {
        let to = match edit {
            Edit::Left | Edit::DeleteBack => self.left(),
            Edit::Right | Edit::DeleteForward => self.right(),
            Edit::WordLeft | Edit::DeleteWord => self.word_left(),
            Edit::WordRight => self.word_right(),
            Edit::LineStart | Edit::DeleteToStart => self.line_start(),
            Edit::LineEnd | Edit::DeleteToEnd => self.line_end(),
            Edit::Up => self.vertical(true),
            Edit::Down => self.vertical(false),
        };
        let is_deletion = matches!(
            edit,
            Edit::DeleteBack
                | Edit::DeleteForward
                | Edit::DeleteWord
                | Edit::DeleteToStart
                | Edit::DeleteToEnd
        );
        if to == self.cursor {
            return false;
        }
        if is_deletion {
            let (from, to) = (to.min(self.cursor), to.max(self.cursor));
            self.text.replace_range(from..to, "");
            self.cursor = from;
            self.revision += 1;
        } else {
            self.cursor = to;
        }
        true
    }

    fn left(&self) -> usize {
        self.text[..self.cursor].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn right(&self) -> usize {
        self.cursor + self.text[self.cursor..].graphemes(true).next().map_or(0, str::len)
    }

    fn word_left(&self) -> usize {
        let before = &self.text[..self.cursor];
        let words = before.split_word_bound_indices().rev();
        words.skip_while(|(_, word)| word.trim().is_empty()).map(|(at, _)| at).next().unwrap_or(0)
    }

    fn word_right(&self) -> usize {
        let after = &self.text[self.cursor..];
        let mut words =
            after.split_word_bound_indices().skip_while(|(_, word)| word.trim().is_empty());
        words.next().map_or(self.text.len(), |(at, word)| self.cursor + at + word.len())
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// The same column of the line above or below.
    fn vertical(&self, up: bool) -> usize {
        let start = self.line_start();
        let column = self.text[start..self.cursor].graphemes(true).count();
        let line = if up {
            let Some(end) = start.checked_sub(1) else { return self.cursor };
            self.text[..end].rfind('\n').map_or(0, |at| at + 1)..end
        } else {
            let end = self.line_end();
            if end == self.text.len() {
                return self.cursor;
            }
            let next = end + 1;
            next..self.text[next..].find('\n').map_or(self.text.len(), |at| next + at)
        };
        let text = &self.text[line.clone()];
        line.start + text.graphemes(true).take(column).map(str::len).sum::<usize>()
    }
}
