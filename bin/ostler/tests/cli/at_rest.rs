//! Who can read the files of an installation, and which rows a database role sees.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ostler_testkit::{TestDatabase, postgres_url};

use crate::demo::DemoInstallation;
use crate::ostler;
use crate::running_server::RunningServer;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

/// S11: files that others can read are reported, and closed when the server starts.
#[test]
fn s11_files_with_secrets_are_closed_to_others() {
    let demo = DemoInstallation::new();
    demo.write_secret("bella", "unsplash", "a-key\n");
    let home = PathBuf::from(demo.home());
    let secret = demo.secrets_folder("bella").join("unsplash");
    let files = [home.join("ostler.toml"), home.join("ostler.db"), secret];
    let open = |path: &Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("changed");
    };
    let folder = files[2].parent().expect("the folder of the org");
    open(folder, 0o755);
    open(folder.parent().expect("the folder of the secrets"), 0o755);
    // One at a time, because a long list is cut.
    for file in &files {
        open(file, 0o644);
        let output = ostler(&["doctor", "--home", &demo.home(), "--json"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(&format!("others can read {}", file.display())), "{said}");
        open(file, 0o600);
    }
    for file in &files {
        open(file, 0o644);
    }
    let server = RunningServer::start(&demo.home());
    for end in ["", "-wal", "-shm"] {
        let file = home.join(format!("ostler.db{end}"));
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    for file in &files {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
    drop(server);
}

/// S11: a PostgreSQL role that sees the rows of all organizations serves nobody.
#[tokio::test(flavor = "multi_thread")]
async fn s11_serve_refuses_a_role_that_bypasses_row_level_security() {
    let database = TestDatabase::postgres().await;
    database.migrated().await;
    let (_, name) = database.url.rsplit_once('/').expect("a name");
    let server = postgres_url();
    let (server, _) = server.rsplit_once('/').expect("a server");
    let refused = |url: &str| {
        let output = ostler(&["serve", "--listen", "127.0.0.1:0", "--database", url]);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let superuser = refused(&format!("{server}/{name}"));
    for part in ["bypasses row-level security", "CREATE ROLE ostler LOGIN", "ostler migrate"] {
        assert!(superuser.contains(part), "{superuser}");
    }
    database.execute("ALTER TABLE sessions NO FORCE ROW LEVEL SECURITY").await;
    let owner = refused(&database.url);
    assert!(owner.contains("owns tables without FORCE ROW LEVEL SECURITY"), "{owner}");
}

/// S07: another machine is reached over TLS only, and the refusal says what to do.
#[test]
fn s07_unencrypted_connections_to_other_machines_are_refused() {
    for (args, expected) in [
        (
            ["--database", "postgres://o:hunter2@db.example/o?sslmode=disable"],
            "the database on db.example is reached over TLS only",
        ),
        (
            ["--database", "postgres://o:hunter2@10.1.2.3/o?sslmode=prefer"],
            "take sslmode={disable,allow,prefer} out of its address",
        ),
    ] {
        let output = ostler(&[&["serve", "--listen", "127.0.0.1:0"], &args[..]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(expected), "{args:?}: {said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    let demo = DemoInstallation::new();
    for (variable, value, expected) in [
        ("OSTLER_BUS_URL", "amqp://o:hunter2@mq.example", "the broker on mq.example is reached"),
        ("OSTLER_PUBLIC_URL", "http://shop.example", "`public_url` begins with https://"),
    ] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(["serve", "--listen", "127.0.0.1:0", "--home", &demo.home()])
            .env(variable, value)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(expected), "{variable}: {said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}
