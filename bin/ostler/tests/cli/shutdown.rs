//! How a server stops, and what it does when nobody can read what it says.

use std::fs::File;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::demo::DemoInstallation;
use crate::running_server::RunningServer;

const SOON: Duration = Duration::from_secs(15);

/// A clean exit leaves nothing in the write-ahead log.
#[test]
fn a_clean_exit_empties_the_write_ahead_log() {
    let demo = DemoInstallation::new();
    let mut server = RunningServer::start(&demo.home());
    server.terminate();
    assert_eq!(server.ended_within(SOON), Some(true));
    let log = std::fs::metadata(Path::new(&demo.home()).join("ostler.db-wal"));
    assert_eq!(log.map_or(0, |log| log.len()), 0);
}

/// A second SIGTERM ends a server that waits for work in progress.
#[test]
fn a_second_signal_shortens_the_drain() {
    let demo = DemoInstallation::new();
    let channels = demo.json(&["channel", "ls", "--org", "bella"]);
    let chat = channels.as_array().expect("a list").iter().find(|one| one["channel"] == "webchat");
    let chat = chat.expect("a web chat")["binding"].as_str().expect("an id").to_owned();
    let mut server = RunningServer::start(&demo.home());
    // A request whose body never ends.
    let mut socket = TcpStream::connect(&server.address).expect("it listens");
    let head =
        format!("POST /chat/{chat}/visitors HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{{");
    socket.write_all(head.as_bytes()).expect("it reads");
    std::thread::sleep(Duration::from_millis(300));
    server.terminate();
    assert_eq!(server.ended_within(Duration::from_millis(1500)), None, "it finishes the request");
    server.terminate();
    assert_eq!(server.ended_within(SOON), Some(false), "it says that work was cut off");
}

/// With standard output on a full disk `doctor` fails with a reason, and `serve` serves.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_standard_output_panics_nobody() {
    let demo = DemoInstallation::new();
    let full = || Stdio::from(File::options().write(true).open("/dev/full").expect("the device"));
    let command = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        command.args(args).args(["--home", &demo.home()]).stdout(full()).stderr(Stdio::piped());
        command
    };
    let doctor = command(&["doctor"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&doctor.stderr).into_owned();
    assert_eq!(doctor.status.code(), Some(1), "{said}");
    assert!(said.contains("No space left") && !said.contains("panicked"), "{said}");

    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let address = port.expect("a free port").to_string();
    let mut server = command(&["serve", "--listen", &address]).spawn().expect("it starts");
    let deadline = Instant::now() + SOON;
    while TcpStream::connect(&address).is_err() {
        assert!(Instant::now() < deadline, "it does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.try_wait().expect("its status"), None, "it goes on");
    server.kill().expect("it runs");
    server.wait().expect("it ends");
}
