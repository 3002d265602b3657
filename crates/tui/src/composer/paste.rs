//! Large pastes and images, folded to a character of the text.

use crate::cells::byte_count;
use crate::protocol::ImageFile;
use crate::text::sanitize::one_line;

/// Pastes with more lines are folded.
const MAX_LINES: usize = 8;
/// Pastes with more bytes are folded.
const MAX_BYTES: usize = 800;
/// The characters that stand for pastes: private ones, which no text needs.
const FIRST: u32 = 0xf_0000;
const LAST: u32 = 0xf_fffd;

/// The pastes of a text.
#[derive(Debug, Default)]
pub(super) struct Pastes(Vec<Folded>);

/// What a character stands for.
#[derive(Debug)]
enum Folded {
    Text(String),
    /// An image, and its path as text.
    Image(ImageFile, String),
}

impl Pastes {
    /// Folds a paste if it is large; also if it has characters that stand for pastes.
    pub(super) fn fold(&mut self, text: &str) -> Option<char> {
        let is_small = text.len() <= MAX_BYTES && text.matches('\n').count() < MAX_LINES;
        if is_small && !text.chars().any(|c| (FIRST..=LAST).contains(&u32::from(c))) {
            return None;
        }
        self.add(Folded::Text(text.to_owned()))
    }

    /// Folds an image.
    pub(super) fn attach(&mut self, image: ImageFile) -> Option<char> {
        let path = image.path.display().to_string();
        self.add(Folded::Image(image, path))
    }

    fn add(&mut self, folded: Folded) -> Option<char> {
        let placeholder = char::from_u32(FIRST + u32::try_from(self.0.len()).ok()?)?;
        self.0.push(folded);
        Some(placeholder)
    }

    fn get(&self, placeholder: char) -> Option<&Folded> {
        let number = u32::from(placeholder).checked_sub(FIRST)?;
        self.0.get(usize::try_from(number).ok()?)
    }

    /// Returns the paste that a character stands for, or the path of the image.
    pub(super) fn text(&self, placeholder: char) -> Option<&str> {
        Some(match self.get(placeholder)? {
            Folded::Text(text) => text,
            Folded::Image(_, path) => path,
        })
    }

    /// Returns the images in a text.
    pub(super) fn images(&self, text: &str) -> Vec<ImageFile> {
        let images = text.chars().filter_map(|c| match self.get(c) {
            Some(Folded::Image(image, _)) => Some(image.clone()),
            _ => None,
        });
        images.collect()
    }

    /// Returns what is shown for a character that stands for a paste.
    pub(super) fn label(&self, placeholder: char) -> Option<String> {
        let text = match self.get(placeholder)? {
            Folded::Text(text) => text,
            Folded::Image(image, _) => {
                let size = byte_count(image.size);
                return Some(format!("[image {}, {size}]", one_line(&image.name)));
            }
        };
        let number = u32::from(placeholder) - FIRST + 1;
        let lines = text.lines().count();
        Some(match lines {
            0 | 1 => format!("[paste {number}: {} characters]", thousands(text.chars().count())),
            _ => format!("[paste {number}: {} lines]", thousands(lines)),
        })
    }

    /// Returns a text with its pastes, and the names of images in their places.
    pub(super) fn message(&self, text: &str) -> String {
        let mut whole = String::with_capacity(text.len());
        for c in text.chars() {
            match self.get(c) {
                Some(Folded::Text(paste)) => whole.push_str(paste),
                Some(Folded::Image(image, _)) => whole.push_str(&format!("[{}]", image.name)),
                None => whole.push(c),
            }
        }
        whole
    }

    /// Returns a text with its pastes.
    pub(super) fn unfold(&self, text: &str) -> String {
        let mut whole = String::with_capacity(text.len());
        for c in text.chars() {
            match self.text(c) {
                Some(paste) => whole.push_str(paste),
                None => whole.push(c),
            }
        }
        whole
    }
}

/// Returns a number with separators.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
