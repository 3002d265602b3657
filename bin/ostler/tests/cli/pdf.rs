//! PDF files for tests.

/// Returns a PDF with one page that shows these lines.
pub(crate) fn with_lines(lines: &[&str]) -> Vec<u8> {
    let shown: String = lines
        .iter()
        .map(|line| {
            let line = line.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)");
            format!("({line}) Tj 0 -24 Td\n")
        })
        .collect();
    page(&format!("BT /F1 16 Tf 72 720 Td\n{shown}ET"))
}

/// Returns a PDF with one page that contains no text, like a scan.
pub(crate) fn scan() -> Vec<u8> {
    page("0.8 g 72 72 400 600 re f")
}

fn page(content: &str) -> Vec<u8> {
    let stream = format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len());
    of_objects(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>",
        &stream,
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ])
}

/// Returns a file with these objects and their cross-reference table.
pub(crate) fn of_objects(objects: &[&str]) -> Vec<u8> {
    let mut file = String::from("%PDF-1.4\n");
    let mut offsets = Vec::new();
    for (number, object) in (1..).zip(objects) {
        offsets.push(file.len());
        file.push_str(&format!("{number} 0 obj\n{object}\nendobj\n"));
    }
    let (table, count) = (file.len(), objects.len() + 1);
    file.push_str(&format!("xref\n0 {count}\n0000000000 65535 f \n"));
    for offset in offsets {
        file.push_str(&format!("{offset:010} 00000 n \n"));
    }
    file.push_str(&format!(
        "trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n"
    ));
    file.into_bytes()
}

/// S15: the process that reads a PDF can open neither connections nor files once it has the
/// PDF.
#[cfg(target_os = "linux")]
#[test]
fn s15_a_pdf_is_read_without_the_network() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("menu.pdf");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
    let child = Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(["pdf-text", "--"])
        .arg(&pipe)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    // It opens the pipe when the child does, which then waits for the content.
    let mut content = std::fs::File::options().write(true).open(&pipe).expect("a pipe");
    let limits = format!("/proc/{}/limits", child.id());
    let is_confined = || {
        let limits = std::fs::read_to_string(&limits).expect("the limits of the child");
        let line = limits.lines().find(|line| line.starts_with("Max open files"));
        let words: Vec<&str> = line.expect("a limit").split_whitespace().collect();
        words[3..5] == ["0", "0"]
    };
    let mut tries = 0;
    while !is_confined() {
        tries += 1;
        assert!(tries < 500, "the child may still open files");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    content.write_all(&with_lines(&["Margherita 9.00"])).expect("written");
    drop(content);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("Margherita 9.00"));
}
