//! The address of a server: where it is, and whether the connection is encrypted.
//!
//! A server on another machine is reached over TLS only, and its certificate is always
//! checked, with the name of the host. `sslmode=require` and `verify-ca` therefore mean the
//! same as `verify-full`.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{Result, StoreError};

/// Where a server is and how to connect to it.
pub(super) struct ServerAddress {
    pub(super) config: Config,
    /// None for an unencrypted connection on this machine.
    pub(super) tls: Option<MakeRustlsConnect>,
}

impl std::fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let encryption = if self.tls.is_some() { "TLS" } else { "unencrypted" };
        write!(f, "ServerAddress({:?}, {encryption})", self.config.get_hosts())
    }
}

/// What an address says about encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encryption {
    /// Nothing: it depends on the host.
    Unsaid,
    Required,
    /// `disable`, or what permits an unencrypted connection.
    NotRequired,
}

/// The parameters of an address that are about encryption.
#[derive(Debug, PartialEq, Eq)]
struct TlsParameters {
    encryption: Encryption,
    /// The file with the certificates of the authorities that are trusted.
    root_file: Option<String>,
}

impl ServerAddress {
    /// Parses `postgres://…`. Fails with [`StoreError::NotEncrypted`] if the connection to
    /// another machine would not be encrypted.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let (url, parameters) = split_parameters(url)?;
        let mut config: Config = url.parse().map_err(|_| StoreError::InvalidUrl)?;
        let remote = config.get_hosts().iter().find(|host| !is_local(host));
        let uses_tls = match (parameters.encryption, remote) {
            (Encryption::Required, _) | (Encryption::Unsaid, Some(_)) => true,
            (Encryption::Unsaid | Encryption::NotRequired, None) => false,
            (Encryption::NotRequired, Some(host)) => {
                return Err(StoreError::NotEncrypted(host_name(host)));
            }
        };
        config.ssl_mode(if uses_tls { SslMode::Require } else { SslMode::Disable });
        let tls = uses_tls.then(|| connector(parameters.root_file.as_deref())).transpose()?;
        Ok(Self { config, tls })
    }
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name.eq_ignore_ascii_case("localhost")
                || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

fn host_name(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    }
}

/// Takes the parameters about encryption out of an address; the client does not know all of
/// their values.
fn split_parameters(url: &str) -> Result<(String, TlsParameters)> {
    let mut found = TlsParameters { encryption: Encryption::Unsaid, root_file: None };
    let Some((base, query)) = url.rsplit_once('?') else { return Ok((url.to_owned(), found)) };
    let mut others = Vec::new();
    for part in query.split('&') {
        match part.split_once('=') {
            Some(("sslmode", mode)) => {
                found.encryption = match mode {
                    "require" | "verify-ca" | "verify-full" => Encryption::Required,
                    "disable" | "allow" | "prefer" => Encryption::NotRequired,
                    _ => return Err(StoreError::InvalidUrl),
                }
            }
            Some(("sslrootcert", "system")) => found.root_file = None,
            Some(("sslrootcert", path)) => found.root_file = Some(decode(path)?),
            _ => others.push(part),
        }
    }
    let rest = others.join("&");
    let url = if rest.is_empty() { base.to_owned() } else { format!("{base}?{rest}") };
    Ok((url, found))
}

/// Decodes `%20` and the like.
fn decode(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2).ok_or(StoreError::InvalidUrl)?;
        let digits = std::str::from_utf8(digits).map_err(|_| StoreError::InvalidUrl)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| StoreError::InvalidUrl)?);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| StoreError::InvalidUrl)
}

/// Returns the TLS client: it trusts the authorities in a file, or those of the machine.
fn connector(root_file: Option<&str>) -> Result<MakeRustlsConnect> {
    let failed = |error: &dyn std::fmt::Display| StoreError::Tls(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let config = match root_file {
        Some(path) => builder.with_root_certificates(read_roots(path)?).with_no_client_auth(),
        None => {
            builder.with_platform_verifier().map_err(|error| failed(&error))?.with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

fn read_roots(path: &str) -> Result<RootCertStore> {
    let failed = |error: &dyn std::fmt::Display| {
        StoreError::Tls(format!("the root certificates in {path} cannot be read: {error}"))
    };
    let mut roots = RootCertStore::empty();
    let read = CertificateDer::pem_file_iter(Path::new(path)).map_err(|error| failed(&error))?;
    for certificate in read {
        let certificate = certificate.map_err(|error| failed(&error))?;
        roots.add(certificate).map_err(|error| failed(&error))?;
    }
    if roots.is_empty() {
        return Err(failed(&"it holds no certificate"));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::{ServerAddress, split_parameters};
    use crate::error::StoreError;

    /// S07: TLS is required for hosts that are not local, and possible for local ones.
    #[test]
    fn s07_other_hosts_are_reached_over_tls_only() {
        for (url, encrypted) in [
            ("postgres://o@localhost/o", Some(false)),
            ("postgres://o@127.0.0.1:5433/o?connect_timeout=3", Some(false)),
            ("postgres://o@[::1]/o", Some(false)),
            ("postgres:///o?host=/run/postgresql", Some(false)),
            ("postgres://o@localhost/o?sslmode=prefer", Some(false)),
            ("postgres://o@localhost/o?sslmode=verify-full", Some(true)),
            ("postgres://o@db.example/o", Some(true)),
            ("postgres://o@10.0.0.5/o?sslmode=require", Some(true)),
            ("postgres://o@localhost,db.example/o", Some(true)),
            ("postgres://o@db.example/o?sslmode=disable", None),
            ("postgres://o@db.example/o?sslmode=prefer", None),
            ("postgres://o@localhost,db.example/o?sslmode=disable", None),
        ] {
            match (ServerAddress::parse(url), encrypted) {
                (Ok(address), Some(expected)) => {
                    assert_eq!(address.tls.is_some(), expected, "{url}");
                }
                (Err(StoreError::NotEncrypted(host)), None) => assert_eq!(host, "db.example"),
                (other, _) => panic!("{url}: {other:?}"),
            }
        }
    }

    #[test]
    fn s07_parameters_about_encryption_are_taken_out() {
        let split = |url| {
            let (rest, found) = split_parameters(url)?;
            Ok::<_, StoreError>((rest, found.root_file))
        };
        let url = "postgres://o@db/o?sslmode=require&a=b&sslrootcert=/etc/my%20ca.pem";
        let expected = ("postgres://o@db/o?a=b".to_owned(), Some("/etc/my ca.pem".to_owned()));
        assert_eq!(split(url).unwrap(), expected);
        let plain = "postgres://o:p%40ss@db/o";
        assert_eq!(split(plain).unwrap(), (plain.to_owned(), None));
        for wrong in ["postgres://db/o?sslmode=maybe", "postgres://db/o?sslrootcert=%4"] {
            assert!(matches!(split(wrong), Err(StoreError::InvalidUrl)), "{wrong}");
        }
        let missing = ServerAddress::parse("postgres://db.example/o?sslrootcert=/no/such/file");
        assert!(matches!(missing, Err(StoreError::Tls(_))), "{missing:?}");
    }
}
