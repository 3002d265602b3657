//! Reads a script: from YAML to rules, with the place and the remedy of
//! whatever is wrong.

mod answer;
mod fault;
mod when;

use ostler_domain::money::Usd;
use ostler_domain::money::price::ModelPrice;

use self::answer::Defaults;
use super::error::Wrong;
use super::script::{Rule, Script};
use super::template::Groups;
use super::yaml::{Node, Value, parse};

const SCRIPT: &[&str] =
    &["model", "price", "strict", "delay", "pause", "chunk", "usage", "rules", "default"];
const RULE: &[&str] = &["name", "when", "times", "answer"];

pub(super) fn script(text: &str) -> Result<Script, Wrong> {
    let root = parse(text)?;
    if root.value == Value::Null {
        return Err(root.wrong("the script is empty; it needs `rules` or a `default`"));
    }
    let fields = root.fields("a script", SCRIPT)?;
    let defaults = Defaults::read(fields)?;
    let rules = match fields.get("rules") {
        None => Vec::new(),
        Some(Node { value: Value::List(rules), .. }) => {
            rules.iter().map(|node| rule(node, &defaults)).collect::<Result<_, _>>()?
        }
        Some(other) => {
            return Err(other.wrong("`rules` is a list; begin each rule with `- when:`"));
        }
    };
    let default =
        fields.read("default", |node| answer::answers(node, &Groups::default(), &defaults))?;
    if rules.is_empty() && default.is_none() {
        return Err(root.wrong("the script says nothing; it needs `rules` or a `default`"));
    }
    let model = fields.read("model", Node::text)?.unwrap_or("scripted").to_owned();
    let price = fields.read("price", price)?.unwrap_or(FREE);
    let strict = fields.read("strict", Node::flag)?.unwrap_or_default();
    Ok(Script { model, price, strict, rules, default })
}

const PRICE: &[&str] = &["input", "output", "cached_input", "cache_write"];
const FREE: ModelPrice = ModelPrice::new(Usd::from_micros(0), Usd::from_micros(0));

fn rule(node: &Node, defaults: &Defaults) -> Result<Rule, Wrong> {
    let fields = node.fields("a rule", RULE)?;
    fields.read("name", Node::text)?;
    let when = fields.read("when", when::when)?.unwrap_or_default();
    let groups = when::groups(&when);
    let answer = fields.get("answer").ok_or_else(|| {
        node.wrong("this rule answers nothing; write `answer:` and a text, or a `call`")
    })?;
    let answers = answer::answers(answer, &groups, defaults)?;
    if answers.are_steps() && (when.step.is_some() || when.result.is_some()) {
        return Err(answer.wrong(
            "a list answers step after step, so its rule has no `step` and no `result`; \
             write one answer, or leave them out",
        ));
    }
    let times = fields.read("times", |node| node.count(1))?;
    Ok(Rule { when, times, answers })
}

/// Dollars per million tokens.
fn price(node: &Node) -> Result<ModelPrice, Wrong> {
    let fields = node.fields("`price`", PRICE)?;
    let dollars = |node: &Node| match &node.value {
        Value::Number(number) => number
            .as_f64()
            .filter(|dollars| (0.0..=1_000_000.0).contains(dollars))
            .map(|dollars| Usd::from_micros((dollars * 1_000_000.0).round() as u64))
            .ok_or_else(|| node.wrong("a price is from 0 to 1000000 dollars")),
        _ => Err(node.wrong("a price is a number: dollars for a million tokens, like `0.15`")),
    };
    Ok(ModelPrice {
        input: fields.read("input", dollars)?.unwrap_or(FREE.input),
        output: fields.read("output", dollars)?.unwrap_or(FREE.output),
        cached_input: fields.read("cached_input", dollars)?,
        cache_write: fields.read("cache_write", dollars)?,
    })
}
