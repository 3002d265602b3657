//! A workflow as an SVG picture.

use std::fmt::Write as _;

use super::layout::{Layout, StepPlace, layout};
use super::{StepLook, arrows, work_name};
use crate::workflow::{WorkflowDefinition, WorkflowProgress};

/// Sizes in pixels.
const BOX_WIDTH: usize = 180;
const BOX_HEIGHT: usize = 46;
const GAP: usize = 24;
const ROW_GAP: usize = 44;
/// The longest text in a box, in characters.
const MAX_TEXT: usize = 24;

/// Returns a workflow as an SVG picture; with progress, each step has the colour of its
/// state.
pub fn svg(definition: &WorkflowDefinition, progress: Option<&WorkflowProgress>) -> String {
    let layout = layout(definition);
    let columns = layout.rows.iter().max().copied().unwrap_or(1);
    let width = columns * (BOX_WIDTH + GAP) + GAP;
    let height = layout.rows.len() * (BOX_HEIGHT + ROW_GAP) + GAP;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\" \
         role=\"img\">\n<title>{}</title>\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" \
         refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8z\" fill=\"#6b7280\"/></marker></defs>\n",
        escape(definition.name())
    );
    for (from, to) in arrows(definition) {
        arrow(&mut text, &layout, width, from, to);
    }
    for (step, place) in definition.steps().iter().zip(&layout.places) {
        let look = StepLook::of(step, progress);
        let (left, top) = corner(&layout, width, *place);
        let (fill, border) = look.colors();
        let state = if progress.is_some() { look.name() } else { "" };
        let (middle, first, second) = (left + BOX_WIDTH / 2, top + 19, top + 36);
        let (id, work) = (shorten(step.id.as_str()), shorten(&work_name(step)));
        let _ = writeln!(
            text,
            "<g><title>{} {state}</title><rect x=\"{left}\" y=\"{top}\" width=\"{BOX_WIDTH}\" \
             height=\"{BOX_HEIGHT}\" rx=\"6\" fill=\"{fill}\" stroke=\"{border}\"/>\
             <text x=\"{middle}\" y=\"{first}\" text-anchor=\"middle\" font-weight=\"bold\" \
             fill=\"#111827\">{id}</text><text x=\"{middle}\" y=\"{second}\" \
             text-anchor=\"middle\" fill=\"#4b5563\">{work}</text></g>",
            escape(step.id.as_str())
        );
    }
    text.push_str("</svg>\n");
    text
}

fn arrow(text: &mut String, layout: &Layout, width: usize, from: usize, to: usize) {
    let (left, top) = corner(layout, width, layout.places[from]);
    let (x1, y1) = (left + BOX_WIDTH / 2, top + BOX_HEIGHT);
    let (left, y2) = corner(layout, width, layout.places[to]);
    let x2 = left + BOX_WIDTH / 2;
    let half = y1 + ROW_GAP / 2;
    let _ = writeln!(
        text,
        "<path class=\"arrow\" d=\"M{x1} {y1}C{x1} {half} {x2} {half} {x2} {y2}\" fill=\"none\" \
         stroke=\"#6b7280\" marker-end=\"url(#tip)\"/>"
    );
}

/// The upper left corner of a box; each row is centred.
fn corner(layout: &Layout, width: usize, place: StepPlace) -> (usize, usize) {
    let count = layout.rows.get(place.row).copied().unwrap_or(1);
    let row_width = count * (BOX_WIDTH + GAP) - GAP;
    let left = width.saturating_sub(row_width) / 2 + place.column * (BOX_WIDTH + GAP);
    (left, GAP + place.row * (BOX_HEIGHT + ROW_GAP))
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= MAX_TEXT {
        return escape(text);
    }
    let short: String = text.chars().take(MAX_TEXT - 1).collect();
    escape(&format!("{short}…"))
}

fn escape(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}
