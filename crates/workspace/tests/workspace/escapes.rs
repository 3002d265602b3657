//! Every attempt to get out of the sandbox is refused.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use ostler_workspace::sandbox::{CommandEnd, CommandRequest, DiscardOutput};

use crate::escape_cases::{self, EscapeCase, EscapeTarget};
use crate::support::{TestWorkspace, open_to_all, unsandboxed};

/// The user as whom commands run if the tests run as root.
const NOBODY: u32 = 65534;

/// Things outside that an escape would reach.
struct Bait {
    target: EscapeTarget,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    abstract_unix: UnixListener,
    process: Child,
}

impl Bait {
    fn new(test: &TestWorkspace) -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let socket = test.outside().parent().expect("a parent").join("socket");
        let unix = UnixListener::bind(&socket).expect("a socket");
        open_to_all(&socket);
        let name = format!(
            "ostler-test-{}-{}",
            std::process::id(),
            tcp.local_addr().expect("a port").port()
        );
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let abstract_unix = UnixListener::bind_addr(&address).expect("a socket");
        let mut command = Command::new("sleep");
        command.arg("600").stdin(Stdio::null());
        if rustix::process::geteuid().is_root() {
            // So that permissions do not protect it.
            command.uid(NOBODY).gid(NOBODY);
        }
        let process = command.spawn().expect("a process");
        let target = EscapeTarget {
            outside: test.outside().display().to_string(),
            tcp_port: tcp.local_addr().expect("a port").port(),
            udp_port: udp.local_addr().expect("a port").port(),
            unix_socket: socket.display().to_string(),
            abstract_socket: name,
            pid: process.id(),
        };
        for listener in [&unix, &abstract_unix] {
            listener.set_nonblocking(true).expect("a mode");
        }
        tcp.set_nonblocking(true).expect("a mode");
        udp.set_nonblocking(true).expect("a mode");
        Self { target, tcp, udp, unix, abstract_unix, process }
    }

    fn assert_untouched(&mut self) {
        assert!(self.tcp.accept().is_err(), "a TCP connection arrived");
        assert!(self.udp.recv(&mut [0]).is_err(), "a datagram arrived");
        assert!(self.unix.accept().is_err(), "a connection arrived at the socket");
        assert!(
            self.abstract_unix.accept().is_err(),
            "a connection arrived at the abstract socket"
        );
        assert!(self.process.try_wait().expect("a state").is_none(), "the process was killed");
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()));
        let stat = stat.expect("a state");
        assert!(!stat.contains(") T "), "the process was stopped: {stat}");
    }
}

impl Drop for Bait {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Writes a program for each attempt, and one that runs them all.
fn write_cases(test: &TestWorkspace, cases: &[EscapeCase]) {
    let mut all = String::from("cd cases\n");
    for (number, case) in cases.iter().enumerate() {
        let script = format!(
            "sub esc {{ print \"ESCAPED {number}\\nDONE {number}\\n\"; exit }}\n$| = 1; chdir '..';\n\
             {}\nprint \"DONE {number}\\n\";\n",
            case.script
        );
        test.put(&format!("cases/{number}.pl"), &script);
        let _ = writeln!(all, "perl {number}.pl 2>/dev/null");
    }
    test.put("cases/all.sh", &all);
    let link = test.root().join("link");
    if !link.exists() {
        std::os::unix::fs::symlink("../outside", link).expect("a link");
    }
}

/// Returns the numbers of the attempts that came to their end, and of those that succeeded.
fn outcomes(text: &str) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let numbers = |prefix: &str| {
        text.lines().filter_map(|line| line.strip_prefix(prefix)?.trim().parse().ok()).collect()
    };
    (numbers("DONE "), numbers("ESCAPED "))
}

async fn run_cases(
    test: &TestWorkspace,
    request: CommandRequest,
) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let mut request = request;
    request.limits.kept_output_bytes = 1 << 20;
    request.limits.resources.processes = 100;
    let run = test.workspace.run(&request, &DiscardOutput).await.expect("a command");
    assert!(matches!(run.result.end, CommandEnd::Exited(_)), "{:?}", run.result.end);
    outcomes(&run.result.output.text())
}

/// Runs all attempts in the sandbox of a workspace.
pub(crate) async fn assert_all_are_refused(test: &TestWorkspace) {
    let mut bait = Bait::new(test);
    let mut cases = escape_cases::all(&bait.target);
    assert!(cases.len() >= 200, "only {} attempts", cases.len());
    let status = test.workspace.sandbox_status().await;
    let is_read_only = status.enforcement().is_some_and(|found| found.read_only_mounts);
    if !is_read_only && !rustix::process::geteuid().is_root() {
        // A gap that the status names: the files outside belong to the same user.
        cases.retain(|case| !case.name.starts_with("chmod") && !case.name.starts_with("utime"));
    }
    write_cases(test, &cases);
    let (done, escaped) = run_cases(test, CommandRequest::shell("sh cases/all.sh")).await;
    let broken = (0..cases.len()).filter(|number| !done.contains(number));
    let broken: Vec<&str> = broken.map(|number| cases[number].name.as_str()).collect();
    assert_eq!(broken, [""; 0], "these attempts were not made");
    let names: Vec<&str> = escaped.iter().map(|number| cases[*number].name.as_str()).collect();
    assert_eq!(names, [""; 0], "these attempts succeeded");
    bait.assert_untouched();
    test.assert_outside_is_untouched("after all attempts");
}

#[tokio::test]
async fn m36_every_escape_is_refused_with_namespaces() {
    let test = TestWorkspace::new();
    if test.has_sandbox().await {
        assert_all_are_refused(&test).await;
    }
}

#[tokio::test]
async fn m36_every_escape_is_refused_by_landlock_and_seccomp_alone() {
    let test = TestWorkspace::with(|options| options.sandbox.namespaces = false);
    if test.has_sandbox().await {
        assert_all_are_refused(&test).await;
    }
}

/// The attempts are sound: without a sandbox they succeed.
#[tokio::test]
async fn m36_the_escapes_succeed_without_a_sandbox() {
    let test = TestWorkspace::with(|options| options.sandbox.landlock = false);
    let bait = Bait::new(&test);
    let cases: Vec<EscapeCase> =
        escape_cases::all(&bait.target).into_iter().filter(|case| case.has_control).collect();
    write_cases(&test, &cases);
    let request =
        CommandRequest { unsandboxed: unsandboxed(), ..CommandRequest::shell("sh cases/all.sh") };
    let (_, escaped) = run_cases(&test, request).await;
    let failed = (0..cases.len()).filter(|number| !escaped.contains(number));
    let failed: Vec<&str> = failed.map(|number| cases[number].name.as_str()).collect();
    assert_eq!(failed, [""; 0], "these attempts prove nothing");
}

/// With the network allowed, only the internet families open.
#[tokio::test]
async fn m36_an_allowed_network_opens_no_other_sockets() {
    let test = TestWorkspace::new();
    if !test.has_sandbox().await {
        return;
    }
    let bait = Bait::new(&test);
    let cases = escape_cases::network_cases(&bait.target);
    write_cases(&test, &cases);
    let request = CommandRequest { network: true, ..CommandRequest::shell("sh cases/all.sh") };
    let (_, escaped) = run_cases(&test, request).await;
    let names: BTreeSet<&str> = escaped.iter().map(|number| cases[*number].name.as_str()).collect();
    let expected =
        ["ping socket", "tcp connect", "tcp listen", "tcp6", "udp bind", "udp send", "udp6"];
    let unexpected: Vec<_> = names.iter().filter(|name| !expected.contains(name)).collect();
    assert_eq!(unexpected, Vec::<&&str>::new());
    assert!(names.contains("tcp connect") && names.contains("udp send"), "{names:?}");
    assert!(bait.tcp.accept().is_ok(), "the connection arrived");
}
