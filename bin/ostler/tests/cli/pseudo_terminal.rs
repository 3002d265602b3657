//! A pseudo-terminal of a given width, in which commands run as a person sees them.

use std::io::Read as _;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Runs `ostler` in a terminal of this width, and returns the lines without their colours.
pub(crate) fn lines(args: &[&str], home: &str, columns: u16) -> Vec<String> {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).expect("access");
    unlockpt(&terminal).expect("access");
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let name = ptsname(&terminal, Vec::new()).expect("a name").into_string().expect("a path");
    let side = std::fs::File::options().read(true).write(true).open(name).expect("a terminal");
    tcsetwinsize(&side, size).expect("a size");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(args)
        .env("OSTLER_HOME", home)
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(side)
        .spawn()
        .expect("ostler runs");
    let mut output = Vec::new();
    // The last process that has the terminal open ends the reading with an error.
    let _ = std::fs::File::from(terminal).read_to_end(&mut output);
    command.wait().expect("it ends");
    let text = String::from_utf8(output).expect("text");
    anstream::adapter::strip_str(&text).to_string().lines().map(str::to_owned).collect()
}
