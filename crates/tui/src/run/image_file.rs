//! Images by their path: written, pasted, or dropped onto the terminal, which pastes it.

use std::path::{Path, PathBuf};

use crate::composer::history::{read_draft, write_draft};
use crate::protocol::ImageFile;

/// The largest image that an agent takes.
const MAX_BYTES: u64 = 5 << 20;
/// The first bytes of the formats that models see.
const FORMATS: [&[u8]; 4] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"];
/// Longer pastes are no path.
const MAX_PATH: usize = 4096;

/// Returns the image whose path was pasted, and nothing if the paste is another text.
pub(super) fn of_paste(text: &str) -> Option<ImageFile> {
    let text = text.trim();
    let is_path = text.len() <= MAX_PATH && !text.contains('\n') && text.contains('/');
    is_path.then(|| open(text).ok()).flatten()
}

/// Returns the image of a path. The error says what is wrong.
pub(super) fn open(text: &str) -> Result<ImageFile, String> {
    of_path(parse(text))
}

fn of_path(path: PathBuf) -> Result<ImageFile, String> {
    let shown = path.display();
    let size = match std::fs::metadata(&path) {
        Ok(file) if file.is_file() => file.len(),
        Ok(_) => return Err(format!("{shown} is no file.")),
        Err(error) => return Err(format!("{shown} cannot be read: {error}.")),
    };
    if size > MAX_BYTES {
        return Err(format!("{shown} is too large; images have at most 5 MiB."));
    }
    let begin = first_bytes(&path).map_err(|error| format!("{shown} cannot be read: {error}."))?;
    if !is_image(&begin) {
        return Err(format!("{shown} is no image; PNG, JPEG, GIF and WebP are."));
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(ImageFile { path, name, size })
}

/// Stores the paths of the images in a draft beside it.
pub(super) fn store_of_draft(draft: &Path, images: &[&ImageFile]) {
    let paths: Vec<_> = images.iter().map(|image| image.path.to_string_lossy()).collect();
    let text = match paths.is_empty() {
        true => String::new(),
        false => serde_json::to_string(&paths).unwrap_or_default(),
    };
    write_draft(&file_of_draft(draft), &text);
}

/// Reads the images in a draft; those that are gone stay paths.
pub(super) fn read_of_draft(draft: &Path) -> Vec<ImageFile> {
    let text = read_draft(&file_of_draft(draft)).unwrap_or_default();
    let paths: Vec<String> = serde_json::from_str(&text).unwrap_or_default();
    paths.iter().filter_map(|path| of_path(PathBuf::from(path)).ok()).collect()
}

fn file_of_draft(draft: &Path) -> PathBuf {
    draft.with_extension("images")
}

fn is_image(begin: &[u8]) -> bool {
    // Other files are RIFF, too, such as sounds and films.
    let is_webp = begin.starts_with(b"RIFF") && begin.get(8..12) == Some(b"WEBP");
    is_webp || FORMATS.iter().any(|format| begin.starts_with(format))
}

fn first_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut begin = Vec::new();
    std::fs::File::open(path)?.take(16).read_to_end(&mut begin)?;
    Ok(begin)
}

/// Returns the path in a text: quoted, with escaped spaces, or as a `file:` address, as
/// terminals and file managers paste it.
fn parse(text: &str) -> PathBuf {
    let text = text.trim();
    let quoted = ['\'', '"']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote).and_then(|rest| rest.strip_suffix(*quote)));
    let text = match (quoted, text.strip_prefix("file://")) {
        (Some(inner), _) => inner.to_owned(),
        (None, Some(path)) => percent_decoded(path),
        (None, None) => text.replace("\\ ", " "),
    };
    match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => {
            let path = PathBuf::from(&text);
            // The folder of the program may not be the one in which a draft is read again.
            std::path::absolute(&path).unwrap_or(path)
        }
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = text_code(rest);
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &rest[3..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the byte of `%20` and the like.
fn text_code(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else { return None };
    let digits = [*high, *low];
    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{of_paste, open, read_of_draft, store_of_draft};
    use crate::composer::Composer;

    /// M43: an image in a draft is an image again after a restart.
    #[test]
    fn m43_images_of_a_draft_survive_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let (photo, draft) = (folder.path().join("photo.png"), folder.path().join("chat-draft"));
        std::fs::write(&photo, b"\x89PNG\r\n\x1a\nrest").expect("a file");
        let image = open(&photo.display().to_string()).expect("an image");
        let mut composer = Composer::default();
        composer.insert("look: ");
        composer.attach(image.clone());
        let text = composer.whole_text();
        store_of_draft(&draft, &composer.images_of(&text));

        let mut composer = Composer::default();
        composer.know_images(read_of_draft(&draft));
        composer.set(&text);
        let message = composer.take_message();
        assert_eq!((message.text.as_str(), message.images), ("look: [photo.png]", vec![image]));
        store_of_draft(&draft, &[]);
        assert_eq!(read_of_draft(&draft), []);
    }

    /// M43: a path that is pasted is an image if there is one, however it is written.
    #[test]
    fn m43_paths_of_images_are_found_in_pastes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a photo.png");
        std::fs::write(&path, b"\x89PNG\r\n\x1a\nrest").expect("a file");
        std::fs::write(folder.path().join("text.png"), "no image").expect("a file");
        let path = path.display().to_string();
        let written = [
            path.clone(),
            format!("'{path}'\n"),
            format!("\"{path}\" "),
            path.replace(' ', "\\ "),
            format!("file://{}", path.replace(' ', "%20")),
        ];
        for text in written {
            let image = of_paste(&text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((image.name.as_str(), image.size), ("a photo.png", 12), "{text}");
        }
        for text in ["hello", "and/or", &format!("{path}\n{path}"), "/no/such.png"] {
            assert_eq!(of_paste(text), None, "{text}");
        }
        let sound = folder.path().join("sound.png");
        for (begin, is_image) in [("RIFF1234WEBPVP8 ", true), ("RIFF1234WAVEfmt ", false)] {
            std::fs::write(&sound, begin).expect("a file");
            assert_eq!(open(&sound.display().to_string()).is_ok(), is_image, "{begin}");
        }
        let text = folder.path().join("text.png").display().to_string();
        assert!(open(&text).unwrap_err().contains("is no image"));
        assert!(open("/").unwrap_err().contains("is no file"));
    }
}
