//! `ostler key`: keys of programs that use the HTTP API.

use std::time::Duration;

use ostler_domain::secret::KeySecret;
use ostler_domain::time::Timestamp;
use ostler_runtime::parts::Clock;
use serde_json::json;

use super::{open, say};
use crate::cli::operate::{In, Key, KeyCreate};
use crate::commands::session::view::clock;
use crate::random;
use crate::screen::{Cell, HEADER, QUIET, print_rows};

/// How many are listed.
const LISTED: u32 = 200;
/// How keys begin, so that a leaked one is recognized.
const PREFIX: &str = "osk_";

pub(crate) async fn run(command: &Key) -> anyhow::Result<()> {
    match command {
        Key::Create(create) => self::create(create).await,
        Key::Ls(place) => ls(place).await,
        Key::Revoke(revoke) => {
            let (desk, org) = open(&revoke.place).await?;
            desk.office(&org).revoke_key(revoke.key).await?;
            let done = json!({"id": revoke.key, "done": "revoked"});
            say(&revoke.place.output, &done, &format!("{} is of no use from now on", revoke.key))
        }
    }
}

async fn create(command: &KeyCreate) -> anyhow::Result<()> {
    let (desk, org) = open(&command.place).await?;
    let secret: KeySecret = format!("{PREFIX}{}", random::text()?).parse()?;
    let lasts = command.days.map(|days| Duration::from_secs(u64::from(days) * 86_400));
    let expires: Option<Timestamp> = lasts.map(|lasts| Clock::system().now() + lasts);
    let office = desk.office(&org);
    let id = office.create_key(&command.name, command.role, expires, &secret).await?;
    let secret = secret.expose();
    if command.place.output.json {
        let key = json!({"id": id, "name": command.name, "role": command.role,
            "expires_at": expires, "secret": secret});
        return crate::commands::print_json(&key);
    }
    anstream::println!("{secret}");
    anstream::eprintln!(
        "{QUIET}It is shown this once; keep it. {id} acts as {} in {}. Try it:\n  curl -H \
         \"Authorization: Bearer {secret}\" http://{}/v1/me{QUIET:#}",
        command.role,
        org.name,
        ostler_server::server::ADDRESS
    );
    Ok(())
}

async fn ls(place: &In) -> anyhow::Result<()> {
    let (desk, org) = open(place).await?;
    let keys = desk.office(&org).keys(None, LISTED).await?;
    if place.output.json {
        let all: Vec<_> = keys
            .iter()
            .map(|one| {
                json!({"id": one.id, "name": one.name, "role": one.role, "shown": one.shown,
                    "created_at": one.created_at, "expires_at": one.expires_at,
                    "revoked_at": one.revoked_at, "last_used_at": one.last_used_at})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    if keys.is_empty() {
        anstream::println!("{} has no keys; make one with `ostler key create`", org.name);
        return Ok(());
    }
    let header = ["key", "name", "role", "begins", "last used", "state"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    let now = Clock::system().now();
    rows.extend(keys.iter().map(|one| {
        let state = match (one.revoked_at, one.expires_at) {
            (Some(at), _) => format!("revoked {}", clock(at)),
            (None, Some(at)) if at <= now => format!("expired {}", clock(at)),
            (None, Some(at)) => format!("until {}", clock(at)),
            (None, None) => "good".to_owned(),
        };
        [
            one.id.to_string().into(),
            one.name.as_str().into(),
            one.role.name().into(),
            format!("{}…", one.shown).into(),
            one.last_used_at.map_or_else(|| "never".to_owned(), clock).into(),
            state.into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}
