//! The composer: the text that is being written, its pastes, history and completions.

pub(crate) mod completion;
mod edit;
pub(crate) mod history;
mod paste;

pub(crate) use edit::Edit;

use self::paste::Pastes;
use crate::protocol::{ComposedMessage, ImageFile};
use crate::text::line::Row;
use crate::text::theme::Tone;
use crate::text::wrap::width;
use unicode_segmentation::UnicodeSegmentation as _;

/// The text that is being written. A folded paste is one character in it.
#[derive(Debug, Default)]
pub(crate) struct Composer {
    text: String,
    cursor: usize,
    pastes: Pastes,
    /// Images that were added, so that a text that comes back has them again.
    images: Vec<ImageFile>,
    /// Grows with every change, so that drafts are stored only when something has changed.
    pub(crate) revision: u64,
}

impl Composer {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the text with its pastes.
    pub(crate) fn whole_text(&self) -> String {
        self.pastes.unfold(&self.text)
    }

    /// Returns the text before the cursor, with folded pastes.
    pub(crate) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Adds an image.
    pub(crate) fn attach(&mut self, image: ImageFile) {
        if let Some(placeholder) = self.pastes.attach(image.clone()) {
            self.insert(&placeholder.to_string());
            if !self.images.contains(&image) {
                self.images.push(image);
            }
        }
    }

    /// Takes note of images whose paths may be in a text that comes back.
    pub(crate) fn know_images(&mut self, images: Vec<ImageFile>) {
        self.images.extend(images);
    }

    /// Returns the images that were added and whose paths are in a text.
    pub(crate) fn images_of(&self, text: &str) -> Vec<&ImageFile> {
        let is_in = |image: &&ImageFile| text.contains(&*image.path.to_string_lossy());
        self.images.iter().filter(is_in).collect()
    }

    /// Removes everything but the images.
    pub(crate) fn keep_images(&mut self) {
        let images = self.pastes.images(&self.text);
        self.set("");
        images.into_iter().for_each(|image| self.attach(image));
    }

    /// Returns the message that is written, and leaves nothing.
    pub(crate) fn take_message(&mut self) -> ComposedMessage {
        let message = ComposedMessage {
            text: self.pastes.message(&self.text),
            images: self.pastes.images(&self.text),
        };
        self.set("");
        message
    }

    /// Returns the text and leaves nothing.
    pub(crate) fn take(&mut self) -> String {
        let whole = self.whole_text();
        self.set("");
        whole
    }

    /// Replaces the text. A long one is folded as if it was pasted.
    pub(crate) fn set(&mut self, text: &str) {
        self.text.clear();
        self.cursor = 0;
        self.pastes = Pastes::default();
        self.revision += 1;
        let mut rest = text;
        while let Some((at, length, image)) = self.first_image(rest) {
            self.paste(&rest[..at]);
            self.attach(image);
            rest = &rest[at + length..];
        }
        if !rest.is_empty() {
            self.paste(rest);
        }
    }

    /// Finds the path of an image that was added: its place and length.
    fn first_image(&self, text: &str) -> Option<(usize, usize, ImageFile)> {
        let found = self.images.iter().filter_map(|image| {
            let path = image.path.to_string_lossy();
            Some((text.find(&*path)?, path.len(), image.clone()))
        });
        found.min_by_key(|(at, ..)| *at)
    }

    /// Inserts text that was pasted. Terminals send line breaks as carriage returns.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        match self.pastes.fold(&text) {
            Some(placeholder) => self.insert(&placeholder.to_string()),
            None => self.insert(&text),
        }
    }

    pub(crate) fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        self.revision += 1;
    }

    /// Replaces the end of the text before the cursor.
    pub(crate) fn complete(&mut self, from: usize, with: &str) {
        self.text.replace_range(from..self.cursor, with);
        self.cursor = from + with.len();
        self.revision += 1;
    }

    /// Shows the paste before the cursor as text.
    pub(crate) fn unfold_paste(&mut self) {
        if let Some((at, placeholder)) = self.before_cursor().char_indices().next_back()
            && let Some(text) = self.pastes.text(placeholder)
        {
            let text = text.to_owned();
            self.complete(at, &text);
        }
    }

    /// Returns rows of at most some columns, and the row and column of the cursor.
    pub(crate) fn rows(&self, columns: usize) -> (Vec<Row>, (usize, usize)) {
        let (mut rows, mut row, mut cursor) = (Vec::new(), Row::default(), (0, 0));
        for (at, grapheme) in self.text.grapheme_indices(true) {
            if at == self.cursor {
                cursor = (rows.len(), row.width);
            }
            if grapheme == "\n" {
                rows.push(std::mem::take(&mut row));
                continue;
            }
            let label = grapheme.chars().next().and_then(|c| self.pastes.label(c));
            let (shown, tone) = match &label {
                Some(label) => (label.as_str(), Tone::Accent),
                None if grapheme == "\t" => ("    ", Tone::Plain),
                None if grapheme.chars().any(char::is_control) => ("·", Tone::Dim),
                None => (grapheme, Tone::Plain),
            };
            let taken = width(shown);
            if row.width + taken > columns && row.width > 0 {
                rows.push(std::mem::take(&mut row));
                if at == self.cursor {
                    cursor = (rows.len(), 0);
                }
            }
            row.push(shown, tone, taken);
        }
        if self.cursor == self.text.len() {
            if row.width >= columns {
                rows.push(std::mem::take(&mut row));
            }
            cursor = (rows.len(), row.width);
        }
        rows.push(row);
        (rows, cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::{Composer, Edit};
    use proptest::prelude::*;

    #[test]
    fn m43_a_large_paste_is_folded_and_sent_as_it_was() {
        let pasted = "line\n".repeat(200_000);
        let mut composer = Composer::default();
        composer.insert("look: ");
        composer.paste(&pasted);
        composer.insert(" done");
        let (rows, cursor) = composer.rows(60);
        assert_eq!(rows[0].text(), "look: [paste 1: 200,000 lines] done");
        assert_eq!(cursor, (0, 35));
        assert_eq!(composer.whole_text(), format!("look: {pasted} done"));
        composer.edit(Edit::DeleteWord);
        composer.edit(Edit::DeleteBack);
        composer.edit(Edit::DeleteBack);
        assert_eq!(composer.whole_text(), "look: ");
    }

    #[test]
    fn m43_a_folded_paste_can_be_edited() {
        let mut composer = Composer::default();
        composer.paste(&"ab\n".repeat(30));
        composer.unfold_paste();
        composer.edit(Edit::DeleteBack);
        assert_eq!(composer.whole_text(), "ab\n".repeat(30).trim_end());
    }

    proptest! {
        /// Whatever is pasted in whatever pieces, the text that is sent is the text pasted.
        #[test]
        fn m43_the_text_sent_is_the_text_pasted(pieces in proptest::collection::vec("(\\PC|\n|\u{f0001}){0,40}", 0..6)) {
            let mut composer = Composer::default();
            for piece in &pieces {
                composer.paste(&piece.repeat(30));
                composer.rows(20);
            }
            let expected: String = pieces.iter().map(|piece| piece.repeat(30)).collect();
            prop_assert_eq!(composer.whole_text(), expected.replace("\r\n", "\n").replace('\r', "\n"));
        }
    }
}
