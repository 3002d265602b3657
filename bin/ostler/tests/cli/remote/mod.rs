//! The command line on a server: each operating command prints the same there as on a local
//! installation.

mod cases;
mod people;
mod send;
mod workflows;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::demo::DemoInstallation;
use crate::manual::CommandPage;
use crate::running_server::RunningServer;
use cases::{CASES, FILES, OF_THE_PROCESS, ON_THE_MACHINE};

/// The words that the credential and the moment make different.
fn normalized(text: &str) -> String {
    let words = text.split_inclusive(|c: char| c.is_whitespace() || "\"`,;=()[]…".contains(c));
    let lines: String = words.map(normalized_word).collect();
    // Columns are as wide as what is in them.
    let lines = lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

/// How secrets begin that are shown once.
const SECRETS: [&str; 3] = ["osk_", "osi_", "osp_"];

fn normalized_word(word: &str) -> String {
    let end = word.find(|c: char| c.is_whitespace() || "\"`,;=()[]…".contains(c));
    let (core, end) = word.split_at(end.unwrap_or(word.len()));
    let digits = core.chars().filter(char::is_ascii_digit).count();
    let is_time =
        digits >= 4 && core.contains(':') && core.chars().all(|c| "0123456789:-TZ.".contains(c));
    // Each installation has its secrets in a folder of its own, new ones in files that are
    // called after the id of their channel.
    let is_secret_file = core.strip_prefix("file:").is_some_and(|name| name.starts_with("bnd_"))
        || core.contains("/secrets/");
    let is_secret = is_secret_file || SECRETS.iter().any(|prefix| core.starts_with(prefix));
    let is_moment = core.len() == 13 && core.chars().all(|c| c.is_ascii_digit());
    let core = if core.starts_with("OST-") {
        "CODE"
    } else if is_secret {
        "SECRET"
    } else if core.starts_with("http://127.0.0.1:") {
        "ADDRESS"
    } else if is_moment || is_time {
        "TIME"
    } else {
        let parts = core.split('/').map(|part| if is_id(part) { "ID" } else { part });
        return format!("{}{end}", parts.collect::<Vec<_>>().join("/"));
    };
    format!("{core}{end}")
}

fn is_id(text: &str) -> bool {
    text.split_once('_').is_some_and(|(kind, id)| {
        kind.len() == 3 && id.len() == 26 && id.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

pub(crate) struct Server {
    url: String,
    key: String,
    /// A folder without an installation, where the commands run.
    pub(crate) config: tempfile::TempDir,
    _running: RunningServer,
}

impl Server {
    /// Runs a command on the server, in a folder without an installation.
    fn run(&self, args: &[String]) -> Output {
        self.run_as(&self.key, args)
    }

    /// Runs a command for the holder of a key.
    pub(crate) fn run_as(&self, key: &str, args: &[String]) -> Output {
        let mut command = self.command();
        command.env("OSTLER_API_KEY", key).args(args).args(["--server", &self.url]);
        command.output().expect("ostler runs")
    }

    /// Runs a command that succeeds and returns what it prints.
    fn says(&self, args: &[&str]) -> String {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let output = self.run(&args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {error}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.says(&[args, &["--json"]].concat())).expect("JSON")
    }

    /// Runs a command that fails and returns why.
    fn error(&self, args: &[&str]) -> String {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let output = self.run(&args);
        assert!(!output.status.success(), "{args:?}");
        String::from_utf8(output.stderr).expect("text")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        command
            .current_dir(self.config.path())
            .env("XDG_CONFIG_HOME", self.config.path())
            .env("OSTLER_API_KEY", &self.key)
            .env_remove("OSTLER_HOME")
            .env("EDITOR", "true");
        command
    }
}

/// Starts a server on a copy of an installation, for a caller with every right.
pub(crate) fn serve_copy(demo: &DemoInstallation, copy: &Path) -> Server {
    let key = ["key", "create", "test", "--org", "platform", "--role", "platform_admin"];
    let key = demo.json(&key)["secret"].as_str().expect("a key").to_owned();
    copy_folder(Path::new(&demo.home()), copy);
    let running = RunningServer::start(&copy.to_string_lossy());
    let url = format!("http://{}", running.address);
    let config = tempfile::tempdir().expect("a folder");
    for (name, text) in FILES {
        fs::write(config.path().join(name), text).expect("a file");
    }
    Server { url, key, config, _running: running }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a copy");
        }
    }
}

/// Returns a text without the ports of local addresses.
fn without_ports(text: &str) -> String {
    const ADDRESS: &str = "http://127.0.0.1:";
    let mut parts = text.split(ADDRESS);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{text}http://SERVER{rest}")
    })
}

fn texts(output: &Output) -> (bool, String, String) {
    let text = |bytes: &[u8]| normalized(&without_ports(&String::from_utf8_lossy(bytes)));
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

/// K03: each operating command prints the same on a local installation and on a server with a
/// copy of it, errors included. A command in none of the lists fails this test.
#[test]
fn k03_each_operating_command_prints_the_same_on_a_server() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve_copy(&demo, &folder.path().join("copy"));
    let id = |args: &[&str], field: &str| {
        let found = demo.json(args);
        found[0][field].as_str().unwrap_or_else(|| panic!("{args:?}: {found}")).to_owned()
    };
    let approval = demo.json(&["approval", "ls", "--org", "bella"])[0].clone();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let session = demo.json(&["session", "show", "rosa", "--org", "bella"]);
    let names = [
        ("{run}", text(&session["runs"][0]["id"])),
        ("{rosa}", text(&approval["session"])),
        ("{approval}", text(&approval["id"])),
        ("{webchat}", id(&["channel", "ls", "--org", "bella"], "binding")),
        ("{issue}", id(&["issue", "ls", "--org", "bella"], "id")),
    ];
    let mut different = Vec::new();
    for (command, variants) in CASES {
        for variant in *variants {
            let words = command.split(' ').chain(variant.iter().copied());
            let named = |word: &str| {
                let found = names.iter().find(|(name, _)| *name == word);
                found.map_or_else(|| word.to_owned(), |(_, id)| id.clone())
            };
            let args: Vec<String> = words.map(named).collect();
            let local = Command::new(env!("CARGO_BIN_EXE_ostler"))
                .args(&args)
                .args(["--home", &demo.home()])
                .current_dir(server.config.path())
                .env("EDITOR", "true")
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("ostler runs");
            let remote = texts(&server.run(&args));
            let local = texts(&local.wait_with_output().expect("it ends"));
            if local != remote {
                different.push(format!("{args:?}:\n{local:#?}\n{remote:#?}"));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// K03: every command is in one list, and those that a server does not do say so.
#[test]
fn k03_commands_for_the_machine_say_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut wrong = Vec::new();
    for page in CommandPage::all(folder.path()) {
        let name = page.words.join(" ");
        let is_case = CASES.iter().any(|(command, _)| *command == name);
        let is_local =
            [ON_THE_MACHINE, OF_THE_PROCESS].iter().any(|list| list.contains(&name.as_str()));
        if is_case == is_local {
            wrong.push(name);
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "commands without a decision");
    for args in [&["prune"][..], &["serve"], &["doctor"], &["migrate"], &["completions", "bash"]] {
        let output = crate::ostler(&[args, &["--server", "http://127.0.0.1:1"]].concat());
        let (succeeded, said, error) = texts(&output);
        let said = format!("{said}{error}");
        assert!(!succeeded, "{args:?}: {said}");
        assert!(said.contains("on the machine of the installation only"), "{args:?}: {said}");
    }
}

/// K03: somebody logs in with a key or a password, works from any folder, and logs out. What
/// goes wrong is a sentence that says what to do.
#[test]
fn k03_people_log_in_and_work_from_any_folder() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve_copy(&demo, &folder.path().join("copy"));
    let run = |args: &[&str], input: &str| {
        let mut command = server.command();
        command.args(args).env_remove("OSTLER_API_KEY").stdin(Stdio::piped());
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut stdin = child.stdin.take().expect("an input");
        std::io::Write::write_all(&mut stdin, input.as_bytes()).expect("written");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).expect("text"))
    };
    let (ok, said) = run(&["session", "ls"], "");
    assert!(!ok && said.contains("ostler login"), "{said}");
    let (ok, said) = run(&["session", "ls", "--server", &server.url], "");
    assert!(!ok && said.contains("you are not logged in to"), "{said}");
    let (ok, said) = run(&["login", &server.url], "osk_wrong\n");
    assert!(!ok && said.contains("this is no API key"), "{said}");
    let (ok, said) = run(&["login", &server.url, "--name", "work"], &format!("{}\n", server.key));
    assert!(ok && said.contains("logged in to") && !said.contains("osk_"), "{said}");
    let (ok, said) = run(&["approval", "ls"], "");
    assert!(ok && said.contains("refund_payment"), "{said}");
    let (ok, said) = run(&["context", "ls", "--json"], "");
    let listed: Value = serde_json::from_str(&said).expect("JSON");
    assert!(ok && listed[0]["current"] == true && listed[0]["name"] == "work", "{said}");
    assert!(run(&["context", "use", "--none"], "").0);
    let (ok, said) = run(&["approval", "ls", "--context", "work", "--org", "nobody"], "");
    assert!(!ok && said.contains("no org `nobody`; there are: bella"), "{said}");
    let (ok, said) = run(&["logout", "--name", "work"], "");
    assert!(ok && said.contains("ostler key revoke"), "{said}");
    let (ok, said) = run(&["approval", "ls", "--context", "work"], "");
    assert!(!ok && said.contains("no context `work`"), "{said}");
    let (ok, said) = run(&["login", "http://127.0.0.1:1"], &server.key);
    assert!(!ok && said.contains("http://127.0.0.1:1 cannot be reached"), "{said}");
    let (ok, said) = run(&["login", "http://ostler.example"], &server.key);
    assert!(!ok && said.contains("unencrypted"), "{said}");
}
