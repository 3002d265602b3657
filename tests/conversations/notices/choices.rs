//! Where and when notices arrive, by the choice of each person.

use std::time::Duration;

use ostler_domain::human::escalation::Urgency;
use ostler_domain::id::UserId;
use ostler_domain::notice::preferences::{
    DigestSettings, DirectDestination, NoticeDestination, NoticePreferences, NoticeTopic,
    QuietHours, UrgentNotices,
};
use ostler_domain::notice::time_of_day::TimeOfDay;
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::{ChannelAddress, PersonNotices};
use ostler_domain::session::key::Peer;
use ostler_runtime::deps::Settings;

use super::{ask, chat, mail, notify_owner, settings, texts};
use crate::support::{EMAIL, GIA, Scenario, TELEGRAM, failing_tool, scenario_with};

const SCRIPT: &str = "
rules:
  - when: { user: forms }
    answer: [{ call: list_forms, with: { page: 1 } }, 'It says: {{ result }}']
  - when: { user: refund }
    answer:
      call: escalate_to_human
      with: { reason: a refund, urgency: high, contextSummary: Rosa paid twice }
default: I see.
";
const ANNA: UserId = UserId::from_u128(0xa11a);
const HOUR: u64 = 3600;

async fn new_scenario() -> Scenario {
    scenario_with(SCRIPT, vec![failing_tool("list_forms")], Settings::default()).await.0
}

fn route(topic: NoticeTopic, to: &[NoticeDestination]) -> NoticePreferences {
    let topics = [(topic, to.iter().copied().collect())].into();
    NoticePreferences { topics, ..NoticePreferences::default() }
}

async fn disable_tool(scenario: &Scenario) {
    for _ in 0..3 {
        ask(scenario, "forms").await;
    }
}

/// O31: a topic goes to the destinations that the person chose, and nowhere if there are
/// none; it stays in the list.
#[tokio::test]
async fn o31_a_topic_goes_where_the_person_chose() {
    let scenario = new_scenario().await;
    notify_owner(&scenario, route(NoticeTopic::Tools, &[NoticeDestination::Email])).await;
    disable_tool(&scenario).await;
    let sent = scenario.deliver().await;
    assert!(texts(&sent, TELEGRAM, "1001").is_empty());
    assert_eq!(texts(&sent, EMAIL, "owner@bella.example").len(), 1, "{sent:?}");

    let scenario = new_scenario().await;
    notify_owner(&scenario, route(NoticeTopic::Tools, &[])).await;
    disable_tool(&scenario).await;
    let sent = scenario.deliver().await;
    assert!(sent.iter().all(|one| one.binding != TELEGRAM && one.binding != EMAIL), "{sent:?}");
    assert_eq!(scenario.notices().await.len(), 1);
}

/// O31: a member who wants notices gets them too, at an address of their own; nobody who
/// has left the org does.
#[tokio::test]
async fn o31_a_member_gets_notices_until_they_leave() {
    let scenario = new_scenario().await;
    notify_owner(&scenario, NoticePreferences::default()).await;
    let email = format!("{ANNA}@example.org");
    let mut settings = settings(&scenario).await;
    let at = ChannelAddress { binding: TELEGRAM, identifier: "2002".into() };
    let own = PersonNotices { chat: Some(at), ..PersonNotices::default() };
    settings.notices.insert(email.clone(), own);
    scenario.save_settings(&settings).await;

    disable_tool(&scenario).await;
    let sent = scenario.deliver().await;
    assert_eq!(texts(&sent, TELEGRAM, "1001").len(), 1);
    assert!(texts(&sent, TELEGRAM, "2002").is_empty(), "she is no member");

    scenario.add_member(ANNA, Role::Operator).await;
    ask(&scenario, "a refund").await;
    let sent = scenario.deliver().await;
    assert_eq!(texts(&sent, TELEGRAM, "1001").len(), 1);
    assert_eq!(texts(&sent, TELEGRAM, "2002").len(), 1);
    let labels = |to: &str| -> Vec<String> {
        let to = Peer::Person(to.to_owned());
        let message = sent.iter().find(|one| one.to == to).unwrap();
        message.buttons.iter().map(|button| button.label.clone()).collect()
    };
    assert_eq!(labels("1001"), ["Take over", "Dismiss"]);
    assert_eq!(labels("2002"), ["OK"], "her chat may not act on conversations");
}

/// O31: in quiet hours notices wait for their end; urgent ones pass by default, and wait if
/// the person says so.
#[tokio::test]
async fn o31_quiet_hours_delay_all_but_urgent_notices() {
    // The clock of the scenario shows 21:20 UTC, which is 22:20 in Berlin.
    let quiet = |urgent| {
        let time = |text: &str| text.parse::<TimeOfDay>().unwrap();
        let quiet_hours = Some(QuietHours { from: time("22:00"), to: time("07:00"), urgent });
        let time_zone = Some("Europe/Berlin".to_owned());
        NoticePreferences { quiet_hours, time_zone, ..NoticePreferences::default() }
    };
    for (urgent, at_once) in [(UrgentNotices::Pass, 1), (UrgentNotices::Wait, 0)] {
        let scenario = new_scenario().await;
        notify_owner(&scenario, quiet(urgent)).await;
        disable_tool(&scenario).await;
        scenario.change_agent(GIA, |gia| gia.models = vec!["nobody/nothing".into()]).await;
        scenario.write("otto", "hello").await;
        scenario.work().await;
        let told = chat(&scenario).await;
        let no_model = told.iter().filter(|one| one.contains("no model answered")).count();
        assert_eq!((no_model, told.len()), (at_once, at_once), "{told:?}");
        scenario.advance(Duration::from_secs(9 * HOUR));
        // The tool, the model, and the escalation of normal urgency.
        assert_eq!(chat(&scenario).await.len(), 3 - at_once);
    }
}

/// O31: collected notices arrive as one message at the time of the digest, without the
/// words of customers.
#[tokio::test]
async fn o31_collected_notices_arrive_as_one_message() {
    let scenario = new_scenario().await;
    let mut preferences = route(NoticeTopic::Tools, &[NoticeDestination::Digest]);
    preferences.topics.insert(NoticeTopic::Escalations, [NoticeDestination::Digest].into());
    let at = "08:00".parse::<TimeOfDay>().unwrap();
    preferences.digest = DigestSettings { at, to: DirectDestination::Email };
    notify_owner(&scenario, preferences).await;
    disable_tool(&scenario).await;
    ask(&scenario, "a refund").await;
    assert!(mail(&scenario).await.is_empty());
    scenario.advance(Duration::from_secs(24 * HOUR));
    let sent = mail(&scenario).await;
    assert_eq!(sent.len(), 1, "{sent:?}");
    let lines: Vec<&str> = sent[0].lines().collect();
    assert_eq!(lines[0], "Bella Pizza: 2 notices");
    assert!(lines[1].ends_with("list_forms failed too often and is disabled in a session"));
    assert!(lines[2].ends_with("a customer needs a person"), "{lines:?}");
    assert!(!sent[0].contains("refund"));
    assert!(mail(&scenario).await.is_empty(), "it is sent once");
}

/// O31, G37: escalations follow the choices of the owner too.
#[tokio::test]
async fn o31_an_escalation_goes_where_the_owner_chose() {
    let scenario = new_scenario().await;
    notify_owner(&scenario, route(NoticeTopic::Escalations, &[NoticeDestination::Email])).await;
    ask(&scenario, "a refund").await;
    let session = scenario.session("rosa").await;
    assert_eq!(session.open_escalation().unwrap().state.request.urgency, Urgency::High);
    let sent = scenario.deliver().await;
    assert!(texts(&sent, TELEGRAM, "1001").is_empty());
    let mails = texts(&sent, EMAIL, "owner@bella.example");
    assert!(mails.len() == 1 && mails[0].starts_with("Somebody is needed: rosa"), "{mails:?}");
}
