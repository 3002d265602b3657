//! "Always allow": the rule that an answer would write, and writing it.

use std::sync::Arc;

use ostler_domain::gate::AskReason;
use ostler_domain::gate::permission::arguments::{ArgumentPattern, arguments_to_value};
use ostler_domain::gate::permission::rule::{
    PermissionRule, PlacedRule, RuleForce, RuleScope, RuleSubject,
};
use ostler_domain::gate::permission::text::TextPattern;
use ostler_domain::gate::permission::{PermissionPolicy, PermissionQuery};
use ostler_domain::scope::ToolScope;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolCategory, ToolName};
use ostler_engine::history::{Item, ToolCall};
use ostler_engine::turn::{Question, QuestionKind};
use ostler_world::permissions::{insert_rule, parse_permissions, render_rule};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock;
use crate::error::HarnessError;
use crate::permission_files::{read_text, write};
use crate::permissions::Current;
use crate::session::{Core, OpenQuestion};

/// The first line of a permissions file that an answer creates.
const HEADER: &str = "# Permission rules; see docs/PERMISSIONS.md.\n\n";
/// The reason of a rule that was written without one.
const WHY: &str = "allowed when asked";

/// The answer "always": how far it reaches, and what of the proposed rule is different. What
/// is `None` stays as proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlwaysAllow {
    pub scope: RuleScope,
    /// The tool, as a pattern.
    #[serde(default)]
    pub tool: Option<String>,
    /// Patterns of the arguments, in the shape of the arguments.
    #[serde(default)]
    pub arguments: Option<Value>,
    #[serde(default)]
    pub why: Option<String>,
    #[serde(default)]
    pub expires: Option<Timestamp>,
}

impl AlwaysAllow {
    /// The proposed rule as it is.
    pub const fn proposed(scope: RuleScope) -> Self {
        Self { scope, tool: None, arguments: None, why: None, expires: None }
    }
}

/// The narrowest rule that would allow a call, for people to look at and to edit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleProposal {
    pub tool: String,
    pub arguments: Value,
    /// The rule as it would be written.
    pub toml: String,
    /// Where it can be written to.
    pub scopes: Vec<RuleScope>,
    /// How many earlier calls of the conversation it covers.
    pub past_calls: usize,
}

/// A question about a call, with what decides about it.
#[derive(Clone, Copy)]
struct CallQuestion<'a> {
    call: &'a ToolCall,
    why: &'a AskReason,
    tool: &'a ToolName,
    category: ToolCategory,
}

impl<'a> CallQuestion<'a> {
    fn new(question: &'a Question, scope: &'a ToolScope) -> Option<Self> {
        let QuestionKind::Approval { why, .. } = &question.kind else { return None };
        let spec = &scope.find(&question.call.name)?.spec;
        Some(Self { call: &question.call, why, tool: &spec.name, category: spec.category })
    }

    fn query(self) -> PermissionQuery<'a> {
        let Self { call, tool, category, .. } = self;
        PermissionQuery { tool, category, arguments: &call.arguments }
    }
}

impl Core {
    /// Returns the narrowest rule that would have answered a question. `None` if no rule can.
    pub(crate) fn propose_rule(
        &self,
        open: &OpenQuestion,
        scope: &ToolScope,
    ) -> Option<RuleProposal> {
        let asked = CallQuestion::new(&open.question, scope)?;
        let rule = PermissionRule::narrowest(asked.query(), WHY.to_owned());
        let scopes: Vec<RuleScope> = [RuleScope::Session, RuleScope::Project, RuleScope::User]
            .into_iter()
            .filter(|scope| self.would_allow(asked, &rule, *scope))
            .collect();
        if scopes.is_empty() {
            return None;
        }
        Some(RuleProposal {
            tool: asked.tool.to_string(),
            arguments: rule.arguments.as_ref().map(arguments_to_value).unwrap_or_default(),
            toml: render_rule(&rule),
            scopes,
            past_calls: open.past_calls,
        })
    }

    /// Writes the rule of an answer. Fails if the rule would not allow the call.
    pub(crate) fn write_rule(
        &self,
        question: &Question,
        scope: &ToolScope,
        answer: &AlwaysAllow,
    ) -> Result<(), HarnessError> {
        let asked = CallQuestion::new(question, scope).ok_or(HarnessError::RuleCannotAnswer)?;
        let rule = edited(asked, answer)?;
        let files = &self.config.permission_files;
        let path = match answer.scope {
            RuleScope::Session => {
                if !self.would_allow(asked, &rule, answer.scope) {
                    return Err(HarnessError::RuleCannotAnswer);
                }
                let placed = place(&rule, RuleScope::Session);
                self.permissions.write().ordered.insert(0, placed);
                return Ok(());
            }
            RuleScope::User => files.user.clone(),
            RuleScope::Project => files.project_file(),
        };
        let path = path.filter(|_| files.user.is_some()).ok_or(HarnessError::RuleCannotAnswer)?;
        // Another program may have changed the file since the question came up.
        let _lock = files.lock()?;
        self.load_permission_files(scope)?;
        if !self.would_allow(asked, &rule, answer.scope) {
            return Err(HarnessError::RuleCannotAnswer);
        }
        let name = path.display().to_string();
        let text = read_text(&path)?.unwrap_or_else(|| HEADER.to_owned());
        let asker = self.permissions.read().decide(asked.query(), clock::now()).1;
        let asker = asker.rule().filter(|rule| rule.file == name);
        let before = asker.map(|rule| rule.line);
        let text = insert_rule(&text, &rule, before);
        let category_of = |name: &str| scope.find(name).map(|tool| tool.spec.category);
        parse_permissions(&name, &text, &category_of).map_err(crate::PermissionFileError::from)?;
        write(&path, &text)?;
        if answer.scope == RuleScope::Project {
            files.write_trust()?;
        }
        self.load_permission_files(scope)
    }

    /// Returns whether a rule, written to its scope, would have allowed the call.
    fn would_allow(
        &self,
        asked: CallQuestion<'_>,
        rule: &PermissionRule,
        scope: RuleScope,
    ) -> bool {
        let files = &self.config.permission_files;
        let mut current: Current = self.permissions.read().clone();
        let reachable = match scope {
            RuleScope::Session => true,
            RuleScope::User => files.user.is_some(),
            RuleScope::Project => {
                files.user.is_some() && files.project.is_some() && current.project_trusted
            }
        };
        let by_rules = matches!(asked.why, AskReason::Permission(_));
        if !reachable || !by_rules {
            return false;
        }
        // The rule stands before the one that decides now, or else at the end of its file.
        let decides = current.decide(asked.query(), clock::now()).1;
        let is_asker = |placed: &PlacedRule| {
            decides
                .rule()
                .is_some_and(|rule| rule.file == placed.file.as_ref() && rule.line == placed.line)
        };
        let at = match scope {
            RuleScope::Session => 0,
            _ => {
                let of_scope = |placed: &PlacedRule| placed.scope == scope;
                let asker =
                    current.ordered.iter().position(|placed| of_scope(placed) && is_asker(placed));
                asker.unwrap_or_else(|| {
                    current.ordered.iter().take_while(|placed| placed.scope <= scope).count()
                })
            }
        };
        current.ordered.insert(at, place(rule, scope));
        current.decide(asked.query(), clock::now()).0 == PermissionPolicy::Allow
    }
}

/// Counts the earlier calls of a conversation that the narrowest rule for a question covers.
pub(crate) fn covered_calls(question: &Question, scope: &ToolScope, history: &[Item]) -> usize {
    let Some(asked) = CallQuestion::new(question, scope) else { return 0 };
    let rule = PermissionRule::narrowest(asked.query(), WHY.to_owned());
    let calls = history.iter().flat_map(|item| match item {
        Item::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    let covers = |call: &&ToolCall| {
        call.name == asked.tool.as_str()
            && call.id != asked.call.id
            && rule.applies(PermissionQuery { arguments: &call.arguments, ..asked.query() })
    };
    calls.filter(covers).count()
}

fn place(rule: &PermissionRule, scope: RuleScope) -> PlacedRule {
    PlacedRule { rule: rule.clone(), scope, file: Arc::from(""), line: 0, force: RuleForce::Full }
}

/// Returns the proposed rule with the changes of an answer.
fn edited(asked: CallQuestion<'_>, answer: &AlwaysAllow) -> Result<PermissionRule, HarnessError> {
    let invalid = |error: &dyn ToString| HarnessError::InvalidRule(error.to_string());
    let why = answer.why.clone().unwrap_or_else(|| WHY.to_owned());
    let mut rule = PermissionRule::narrowest(asked.query(), why);
    if let Some(tool) = &answer.tool {
        let pattern = TextPattern::parse(tool).map_err(|error| invalid(&error))?;
        rule.subject = RuleSubject::Tool(pattern);
    }
    if let Some(arguments) = &answer.arguments {
        let members = arguments.as_object();
        let members = members.ok_or_else(|| invalid(&"its arguments are not an object"))?;
        let patterns =
            ArgumentPattern::parse_arguments(members).map_err(|error| invalid(&error))?;
        rule.arguments = Some(patterns);
    }
    rule.expires = answer.expires;
    Ok(rule)
}
