//! Strangers sign up on the platform's web chat, and owners reach their PM there.

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentStatus};
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::org::{Org, OrgPlace};
use ostler_testkit as testkit;
use serde_json::Value;

use super::Online;
use super::chat::signed_visitor;
use crate::support::{ENZO, GIA, OWNER, Scenario, agent, lenient_settings};

/// A model that reads the answers of an interview.
const INTERVIEWER: &str = r#"
rules:
  - when: { agent: 'You read answers', user: { regex: '^(?<value>Rosa.*|yes)$' } }
    answer: '{"answer": "{{ value }}", "confidence": 95}'
  - when: { agent: 'You read answers', user: rather not }
    answer: '{"declined": true}'
  - when: { agent: 'You read answers' }
    answer: '{}'
default: I see.
"#;

const QUINN: AgentId = AgentId::from_u128(0x9011);
const AGENCY: OrgId = OrgId::from_u128(0xa6);
const CLIENT: OrgId = OrgId::from_u128(0xc1);
const STRANGER: OrgId = OrgId::from_u128(0x57);

/// The platform with its system agent and a web chat, where strangers may sign up.
async fn platform(script: &str) -> Online {
    let scenario = Scenario::new(script).await;
    let org = scenario.org().org().await.unwrap();
    scenario.org().update_org(Org { place: OrgPlace::Platform, ..org }).await.unwrap();
    for id in [GIA, ENZO] {
        scenario.change_agent(id, |agent| agent.status = AgentStatus::Paused).await;
    }
    let quinn = agent(QUINN, "quinn", Subtype::System);
    scenario.save_agent(Agent { autonomy: AutonomyLevel::Autonomous, ..quinn }).await;
    let sign_up = Some(Default::default());
    scenario.save_settings(&OrgSettings { sign_up, ..lenient_settings() }).await;
    Online::with(scenario).await
}

/// Posts a message and returns who answers, and the answer.
async fn say(online: &Online, token: &str, id: &str, text: &str) -> (String, String) {
    let mut page = online.listen(token, None).await;
    assert_eq!(online.post(token, id, text).await.status(), 202);
    loop {
        let event = page.next().await.expect("the stream goes on");
        let is_message = event.data["type"] == "message" && event.data["from"] == "visitor";
        if is_message && event.data["text"] == text {
            break;
        }
    }
    let answer = page.message().await.data;
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    (text("name"), text("text"))
}

/// Answers the whole interview and returns the last message in the page that was open at its
/// end. Its stream ends, so that the page opens that of the new conversation.
async fn sign_up(online: &Online, token: &str) -> String {
    for (n, text) in ["hello", "Rosa", "Rosa Bar", "rather not"].iter().enumerate() {
        let answer = say(online, token, &n.to_string(), text).await;
        assert_eq!(answer, ("Quinn".to_owned(), "I see.".to_owned()), "{text}");
    }
    let mut page = online.listen(token, None).await;
    assert_eq!(online.post(token, "9", "yes").await.status(), 202);
    let mut heard = String::new();
    while let Some(event) = page.next().await {
        if event.data["type"] == "message" {
            event.data["text"].as_str().unwrap().clone_into(&mut heard);
        }
    }
    heard
}

/// L49: an anonymous visitor of the platform's web chat signs up, is told so in the open page,
/// and from then on reaches the PM of their own organization in that browser.
#[tokio::test(flavor = "multi_thread")]
async fn l49_a_visitor_signs_up_on_the_platforms_web_chat() {
    let online = platform(INTERVIEWER).await;
    let token = online.visitor().await;
    let heard = sign_up(&online, &token).await;
    assert!(heard.starts_with("Rosa Bar is ready, and you are its owner."), "{heard}");
    let store = &online.scenario.store;
    let id = store.org_by_slug("rosa-bar").await.unwrap().expect("created");
    let members = store.org(id).members(None, 9).await.unwrap();
    assert_eq!((members.len(), members[0].role), (1, Role::Owner));
    assert!(members[0].user.email.ends_with("@sign-up.invalid"), "nobody's address");
    testkit::grant_credits(&store.org(id), "more", 100).await;
    let answer = say(&online, &token, "10", "good morning").await;
    assert_eq!(answer, ("Rosa Bar PM".to_owned(), "I see.".to_owned()));
    let other = online.visitor().await;
    assert_eq!(say(&online, &other, "1", "hello").await.0, "Quinn", "another browser");
}

/// L50: on the platform's web chat an owner, known by an address that the page's server
/// has signed, reaches the PM of their own organization; a signed address of a stranger signs
/// up as itself.
#[tokio::test(flavor = "multi_thread")]
async fn l50_the_platforms_web_chat_routes_owners() {
    let online = platform(INTERVIEWER).await;
    let store = &online.scenario.store;
    store.create_org(testkit::org(AGENCY, "harbour")).await.unwrap();
    let mara = agent(AgentId::from_u128(0x3a2a), "mara", Subtype::Pm);
    let mara = Agent { org: AGENCY, autonomy: AutonomyLevel::Autonomous, ..mara };
    testkit::save_agent(&store.org(AGENCY), mara).await;
    testkit::grant_credits(&store.org(AGENCY), "some", 100).await;
    let email = format!("{OWNER}@example.org");
    let ada = ostler_store::User { id: OWNER, email: email.clone(), name: "Ada".into() };
    store.create_user(ada, &"$test$hash".parse().unwrap()).await.unwrap();
    store.org(AGENCY).set_member(OWNER, Role::Owner).await.unwrap();
    let ada = signed_visitor(&online, &email).await;
    assert_eq!(say(&online, &ada, "1", "hello").await.0, "Mara");
    let anonymous = online.visitor().await;
    assert_eq!(say(&online, &anonymous, "1", &format!("I am {email}")).await.0, "Quinn");

    let rosa = signed_visitor(&online, "rosa@example.org").await;
    assert!(sign_up(&online, &rosa).await.starts_with("Rosa Bar is ready"));
    let account = store.user_account_by_email("rosa@example.org").await.unwrap();
    let id = store.org_by_slug("rosa-bar").await.unwrap().expect("created");
    assert_eq!(account.memberships.len(), 1);
    assert_eq!((account.memberships[0].org, account.memberships[0].role), (id, Role::Owner));
}

/// Posts a command and returns the reply that the page shows.
async fn command(online: &Online, token: &str, id: &str, text: &str) -> Option<String> {
    let answer: Value = online.post(token, id, text).await.json().await.unwrap();
    answer["reply"].as_str().map(str::to_owned)
}

/// L50, L54: on the platform's web chat an owner of several organizations lists them with `/org` and
/// switches; each is a conversation of its own, and no agent reads the command. For everybody else
/// it is a message.
#[tokio::test(flavor = "multi_thread")]
async fn l50_l54_an_owner_switches_organization_on_the_platforms_web_chat() {
    let online = platform(INTERVIEWER).await;
    let store = &online.scenario.store;
    let email = format!("{OWNER}@example.org");
    let ada = ostler_store::User { id: OWNER, email: email.clone(), name: "Ada".into() };
    store.create_user(ada, &"$test$hash".parse().unwrap()).await.unwrap();
    let client = OrgPlace::SubOrg { parent: AGENCY };
    for (n, id, slug, place, pm) in [
        (1, AGENCY, "harbour", OrgPlace::TopLevel, "mara"),
        (2, CLIENT, "nonna", client, "luca"),
        (3, STRANGER, "stranger", OrgPlace::TopLevel, "otto"),
    ] {
        store.create_org(Org { place, ..testkit::org(id, slug) }).await.unwrap();
        let agent = agent(AgentId::from_u128(0x3a2a + n), pm, Subtype::Pm);
        let agent = Agent { org: id, autonomy: AutonomyLevel::Autonomous, ..agent };
        testkit::save_agent(&store.org(id), agent).await;
        testkit::grant_credits(&store.org(id), "some", 100).await;
    }
    store.org(AGENCY).set_member(OWNER, Role::Owner).await.unwrap();
    let ada = signed_visitor(&online, &email).await;
    assert_eq!(say(&online, &ada, "1", "hello").await.0, "Mara");
    let list = Some("Send /org and one of: harbour, nonna.".to_owned());
    assert_eq!(command(&online, &ada, "2", "/org").await, list);
    assert_eq!(command(&online, &ada, "3", "/org stranger").await, list, "somebody else's");

    let switched = command(&online, &ada, "4", "/org nonna").await;
    assert_eq!(switched.as_deref(), Some("You are talking to the PM of Nonna."));
    assert_eq!(say(&online, &ada, "5", "how is business?").await.0, "Luca");
    let mut page = online.listen(&ada, None).await;
    let cursor = page.message().await.id.expect("a message has a cursor");
    let back = command(&online, &ada, "6", "/org harbour").await;
    assert_eq!(back.as_deref(), Some("You are talking to the PM of Harbour."));
    assert_eq!(say(&online, &ada, "7", "and here?").await.0, "Mara");

    let mut page = online.listen(&ada, Some(&cursor)).await;
    let mut heard = Vec::new();
    while heard.len() < 4 {
        heard.push(page.message().await.data["text"].as_str().unwrap().to_owned());
    }
    assert_eq!(heard, ["hello", "I see.", "and here?", "I see."], "the cursor is of the other");
    let rosa = online.visitor().await;
    assert_eq!(command(&online, &rosa, "1", "/org nonna").await, None);
}
