//! `ostler integration`: the services that an org's tools can use.

use std::collections::BTreeMap;

use anyhow::bail;
use ostler_domain::org::Org;
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::Integration as Service;
use ostler_store::{Connection, OrgIntegration};
use serde_json::json;

use super::{Desk, open};
use crate::cli::operate::{Connect, In, Integration};
use crate::screen::{Cell, GOOD, HEADER, QUIET, WAITS, print_rows};
use crate::{secrets, toolbox};

/// The services that take a key.
const KEYED: [&str; 1] = ["unsplash"];

pub(crate) async fn run(command: &Integration) -> anyhow::Result<()> {
    match command {
        Integration::Ls(place) => ls(place).await,
        Integration::Connect(connect) => self::connect(connect).await,
        Integration::Disconnect(disconnect) => {
            let (desk, org) = open(&disconnect.place).await?;
            let done = desk.office(&org).disconnect(&disconnect.service).await?;
            said(&done, disconnect.place.output.json, "is not connected any more")
        }
    }
}

async fn connect(command: &Connect) -> anyhow::Result<()> {
    let (desk, org) = open(&command.place).await?;
    let secret = secret(&desk, &org, command).await?;
    let done = desk.office(&org).connect(&command.service, secret).await?;
    said(
        &done,
        command.place.output.json,
        "is connected; its tools are there from the next turn on",
    )
}

fn said(done: &OrgIntegration, json: bool, what: &str) -> anyhow::Result<()> {
    if json {
        let connected = done.connection == Connection::Connected;
        let secret = done.secret.as_ref().map(ToString::to_string);
        return crate::commands::print_json(
            &json!({"service": done.service, "connected": connected, "secret": secret}),
        );
    }
    let key = done.secret.as_ref().map_or_else(String::new, |at| format!("  key: {at}"));
    anstream::println!("{} {what}{QUIET}{key}{QUIET:#}", done.service);
    Ok(())
}

/// Where the key of a service is: where it is said to be, or else in the org's own
/// variable or the operator's, whichever is there.
async fn secret(desk: &Desk, org: &Org, command: &Connect) -> anyhow::Result<Option<SecretRef>> {
    let readable = |at: &SecretRef| toolbox::of_services(&desk.home).read_key(org.id, at);
    if let Some(at) = &command.secret {
        secrets::accept(readable(at))?;
        return Ok(Some(at.clone()));
    }
    let service = Service::new(&command.service);
    let known = desk.store.org(org.id).integration_with(&service).await?;
    let kept = known.is_some_and(|one| one.secret.is_some());
    let name = service.to_string();
    if kept || !KEYED.contains(&name.as_str()) {
        return Ok(None);
    }
    let (own, shared) = (toolbox::own_variable(org.id, &name), toolbox::shared_unsplash());
    let found = [&own, &shared].into_iter().find(|at| readable(at).is_ok());
    let Some(found) = found else {
        let variable = |at: &SecretRef| at.to_string().replacen("env:", "", 1);
        bail!(
            "{name} takes a key, and there is none; set {} for {} alone or {} for every org, where \
             the agents run and here, or say with --secret where it is",
            variable(&own),
            org.name,
            variable(&shared)
        );
    };
    Ok(Some(found.clone()))
}

async fn ls(place: &In) -> anyhow::Result<()> {
    let (desk, org) = open(place).await?;
    let known = desk.office(&org).integrations().await?;
    let mut tools: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for spec in desk.tools.specs() {
        for service in &spec.integrations {
            tools.entry(service.to_string()).or_default().push(spec.name.to_string());
        }
    }
    for one in &known {
        tools.entry(one.service.to_string()).or_default();
    }
    let of = |service: &str| known.iter().find(|one| one.service.to_string() == service);
    let connected =
        |service: &str| of(service).is_some_and(|one| one.connection == Connection::Connected);
    let key = |service: &str| of(service).and_then(|one| one.secret.clone());
    if place.output.json {
        let all: Vec<_> = tools
            .iter()
            .map(|(service, tools)| {
                json!({"service": service, "connected": connected(service), "tools": tools,
                    "secret": key(service).map(|at| at.to_string())})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    let header = ["service", "state", "key", "tools"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(tools.iter().map(|(service, tools)| {
        let state = if connected(service) {
            Cell::styled("connected", GOOD)
        } else {
            Cell::styled("not connected", QUIET)
        };
        let key = key(service).map_or_else(Cell::default, |at| {
            match toolbox::of_services(&desk.home).read_key(org.id, &at) {
                Ok(_) => at.to_string().into(),
                Err(error) => Cell::styled(format!("{at}: {error}"), WAITS),
            }
        });
        [service.as_str().into(), state, key, tools.join(", ").into()]
    }));
    print_rows(&rows);
    if let Some(service) = tools.keys().find(|service| !connected(service)) {
        let slug = &org.slug;
        anstream::println!(
            "\n{QUIET}next{QUIET:#}  ostler integration connect {service} --org {slug}"
        );
    }
    Ok(())
}
