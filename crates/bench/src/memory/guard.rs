//! The check of reflections: merges that lose or invent a number or a date, and merges that
//! keep everything.

use std::time::Instant;

use ostler_domain::memory::answer::{Merge, Reflection};
use ostler_domain::memory::observation::{ObservationKind, Speaker};
use ostler_domain::memory::reflection::check_reflection;
use ostler_domain::memory::{MessageSpan, Observation, ObservationLog};
use ostler_domain::tool::Trust;
use ostler_testkit::{GeneratedQuestion, LongConversation, long_conversation};

use super::{FACTS, percent};
use crate::report::Measurement;

/// The number of a merged observation.
const NEXT_ID: u64 = 1_000_000;
/// Tokens of an observation, which the check takes no notice of.
const TOKENS: u64 = 20;

/// Measures how many merges of two facts that lose or invent something are rejected, and how
/// many that keep all are accepted.
pub(super) fn run() -> [Measurement; 2] {
    let LongConversation { messages, questions } = long_conversation(FACTS);
    // What an adjective says is beyond a check in code.
    let exact = |question: &&GeneratedQuestion| question.expected[2].contains(char::is_numeric);
    let facts: Vec<(i64, &String, &str)> = questions
        .iter()
        .filter(exact)
        .filter_map(|question| {
            let text = messages.get(usize::try_from(question.seq - 1).ok()?)?;
            Some((question.seq, text, question.expected[2].as_str()))
        })
        .collect();
    let (mut rejected, mut accepted, mut each) = ([0, 0], [0, 0], Vec::new());
    let start = Instant::now();
    for pair in facts.windows(2) {
        let [first, second] = pair else { continue };
        let mut log = ObservationLog::default();
        for (seq, text, _) in pair {
            log.add(observation(*seq, text), TOKENS);
        }
        let whole = format!("{} {}", first.1, second.1);
        let lossy = [whole.replacen(second.2, "then", 1), format!("{whole} It was 31337.")];
        let mut is_accepted = |text: String| {
            let began = Instant::now();
            let ids = [first.0, second.0].map(i64::unsigned_abs).into();
            let merge = Merge { ids, text, omits: Vec::new() };
            let reflection = Reflection { merge: vec![merge], supersede: Vec::new() };
            let checked = check_reflection(&log, &reflection, NEXT_ID).is_ok();
            each.push(began.elapsed());
            checked
        };
        for text in lossy {
            rejected[1] += 1;
            rejected[0] += usize::from(!is_accepted(text));
        }
        accepted[1] += 1;
        accepted[0] += usize::from(is_accepted(whole));
    }
    let all = start.elapsed();
    let measurement = |name: &str, [part, whole]: [usize; 2]| {
        Measurement::new(name.to_owned(), each.clone(), all, None).with_value(percent(part, whole))
    };
    [
        measurement("memory.guard.lossy_rejected_percent", rejected),
        measurement("memory.guard.faithful_accepted_percent", accepted),
    ]
}

fn observation(seq: i64, text: &str) -> Observation {
    Observation {
        id: seq.unsigned_abs(),
        speaker: Speaker::User,
        kind: ObservationKind::Assertion,
        completion: None,
        text: text.to_owned(),
        span: MessageSpan { first: seq, last: seq },
        valid_from: None,
        valid_until: None,
        supersedes: Vec::new(),
        superseded_by: None,
        trust: Trust::Trusted,
    }
}
