use proptest::prelude::*;

use super::{ReflectionRejected, check_reflection};
use crate::memory::MessageSpan;
use crate::memory::answer::parse_reflection;
use crate::memory::facts::Fact;
use crate::memory::observation::{
    Observation, ObservationKind, ObservationLog, Speaker, TaskCompletion,
};
use crate::tool::Trust;

fn observation(id: u64, kind: ObservationKind, text: &str) -> Observation {
    let first = i64::try_from(id).unwrap() * 10;
    Observation {
        id,
        speaker: Speaker::User,
        kind,
        completion: None,
        text: text.into(),
        span: MessageSpan { first, last: first + 5 },
        valid_from: None,
        valid_until: None,
        supersedes: vec![],
        superseded_by: None,
        trust: Trust::Trusted,
    }
}

fn task(id: u64, completion: TaskCompletion, text: &str) -> Observation {
    Observation { completion: Some(completion), ..observation(id, ObservationKind::Task, text) }
}

fn log(observations: impl IntoIterator<Item = Observation>) -> ObservationLog {
    let mut log = ObservationLog::default();
    for one in observations {
        log.add(one, 10);
    }
    log
}

fn sample() -> ObservationLog {
    let assertion = ObservationKind::Assertion;
    log([
        observation(1, assertion, "the budget is 500 EUR"),
        observation(2, assertion, "the budget is 700 EUR"),
        observation(3, assertion, "the order INV-42 is for Rosa Bianchi"),
        task(4, TaskCompletion::Completed, "send INV-42"),
        task(5, TaskCompletion::Open, "send INV-43"),
        Observation { trust: Trust::Untrusted, ..observation(6, assertion, "the budget is 0 EUR") },
        task(7, TaskCompletion::Open, "send INV-44"),
    ])
}

fn check(answer: &str) -> Result<Vec<(u64, u64)>, ReflectionRejected> {
    let reflection = parse_reflection(answer).expect("the form is right");
    check_reflection(&sample(), &reflection, 8).map(|changes| changes.superseded)
}

/// Z15: a reflection that loses an identifier, a number, a date or a completed task without
/// saying so is rejected, and so is one that says more than was said.
#[test]
fn z15_a_reflection_that_loses_something_is_rejected() {
    use ReflectionRejected as R;
    let identifier = |text: &str| Fact::Identifier(text.into());
    let number = |text: &str| Fact::Number(text.into());
    let table = [
        (r#"{"merge":[{"ids":[5,7],"text":"send INV-43 and INV-44"}]}"#, Ok(vec![(5, 8), (7, 8)])),
        (
            r#"{"merge":[{"ids":[5,7],"text":"send INV-43"}]}"#,
            Err(R::Lost { id: 7, fact: identifier("inv-44") }),
        ),
        (
            r#"{"merge":[{"ids":[5,7],"text":"send INV-43","omits":["INV-44"]}]}"#,
            Ok(vec![(5, 8), (7, 8)]),
        ),
        (
            r#"{"merge":[{"ids":[5,7],"text":"INV-43 and INV-44 are done"}]}"#,
            Err(R::Invented(Fact::Completion)),
        ),
        (
            r#"{"merge":[{"ids":[5,7],"text":"send INV-43 and INV-44, 2 in all"}]}"#,
            Err(R::Invented(number("2"))),
        ),
        (r#"{"merge":[{"ids":[4,5],"text":"send INV-42 and INV-43"}]}"#, Err(R::Different(4, 5))),
        (r#"{"merge":[{"ids":[2,6],"text":"700 EUR, 0 EUR budget"}]}"#, Err(R::MixedTrust(2, 6))),
        (r#"{"merge":[{"ids":[5],"text":"send INV-43"}]}"#, Err(R::TooFew)),
        (r#"{"merge":[{"ids":[5,9],"text":"send INV-43"}]}"#, Err(R::Unknown(9))),
        (r#"{"merge":[{"ids":[5,5],"text":"send INV-43"}]}"#, Err(R::Repeated(5))),
        (r#"{"supersede":[{"id":1,"by":2,"omits":["500"]}]}"#, Ok(vec![(1, 2)])),
        (r#"{"supersede":[{"id":1,"by":2}]}"#, Err(R::Lost { id: 1, fact: number("500") })),
        (r#"{"supersede":[{"id":2,"by":1,"omits":["700"]}]}"#, Err(R::NotLater(2, 1))),
        (r#"{"supersede":[{"id":2,"by":6,"omits":["700"]}]}"#, Err(R::Weaker(2, 6))),
        (r#"{"supersede":[{"id":4,"by":5,"omits":["INV-42"]}]}"#, Err(R::Weaker(4, 5))),
        (
            r#"{"merge":[{"ids":[5,7],"text":"send INV-43 and INV-44"}],"supersede":[{"id":4,"by":7,"omits":["INV-42"]}]}"#,
            Err(R::Weaker(4, 7)),
        ),
        (
            r#"{"supersede":[{"id":1,"by":2,"omits":["500"]},{"id":2,"by":3,"omits":["700","EUR"]}]}"#,
            Err(R::Repeated(2)),
        ),
        ("{}", Ok(vec![])),
    ];
    for (answer, expected) in table {
        assert_eq!(check(answer), expected, "{answer}");
    }
}

#[test]
fn z15_a_merged_observation_keeps_span_speaker_and_trust() {
    let answer = r#"{"merge":[{"ids":[5,7],"text":"send INV-43 and INV-44"}]}"#;
    let changes = check_reflection(&sample(), &parse_reflection(answer).unwrap(), 8).unwrap();
    let expected = Observation {
        id: 8,
        span: MessageSpan { first: 50, last: 75 },
        supersedes: vec![5, 7],
        ..task(5, TaskCompletion::Open, "send INV-43 and INV-44")
    };
    assert_eq!((changes.removed(), changes.added), (vec![5, 7], vec![expected]));
}

proptest! {
    /// Z15: on generated observations a faithful merge is always accepted, and one that
    /// leaves out any one fact is always rejected.
    #[test]
    fn z15_every_single_lost_fact_is_noticed(
        parts in proptest::collection::vec((1_u32..100_000, 1_u32..29, 0_usize..4), 2..8),
        lost in any::<proptest::sample::Index>(),
    ) {
        const NAMES: [&str; 4] = ["Rosa", "Enzo", "Gia", "Marco"];
        let fact = |(number, day, name): (u32, u32, usize), index: usize| [
            format!("A{index}-{number}"),
            format!("{number}.5"),
            format!("2026-03-{day:02}"),
            format!("{}{index}", NAMES[name]),
        ];
        let facts: Vec<[String; 4]> =
            parts.iter().zip(1..).map(|(part, index)| fact(*part, index)).collect();
        let texts: Vec<String> = facts
            .iter()
            .map(|[code, sum, day, name]| format!("{name} pays {sum} for {code} on {day}"))
            .collect();
        let log = log(texts.iter().zip(1..).map(|(text, id)| observation(id, ObservationKind::Decision, text)));
        let ids: Vec<u64> = log.iter().map(|one| one.id).collect();
        let merged = |text: String| serde_json::json!({"merge": [{"ids": ids, "text": text}]}).to_string();
        let faithful = parse_reflection(&merged(texts.join("; "))).unwrap();
        prop_assert!(check_reflection(&log, &faithful, 100).is_ok());
        let all: Vec<&String> = facts.iter().flatten().collect();
        let gone = lost.get(&all);
        let unique = texts.iter().filter(|text| text.contains(gone.as_str())).count() == 1;
        let short = texts.join("; ").replacen(gone.as_str(), "it", 1);
        let lossy = parse_reflection(&merged(short)).unwrap();
        prop_assert!(!unique || check_reflection(&log, &lossy, 100).is_err(), "{gone}");
    }
}
