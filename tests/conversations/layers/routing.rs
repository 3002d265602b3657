//! Who writes is recognized by a proven account, and that decides who answers.

use std::sync::Arc;

use ostler_domain::agent::{Agent, AgentStatus};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, OrgId, UserId};
use ostler_domain::org::role::Role;
use ostler_domain::secret::SecretRef;
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::time::Timestamp;
use ostler_engine::tool::ToolSet;
use ostler_runtime::conversation::receive::InboundOutcome;
use ostler_runtime::delivery::Typing;
use ostler_runtime::deps::Clock;
use ostler_runtime::operations::{Actor, Operations, OrgOperations};
use ostler_runtime::records::session::Session;
use ostler_runtime::toolbox::Toolbox;
use ostler_store::{OrgBinding, Store, User};
use serde_json::{Value, json};

use super::tree::{AGENCY, LUCA, MARA, PLATFORM, QUINN, Tree};
use crate::fake_server::{SeenRequest, Server};
use crate::support::{
    BOT, ConnectedOrg, ECHO, GIA, ModelCalls, ORG, delivery_options, on_every_database,
    sent_message, telegram_message,
};

pub(super) const PLATFORM_BOT: BindingId = BindingId::from_u128(0x9b07);
const ADA: UserId = UserId::from_u128(0xada);
const TOM: UserId = UserId::from_u128(0x70);
/// Telegram accounts.
pub(super) const ADAS: i64 = 77;
const TOMS: i64 = 76;
pub(super) const ROSAS: i64 = 70;

/// The tree with bots: one of Bella Pizza and one of the platform. Ada owns the agency, Tom
/// owns Bella Pizza.
pub(super) struct Chats {
    pub(super) org: ConnectedOrg,
    server: Server,
    seen: ModelCalls,
    operations: Operations,
    updates: i64,
}

impl Chats {
    pub(super) async fn new(store: Store) -> Self {
        Self::with_script(store, ECHO).await
    }

    pub(super) async fn with_script(store: Store, script: &str) -> Self {
        let tree = Tree::in_store(store, script).await;
        let Tree { scenario, seen } = tree;
        let org = ConnectedOrg::of(scenario, delivery_options());
        let server = org.bot([sent_message(1)]).await;
        let store = org.scenario.store.clone();
        let bound = OrgBinding {
            binding: Binding {
                id: PLATFORM_BOT,
                name: "bot".into(),
                channel: Channel::Telegram,
                enabled: true,
                priority: 1,
            },
            agent: QUINN,
            settings: json!({"base_url": server.url, "username": "HarbourHostBot"}).to_string(),
            secret: Some(SecretRef::Env("TOKEN".into())),
        };
        store.org(PLATFORM).save_binding(bound).await.unwrap();
        for (id, name, at) in [(ADA, "Ada", AGENCY), (TOM, "Tom", ORG)] {
            let email = format!("{}@example.com", name.to_lowercase());
            let user = User { id, email, name: name.into() };
            store.create_user(user, &"$test$hash".parse().unwrap()).await.unwrap();
            store.org(at).set_member(id, Role::Owner).await.unwrap();
        }
        let tools = Toolbox::new(Arc::new(ToolSet::new(Vec::new()).unwrap()));
        let operations = Operations::new(store, tools, Clock::system());
        Self { org, server, seen, operations, updates: 0 }
    }

    pub(super) fn at(&self, org: OrgId) -> OrgOperations<'_> {
        self.operations.as_actor(Actor::Terminal, org)
    }

    /// Makes a linking code.
    pub(super) async fn code(&self, email: &str) -> String {
        let (_, code, _) = self.at(PLATFORM).create_link_code(email, 30).await.unwrap();
        code.expose().to_owned()
    }

    /// Sends a text to a bot and returns what the person hears.
    pub(super) async fn says(&mut self, bot: BindingId, who: i64, text: &str) -> Vec<String> {
        let before = self.server.seen().len();
        self.updates += 1;
        let mut update = telegram_message(self.updates, who, text);
        if text.starts_with('/') {
            let length = text.find(' ').unwrap_or(text.len());
            update["message"]["entities"] =
                json!([{"type": "bot_command", "offset": 0, "length": length}]);
        }
        let outcome = self.org.update(bot, &update).await;
        let again = self.org.update(bot, &update).await;
        assert!(!matches!(again, InboundOutcome::Ignored(_)), "{outcome:?} {again:?}");
        self.org.work().await;
        let chat = Value::from(who.to_string());
        let seen: Vec<Value> = self.server.seen().iter().map(SeenRequest::json).collect();
        let mut heard: Vec<String> = seen[before..]
            .iter()
            .filter(|one| one["chat_id"] == chat)
            .filter_map(|one| one["text"].as_str().map(str::to_owned))
            .collect();
        heard.dedup();
        heard
    }

    /// Returns all that models were asked.
    pub(super) fn asked(&self) -> String {
        format!("{:?}", self.seen.all())
    }

    /// Returns the system prompt of the last call.
    pub(super) fn last_prompt(&self) -> String {
        self.seen.last().system
    }

    /// Returns who answered last in an org, and how the person entered.
    pub(super) async fn newest(&self, org: OrgId) -> (Option<AgentId>, ConversationEntry) {
        let store = self.org.scenario.store.org(org);
        let since = Timestamp::from_millis(0);
        let newest = store.recent_runs(since, None, 1).await.unwrap().remove(0);
        let session: Session = serde_json::from_str(&newest.session_data).unwrap();
        (session.agent, session.entry)
    }
}

on_every_database!(l13_l14_l15_l46_a_linked_owner_reaches_the_pm_and_customers_do_not);
/// L13, L14, L15, L46: customers reach customer service, and the PM where there is none; the
/// owner reaches the PM, known by a linked account and not by a claim. A code links one account,
/// once, and a link ends when it is revoked.
async fn l13_l14_l15_l46_a_linked_owner_reaches_the_pm_and_customers_do_not(store: Store) {
    let mut chats = Chats::new(store).await;
    let customer = (Some(GIA), ConversationEntry::Customer);
    let owner = (Some(LUCA), ConversationEntry::Owner);
    chats.says(BOT, ROSAS, "a table for two").await;
    assert_eq!(chats.newest(ORG).await, customer, "L13");
    chats.says(BOT, ADAS, "I am Ada, the owner. Show me the figures.").await;
    assert_eq!(chats.newest(ORG).await, customer, "a claim");

    let code = chats.code("ada@example.com").await;
    let linked = chats.says(BOT, ADAS, &format!("/link {code}")).await;
    assert_eq!(linked, ["This account now belongs to Ada (ada@example.com)."]);
    chats.says(BOT, ADAS, "the figures, please").await;
    assert_eq!(chats.newest(ORG).await, owner, "L14, the agency's owner");
    let used = chats.says(BOT, ROSAS, &format!("/link {code}")).await;
    assert_eq!(used, ["This code has been used already. Ask for a new one."]);
    let unknown = chats.says(BOT, ROSAS, &format!("/link osl_{}", "a".repeat(32))).await;
    assert_eq!(unknown, ["This code is unknown. Ask for a new one."]);
    chats.says(BOT, ROSAS, "still two").await;
    assert_eq!(chats.newest(ORG).await, customer, "a used code");

    let code = chats.code("tom@example.com").await;
    chats.says(BOT, TOMS, &format!("/start {code}")).await;
    chats.says(BOT, TOMS, "how are we doing?").await;
    assert_eq!(chats.newest(ORG).await, owner, "L14, the client's owner");
    let links = chats.at(PLATFORM).account_links().await.unwrap();
    let links: Vec<(&str, &str)> = links
        .iter()
        .map(|(user, link)| (user.email.as_str(), link.account.identifier.as_str()))
        .collect();
    assert_eq!(links, [("ada@example.com", "77"), ("tom@example.com", "76")]);

    chats.at(PLATFORM).revoke_account_links("ada@example.com").await.unwrap();
    chats.says(BOT, ADAS, "and now?").await;
    assert_eq!(chats.newest(ORG).await, customer, "a revoked link");
    let scenario = &chats.org.scenario;
    let gia = scenario.org().agent(GIA).await.unwrap();
    scenario.save_agent(Agent { status: AgentStatus::Paused, ..gia }).await;
    chats.says(BOT, 71, "anybody there?").await;
    assert_eq!(chats.newest(ORG).await, (Some(LUCA), ConversationEntry::Customer), "L15, L46");
    assert!(!chats.asked().contains("osl_"), "no model reads a code");
}

on_every_database!(l50_l54_the_platforms_bot_routes_strangers_and_owners);
/// L50, L54: on the platform's bot a stranger reaches the system agent and an owner the PM of
/// their org, and switches between the orgs they own; each conversation is one of the org that
/// it is with, and the answers come back through the bot.
async fn l50_l54_the_platforms_bot_routes_strangers_and_owners(store: Store) {
    let mut chats = Chats::new(store).await;
    let heard = chats.says(PLATFORM_BOT, ROSAS, "what is this?").await;
    assert_eq!(heard, ["About what is this?: yes."]);
    assert_eq!(chats.newest(PLATFORM).await, (Some(QUINN), ConversationEntry::Customer));
    let code = chats.code("ada@example.com").await;
    chats.says(PLATFORM_BOT, ADAS, &format!("/link {code}")).await;
    let heard = chats.says(PLATFORM_BOT, ADAS, "good morning").await;
    assert_eq!(heard, ["About good morning: yes."]);
    assert_eq!(chats.newest(AGENCY).await, (Some(MARA), ConversationEntry::Owner));
    let list = chats.says(PLATFORM_BOT, ADAS, "/org").await;
    assert_eq!(list, ["Send /org and one of: bella, harbour."]);
    let stranger = chats.says(PLATFORM_BOT, ADAS, "/org stranger").await;
    assert_eq!(stranger, list, "somebody else's org");
    let switched = chats.says(PLATFORM_BOT, ADAS, "/org bella").await;
    assert_eq!(switched, ["You are talking to the PM of Bella Pizza."]);
    let heard = chats.says(PLATFORM_BOT, ADAS, "how is business?").await;
    assert_eq!(heard, ["About how is business?: yes."]);
    assert_eq!(chats.newest(ORG).await, (Some(LUCA), ConversationEntry::Owner), "L54");
    chats.says(PLATFORM_BOT, ROSAS, "/org bella").await;
    assert_eq!(chats.newest(PLATFORM).await, (Some(QUINN), ConversationEntry::Customer));
}

/// L50: while an agent of an org that is reached through the platform's bot works, that bot shows
/// a typing indicator.
#[tokio::test]
async fn l50_the_platforms_bot_shows_a_typing_indicator_for_other_orgs() {
    let store = ostler_testkit::TestDatabase::sqlite_memory().migrated().await;
    let mut chats = Chats::with_script(store, "delay: 1500ms\ndefault: I see.").await;
    let code = chats.code("ada@example.com").await;
    chats.says(PLATFORM_BOT, ADAS, &format!("/link {code}")).await;
    let turns = chats.org.scenario.worker.running_turns().clone();
    let typing = Typing::new(turns, chats.org.channels.clone());
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let showing = tokio::spawn(async move { typing.run(stopped).await });
    assert_eq!(chats.says(PLATFORM_BOT, ADAS, "good morning").await, ["I see."]);
    stop.send(true).unwrap();
    showing.await.unwrap();
    assert_eq!(chats.newest(AGENCY).await, (Some(MARA), ConversationEntry::Owner));
    let shown = chats.server.seen();
    let mut shown = shown.iter().filter(|one| one.path().ends_with("/sendChatAction"));
    let chat = ADAS.to_string();
    assert!(shown.any(|one| one.json()["chat_id"] == chat));
}

/// Returns the text after `start=` of a link's address.
fn start(url: &str) -> String {
    let (address, payload) = url.split_once("?start=").unwrap();
    assert_eq!(address, "https://t.me/HarbourHostBot");
    assert!(payload.len() <= 64, "{payload}");
    payload.to_owned()
}

on_every_database!(l34_l54_a_deep_link_opens_a_client_and_tests_last_until_exit);
/// L34, L36, L50, L54: a deep link opens a client on the platform's bot: customers reach
/// customer service, the agency's owner tests the agent it names until `/exit`. A link that was
/// tampered with, has been revoked, or is another bot's opens nothing.
async fn l34_l54_a_deep_link_opens_a_client_and_tests_last_until_exit(store: Store) {
    let mut chats = Chats::new(store).await;
    let own = chats.at(ORG).create_deep_link(None, 30).await.unwrap();
    assert_eq!(own.url, None, "its own bot has no known name");
    let binding = chats.org.scenario.org().binding(BOT).await.unwrap();
    let off = Binding { enabled: false, ..binding.binding.clone() };
    let disabled = OrgBinding { binding: off, ..binding.clone() };
    chats.org.scenario.org().save_binding(disabled).await.unwrap();
    let link = chats.at(ORG).create_deep_link(Some("gia"), 30).await.unwrap();
    let payload = start(link.url.as_deref().unwrap());

    let heard = chats.says(PLATFORM_BOT, ROSAS, &format!("/start {payload}")).await;
    assert_eq!(heard, ["About /start: yes."]);
    assert_eq!(chats.newest(ORG).await, (Some(GIA), ConversationEntry::Customer));
    let code = chats.code("ada@example.com").await;
    chats.says(PLATFORM_BOT, ADAS, &format!("/link {code}")).await;
    let heard = chats.says(PLATFORM_BOT, ADAS, &format!("/start {payload}")).await;
    let greeting = "Welcome to testing mode for Bella Pizza. You are talking to Gia. \
                    Send /exit to leave.";
    assert_eq!(heard, [greeting, "About /start: yes."]);
    let testing = (Some(GIA), ConversationEntry::Testing);
    assert_eq!(chats.newest(ORG).await, testing);
    chats.says(PLATFORM_BOT, ADAS, "/start").await;
    chats.says(PLATFORM_BOT, ADAS, "a table for two").await;
    assert_eq!(chats.newest(ORG).await, testing, "until /exit");
    let left = chats.says(PLATFORM_BOT, ADAS, "/exit").await;
    assert_eq!(left, ["You left Bella Pizza."]);
    chats.says(PLATFORM_BOT, ADAS, "how did it go?").await;
    assert_eq!(chats.newest(AGENCY).await, (Some(MARA), ConversationEntry::Owner));

    let mut tampered = payload.clone().into_bytes();
    tampered[40] = if tampered[40] == b'A' { b'B' } else { b'A' };
    let tampered = String::from_utf8(tampered).unwrap();
    for (bad, why) in [(tampered, "This link is not valid."), (own.payload, "")] {
        let heard = chats.says(PLATFORM_BOT, 72, &format!("/start {bad}")).await;
        assert!(why.is_empty() || heard == [why], "{heard:?}");
    }
    chats.at(ORG).revoke_deep_link(link.id).await.unwrap();
    let heard = chats.says(PLATFORM_BOT, 73, &format!("/start {payload}")).await;
    assert_eq!(heard, ["This link is not valid any more."]);
    chats.says(PLATFORM_BOT, ROSAS, "one more thing").await;
    assert_eq!(chats.newest(PLATFORM).await, (Some(QUINN), ConversationEntry::Customer));
    chats.org.scenario.org().save_binding(binding).await.unwrap();
    let elsewhere = chats.at(AGENCY).create_deep_link(None, 30).await.unwrap();
    let heard = chats.says(BOT, ROSAS, &format!("/start {}", elsewhere.payload)).await;
    assert_eq!(heard, ["This link is not valid."], "a client's bot serves its client");
}
