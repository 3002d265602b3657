//! HTTP tools and MCP servers of an org.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::AuditId;
use ostler_domain::tool::org_tools::{OrgTool, OrgToolKind};
use ostler_store::{NewAuditEntry, Store, StoreError};
use serde_json::json;

use crate::on_every_backend;
use crate::support::{next, with_org};

fn http(name: &str) -> OrgTool {
    let tool = json!({"name": name, "description": "Reads.", "risk": "read",
        "url": "https://shop.example", "headers": {"Authorization": "Bearer env:TOKEN"}});
    OrgTool::Http(serde_json::from_value(tool).unwrap())
}

fn mcp(name: &str) -> OrgTool {
    OrgTool::Mcp(serde_json::from_value(json!({"name": name, "command": "stock"})).unwrap())
}

fn entry() -> NewAuditEntry {
    NewAuditEntry {
        id: AuditId::from_u128(next()),
        actor: AuditActor::Terminal,
        action: "save_tool".into(),
        subject: "x".into(),
        data: "{}".into(),
    }
}

on_every_backend!(
    /// O17, O18: the tools of an org are part of its configuration, and each change has its
    /// audit entry.
    o18_tools_of_an_org_are_part_of_its_configuration
);
async fn o18_tools_of_an_org_are_part_of_its_configuration(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let of = store.org(org);
    let version = async || of.config_version().await.unwrap();
    let elsewhere = store.org(other).config_version().await.unwrap();
    let mut versions = vec![version().await];
    for tool in [mcp("stock"), http("b"), http("a")] {
        of.audited(entry()).save_org_tool(tool).await.unwrap();
        versions.push(version().await);
    }
    let stored: Vec<OrgTool> =
        of.org_tools().await.unwrap().into_iter().map(|one| one.tool).collect();
    assert_eq!(stored, [http("a"), http("b"), mcp("stock")]);
    let OrgTool::Http(mut changed) = http("a") else { panic!("it is an HTTP tool") };
    changed.timeout_secs = 7;
    of.audited(entry()).save_org_tool(OrgTool::Http(changed)).await.unwrap();
    versions.push(version().await);
    of.audited(entry()).delete_org_tool(OrgToolKind::Http, "b").await.unwrap();
    versions.push(version().await);
    let config = of.config(10).await.unwrap().tools;
    assert_eq!((config.http.len(), config.mcp.len()), (1, 1));
    assert_eq!(config.http[0].timeout_secs, 7);
    for (earlier, later) in versions.iter().zip(&versions[1..]) {
        assert_ne!(earlier, later);
    }
    assert_eq!(store.org(other).config_version().await.unwrap(), elsewhere);
    assert_eq!(of.audit_entries(None, None, 10).await.unwrap().len(), 5);
}

on_every_backend!(
    /// A05: a tool of another org is not found, and deleting it changes nothing.
    a05_a_foreign_tool_is_not_found
);
async fn a05_a_foreign_tool_is_not_found(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    store.org(here).audited(entry()).save_org_tool(http("a")).await.unwrap();
    assert!(store.org(there).org_tools().await.unwrap().is_empty());
    assert!(store.org(there).config(10).await.unwrap().tools.is_empty());
    let cut = store.org(there).audited(entry()).delete_org_tool(OrgToolKind::Http, "a").await;
    assert!(matches!(cut, Err(StoreError::NotFound("HTTP tool"))), "{cut:?}");
    assert_eq!(store.org(here).org_tools().await.unwrap().len(), 1);
    assert!(
        store.org(there).audit_entries(None, None, 10).await.unwrap().is_empty(),
        "no entry without it"
    );
}
