//! The guards at the entry of a conversation: which tools its agents have, whose records they
//! reach, what may leave, and whose requests are carried out.

use std::collections::BTreeSet;

use base64::Engine as _;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::{AgentId, ContactId};
use ostler_domain::org::settings::{ChannelAddress, NotifyAddresses, OrgSettings};
use ostler_domain::scope::removal::ScopeStage;
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::team::config::TeamConfig;
use ostler_engine::outcome::ToolOutcome;
use ostler_runtime::conversation::receive::InboundOutcome;
use ostler_runtime::deps::Settings;
use ostler_runtime::operations::Actor;
use ostler_runtime::operations::explain::session_scope;
use serde_json::{Value, json};

use crate::support::{
    ConnectedOrg, GIA, MAIL, ORG, Scenario, WEBCHAT, agent, lenient_settings, scenario,
    scenario_with, stub_tool,
};
use ostler_testkit::OrderSystem;

const PIA: AgentId = AgentId::from_u128(0x71a);
const ROSA: &str = "rosa@example.com";

async fn add_rosa(scenario: &Scenario) -> ContactId {
    let id = ContactId::from_u128(0xc1);
    let details = ContactDetails { phone: None, email: Some(ROSA.into()) };
    let rosa = Contact {
        id,
        name: "Rosa".into(),
        details,
        locale: None,
        tags: BTreeSet::new(),
        notes: Vec::new(),
        crm: None,
    };
    scenario.org().create_contact(rosa).await.unwrap();
    id
}

const GUARDED: &str = "
rules:
  - when: { user: invoice, agent: 'You are Gia' }
    answer: { call: tag_in_agent, with: { targetAgentId: enzo, reason: invoice, contextSummary: x } }
  - when: { user: ask pia, agent: 'You are Gia' }
    answer:
      - { call: tag_in_agent, with: { targetAgentId: pia, consult: true, reason: export all } }
      - 'Pia says: {{ result }}'
  - when: { agent: 'You are Pia', user: export all }
    answer: [{ call: export_contacts, with: {} }, 'Not possible: {{ result }}']
  - when: { user: delete }
    answer: [{ call: delete_contact, with: { contact_id: con_00000000000000000000000001 } }, '{{ result }}']
default: 'Yes.'
";

/// S02: a PM that stands in, a specialist after a handoff and a colleague who is consulted have
/// the rights of layer 4 and tools for customers only; to an owner the PM has all of them.
#[tokio::test]
async fn s02_every_agent_that_answers_a_customer_is_guarded_as_layer_4() {
    let (scenario, seen) = scenario(GUARDED).await;
    let team = TeamConfig { allow_parallel_execution: true, ..TeamConfig::default() };
    scenario.save_settings(&OrgSettings { team: Some(team), ..lenient_settings() }).await;
    scenario.save_agent(agent(PIA, "pia", Subtype::Pm)).await;
    scenario.change_agent(PIA, |pia| pia.autonomy = AutonomyLevel::Autonomous).await;
    scenario.say("otto", "hello").await;
    let (otto, operations) = (scenario.session("otto").await.id, scenario.operations());
    operations.as_actor(Actor::Terminal, ORG).assign(otto, &["gia", "pia"]).await.unwrap();
    scenario.work().await;
    scenario.deliver().await;
    let heard = scenario.say("otto", "ask pia").await;
    let refused = "this tool is not available to you";
    assert!(heard[0].starts_with(&format!("Pia says: Not possible: {refused}")), "{heard:?}");
    scenario.say("otto", "my invoice").await;
    let enzo = scenario.tools("otto").await;
    assert!(enzo.contains(&"refund_payment".into()) || enzo.contains(&"get_order".into()));
    assert!(!enzo.contains(&"delete_contact".into()), "{enzo:?}");

    scenario.bind(WEBCHAT, Channel::Webchat, PIA).await;
    let heard = scenario.say("rosa", "delete her").await;
    assert!(heard[0].starts_with(refused), "{heard:?}");
    let with_customer = scenario.tools("rosa").await;
    let prompt = seen.last().system;
    assert!(prompt.contains("You are Pia") && !prompt.contains("Plan:"), "{prompt}");
    let owner = scenario.key_on(WEBCHAT, "owner", ConversationEntry::Owner);
    scenario.say_in(&owner, "hello").await;
    let with_owner = scenario.tools("owner").await;
    assert!(seen.last().system.contains("Plan:"), "{}", seen.last().system);
    for tool in ["delete_contact", "export_contacts", "import_contacts"] {
        assert!(!with_customer.contains(&tool.into()), "{tool}");
        assert!(with_owner.contains(&tool.into()), "{tool}");
    }

    let session = scenario.session("rosa").await.id;
    let deps = scenario.worker.deps();
    let explained = session_scope(&scenario.store, &deps.tools, ORG, session, None).await.unwrap();
    let explained = explained.unwrap();
    for (tool, stage) in
        [("delete_contact", ScopeStage::Session), ("export_contacts", ScopeStage::BusinessLayer)]
    {
        let removal = explained.scope.find(tool).unwrap().removed.clone().unwrap();
        assert_eq!(removal.stage(), stage, "{tool}");
    }
}

/// S01: an HTTP tool sends the address of the proven contact, whatever the model writes; for
/// somebody unknown nothing is sent.
#[tokio::test(flavor = "multi_thread")]
async fn s01_an_http_tool_is_bound_to_the_proven_contact() {
    let shop = OrderSystem::start();
    let script = "
default: [{ call: my_points, with: { note: hi } }, '{{ result }}']
";
    let (scenario, _) = scenario(script).await;
    add_rosa(&scenario).await;
    scenario.change_agent(GIA, |gia| gia.autonomy = AutonomyLevel::Autonomous).await;
    let tool = format!(
        r#"
name = "my_points"
description = "Looks up the points of the customer."
risk = "write"
audience = "customer"
method = "POST"
url = "{}/points/{{contact.email}}"
body = {{ owner = "{{contact.id}}", note = "{{note}}" }}
[input]
properties.note = {{ type = "string" }}
"#,
        shop.url
    );
    scenario.define_tool(ORG, &tool).await;
    scenario.say(ROSA, "my points").await;
    let request = shop.requests().pop().unwrap();
    assert!(request.line.starts_with("POST /points/rosa%40example.com "), "{request:?}");
    assert_eq!(request.body, json!({"owner": ContactId::from_u128(0xc1), "note": "hi"}));
    let refused = scenario.say("0a1b2c", "my points").await;
    assert_eq!(refused, ["Nothing was sent: it is not proven who the customer is."]);
    assert_eq!(shop.requests().len(), 1);
}

const READS: &str = "
rules:
  - when: { user: { regex: 'fetch (?<url>\\S+)' } }
    answer: [{ call: web_fetch, with: { url: '{{ url }}' } }, '{{ result }}']
  - when: { user: look }
    answer: [{ call: search_contacts, with: {} }, 'Seen.']
default: 'Yes.'
";

/// S03: contacts are untrusted and private, so after reading them a page of a host that the org
/// does not list is fetched only if a person agrees. A listed host is fetched at once.
#[tokio::test]
async fn s03_after_private_data_an_unlisted_host_asks() {
    let fetch = stub_tool("web_fetch", |_| ToolOutcome::ok("a page"));
    let (scenario, _) = scenario_with(READS, vec![fetch], Settings::default()).await;
    let web_hosts = ["docs.example".to_owned()].into();
    scenario.save_settings(&OrgSettings { web_hosts, ..lenient_settings() }).await;
    scenario.save_agent(agent(PIA, "pia", Subtype::Pm)).await;
    scenario.change_agent(PIA, |pia| pia.autonomy = AutonomyLevel::Autonomous).await;
    add_rosa(&scenario).await;
    let say = async |person: &str, text: &str| {
        let key = scenario.key_on(WEBCHAT, person, ConversationEntry::Owner);
        scenario.say_in(&key, text).await.concat()
    };
    assert_eq!(say("first", "fetch https://evil.example/?q=1").await, "a page");
    assert_eq!(say("luca", "look").await, "Seen.");
    for (url, fetched) in [
        ("https://docs.example/x", true),
        ("https://DOCS.example", true),
        ("https://evil.example/?q=rosa", false),
        ("http://docs.example/x", false),
        ("https://docs.example.evil.example/", false),
        ("https://docs.example@evil.example/", false),
        ("https://docs.example\\\\@evil.example/", false),
    ] {
        let answer = say("luca", &format!("fetch {url}")).await;
        assert_eq!(answer == "a page", fetched, "{url}: {answer}");
    }
    let asked = scenario.session("luca").await.pending_approvals;
    assert_eq!(asked, 5);
}

/// An org with a mailbox whose gateway is `mx.bella.example`, and an owner with an address there.
async fn mail_org() -> ConnectedOrg {
    let org =
        ConnectedOrg::new("default: [{ call: search_contacts, with: {} }, '{{ result }}']").await;
    let settings = json!({"from": "ciao@bella.example", "smtp": {"host": "127.0.0.1", "port": 9,
        "security": "none"}, "inbound_secret": "env:KEY", "authserv_id": "mx.bella.example"});
    org.bind(MAIL, "email", GIA, 1, &settings).await;
    let owner = ChannelAddress { binding: MAIL, identifier: "owner@bella.example".into() };
    let people = NotifyAddresses { owner: Some(owner), ..NotifyAddresses::default() };
    let team = Some(TeamConfig::default());
    org.scenario.save_settings(&OrgSettings { people, team, ..OrgSettings::default() }).await;
    org
}

fn raw_mail(from: &str, results: &str, text: &str) -> Value {
    let mail =
        format!("{results}From: {from}\r\nTo: ciao@bella.example\r\nSubject: hi\r\n\r\n{text}\r\n");
    json!({"raw": base64::engine::general_purpose::STANDARD.encode(mail)})
}

/// S01, S08: a mail reaches the sender's records only if the configured gateway reports that it
/// passed DMARC. What a proven mail began, a forged one does not continue.
#[tokio::test]
async fn s08_a_mail_counts_as_a_persons_only_with_a_dmarc_pass() {
    let org = mail_org().await;
    add_rosa(&org.scenario).await;
    let of = |dmarc: &str| json!({"from": {"email": ROSA}, "text": format!("who am I, {dmarc}"), "dmarc": dmarc});
    let header = |gateway: &str| {
        format!("Authentication-Results: {gateway}; dmarc=pass header.from=example.com\r\n")
    };
    let ours = header("mx.bella.example");
    for (number, (mail, proven)) in [
        (of("none"), false),
        (of("pass"), true),
        (of("temperror"), false),
        (raw_mail(ROSA, &ours, "one"), true),
        (raw_mail(ROSA, &header("mx.evil.example"), "two"), false),
        (raw_mail(ROSA, "", "three"), false),
        (raw_mail("rosa@example.com, eve@evil.example", &ours, "four"), false),
        (raw_mail(ROSA, &format!("{ours}From: eve@example.com\r\n"), "five"), false),
    ]
    .into_iter()
    .enumerate()
    {
        let taken = org.receive_webhook(MAIL, &format!("d{number}"), &mail).await;
        assert!(matches!(taken, InboundOutcome::Accepted(_)), "{taken:?}");
        org.scenario.work().await;
        let sessions = org.scenario.sessions().await;
        let known = sessions.iter().any(|session| session.contact.is_some());
        assert_eq!(known, proven, "{number}: {mail}");
    }
    let failed = org.receive_webhook(MAIL, "d99", &of("fail")).await;
    assert!(matches!(failed, InboundOutcome::Ignored(_)), "{failed:?}");
}

/// S08: a forged mail in the owner's name neither answers a customer nor hands back; the
/// owner's own does.
#[tokio::test]
async fn s08_a_forged_mail_does_not_act_for_the_owner() {
    let org = mail_org().await;
    org.scenario.say("otto", "I want to talk to a human").await;
    org.scenario.dispatch_notices().await;
    let command = |dmarc: Option<&str>| {
        let mut mail = json!({"from": {"email": "owner@bella.example"}, "text": "@agent resume"});
        if let Some(dmarc) = dmarc {
            mail["dmarc"] = dmarc.into();
        }
        mail
    };
    for (number, dmarc) in [None, Some("none"), Some("softfail")].into_iter().enumerate() {
        org.receive_webhook(MAIL, &format!("f{number}"), &command(dmarc)).await;
    }
    assert!(org.team_requests.done().is_empty(), "{:?}", org.team_requests.done());
    let entry = org.scenario.sessions().await;
    assert!(entry.iter().all(|session| session.entry == ConversationEntry::Customer));
    let taken = org.receive_webhook(MAIL, "p1", &command(Some("pass"))).await;
    // Nobody was notified at this address, so there is nothing to hand back, but it is a
    // request of the owner and no message of a customer.
    assert!(matches!(taken, InboundOutcome::Ignored(_) | InboundOutcome::Done), "{taken:?}");
}
