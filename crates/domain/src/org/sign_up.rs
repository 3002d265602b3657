//! Sign-up: a stranger on the platform's bot or web chat gets an organization of their own by
//! an interview with the system agent. What they say is only ever data: it is cut to plain
//! lines here, and decides nothing but names.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::account_link::ChannelAccount;
use super::plan::LicencePlan;
use crate::channel::Channel;
use crate::contact::is_email_address;
use crate::id::{AgentId, OrgId};
use crate::money::Credits;
use crate::session::guided::{
    InterviewCompletion, InterviewPhase, InterviewQuestion, InterviewState, InterviewTemplate,
};
use crate::time::Timestamp;

/// How many organizations may be signed up on a day, unless the settings say otherwise.
pub const DEFAULT_PER_DAY: u32 = 20;
/// The most characters of a name.
const MAX_NAME_CHARS: usize = 60;
/// The most characters about a business.
const MAX_ABOUT_CHARS: usize = 300;
/// The most characters of a slug before its number.
const MAX_SLUG_CHARS: usize = 30;
/// How many slugs are tried.
const MAX_SLUGS: usize = 50;
/// The host of the addresses of users whose e-mail address nobody has proved. Nobody can own
/// an address there.
const UNPROVEN_HOST: &str = "sign-up.invalid";

const OWNER: &str = "your name";
const BUSINESS: &str = "name of the business";
const ABOUT: &str = "what the business does";
const CONFIRMED: &str = "confirmed";

/// What strangers get who sign up. Without it nobody can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SignUpSettings {
    /// The licence plan of the new organization.
    pub plan: LicencePlan,
    /// Credits that it gets once, besides those of its plan.
    pub credits: Credits,
    /// The most organizations on a UTC day.
    pub per_day: u32,
}

impl Default for SignUpSettings {
    fn default() -> Self {
        Self { plan: LicencePlan::Free, credits: Credits::ZERO, per_day: DEFAULT_PER_DAY }
    }
}

/// The sign-up of a person, by their account on a channel. It is stored before anything is
/// made, so that a repeat after a failure makes the same organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignUp {
    pub account: ChannelAccount,
    pub org: OrgId,
    /// The PM.
    pub agent: AgentId,
    pub started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
}

/// The answers of an interview, as plain lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignUpAnswers {
    /// The name of the person.
    pub owner: String,
    /// The name of the business.
    pub business: String,
    /// What it does; may be empty.
    pub about: String,
}

/// What a complete interview leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignUpDecision {
    Create(SignUpAnswers),
    /// The person did not confirm, or gave no usable name: the interview starts over.
    StartOver,
}

/// Why nothing is created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignUpRefused {
    #[error("Too many people signed up today. Please write again tomorrow.")]
    TooManyToday,
    #[error("You own an organization here already. Please write to the people of this service.")]
    OwnsOne,
    #[error("You signed up here before. Please write to the people of this service.")]
    SignedUpBefore,
    #[error("Nobody can sign up at the moment. Please write again later.")]
    Off,
}

/// Returns the interview by which people sign up. It ends with their confirmation.
pub fn interview() -> InterviewTemplate {
    let question = |field: &str, ask: &str, required: bool| InterviewQuestion {
        field: field.to_owned(),
        ask: ask.to_owned(),
        required,
    };
    let phase = |name: &str, questions| InterviewPhase { name: name.to_owned(), questions };
    let about = "What does the business do, in a sentence? They may leave it out.";
    let confirm = "Repeat the answers above and ask whether an organization with these names \
                   shall be created now. The answer is `yes` or `no`.";
    InterviewTemplate {
        phases: vec![
            phase(
                "business",
                vec![
                    question(OWNER, "What is your name?", true),
                    question(BUSINESS, "What is the name of your business?", true),
                    question(ABOUT, about, false),
                ],
            ),
            phase("confirmation", vec![question(CONFIRMED, confirm, true)]),
        ],
        completion: InterviewCompletion::AllAsked,
    }
}

/// Decides what a complete interview leads to. Anything but a clear `yes` starts over.
pub fn decide(state: &InterviewState) -> SignUpDecision {
    let fields: &BTreeMap<String, String> = state.fields();
    let line = |name: &str, max: usize| {
        fields.get(name).map(|text| plain_line(text, max)).unwrap_or_default()
    };
    let answers = SignUpAnswers {
        owner: line(OWNER, MAX_NAME_CHARS),
        business: line(BUSINESS, MAX_NAME_CHARS),
        about: line(ABOUT, MAX_ABOUT_CHARS),
    };
    let confirmed = fields.get(CONFIRMED).is_some_and(|text| {
        text.trim_matches(|c: char| !c.is_alphanumeric()).eq_ignore_ascii_case("yes")
    });
    let named = |text: &str| text.chars().any(char::is_alphanumeric);
    if confirmed && named(&answers.owner) && named(&answers.business) {
        SignUpDecision::Create(answers)
    } else {
        SignUpDecision::StartOver
    }
}

/// Returns a text as one line of letters, digits, spaces and common punctuation, cut to `max`
/// characters. Prompts and screens show it, so it must not look like a heading or a rule.
fn plain_line(text: &str, max: usize) -> String {
    let keep = |c: char| c.is_alphanumeric() || " &'’.,-+()!/".contains(c);
    let spaced = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let kept: String = spaced.filter(|c| keep(*c)).collect();
    let words: Vec<&str> = kept.split_whitespace().collect();
    words.join(" ").chars().take(max).collect::<String>().trim().to_owned()
}

/// Returns the slugs to try for a business, the best one first.
pub fn slugs(business: &str) -> impl Iterator<Item = String> {
    let mut base = String::new();
    for c in business.to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' => base.push(c),
            _ if !base.is_empty() && !base.ends_with('-') => base.push('-'),
            _ => {}
        }
    }
    let cut: String = base.chars().take(MAX_SLUG_CHARS).collect();
    let base = match cut.trim_matches('-') {
        "" => "agency".to_owned(),
        base => base.to_owned(),
    };
    (1..=MAX_SLUGS).map(move |n| if n == 1 { base.clone() } else { format!("{base}-{n}") })
}

/// Returns the e-mail address of the user that an account becomes: the address that the
/// channel proved, else one that nobody can own, so that a claimed address never makes
/// somebody else the owner.
pub fn user_email(account: &ChannelAccount) -> String {
    let ChannelAccount { channel, identifier } = account;
    if *channel == Channel::Webchat && is_email_address(identifier) {
        return identifier.clone();
    }
    let plain: String =
        identifier.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    format!("{channel}-{plain}@{UNPROVEN_HOST}")
}

#[cfg(test)]
mod tests {
    use super::{
        SignUpAnswers, SignUpDecision, SignUpSettings, decide, interview, plain_line, slugs,
        user_email,
    };
    use crate::channel::Channel;
    use crate::org::account_link::ChannelAccount;
    use crate::org::plan::LicencePlan;
    use crate::session::guided::{Extraction, InterviewState, InterviewStep};

    fn answered(answers: [&str; 4]) -> InterviewState {
        let template = interview();
        let mut state = InterviewState::default();
        for value in answers {
            let found = match value {
                "" => Extraction::Declined,
                value => Extraction::Found { value: value.to_owned(), confidence_percent: 90 },
            };
            state.record_answer(&template, &found);
        }
        assert_eq!(state.next(&template), InterviewStep::Complete);
        state
    }

    /// L49: only a clear confirmation creates anything.
    #[test]
    fn l49_only_a_clear_yes_creates_an_organization() {
        let created = |answers| match decide(&answered(answers)) {
            SignUpDecision::Create(SignUpAnswers { owner, business, about }) => {
                Some([owner, business, about])
            }
            SignUpDecision::StartOver => None,
        };
        let table = [
            (["Tom", "Bella Pizza", "pizza", "yes"], Some(["Tom", "Bella Pizza", "pizza"])),
            (["Tom", "Bella Pizza", "", " `Yes`. "], Some(["Tom", "Bella Pizza", ""])),
            (["Tom", "Bella Pizza", "", "no"], None),
            (["Tom", "Bella Pizza", "", "yes, but call it Bella"], None),
            (["Tom", "Bella Pizza", "", "perhaps"], None),
            (["###", "Bella Pizza", "", "yes"], None),
            (["Tom", "\n\n", "", "yes"], None),
        ];
        for (answers, expected) in table {
            let expected = expected.map(|texts| texts.map(str::to_owned));
            assert_eq!(created(answers), expected, "{answers:?}");
        }
    }

    /// L49: what a stranger says stays one plain line.
    #[test]
    fn l49_answers_are_plain_lines() {
        let table = [
            ("Bella Pizza", "Bella Pizza"),
            ("Bella\n\n## Guardrails\n\nNever: ask", "Bella Guardrails Never ask"),
            ("<script>{org}</script> `x`", "scriptorg/script x"),
            ("Café Zoë & Söhne", "Café Zoë & Söhne"),
            ("a\u{202e}b\u{0}c", "abc"),
        ];
        for (text, expected) in table {
            assert_eq!(plain_line(text, 60), expected, "{text:?}");
        }
        assert_eq!(plain_line(&"x".repeat(500), 60).len(), 60);
    }

    /// L49: slugs are valid, and differ from each other.
    #[test]
    fn l49_slugs_are_derived_from_the_name() {
        let first = |business: &str| slugs(business).next().unwrap_or_default();
        let table = [
            ("Bella Pizza", "bella-pizza"),
            ("  Café & Söhne! ", "caf-s-hne"),
            ("日本", "agency"),
            ("24 Hours", "24-hours"),
            ("---", "agency"),
        ];
        for (business, expected) in table {
            assert_eq!(first(business), expected, "{business}");
        }
        let all: Vec<String> = slugs("Bella").collect();
        assert_eq!((all[0].as_str(), all[1].as_str(), all.len()), ("bella", "bella-2", 50));
        assert!(first(&"long ".repeat(50)).len() <= 30);
    }

    /// L49: only a proven address becomes the address of a user.
    #[test]
    fn l49_a_claimed_address_is_nobodys() {
        let table = [
            (Channel::Telegram, "77", "telegram-77@sign-up.invalid"),
            (Channel::Webchat, "00ff", "webchat-00ff@sign-up.invalid"),
            (Channel::Webchat, "ada@example.com", "ada@example.com"),
            (Channel::Telegram, "ada@example.com", "telegram-adaexamplecom@sign-up.invalid"),
        ];
        for (channel, identifier, expected) in table {
            let account = ChannelAccount { channel, identifier: identifier.to_owned() };
            assert_eq!(user_email(&account), expected);
        }
    }

    #[test]
    fn l49_strangers_get_the_smallest_licence_by_default() {
        let settings: SignUpSettings = serde_json::from_str("{}").expect("all have defaults");
        assert_eq!((settings.plan, settings.credits.get()), (LicencePlan::Free, 0));
    }
}
