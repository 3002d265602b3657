//! Notices to people: what causes them, where and when they arrive, and what happens if
//! nobody reacts.

mod causes;
mod choices;
mod receipts;

use ostler_domain::notice::preferences::NoticePreferences;
use ostler_domain::org::settings::{OWNER, OrgSettings, PersonNotices};
use ostler_domain::session::key::Peer;
use ostler_runtime::records::outgoing::OutgoingMessage;

use crate::support::{EMAIL, ORG, Scenario, TELEGRAM, text_of};

/// Returns the settings of the org.
async fn settings(scenario: &Scenario) -> OrgSettings {
    let id = ostler_runtime::org_view::settings_record(ORG);
    let record = scenario.org().record(ostler_runtime::org_view::SETTINGS, id).await.unwrap();
    serde_json::from_str(&record.data).unwrap()
}

/// Gives the owner a chat and an e-mail address, with these preferences.
async fn notify_owner(scenario: &Scenario, preferences: NoticePreferences) {
    let before = settings(scenario).await;
    scenario.set_notify_addresses(before.team.clone().unwrap_or_default()).await;
    let own = PersonNotices { preferences, ..PersonNotices::default() };
    let mut settings = settings(scenario).await;
    settings.triggers = before.triggers;
    settings.approvals = before.approvals;
    settings.notices.insert(OWNER.to_owned(), own);
    scenario.save_settings(&settings).await;
}

/// Returns the texts that the owner's chat gets.
async fn chat(scenario: &Scenario) -> Vec<String> {
    texts(&scenario.deliver().await, TELEGRAM, "1001")
}

/// Returns the texts that the owner's e-mail address gets.
async fn mail(scenario: &Scenario) -> Vec<String> {
    texts(&scenario.deliver().await, EMAIL, "owner@bella.example")
}

fn texts(sent: &[OutgoingMessage], binding: ostler_domain::id::BindingId, to: &str) -> Vec<String> {
    let to = Peer::Person(to.to_owned());
    sent.iter().filter(|one| one.binding == binding && one.to == to).map(text_of).collect()
}

/// Accepts a customer's message and answers it, without delivering anything.
async fn ask(scenario: &Scenario, text: &str) {
    scenario.write("rosa", text).await;
    scenario.work().await;
}
