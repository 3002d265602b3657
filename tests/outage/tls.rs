//! PostgreSQL over TLS, with certificates that the test makes.

use std::path::Path;
use std::process::Command;

use ostler_store::{Store, StoreError};

use crate::server::Server;

/// Runs a program and returns what it printed.
fn run(folder: &Path, program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Makes an authority `NAME.crt` in a folder, with its key.
fn make_authority(folder: &Path, name: &str) {
    let (key, certificate) = (format!("{name}.key"), format!("{name}.crt"));
    let subject = format!("/CN={name}");
    let fixed = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
    let mut args: Vec<&str> = fixed.split(' ').collect();
    args.extend(["-subj", &subject, "-keyout", &key, "-out", &certificate]);
    args.extend(["-addext", "basicConstraints=critical,CA:TRUE"]);
    run(folder, "openssl", &args);
}

/// Makes `server.crt` and `server.key` for 127.0.0.1, signed by the authority `own`.
fn make_server_certificate(folder: &Path) {
    std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1\n").expect("written");
    let request = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=database \
                   -keyout server.key -out server.csr";
    let sign = "x509 -req -in server.csr -CA own.crt -CAkey own.key -CAcreateserial -days 2 \
                -extfile names -out server.crt";
    for command in [request, sign] {
        run(folder, "openssl", &command.split_whitespace().collect::<Vec<_>>());
    }
}

/// S07: the connection is encrypted, and a certificate of a foreign authority is refused.
#[tokio::test(flavor = "multi_thread")]
async fn s07_postgresql_is_reached_over_tls_with_a_checked_certificate() {
    let database = Server::start("database");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    make_authority(path, "own");
    make_authority(path, "foreign");
    make_server_certificate(path);
    let file = |name: &str| path.join(name).display().to_string();
    let ask = |sql: &str| {
        run(path, "psql", &["--no-psqlrc", "--tuples-only", "--no-align", "-c", sql, &database.url])
    };
    ask(&format!("ALTER SYSTEM SET ssl_cert_file = '{}'", file("server.crt")));
    ask(&format!("ALTER SYSTEM SET ssl_key_file = '{}'", file("server.key")));
    ask("ALTER SYSTEM SET ssl = on");
    ask("SELECT pg_reload_conf()");

    let address = |mode: &str, root: &str| {
        format!("{}?sslmode={mode}&sslrootcert={}", database.url, file(root))
    };
    let store = Store::connect(&address("verify-full", "own.crt")).expect("an address");
    let mut migrated = store.migrate().await;
    for _ in 0..20 {
        if migrated.is_ok() {
            break;
        }
        // The server takes a moment to read its configuration again.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        migrated = store.migrate().await;
    }
    migrated.expect("it connects");
    let encrypted = "SELECT count(*) > 0 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                     WHERE ssl AND application_name = 'ostler'";
    assert_eq!(ask(encrypted).trim(), "t");
    for (mode, root) in [("verify-full", "foreign.crt"), ("require", "foreign.crt")] {
        let refused = Store::connect(&address(mode, root)).expect("an address");
        let refused = refused.schema_version().await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{mode}: {refused:?}");
    }
    let machine = Store::connect(&format!("{}?sslmode=require", database.url)).expect("an address");
    let refused = machine.schema_version().await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
}
