//! The card of a question. Its keys count only if they were pressed after it was drawn, and
//! if it has the focus: nothing that somebody was writing can approve a call.

use ostler_api::thread::{ApprovalDecision, AskAnswer, PlanDecision};
use serde_json::Value;

use super::{App, Effect};
use crate::cells::{Ask, AskKind};
use crate::keymap::{Action, KeyPress};
use crate::protocol::ChatRequest;
use crate::render;
use crate::text::line::{Line, Span};
use crate::text::theme::Tone;
use crossterm::event::{KeyCode, KeyModifiers};

/// Keys that come sooner after the card was drawn were meant for what was there before.
const GUARD_MS: u64 = 300;

/// The card of the first open question.
#[derive(Debug)]
pub(super) struct Card {
    id: String,
    /// When it was drawn for the first time.
    drawn_at: Option<u64>,
    focused: bool,
    step: CardStep,
    /// The option that is marked.
    option: usize,
    /// The options that were chosen, of a question that has several.
    arguments: Option<Value>,
}

/// What the card waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CardStep {
    Choose,
    /// The composer has the reason.
    Reason,
    /// The composer has the arguments.
    Arguments,
    /// Where the rule is written to.
    Scope,
    /// The composer has the arguments of the rule.
    RuleArguments,
}

impl App {
    /// Shows the card of the first open question, and keeps it while that is the same.
    pub(super) fn update_card(&mut self) {
        let id = self.transcript.asks.first().map(|ask| ask.id.clone());
        if self.card.as_ref().map(|card| &card.id) == id.as_ref() {
            return;
        }
        self.leave_step();
        self.card = id.map(|id| Card {
            id,
            drawn_at: None,
            focused: self.composer.is_empty(),
            step: CardStep::Choose,
            option: 0,
            arguments: None,
        });
    }

    /// Takes note that what is shown now was drawn.
    pub(crate) fn drawn(&mut self, now: u64) {
        if let Some(card) = &mut self.card {
            card.drawn_at.get_or_insert(now);
        }
    }

    fn ask(&self) -> Option<&Ask> {
        let card = self.card.as_ref()?;
        self.transcript.asks.iter().find(|ask| ask.id == card.id)
    }

    /// Gives back what was being written before the card took the composer.
    fn leave_step(&mut self) {
        if let Some(card) = &mut self.card {
            card.step = CardStep::Choose;
        }
        if let Some(stash) = self.stash.take() {
            self.composer.set(&stash);
        }
    }

    fn enter_step(&mut self, step: CardStep, text: &str) {
        if self.stash.is_none() {
            self.stash = Some(self.composer.whole_text());
        }
        self.composer.set(text);
        if let Some(card) = &mut self.card {
            card.step = step;
        }
    }

    /// Moves the focus between the card and the composer.
    pub(super) fn toggle_focus(&mut self) {
        let Some(card) = &mut self.card else { return };
        card.focused = !card.focused;
        if card.focused {
            if !self.composer.is_empty() {
                self.stash = Some(self.composer.take());
            }
        } else {
            self.leave_step();
        }
    }

    /// Handles a key of the card. `None` if the key is not for it.
    pub(super) fn card_key(&mut self, key: KeyPress, now: u64) -> Option<Vec<Effect>> {
        let card = self.card.as_ref()?;
        let is_early = card.drawn_at.is_none_or(|drawn| now < drawn + GUARD_MS);
        let general = self.keymap.action(key);
        match card.step {
            CardStep::Choose if is_early || !card.focused || !self.composer.is_empty() => {
                // Free text for a question or a plan is an answer if the card has the focus.
                let is_answer = general == Some(Action::Submit)
                    && card.focused
                    && !is_early
                    && !self.composer.is_empty();
                (is_answer && self.takes_text()).then(|| self.answer_with_text())
            }
            CardStep::Choose => self.choose(key),
            CardStep::Scope => Some(self.choose_scope(key)),
            CardStep::Reason | CardStep::Arguments | CardStep::RuleArguments => match general {
                Some(Action::Submit) => Some(self.submit_step()),
                Some(Action::Interrupt) => {
                    self.leave_step();
                    Some(Vec::new())
                }
                _ => None,
            },
        }
    }

    /// Whether text is an answer to the question.
    fn takes_text(&self) -> bool {
        matches!(
            self.ask().map(|ask| &ask.kind),
            Some(AskKind::Question { .. } | AskKind::Plan { .. })
        )
    }

    fn answer_with_text(&mut self) -> Vec<Effect> {
        let text = self.composer.take();
        let Some(ask) = self.ask() else { return Vec::new() };
        let id = ask.id.clone();
        self.respond(match ask.kind {
            AskKind::Plan { .. } => {
                AskAnswer::Plan { id, decision: PlanDecision::Reject, feedback: Some(text) }
            }
            _ => AskAnswer::Question { id, text },
        })
    }

    fn respond(&mut self, answer: AskAnswer) -> Vec<Effect> {
        self.leave_step();
        vec![Effect::Request(ChatRequest::Answer(answer))]
    }

    fn choose(&mut self, key: KeyPress) -> Option<Vec<Effect>> {
        let ask = self.ask()?;
        let (id, action) = (ask.id.clone(), self.keymap.card_action(key));
        match &ask.kind {
            AskKind::Approval { args, .. } => {
                let args = args.clone();
                self.choose_approval(&id, &args, action?)
            }
            AskKind::Plan { .. } => match action? {
                Action::Approve => Some(self.respond(AskAnswer::Plan {
                    id,
                    decision: PlanDecision::Approve,
                    feedback: None,
                })),
                Action::Decline | Action::DeclineWithReason => {
                    self.enter_step(CardStep::Reason, "");
                    Some(Vec::new())
                }
                _ => None,
            },
            AskKind::Question { options, .. } => {
                let options = options.clone();
                self.choose_option(id, &options, key)
            }
        }
    }

    fn choose_approval(&mut self, id: &str, args: &Value, action: Action) -> Option<Vec<Effect>> {
        let decide = |decision| AskAnswer::Approval {
            id: id.to_owned(),
            decision,
            arguments: None,
            reason: None,
        };
        Some(match action {
            Action::Approve => self.respond(decide(ApprovalDecision::Approve)),
            Action::Decline => self.respond(decide(ApprovalDecision::Decline)),
            Action::AllowKind => self.respond(decide(ApprovalDecision::Always)),
            Action::DeclineWithReason => {
                self.enter_step(CardStep::Reason, "");
                Vec::new()
            }
            Action::EditArguments => {
                let text = serde_json::to_string_pretty(args).unwrap_or_default();
                self.enter_step(CardStep::Arguments, "");
                self.composer.insert(&text);
                Vec::new()
            }
            Action::Always => {
                let has_rule = matches!(
                    self.ask().map(|ask| &ask.kind),
                    Some(AskKind::Approval { always: Some(_), .. })
                );
                match &mut self.card {
                    Some(card) if has_rule => card.step = CardStep::Scope,
                    _ => {
                        self.hint = Some(
                            "No rule can answer this: it is asked whatever the rules say.".into(),
                        );
                    }
                }
                Vec::new()
            }
            _ => return None,
        })
    }

    fn choose_option(
        &mut self,
        id: String,
        options: &[String],
        key: KeyPress,
    ) -> Option<Vec<Effect>> {
        let card = self.card.as_mut()?;
        let last = options.len().checked_sub(1)?;
        match key.code {
            KeyCode::Up => card.option = card.option.saturating_sub(1),
            KeyCode::Down => card.option = (card.option + 1).min(last),
            KeyCode::Enter if key.modifiers == KeyModifiers::NONE => {
                let text = options[card.option.min(last)].clone();
                return Some(self.respond(AskAnswer::Question { id, text }));
            }
            KeyCode::Char(digit @ '1'..='9') if key.modifiers == KeyModifiers::NONE => {
                let number = digit as usize - '1' as usize;
                let text = options.get(number)?.clone();
                return Some(self.respond(AskAnswer::Question { id, text }));
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    fn choose_scope(&mut self, key: KeyPress) -> Vec<Effect> {
        let proposal = self.ask().and_then(|ask| match &ask.kind {
            AskKind::Approval { always, .. } => always.clone(),
            _ => None,
        });
        let (Some(proposal), Some(card)) = (proposal, &mut self.card) else { return Vec::new() };
        let KeyCode::Char(letter) = key.code else {
            card.step = CardStep::Choose;
            return Vec::new();
        };
        if letter == 'e' {
            let arguments = card.arguments.clone().unwrap_or(proposal.arguments);
            let text = serde_json::to_string_pretty(&arguments).unwrap_or_default();
            self.enter_step(CardStep::RuleArguments, "");
            self.composer.insert(&text);
            return Vec::new();
        }
        let Some(scope) = proposal.scopes.iter().find(|scope| scope.starts_with(letter)).cloned()
        else {
            card.step = CardStep::Choose;
            return Vec::new();
        };
        let request =
            ChatRequest::Always { id: card.id.clone(), scope, arguments: card.arguments.clone() };
        self.leave_step();
        vec![Effect::Request(request)]
    }

    fn submit_step(&mut self) -> Vec<Effect> {
        let (Some(card), text) = (&mut self.card, self.composer.whole_text()) else {
            return Vec::new();
        };
        let id = card.id.clone();
        match card.step {
            CardStep::Reason => {
                let reason = Some(text.trim().to_owned()).filter(|reason| !reason.is_empty());
                let is_plan = matches!(self.ask().map(|ask| &ask.kind), Some(AskKind::Plan { .. }));
                self.respond(match is_plan {
                    true => {
                        AskAnswer::Plan { id, decision: PlanDecision::Reject, feedback: reason }
                    }
                    false => AskAnswer::Approval {
                        id,
                        decision: ApprovalDecision::Decline,
                        arguments: None,
                        reason,
                    },
                })
            }
            step => match serde_json::from_str::<Value>(&text) {
                Err(error) => {
                    self.hint = Some(format!("This is not JSON: {error}."));
                    Vec::new()
                }
                Ok(edited) if step == CardStep::RuleArguments => {
                    card.arguments = Some(edited);
                    self.leave_step();
                    if let Some(card) = &mut self.card {
                        card.step = CardStep::Scope;
                    }
                    Vec::new()
                }
                Ok(edited) => {
                    let decision = ApprovalDecision::Approve;
                    self.respond(AskAnswer::Approval {
                        id,
                        decision,
                        arguments: Some(edited),
                        reason: None,
                    })
                }
            },
        }
    }

    /// Returns the lines of the card: the question, and below it the answers.
    pub(super) fn card_lines(&self) -> Option<(Vec<Line>, Vec<Line>)> {
        let (card, ask) = (self.card.as_ref()?, self.ask()?);
        let mut below = match card.step {
            CardStep::Choose => self.choices(card, ask),
            CardStep::Reason => {
                vec![Line::text("Write why, and press Enter; Esc goes back.", Tone::Accent)]
            }
            CardStep::Arguments => {
                vec![Line::text("Edit the arguments; Enter approves, Esc goes back.", Tone::Accent)]
            }
            CardStep::RuleArguments => vec![Line::text(
                "Edit the arguments of the rule: * is any word, ** is anything. Enter, or Esc.",
                Tone::Accent,
            )],
            CardStep::Scope => scope_lines(card, ask),
        };
        if !card.focused && card.step == CardStep::Choose {
            let key = self.keymap.shown(Action::Complete);
            below.push(Line::text(
                format!("Your text comes first: {key} moves to this question."),
                Tone::Warning,
            ));
        }
        let waiting = self.transcript.asks.len() - 1;
        if waiting > 0 {
            below.push(Line::text(format!("{waiting} more after this"), Tone::Dim));
        }
        Some((render::ask::lines(ask), below))
    }

    fn choices(&self, card: &Card, ask: &Ask) -> Vec<Line> {
        let mut spans = Vec::new();
        let mut key = |action, what: &str| {
            let keys = self.keymap.shown(action);
            if !keys.is_empty() {
                spans.push(Span::new(keys, Tone::Accent));
                spans.push(Span::new(format!(" {what}  "), Tone::Plain));
            }
        };
        match &ask.kind {
            AskKind::Approval { always, .. } => {
                key(Action::Approve, "yes");
                key(Action::Decline, "no");
                key(Action::DeclineWithReason, "no, because");
                key(Action::EditArguments, "edit");
                if always.is_some() {
                    key(Action::Always, "always");
                }
                key(Action::AllowKind, "this kind until the end");
            }
            AskKind::Plan { .. } => {
                key(Action::Approve, "follow this plan");
                key(Action::Decline, "no, because");
            }
            AskKind::Question { options, .. } => {
                let mut lines: Vec<Line> = options
                    .iter()
                    .enumerate()
                    .map(|(at, option)| {
                        let tone = if at == card.option { Tone::Selected } else { Tone::Plain };
                        Line::cut(vec![
                            Span::new(format!("{} ", at + 1), Tone::Accent),
                            Span::new(option.clone(), tone),
                        ])
                    })
                    .collect();
                lines.push(Line::text("Write an answer and press Enter.", Tone::Dim));
                return lines;
            }
        }
        vec![Line::new(spans, crate::text::line::Wrap::Words)]
    }
}

fn scope_lines(card: &Card, ask: &Ask) -> Vec<Line> {
    let AskKind::Approval { always: Some(proposal), .. } = &ask.kind else { return Vec::new() };
    let mut lines = vec![Line::text("This rule would be written:", Tone::Strong)];
    lines.extend(
        proposal
            .toml
            .lines()
            .map(|line| Line::text(crate::text::sanitize::one_line(line), Tone::Code).indented(2)),
    );
    if let Some(arguments) = &card.arguments {
        lines.push(Line::text(format!("with arguments = {arguments}"), Tone::Code).indented(2));
    }
    if proposal.past_calls > 0 {
        lines.push(
            Line::text(format!("it covers {} earlier calls", proposal.past_calls), Tone::Dim)
                .indented(2),
        );
    }
    let scopes = proposal
        .scopes
        .iter()
        .map(|scope| format!("{} {scope}", scope.chars().next().unwrap_or(' ')));
    let scopes = scopes.collect::<Vec<_>>().join("  ");
    lines.push(Line::text(
        format!("Write it for: {scopes}  e edit  any other key goes back"),
        Tone::Accent,
    ));
    lines
}
