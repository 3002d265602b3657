use std::time::Duration;

use proptest::prelude::*;

use super::{Activation, BufferStatus, MemoryTask, MemoryWindow, TaskKind, WindowMessage};
use crate::memory::{MemorySettings, MessageSpan};
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn settings() -> MemorySettings {
    MemorySettings { observation_threshold: 1000, reflection_threshold: 500, ..Default::default() }
}

fn span(first: i64, last: i64) -> MessageSpan {
    MessageSpan { first, last }
}

/// A window with messages `1..=count` of 100 tokens each.
fn filled(count: i64) -> MemoryWindow {
    let mut window = MemoryWindow::new(settings());
    for seq in 1..=count {
        window.push(WindowMessage { seq, tokens: 100, continues: false });
    }
    window
}

fn started(window: &mut MemoryWindow) -> Option<(TaskKind, Option<MessageSpan>, u64)> {
    window.start_task(NOW).map(|task| (task.kind, task.span, task.tokens))
}

/// M17: buffering starts before the threshold, in chunks; the threshold activates them.
#[test]
fn m17_chunks_are_buffered_before_the_threshold_and_activated_at_it() {
    let mut window = filled(5);
    assert_eq!(started(&mut window), None);
    window.push(WindowMessage { seq: 6, tokens: 100, continues: false });
    assert_eq!(started(&mut window), Some((TaskKind::Buffering, Some(span(1, 4)), 400)));
    assert_eq!(window.status().buffering, BufferStatus::Running);
    assert_eq!(started(&mut window), None, "one task at a time");
    assert_eq!(window.finish_observation(50), None);
    assert_eq!((window.activate(), window.tail_start()), (None, 1));
    for seq in 7..=10 {
        window.push(WindowMessage { seq, tokens: 100, continues: false });
    }
    let expected =
        Activation { chunks: 1, span: span(1, 4), message_tokens: 400, observation_tokens: 50 };
    assert_eq!((window.activate(), window.tail_start()), (Some(expected), 5));
    let status = window.status();
    assert_eq!((status.message_tokens, status.observation_tokens), (600, 50));
    assert_eq!(window.activate(), None);
    assert_eq!(started(&mut window), Some((TaskKind::Buffering, Some(span(5, 8)), 400)));
}

/// M15: without a buffer, the full window is observed in the background and changes at
/// once when that ends.
#[test]
fn m15_a_full_window_without_a_buffer_is_observed() {
    let mut window = filled(10);
    assert_eq!(started(&mut window), Some((TaskKind::Observation, Some(span(1, 4)), 400)));
    let activation = window.finish_observation(40).unwrap();
    assert_eq!((activation.span, window.tail_start()), (span(1, 4), 5));
}

/// M15: at 120 % the oldest messages leave the prompt, ready or not.
#[test]
fn m15_at_120_percent_the_oldest_messages_leave_the_prompt() {
    let mut window = filled(12);
    assert_eq!((window.status().message_tokens, window.tail_start()), (1200, 1));
    let task = window.start_task(NOW).unwrap();
    window.push(WindowMessage { seq: 13, tokens: 250, continues: false });
    assert_eq!((window.status().message_tokens, window.tail_start()), (1150, 4));
    // The observation of the messages that left is still used.
    assert_eq!(task.span, Some(span(1, 4)));
    window.finish_observation(10);
    assert_eq!((window.status().observation_tokens, window.tail_start()), (10, 5));
    // A message that is larger than the window stays alone.
    window.push(WindowMessage { seq: 14, tokens: 5000, continues: false });
    assert_eq!((window.status().message_tokens, window.tail_start()), (5000, 14));
}

#[test]
fn a_prompt_never_begins_with_the_results_of_calls() {
    let mut window = MemoryWindow::new(settings());
    for seq in 1..=10 {
        window.push(WindowMessage { seq, tokens: 100, continues: seq % 2 == 0 });
    }
    assert_eq!(window.start_task(NOW).unwrap().span, Some(span(1, 4)));
    for seq in 11..=14 {
        window.push(WindowMessage { seq, tokens: 100, continues: seq % 2 == 0 });
    }
    assert_eq!(window.tail_start(), 3);
}

/// Z11: attempts wait longer each time, and after the last one more messages must come.
#[test]
fn z11_failures_back_off_and_end() {
    let mut window = filled(10);
    let mut now = NOW;
    let mut waits = Vec::new();
    for attempt in 1..=5 {
        let task = window.start_task(now).expect("an attempt");
        assert_eq!((task.attempt, task.span), (attempt, Some(span(1, 4))));
        let retry = window.fail(now, None);
        assert_eq!(window.status().message_tokens, 1000);
        if let Some(at) = retry {
            waits.push(at.since(now).as_secs());
            assert_eq!(window.start_task(now), None);
            now = at;
        }
    }
    assert_eq!(waits, [5, 20, 80, 320]);
    now = now + Duration::from_secs(86_400);
    assert_eq!(window.start_task(now), None, "no attempt without new messages");
    for seq in 11..=30 {
        window.push(WindowMessage { seq, tokens: 10, continues: false });
    }
    assert_eq!(window.start_task(now).map(|task| task.attempt), Some(1));
    let asked = Some(Duration::from_secs(60));
    assert_eq!(window.fail(now, asked), Some(now + Duration::from_secs(60)));
}

/// M16: observations over the threshold are reflected on.
#[test]
fn m16_observations_at_the_threshold_are_reflected_on() {
    let mut window = filled(3);
    window.set_observation_tokens(499);
    assert_eq!(started(&mut window), None);
    window.set_observation_tokens(500);
    assert_eq!(started(&mut window), Some((TaskKind::Reflection, None, 500)));
    assert_eq!(window.status().reflection, BufferStatus::Running);
    window.finish_reflection(120);
    let status = window.status();
    assert_eq!((status.generation, status.observation_tokens), (1, 120));
    window.finish_reflection(1);
    assert_eq!(window.status().generation, 1, "a reflection ends once");
}

/// M15: the work per message does not grow with the length of the thread.
#[test]
fn m15_the_work_per_message_does_not_grow() {
    let mut window = MemoryWindow::new(settings());
    let mut seq = 0;
    let mut add = |count: i64| {
        let started = std::time::Instant::now();
        for _ in 0..count {
            seq += 1;
            window.push(WindowMessage { seq, tokens: 20, continues: seq % 3 == 0 });
            if window.start_task(NOW).is_some() {
                window.finish_observation(1);
            }
            window.activate();
            window.set_observation_tokens(0);
        }
        started.elapsed()
    };
    let early = (0..5).map(|_| add(5_000)).min().unwrap();
    add(50_000);
    let late = (0..5).map(|_| add(5_000)).min().unwrap();
    assert!(late <= 3 * early, "{early:?} for 5,000 messages, {late:?} after 75,000");
}

#[derive(Debug, Clone)]
enum Step {
    Message { tokens: u64, continues: bool },
    Start,
    Finish { tokens: u64 },
    Fail,
    Activate,
    Wait,
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (1_u64..300, any::<bool>()).prop_map(|(tokens, continues)| Step::Message { tokens, continues }),
        1 => (1000_u64..3000).prop_map(|tokens| Step::Message { tokens, continues: false }),
        4 => Just(Step::Start),
        4 => (0_u64..300).prop_map(|tokens| Step::Finish { tokens }),
        2 => Just(Step::Fail),
        3 => Just(Step::Activate),
        1 => Just(Step::Wait),
        1 => Just(Step::Restart),
    ];
    proptest::collection::vec(step, 1..300)
}

/// A run of the machine, with a recount of what it counts.
struct Run {
    window: MemoryWindow,
    messages: Vec<WindowMessage>,
    now: Timestamp,
    running: Option<MemoryTask>,
    starts: u64,
    ends: u64,
    finished: Vec<MessageSpan>,
}

impl Run {
    fn new() -> Self {
        let window = MemoryWindow::new(settings());
        let (messages, finished) = (vec![], vec![]);
        Self { window, messages, now: NOW, running: None, starts: 0, ends: 0, finished }
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Message { tokens, continues } => {
                let seq = self.messages.len() as i64 + 1;
                let continues = continues && seq > 1;
                self.messages.push(WindowMessage { seq, tokens, continues });
                self.window.push(WindowMessage { seq, tokens, continues });
                self.window.push(WindowMessage { seq, tokens, continues });
            }
            Step::Start => {
                if let Some(task) = self.window.start_task(self.now) {
                    assert!(self.running.is_none(), "two tasks at a time");
                    self.starts += 1;
                    self.running = Some(task);
                }
            }
            Step::Finish { tokens } => self.finish(tokens),
            Step::Fail => {
                self.window.fail(self.now, None);
                self.ends += u64::from(self.running.take().is_some());
            }
            Step::Activate => {
                if let Some(activation) = self.window.activate() {
                    let within =
                        |span: &MessageSpan| activation.span.hull(*span) == activation.span;
                    assert!(self.finished.iter().any(within));
                    self.finished.clear();
                }
            }
            Step::Wait => self.now = self.now + Duration::from_secs(100),
            Step::Restart => self.restart(),
        }
        self.check();
    }

    fn finish(&mut self, tokens: u64) {
        let Some(task) = self.running.take() else { return };
        self.ends += 1;
        match task.kind {
            TaskKind::Reflection => self.window.finish_reflection(tokens),
            TaskKind::Observation => {
                assert!(self.window.finish_observation(tokens).is_some());
            }
            TaskKind::Buffering => {
                assert_eq!(self.window.finish_observation(tokens), None);
                self.finished.extend(task.span);
            }
        }
    }

    /// M19: what was stored and the messages behind it give the same window.
    fn restart(&mut self) {
        let progress = self.window.progress().clone();
        let text = serde_json::to_string(&progress).unwrap();
        assert_eq!(serde_json::from_str::<super::MemoryProgress>(&text).unwrap(), progress);
        let tail = self.messages.iter().filter(|one| one.seq > progress.condensed_to).copied();
        let tokens = self.window.status().observation_tokens;
        let restored = MemoryWindow::restore(settings(), progress.clone(), tokens, tail);
        assert_eq!(restored, self.window);
    }

    fn check(&self) {
        let start = self.window.tail_start();
        let tail: Vec<&WindowMessage> =
            self.messages.iter().filter(|message| message.seq >= start).collect();
        let tokens: u64 = tail.iter().map(|message| message.tokens).sum();
        assert_eq!(self.window.status().message_tokens, tokens, "the count of messages");
        let observed = self.window.progress().observed_to;
        let unobserved: u64 = tail
            .iter()
            .filter(|message| message.seq > observed)
            .map(|message| message.tokens)
            .sum();
        assert_eq!(self.window.unobserved_tokens, unobserved, "the count of unobserved ones");
        let groups = tail.iter().filter(|message| !message.continues).count();
        assert!(tokens <= settings().message_limit() || groups == 1, "{tokens} in {groups}");
        assert!(tail.first().is_none_or(|first| !first.continues));
        assert_eq!(self.window.running(), self.running.as_ref());
        assert_eq!(self.starts, self.ends + u64::from(self.running.is_some()));
    }
}

proptest! {
    /// M15, M17, M18, M19: counts equal a recount, the prompt is bounded, every start has
    /// one end, activation follows a finished buffering, and a restart changes nothing.
    #[test]
    fn m18_m19_the_window_keeps_its_promises(steps in steps()) {
        let mut run = Run::new();
        for step in steps {
            run.apply(&step);
        }
    }
}
