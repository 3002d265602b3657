//! The external editor.

use std::io;
use std::path::PathBuf;
use std::process::Command;

/// Lets somebody edit a text in a file, which is deleted afterwards.
pub(super) async fn edit(editor: String, file: PathBuf, text: String) -> io::Result<String> {
    let edited = tokio::task::spawn_blocking(move || {
        std::fs::write(&file, text)?;
        // The command may have arguments: `code --wait`.
        let status = Command::new("sh")
            .arg("-c")
            .arg(format!("{editor} \"$1\""))
            .arg("sh")
            .arg(&file)
            .status();
        let text = std::fs::read_to_string(&file);
        let _ = std::fs::remove_file(&file);
        match status? {
            status if status.success() => text,
            status => Err(io::Error::other(format!("{editor}: {status}"))),
        }
    });
    edited.await.map_err(io::Error::other)?
}
