//! A checked workflow as a picture: DOT and Mermaid for other programs, SVG for everybody (LA-44).

use std::{collections::BTreeMap, fmt};

use crate::{
    caps::Kind,
    check::{AgentReport, Code, EdgeReport, Report, Trust},
};

/// Text for a double-quoted place of DOT, without what would end it.
fn dot(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Text for a label of Mermaid, which has entities instead of escapes.
fn mermaid(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "#quot;").replace('<', "&lt;").replace('>', "&gt;").replace('|', "#124;")
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl EdgeReport {
    /// `handoff: refund`
    fn words(&self) -> String {
        let kind = match self.kind {
            Kind::Handoff => "handoff",
            Kind::Delegate => "delegate",
        };
        let required: Vec<_> = self.required.iter().map(String::as_str).collect();
        if required.is_empty() { kind.to_owned() } else { format!("{kind}: {}", required.join(", ")) }
    }
}

impl Report {
    /// The worst that was found about an edge.
    fn code(&self, edge: &EdgeReport) -> Option<Code> {
        let label = format!("{}->{}", edge.from, edge.to);
        let codes = self.findings.iter().filter(|finding| finding.place == label).map(|finding| finding.code);
        codes.filter(|code| *code <= Code::E06).min()
    }

    /// The workflow for Graphviz.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut text = format!("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box];\n", dot(&self.workflow));
        for agent in &self.agents {
            let style = if agent.trust == Trust::Unsigned { ", style=dotted" } else { "" };
            put(
                &mut text,
                format_args!("  \"{}\" [label=\"{}\\n{}\"{style}];\n", dot(&agent.id), dot(&agent.id), dot(&agent.usable.join(", "))),
            );
        }
        for edge in &self.edges {
            let style = if edge.kind == Kind::Delegate { ", style=dashed" } else { "" };
            let (color, code) = match self.code(edge) {
                Some(code) => (", color=red, fontcolor=red", format!(" {code:?}")),
                None => ("", String::new()),
            };
            let (from, to, words) = (dot(&edge.from), dot(&edge.to), dot(&edge.words()));
            put(&mut text, format_args!("  \"{from}\" -> \"{to}\" [label=\"{words}{code}\"{style}{color}];\n"));
        }
        text.push_str("}\n");
        text
    }

    /// The workflow for Mermaid.
    #[must_use]
    pub fn to_mermaid(&self) -> String {
        let mut text = "flowchart LR\n".to_owned();
        // Ids of Mermaid are narrower than ours; the label says the id.
        let name = |id: &str| -> String { id.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect() };
        let mut named = BTreeMap::new();
        let mut node = |id: &str| {
            let agent = self.agents.iter().find(|agent| agent.id == id);
            match (named.insert(id.to_owned(), ()), agent) {
                (None, Some(agent)) => format!("{}[\"{}<br/>{}\"]", name(id), mermaid(id), mermaid(&agent.usable.join(", "))),
                _ => name(id),
            }
        };
        let mut red = Vec::new();
        for (at, edge) in self.edges.iter().enumerate() {
            let arrow = if edge.kind == Kind::Handoff { "==>" } else { "-.->" };
            let code = self.code(edge).map(|code| format!(" {code:?}")).unwrap_or_default();
            if !code.is_empty() {
                red.push(at);
            }
            let (from, to) = (node(&edge.from), node(&edge.to));
            put(&mut text, format_args!("  {from} {arrow}|{}{code}| {to}\n", mermaid(&edge.words())));
        }
        for agent in &self.agents {
            let alone = node(&agent.id);
            if alone.contains('[') {
                put(&mut text, format_args!("  {alone}\n"));
            }
        }
        for at in red {
            put(&mut text, format_args!("  linkStyle {at} stroke:red,color:red\n"));
        }
        for agent in self.agents.iter().filter(|agent| agent.trust == Trust::Unsigned) {
            put(&mut text, format_args!("  style {} stroke-dasharray: 3 3\n", name(&agent.id)));
        }
        text
    }

    /// The workflow as an image.
    #[must_use]
    pub fn to_svg(&self) -> String {
        Layout::new(self).draw(self)
    }
}

fn put(text: &mut String, what: fmt::Arguments<'_>) {
    text.push_str(&what.to_string());
}

const WIDTH: usize = 190;
const HEIGHT: usize = 60;
const ACROSS: usize = 150;
const DOWN: usize = 46;
const MARGIN: usize = 24;

/// Where each agent stands: its rank from left to right, and its place from top to bottom.
struct Layout<'a> {
    ranks: Vec<Vec<&'a str>>,
}

impl<'a> Layout<'a> {
    fn new(report: &'a Report) -> Self {
        let rank = ranks(report);
        let mut layers: Vec<Vec<&str>> = vec![Vec::new(); rank.values().max().map_or(0, |last| last + 1)];
        for agent in &report.agents {
            layers[rank[agent.id.as_str()]].push(&agent.id);
        }
        let mut layout = Self { ranks: layers };
        // Each agent goes to the middle of its neighbors, once from the left and once from the right.
        layout.sweep(report, true);
        layout.sweep(report, false);
        layout
    }

    fn sweep(&mut self, report: &Report, forward: bool) {
        let order: Vec<_> = if forward { (1..self.ranks.len()).collect() } else { (0..self.ranks.len().saturating_sub(1)).rev().collect() };
        for layer in order {
            let before = if forward { layer - 1 } else { layer + 1 };
            let place: BTreeMap<_, _> = self.ranks[before].iter().enumerate().map(|(place, id)| (*id, place)).collect();
            let middle = |id: &str| {
                let ends = report.edges.iter().filter_map(|edge| match (edge.from == id, edge.to == id) {
                    (true, _) => place.get(edge.to.as_str()),
                    (_, true) => place.get(edge.from.as_str()),
                    _ => None,
                });
                let (sum, count) = ends.fold((0, 0), |(sum, count), place| (sum + place, count + 1));
                // In thousandths, so that it is a whole number.
                (sum * 1_000_usize).checked_div(count).unwrap_or(usize::MAX)
            };
            self.ranks[layer].sort_by_cached_key(|id| middle(id));
        }
    }

    fn corner(&self, id: &str) -> Option<(usize, usize)> {
        let place = |layer: &Vec<&str>| layer.iter().position(|known| *known == id);
        let (rank, place) = self.ranks.iter().enumerate().find_map(|(rank, layer)| Some((rank, place(layer)?)))?;
        Some((MARGIN + rank * (WIDTH + ACROSS), MARGIN + place * (HEIGHT + DOWN)))
    }

    fn draw(&self, report: &Report) -> String {
        let tallest = self.ranks.iter().map(Vec::len).max().unwrap_or(0);
        // Room below for edges that go back.
        let returning = report.edges.iter().filter(|edge| self.goes_back(edge)).count();
        let width = 2 * MARGIN + self.ranks.len() * (WIDTH + ACROSS) - ACROSS.min(self.ranks.len() * ACROSS);
        let boxes = 2 * MARGIN + tallest * (HEIGHT + DOWN);
        let height = boxes + returning * 22;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n<title>{}</title>\n<defs>\n",
            xml(&report.workflow)
        );
        for (name, color) in [("head", "#333"), ("bad", "#c00")] {
            put(
                &mut svg,
                format_args!(
                    "<marker id=\"{name}\" markerWidth=\"9\" markerHeight=\"8\" refX=\"8\" refY=\"4\" orient=\"auto\"><path d=\"M0 0L9 4L0 8z\" fill=\"{color}\"/></marker>\n"
                ),
            );
        }
        svg.push_str("</defs>\n");
        let mut lane = boxes;
        for edge in &report.edges {
            let bottom = lane;
            if self.goes_back(edge) {
                lane += 22;
            }
            self.edge(&mut svg, report, edge, bottom);
        }
        for agent in &report.agents {
            self.agent(&mut svg, agent);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn goes_back(&self, edge: &EdgeReport) -> bool {
        match (self.corner(&edge.from), self.corner(&edge.to)) {
            (Some((from, _)), Some((to, _))) => to <= from,
            _ => false,
        }
    }

    fn agent(&self, svg: &mut String, agent: &AgentReport) {
        let Some((x, y)) = self.corner(&agent.id) else { return };
        let dotted = if agent.trust == Trust::Unsigned { " stroke-dasharray=\"3 3\"" } else { "" };
        put(
            svg,
            format_args!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\" fill=\"#fff\" stroke=\"#333\"{dotted}/>\n"
            ),
        );
        let (middle, first, second) = (x + WIDTH / 2, y + 25, y + 44);
        put(
            svg,
            format_args!("<text x=\"{middle}\" y=\"{first}\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>\n", xml(&agent.id)),
        );
        let skills = short(&agent.usable.join(", "), 30);
        put(svg, format_args!("<text x=\"{middle}\" y=\"{second}\" text-anchor=\"middle\" fill=\"#555\">{}</text>\n", xml(&skills)));
    }

    /// Right angles only: out to the right, up or down between two ranks, in from the left.
    fn edge(&self, svg: &mut String, report: &Report, edge: &EdgeReport, lane: usize) {
        let (Some((x1, y1)), Some((x2, y2))) = (self.corner(&edge.from), self.corner(&edge.to)) else { return };
        let code = report.code(edge);
        let (color, head) = if code.is_some() { ("#c00", "bad") } else { ("#333", "head") };
        let dashed = if edge.kind == Kind::Delegate { " stroke-dasharray=\"7 4\"" } else { "" };
        let (out, from, into, to) = (x1 + WIDTH, y1 + HEIGHT / 2, x2, y2 + HEIGHT / 2);
        let (line, (tx, ty)) = if x2 > x1 {
            let turn = into - ACROSS / 5;
            (format!("M{out} {from}H{turn}V{to}H{into}"), (out + 8, from - 6))
        } else {
            let (right, left) = (out + 14, into.saturating_sub(14));
            (format!("M{out} {from}H{right}V{lane}H{left}V{to}H{into}"), (left + 8, lane - 5))
        };
        put(
            svg,
            format_args!(
                "<path d=\"{line}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"{dashed} marker-end=\"url(#{head})\"/>\n"
            ),
        );
        let code = code.map(|code| format!(" {code:?}")).unwrap_or_default();
        put(svg, format_args!("<text x=\"{tx}\" y=\"{ty}\" fill=\"{color}\">{}{code}</text>\n", xml(&short(&edge.words(), 22))));
    }
}

/// The longest way from a start to each agent, over edges that do not lead back.
fn ranks(report: &Report) -> BTreeMap<&str, usize> {
    fn visit<'a>(report: &'a Report, id: &'a str, rank: usize, path: &mut Vec<&'a str>, ranks: &mut BTreeMap<&'a str, usize>) {
        if path.contains(&id) || ranks.get(id).is_some_and(|known| *known >= rank && !path.is_empty()) {
            return;
        }
        ranks.insert(id, rank);
        path.push(id);
        for edge in report.edges.iter().filter(|edge| edge.from == id && report.agents.iter().any(|agent| agent.id == edge.to)) {
            visit(report, &edge.to, rank + 1, path, ranks);
        }
        path.pop();
    }
    let mut ranks = BTreeMap::new();
    let entered = |id: &str| report.edges.iter().any(|edge| edge.to == id && edge.from != id);
    let (inner, starts): (Vec<_>, Vec<_>) = report.agents.iter().map(|agent| agent.id.as_str()).partition(|id| entered(id));
    for id in starts.into_iter().chain(inner) {
        if !ranks.contains_key(id) {
            visit(report, id, 0, &mut Vec::new(), &mut ranks);
        }
    }
    ranks
}

fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most - 1).chain(['…']).collect() }
}
