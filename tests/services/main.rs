//! The private PostgreSQL and RabbitMQ that `make test` provides: both answer, and
//! `scripts/with-services` stops all it started however it ends.
//!
//! Nothing here looks inside the servers; that belongs to the tests of the crates
//! that use them. A test that ends servers starts its own copy of the script.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of a test may insist, too")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const WITH_SERVICES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/with-services");
const SHOW_URLS_AND_SLEEP: &str =
    r#"echo "$OSTLER_TEST_POSTGRES_URL"; echo "$OSTLER_TEST_AMQP_URL"; exec sleep 600"#;

const START: Duration = Duration::from_mins(2);
const STOP: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_secs(5);

#[test]
fn postgres_answers() {
    // SSLRequest: its own length, then the code that stands for "TLS, please?".
    let request = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
    let [answer] = exchange(&provided("OSTLER_TEST_POSTGRES_URL"), &request);
    assert!(matches!(answer, b'S' | b'N'), "not a PostgreSQL answer: {answer:#04x}");
}

#[test]
fn rabbitmq_answers() {
    // A frame is its kind, a channel, a length and, here, the class and the method.
    let answer: [u8; 11] = exchange(&provided("OSTLER_TEST_AMQP_URL"), b"AMQP\x00\x00\x09\x01");
    let (method_frame, connection_start) = (1, [0, 10, 0, 10]);
    assert_eq!((answer[0], &answer[7..]), (method_frame, &connection_start[..]));
}

#[test]
fn with_services_leaves_nothing_behind() {
    let mut services = Services::start("interrupted");
    services.interrupt();
    services.await_exit();
    services.await_nothing_left();
}

#[test]
fn a_killed_with_services_leaves_nothing_behind() {
    let mut services = Services::start("killed");
    services.script.kill().expect("a script to kill");
    services.await_exit();
    services.await_nothing_left();
}

/// A copy of `scripts/with-services` whose data lies in a directory of its own, by
/// which everything it started can be recognised.
struct Services {
    script: Child,
    directory: PathBuf,
    addresses: Vec<SocketAddr>,
}

impl Services {
    fn start(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("ostler-{name}-{}", std::process::id()));
        fs::create_dir(&directory).expect("a fresh directory");
        let script = Command::new(WITH_SERVICES)
            .args(["sh", "-c", SHOW_URLS_AND_SLEEP])
            .env("TMPDIR", &directory)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("scripts/with-services starts");
        let mut services = Self { script, directory, addresses: Vec::new() };
        services.addresses = services.read_addresses();
        for address in &services.addresses {
            connect(*address).expect("a server that is said to be ready accepts connections");
        }
        services
    }

    /// Reads the two URLs in a thread, because a pipe knows no timeout.
    fn read_addresses(&mut self) -> Vec<SocketAddr> {
        let stdout = BufReader::new(self.script.stdout.take().expect("a piped stdout"));
        let (sender, urls) = mpsc::channel();
        thread::spawn(move || {
            let urls: Vec<_> = stdout.lines().take(2).map_while(Result::ok).collect();
            sender.send(urls)
        });
        let urls = urls.recv_timeout(START).expect("with-services prints in time");
        assert_eq!(urls.len(), 2, "with-services printed {urls:?} instead of two URLs");
        urls.iter().map(|url| address(url)).collect()
    }

    /// What a terminal does on Ctrl-C: INT to the whole process group.
    fn interrupt(&self) {
        let group = format!("kill -s INT -- -{}", self.script.id());
        let sent = Command::new("bash").args(["-c", &group]).status();
        assert!(sent.expect("bash runs").success(), "could not interrupt");
    }

    fn await_exit(&mut self) {
        await_until("with-services to exit", || {
            self.script.try_wait().expect("a child of ours").is_some()
        });
    }

    fn await_nothing_left(&self) {
        for address in &self.addresses {
            await_until(&format!("{address} to refuse connections"), || connect(*address).is_err());
        }
        await_until("the last process to end", || processes_of(&self.directory).is_empty());
        await_until("the data to be deleted", || is_empty(&self.directory));
    }
}

impl Drop for Services {
    /// A test that failed half-way must not leave servers behind either.
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
        let _ = fs::remove_dir(&self.directory);
    }
}

/// Processes that name the directory on their command line or in their
/// environment; epmd, for one, does so only in the latter.
fn processes_of(directory: &Path) -> Vec<PathBuf> {
    let needle = directory.as_os_str().as_encoded_bytes();
    let mentions = |file: PathBuf| {
        fs::read(file).is_ok_and(|text| text.windows(needle.len()).any(|part| part == needle))
    };
    let entries = fs::read_dir("/proc").expect("a Linux /proc").flatten();
    entries
        .map(|entry| entry.path())
        .filter(|process| mentions(process.join("cmdline")) || mentions(process.join("environ")))
        .collect()
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

fn await_until(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + STOP;
    while !happened() {
        assert!(Instant::now() < deadline, "{what} did not happen within {STOP:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// The address of a server that the caller of the tests must provide.
fn provided(variable: &str) -> SocketAddr {
    let Ok(url) = std::env::var(variable) else {
        panic!("{variable} is not set: run the tests with `make test`, which starts the servers");
    };
    address(&url)
}

/// The `host:port` of a URL of the form `scheme://user@host:port/path`.
fn address(url: &str) -> SocketAddr {
    let after_user = url.rsplit('@').next().unwrap_or(url);
    let host_and_port = after_user.split('/').next().unwrap_or(after_user);
    host_and_port.parse().unwrap_or_else(|_| panic!("no host and port in {url}"))
}

fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    Ok(stream)
}

fn exchange<const N: usize>(address: &SocketAddr, request: &[u8]) -> [u8; N] {
    let mut stream = connect(*address).expect("the server accepts a connection");
    stream.write_all(request).expect("the server takes the request");
    let mut answer = [0; N];
    stream.read_exact(&mut answer).expect("the server answers in time");
    answer
}
