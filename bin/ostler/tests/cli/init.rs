//! `ostler init`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ostler_domain::org::role::Role;
use ostler_store::Store;
use ostler_testkit::TestDatabase;
use serde_json::Value;

use crate::demo::DemoInstallation;
use crate::{ostler, stderr, stdout};

const ADMIN: [&str; 4] = ["--email", "ada@example.org", "--name", "Ada Lovelace"];

/// Runs `ostler init` in a folder and returns what it prints.
fn init(folder: &Path, args: &[&str]) -> String {
    let home = folder.to_string_lossy();
    stdout(&[&["init", "--home", &home], args].concat())
}

fn refused(folder: &Path, args: &[&str]) -> String {
    let home = folder.to_string_lossy();
    stderr(&[&["init", "--home", &home], args].concat())
}

fn init_json(folder: &Path, args: &[&str]) -> Value {
    let text = init(folder, &[args, &["--json"]].concat());
    serde_json::from_str(&text).expect("JSON")
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

/// Checks the platform, its system agent, the administrator and the token.
async fn check_installation(database: &str, secret: &str) {
    let store = Store::open(database).await.expect("a database");
    let (org, key) = store.authenticate(&secret.parse().expect("a key")).await.expect("a key");
    assert_eq!((key.role, key.name.as_str()), (Role::PlatformAdmin, "first administrator"));
    let agents = store.org(org).agent_configs().await.expect("agents");
    let quinn = agents.iter().find(|one| one.agent.slug == "quinn").expect("the system agent");
    assert_eq!(quinn.agent.check_creation(), Ok(()));
    assert!(quinn.soul.as_ref().is_some_and(|soul| soul.soul.personality.contains("Quinn")));
    let members = store.org(org).members(None, 10).await.expect("members");
    let admins: Vec<_> = members.iter().map(|one| (one.user.email.as_str(), one.role)).collect();
    assert_eq!(admins, [("ada@example.org", Role::PlatformAdmin)]);
}

/// O01: an empty folder becomes an installation; the token is shown once; a repeat changes
/// nothing and says so.
#[tokio::test]
async fn o01_init_makes_an_installation_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("shop");
    let report = init(&home, &ADMIN);
    for part in ["Ostler is set up in", "Ada Lovelace <ada@example.org>, created", "ostler doctor"]
    {
        assert!(report.contains(part), "{part} in {report}");
    }
    let secret = report.split_whitespace().find(|word| word.starts_with("osk_")).expect("a token");
    let (config, database) = (home.join("ostler.toml"), home.join("ostler.db"));
    assert_eq!((mode(&config), mode(&database)), (0o600, 0o600));
    check_installation(&format!("sqlite:{}", database.display()), secret).await;
    let written = std::fs::read_to_string(&config).expect("a configuration");
    assert!(written.contains("# listen = \"127.0.0.1:7470\""), "{written}");

    let again = init(&home, &[]);
    assert!(again.ends_with("is set up already; nothing was changed\n"), "{again}");
    assert_eq!(std::fs::read_to_string(&config).expect("the same"), written);
    assert_eq!(init_json(&home, &ADMIN)["created"], serde_json::json!([]));
    let home = home.to_string_lossy().into_owned();
    let keys = stdout(&["key", "ls", "--org", "platform", "--home", &home, "--json"]);
    let keys: Value = serde_json::from_str(&keys).expect("JSON");
    assert_eq!(keys.as_array().map(Vec::len), Some(1));
    let next = stdout(&["key", "create", "ci", "--org", "platform", "--home", &home]);
    assert!(next.starts_with("osk_"), "{next}");
}

/// O01: what an interrupted run left out is added.
#[test]
fn o01_what_is_missing_is_added() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    let database = format!("sqlite:{}", home.join("ostler.db").display());
    stdout(&["migrate", "--database", &database]);
    let all = ["configuration", "platform", "system_agent", "administrator", "token"];
    let report = init_json(home, &[&ADMIN[..], &["--yes"]].concat());
    assert_eq!(report["created"], serde_json::json!(all));
    std::fs::remove_file(home.join("ostler.toml")).expect("removed");
    let report = init_json(home, &["--yes", "--listen", "127.0.0.1:8080"]);
    assert_eq!(report["created"], serde_json::json!(["configuration"]));
    assert_eq!(report.get("token"), None);
    let written = std::fs::read_to_string(home.join("ostler.toml")).expect("a configuration");
    assert!(written.contains("\nlisten = \"127.0.0.1:8080\"\n"), "{written}");
}

/// O01: what is refused changes nothing, and says what to do.
#[test]
fn o01_refusals_change_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    for (args, expected) in [
        (&[][..], "give --email ADDRESS"),
        (&["--email", "ada"], "`ada` is not an e-mail address, such as ada@example.org"),
        (&["--email", "a@b", "--listen", "here"], "`listen` is an address with a port"),
        (&["--email", "a@b", "--database", "mysql://x"], "postgres://"),
        (
            &["--email", "a@b", "--database", "postgres://o:hunter2@127.0.0.1:1/x"],
            "the database postgres://o:…@127.0.0.1:1/x cannot be used",
        ),
        (
            &["--email", "a@b", "--bus", "amqp://o:hunter2@127.0.0.1:1"],
            "the bus amqp://o:…@127.0.0.1:1",
        ),
    ] {
        let error = refused(home, args);
        assert!(error.contains(expected), "{args:?}: {error}");
        assert!(!error.contains("hunter2"), "{error}");
        assert_eq!(std::fs::read_dir(home).expect("a folder").count(), 0, "{args:?}");
    }
    std::fs::write(home.join("notes.txt"), "mine").expect("written");
    let error = refused(home, &ADMIN);
    assert!(error.contains("is not empty (it has notes.txt); repeat with --yes"), "{error}");
    std::fs::write(home.join("ostler.toml"), "[server]\nport = 1\n").expect("written");
    let error = refused(home, &ADMIN);
    assert!(error.contains("cannot be read; nothing was changed"), "{error}");
    assert!(error.contains("ostler.toml:1:2: no key `server`"), "{error}");
    std::fs::write(home.join("ostler.toml"), "listen = '127.0.0.1:1'\n").expect("written");
    let error = refused(home, &[&ADMIN[..], &["--listen", "127.0.0.1:2"]].concat());
    assert!(error.contains("has another `listen` than 127.0.0.1:2; change it there"), "{error}");
    assert!(!home.join("ostler.db").exists());
    let demo = DemoInstallation::new();
    let error = refused(Path::new(&demo.home()), &ADMIN);
    assert!(error.contains("belongs to `ostler demo`; choose another folder"), "{error}");
}

/// O01: the same on PostgreSQL and RabbitMQ.
#[tokio::test(flavor = "multi_thread")]
async fn o01_init_makes_an_installation_on_postgresql_and_rabbitmq() {
    let database = TestDatabase::postgres().await;
    let bus = std::env::var("OSTLER_TEST_AMQP_URL").expect("a broker");
    let folder = tempfile::tempdir().expect("a folder");
    let flags = ["--database", &database.url, "--bus", &bus];
    let report = init_json(folder.path(), &[&ADMIN[..], &flags].concat());
    let secret = report["token"]["secret"].as_str().expect("a token");
    check_installation(&database.url, secret).await;
    assert!(!folder.path().join("ostler.db").exists());
    let again = init(folder.path(), &flags);
    assert!(again.contains("nothing was changed"), "{again}");
    let home = folder.path().to_string_lossy();
    let output = ostler(&["doctor", "--home", &home]);
    let shown = String::from_utf8(output.stdout).expect("text");
    for part in ["Row-level security isolates tenants", "bus               amqp://", "answers."] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}
