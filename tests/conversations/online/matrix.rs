//! The guardrail matrix over HTTP: the keys of an owner at each business layer, and a visitor,
//! try each capability on every organization.

use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::org::{Org, OrgPlace};
use ostler_testkit as testkit;
use serde_json::{Value, json};

use super::{Online, key};
use crate::support::{ECHO, ORG, Scenario, org};

const PLATFORM: OrgId = OrgId::from_u128(0x01);
const AGENCY: OrgId = OrgId::from_u128(0x0a);
const STRANGER: OrgId = OrgId::from_u128(0x0c);
const ORGS: [(OrgId, &str); 4] =
    [(PLATFORM, "platform"), (AGENCY, "harbour"), (ORG, "bella"), (STRANGER, "stranger")];

/// What is tried, and the request for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Capability {
    CreateClient,
    ModifyAgent,
    ManageSettings,
    ReadData,
    WriteData,
    DelegateDown,
    GrantCredits,
}

use Capability::{
    CreateClient, DelegateDown, GrantCredits, ManageSettings, ModifyAgent, ReadData, WriteData,
};

const CAPABILITIES: [Capability; 7] =
    [CreateClient, ModifyAgent, ManageSettings, ReadData, WriteData, DelegateDown, GrantCredits];

/// Returns whether the owner of an org at this layer may do it to an org. The layers are those
/// of the table in `layers/matrix.rs`: the platform does everything, an agency looks at its
/// clients and gives them work, a client has itself only.
fn allowed(capability: Capability, layer: u8, target: OrgId) -> bool {
    match (capability, layer) {
        (_, 4) | (DelegateDown | CreateClient, 3) => false,
        // There is one level of clients, below agencies.
        (CreateClient, 1) => matches!(target, AGENCY | STRANGER),
        (DelegateDown, 1) => matches!(target, AGENCY | STRANGER),
        (DelegateDown, _) => target == ORG,
        (_, 1) => true,
        (GrantCredits, _) => false,
        (ReadData, 2) => matches!(target, AGENCY | ORG),
        (_, 2) => target == AGENCY,
        (_, _) => target == ORG,
    }
}

/// Returns the method, the path below an org, and the body; work is given from the own org.
fn request(
    capability: Capability,
    slug: &str,
    number: usize,
) -> (&'static str, &'static str, Value) {
    match capability {
        CreateClient => (
            "POST",
            "/clients",
            json!({"slug": format!("new-{number}"), "name": "New", "time_zone": "UTC"}),
        ),
        ModifyAgent => {
            let agent = if slug == "bella" { "/agents/gia" } else { "/agents/pm" };
            ("PATCH", agent, json!({"knowledge_tags": [format!("tag-{number}")]}))
        }
        ManageSettings => ("PATCH", "/settings", json!({"team": {"max_handoffs": number}})),
        ReadData => ("GET", "/sessions", Value::Null),
        WriteData => (
            "POST",
            "/knowledge",
            json!({"title": format!("T{number}"), "body": format!("B{number}"), "tags": []}),
        ),
        DelegateDown => ("POST", "/org-delegations", json!({"to": slug, "instruction": "work"})),
        GrantCredits => (
            "POST",
            "/credits/grants",
            json!({"reference": format!("r{number}"), "pool": "purchased", "amount": 1}),
        ),
    }
}

/// L37, L39-L41, L44, L31, S01: the matrix over HTTP. What is not allowed is refused as forbidden
/// or not found, and a client of a client or of the platform as not valid; a visitor is nobody
/// here.
#[tokio::test(flavor = "multi_thread")]
async fn l31_l37_l39_l40_l41_l44_the_matrix_holds_over_http() {
    let scenario = Scenario::new(ECHO).await;
    let store = scenario.store.clone();
    for (id, slug, place) in [
        (PLATFORM, "platform", OrgPlace::Platform),
        (AGENCY, "harbour", OrgPlace::TopLevel),
        (STRANGER, "stranger", OrgPlace::TopLevel),
    ] {
        store.create_org(org(id, slug, place, LicencePlan::Enterprise)).await.unwrap();
        let pm = AgentId::from_u128(id.as_u128() << 8);
        testkit::save_agent(&store.org(id), testkit::agent(id, pm, "pm")).await;
    }
    let bella = store.org(ORG).org().await.unwrap();
    let place = OrgPlace::SubOrg { parent: AGENCY };
    store.org(ORG).update_org(Org { place, ..bella }).await.unwrap();
    let owners =
        [(1, PLATFORM, Role::PlatformAdmin), (2, AGENCY, Role::Owner), (3, ORG, Role::Owner)];
    let secret = |layer: u8| format!("osk_the-owner-of-an-organization-at-{layer:06}");
    for (layer, home, role) in owners {
        key(&scenario, home, 10 + u128::from(layer), &secret(layer), role).await;
    }
    let online = Online::with(scenario).await;
    let visitor = online.visitor().await;
    let mut number = 1;
    for capability in CAPABILITIES {
        for layer in 1..=4_u8 {
            let home = owners.iter().find(|one| one.0 == layer).map_or(ORG, |one| one.1);
            let token = if layer == 4 { visitor.clone() } else { secret(layer) };
            for (target, slug) in ORGS {
                number += 1;
                let at = if capability == DelegateDown { home } else { target };
                let (method, path, body) = request(capability, slug, number);
                let url = online.url(&format!("/v1/orgs/{at}{path}"));
                let request = online.http.request(method.parse().unwrap(), url);
                let request = request.bearer_auth(&token);
                let request = if body.is_null() { request } else { request.json(&body) };
                let status = request.send().await.unwrap().status().as_u16();
                let case = format!("{capability:?} at layer {layer} on {slug}: {status}");
                let expected = allowed(capability, layer, target);
                assert_eq!((200..300).contains(&status), expected, "{case}");
                let refused: &[u16] = match (capability, layer) {
                    (_, 4) => &[401],
                    (CreateClient, _) => &[403, 404, 422],
                    _ => &[403, 404],
                };
                assert!(expected || refused.contains(&status), "{case}");
            }
        }
    }
}
