//! What `ostler init` did.

use std::path::Path;

use ostler_api::account::PasswordLink;
use ostler_domain::id::KeyId;
use ostler_domain::secret::ApiKeySecret;
use ostler_domain::time::Timestamp;
use ostler_store::{PlatformParts, SCHEMA_VERSION};
use serde_json::json;

use super::questions::Administrator;
use super::{CONFIG_FILE, is_complete};
use crate::commands::password_link::link_json;
use crate::commands::rfc3339;
use crate::commands::session::view::format_time;
use crate::config::redact::redact;
use crate::installation::Installation;
use crate::screen::{Cell, DIM, HEADER, print_fields};

/// A key that was created; its secret is shown once.
pub(super) struct Token {
    pub(super) id: KeyId,
    pub(super) secret: ApiKeySecret,
    pub(super) expires_at: Timestamp,
}

/// What existed before, and what was added.
pub(super) struct InitReport<'i> {
    pub(super) installation: &'i Installation,
    pub(super) wrote_file: bool,
    pub(super) schema_before: i64,
    pub(super) before: PlatformParts,
    pub(super) administrator: Option<Administrator>,
    pub(super) token: Option<Token>,
    /// With which the administrator sets a password.
    pub(super) link: Option<PasswordLink>,
}

impl InitReport<'_> {
    pub(super) fn print(&self, as_json: bool) -> anyhow::Result<()> {
        if as_json {
            return self.print_json();
        }
        let folder = self.folder();
        if self.is_unchanged() {
            anstream::println!("{} is set up already; nothing was changed", folder.display());
            return Ok(());
        }
        anstream::println!("{HEADER}Ostler is set up in {}{HEADER:#}\n", folder.display());
        let state = |new: bool| if new { "created" } else { "unchanged" };
        let schema = match self.schema_before {
            0 => "created".to_owned(),
            SCHEMA_VERSION => "unchanged".to_owned(),
            found => format!("updated from schema version {found} to {SCHEMA_VERSION}"),
        };
        let file = self.file().display().to_string();
        let administrator = match &self.administrator {
            Some(Administrator { email, name }) if !self.before.administrator => {
                format!("{name} <{email}>, created")
            }
            _ => "unchanged".to_owned(),
        };
        print_fields(&[
            row("configuration", format!("{file}, {}", state(self.wrote_file))),
            row("database", format!("{}, {schema}", redact(&self.installation.database()))),
            row("organization", format!("platform, {}", state(self.before.platform.is_none()))),
            row("system agent", format!("quinn, {}", state(!self.before.system_agent))),
            row("administrator", administrator),
        ]);
        if let Some(link) = &self.link {
            anstream::println!(
                "\nThe administrator's link to set a password in a browser. It works once, while \
                 `ostler serve` runs:\n\n  {}\n\n{DIM}It begins with {}; if you change `listen` or \
                 `public_url` first, open it\nwith the new address in front.{DIM:#}",
                link.link,
                self.installation.web_url()
            );
        }
        if let Some(Token { id, secret, expires_at }) = &self.token {
            anstream::println!(
                "\nThe administrator's token for the HTTP API. Copy it now; it is not shown again. It \
                 expires {}.\n\n  {}\n\n{DIM}ostler key revoke {id} --org platform   makes it invalid{DIM:#}",
                format_time(*expires_at),
                secret.expose()
            );
        }
        self.print_next();
        Ok(())
    }

    fn print_next(&self) {
        let home = match self.installation.folder.as_path() {
            folder if folder == Path::new(".") => String::new(),
            folder => format!(" --home {}", folder.display()),
        };
        anstream::println!("\n{HEADER}Next{HEADER:#}");
        let file = self.file().display().to_string();
        print_fields(&[
            row(
                &format!("  edit {file}"),
                "name a model, and its provider if it is your own".into(),
            ),
            row(&format!("  ostler model ls{home}"), "which models there are".into()),
            row(
                &format!("  ostler apply FILE{home}"),
                "organizations and agents, such as examples/nordlicht.toml".into(),
            ),
            row(&format!("  ostler doctor{home}"), "what is missing, and what to do".into()),
            row(&format!("  ostler serve{home}"), "answer conversations".into()),
        ]);
    }

    fn print_json(&self) -> anyhow::Result<()> {
        let mut summary = self.summary();
        if let Some(Token { id, secret, expires_at }) = &self.token {
            let expires_at = rfc3339(*expires_at);
            summary["token"] =
                json!({"id": id, "secret": secret.expose(), "expires_at": expires_at});
        }
        if let Some(link) = &self.link {
            summary["password_link"] = link_json(link);
        }
        crate::commands::print_json(&summary)
    }

    fn summary(&self) -> serde_json::Value {
        let parts = [
            ("configuration", self.wrote_file),
            ("schema", self.schema_before != SCHEMA_VERSION),
            ("platform", self.before.platform.is_none()),
            ("system_agent", !self.before.system_agent),
            ("administrator", !self.before.administrator),
            ("token", self.token.is_some()),
        ];
        let created: Vec<&str> =
            parts.iter().filter(|(_, new)| *new).map(|(name, _)| *name).collect();
        json!({"folder": self.folder(), "database": redact(&self.installation.database()),
            "created": created})
    }

    fn is_unchanged(&self) -> bool {
        let schema = self.schema_before == SCHEMA_VERSION;
        !self.wrote_file && schema && is_complete(&self.before) && self.token.is_none()
    }

    /// Returns the folder without `.`.
    fn folder(&self) -> std::path::PathBuf {
        let folder = &self.installation.folder;
        folder.canonicalize().unwrap_or_else(|_| folder.clone())
    }

    fn file(&self) -> std::path::PathBuf {
        self.installation.folder.join(CONFIG_FILE)
    }
}

fn row(name: &str, text: String) -> [Cell; 2] {
    [Cell::styled(name, DIM), text.into()]
}
