//! `ostler integration ls`.

use std::collections::BTreeMap;

use ostler_store::IntegrationConnection;
use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::screen::{Cell, DIM, GOOD, HEADER, NextCommand, WARNING, print_next, print_rows};
use crate::secrets;

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let integrations = operator.org(&org).integrations().await?;
    let mut tools: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for spec in operator.tools.built_in.specs() {
        for service in &spec.integrations {
            tools.entry(service.to_string()).or_default().push(spec.name.to_string());
        }
    }
    for integration in &integrations {
        tools.entry(integration.service.to_string()).or_default();
    }
    let stored = |service: &str| {
        integrations.iter().find(|integration| integration.service.to_string() == service)
    };
    let connected = |service: &str| {
        stored(service)
            .is_some_and(|integration| integration.connection == IntegrationConnection::Connected)
    };
    let key = |service: &str| stored(service).and_then(|integration| integration.secret.clone());
    if args.output.json {
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
            Cell::styled("not connected", DIM)
        };
        let key = key(service).map_or_else(Cell::default, |at| {
            match secrets::service_secrets(&operator.installation).read_key(org.id, &at) {
                Ok(_) => at.to_string().into(),
                Err(error) => Cell::styled(format!("{at}: {error}"), WARNING),
            }
        });
        [service.as_str().into(), state, key, tools.join(", ").into()]
    }));
    print_rows(&rows);
    if let Some(service) = tools.keys().find(|service| !connected(service)) {
        let slug = &org.slug;
        let connect = format!("ostler integration connect {service} --org {slug}");
        print_next([NextCommand::new(connect, "")]);
    }
    Ok(())
}
