//! The servers that somebody has logged in to, in a file that only they may read.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use ostler_domain::secret::ApiKeySecret;
use serde::{Deserialize, Serialize};

use crate::config::keys;
use crate::installation::write_private;

/// A server and who works there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) name: String,
    /// The address without a slash at its end.
    pub(crate) url: String,
    pub(crate) credential: Credential,
}

/// What proves who makes a request. Never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Credential {
    /// An API key.
    Key(String),
    /// The cookie of a log-in with a password: its name and value.
    Cookie(String),
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key(…)",
            Self::Cookie(_) => "Cookie(…)",
        })
    }
}

/// What is stored of a context; its name is the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredContext {
    url: String,
    /// Who logged in, for people.
    #[serde(default)]
    who: String,
    #[serde(flatten)]
    credential: Credential,
}

/// The content of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ContextsFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current: Option<String>,
    #[serde(default)]
    context: BTreeMap<String, StoredContext>,
}

/// The contexts of the person at this machine.
#[derive(Debug)]
pub(crate) struct Contexts {
    path: PathBuf,
    file: ContextsFile,
}

/// A context without its credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ContextSummary {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) who: String,
    pub(crate) current: bool,
}

impl Contexts {
    /// Reads the file; without one there are no contexts.
    pub(crate) fn load() -> anyhow::Result<Self> {
        Self::load_from(path()?)
    }

    fn load_from(path: PathBuf) -> anyhow::Result<Self> {
        let file = match std::fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).with_context(|| {
                format!("cannot read {}; delete it and log in again", path.display())
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => ContextsFile::default(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        Ok(Self { path, file })
    }

    fn store(&self) -> anyhow::Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        }
        write_private(&self.path, &toml::to_string(&self.file)?)
    }

    /// Returns the context of a name.
    pub(crate) fn named(&self, name: &str) -> anyhow::Result<Context> {
        let found = self.file.context.get(name).map(|stored| to_context(name, stored));
        found.with_context(|| match self.names().as_slice() {
            [] => format!("no context `{name}`; `ostler login URL --name {name}` makes it"),
            names => format!("no context `{name}`; there are: {}", names.join(", ")),
        })
    }

    /// Returns the context of a server: the current one first. Without one, the key in
    /// `OSTLER_API_KEY` is used.
    pub(crate) fn of_server(&self, url: &str) -> anyhow::Result<Context> {
        let url = parse_url(url)?;
        if let Some(key) = std::env::var(keys::API_KEY).ok().filter(|key| !key.is_empty()) {
            let credential = Credential::Key(checked_key(&key)?);
            return Ok(Context { name: url.clone(), url, credential });
        }
        let current = self.current().filter(|context| context.url == url);
        let other = || self.file.context.iter().find(|(_, stored)| stored.url == url);
        let found = current.or_else(|| other().map(|(name, stored)| to_context(name, stored)));
        found.with_context(|| {
            format!(
                "you are not logged in to {url}; log in with `ostler login {url}`, or set {}",
                keys::API_KEY
            )
        })
    }

    /// Returns the context that commands use without naming one.
    pub(crate) fn current(&self) -> Option<Context> {
        let name = self.file.current.as_ref()?;
        self.file.context.get(name).map(|stored| to_context(name, stored))
    }

    /// Returns all contexts by name.
    pub(crate) fn summaries(&self) -> Vec<ContextSummary> {
        let summary = |(name, stored): (&String, &StoredContext)| ContextSummary {
            name: name.clone(),
            url: stored.url.clone(),
            who: stored.who.clone(),
            current: self.file.current.as_ref() == Some(name),
        };
        self.file.context.iter().map(summary).collect()
    }

    /// Adds or replaces a context, which becomes the current one.
    pub(crate) fn add(&mut self, context: Context, who: String) -> anyhow::Result<()> {
        let Context { name, url, credential } = context;
        self.file.current = Some(name.clone());
        self.file.context.insert(name, StoredContext { url, who, credential });
        self.store()
    }

    /// Makes a context the current one.
    pub(crate) fn choose(&mut self, name: &str) -> anyhow::Result<()> {
        self.named(name)?;
        self.file.current = Some(name.to_owned());
        self.store()
    }

    /// Makes no context the current one: commands work on local installations.
    pub(crate) fn choose_none(&mut self) -> anyhow::Result<()> {
        self.file.current = None;
        self.store()
    }

    /// Removes a context.
    pub(crate) fn remove(&mut self, name: &str) -> anyhow::Result<()> {
        self.named(name)?;
        self.file.context.remove(name);
        if self.file.current.as_deref() == Some(name) {
            self.file.current = None;
        }
        self.store()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn names(&self) -> Vec<&str> {
        self.file.context.keys().map(String::as_str).collect()
    }
}

fn to_context(name: &str, stored: &StoredContext) -> Context {
    let (url, credential) = (stored.url.clone(), stored.credential.clone());
    Context { name: name.to_owned(), url, credential }
}

/// Returns the path of the file: in the folder of the person's configuration.
fn path() -> anyhow::Result<PathBuf> {
    let folder = match std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => {
            let home = std::env::home_dir();
            home.context("there is no home folder to keep log-ins in; set HOME")?.join(".config")
        }
    };
    Ok(folder.join("ostler").join("contexts.toml"))
}

/// Returns the address of a server without a slash at its end. Secrets are sent there, so
/// other machines are reached over TLS only.
pub(crate) fn parse_url(text: &str) -> anyhow::Result<String> {
    let has_scheme = text.contains("://");
    let text = if has_scheme { text.to_owned() } else { format!("https://{text}") };
    let url = reqwest::Url::parse(&text).with_context(|| {
        format!("`{text}` is no address of a server; write https://ostler.example.com")
    })?;
    let is_own_machine = match url.host_str() {
        Some(host) => is_own_machine(host),
        None => bail!("`{text}` has no host; write https://ostler.example.com"),
    };
    match url.scheme() {
        "https" => {}
        "http" if is_own_machine => {}
        "http" => bail!("your key would be sent to {text} unencrypted; write https://"),
        other => bail!("{other}:// is no address of a server; write https://"),
    }
    ensure!(
        url.username().is_empty() && url.password().is_none() && url.query().is_none(),
        "write the address alone, without a user, a password or a query"
    );
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Returns whether a host of a URL is this machine, whatever a name server says.
fn is_own_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Returns an API key, if the text is one.
pub(crate) fn checked_key(text: &str) -> anyhow::Result<String> {
    let key: Result<ApiKeySecret, _> = text.trim().parse();
    key.ok().context("this is no API key; `ostler key create` on the server makes one")?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Context, Contexts, Credential, parse_url};

    #[test]
    fn k03_secrets_are_sent_over_tls_or_on_this_machine_only() {
        let table = [
            ("https://ostler.example/", Some("https://ostler.example")),
            ("ostler.example", Some("https://ostler.example")),
            ("http://127.0.0.1:7470", Some("http://127.0.0.1:7470")),
            ("http://localhost:7470/", Some("http://localhost:7470")),
            ("http://ostler.example", None),
            ("http://127.0.0.1.example.com", None),
            ("ftp://ostler.example", None),
            ("https://user:secret@ostler.example", None),
            ("https://ostler.example/?key=1", None),
            ("https://", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_url(text).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn k03_contexts_are_kept_in_a_private_file() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ostler/contexts.toml");
        let load = || Contexts::load_from(path.clone()).expect("contexts");
        assert_eq!((load().current(), load().summaries().len()), (None, 0));
        let context = |name: &str, credential| Context {
            name: name.to_owned(),
            url: format!("https://{name}.example"),
            credential,
        };
        let first = context("first", Credential::Key("osk_1".to_owned()));
        let second = context("second", Credential::Cookie("a=b".to_owned()));
        load().add(first.clone(), "a key".to_owned()).expect("stored");
        load().add(second.clone(), "ada".to_owned()).expect("stored");
        assert_eq!(load().current(), Some(second.clone()));
        assert_eq!(load().named("first").expect("there"), first);
        assert!(!format!("{:?}", load()).contains("osk_1"));
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o077, 0);
        load().choose("first").expect("stored");
        load().remove("first").expect("stored");
        assert_eq!(load().current(), None);
        let missing = load().named("first").expect_err("gone").to_string();
        assert_eq!(missing, "no context `first`; there are: second");
    }
}
