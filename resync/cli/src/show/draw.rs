//! Pictures of text and SVG: a row of cells, a row of bars.

use crate::show::markup;
use std::fmt::Write;

/// Eighths of a cell, from nothing to all of it.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar for each count, the greatest a whole cell high; none but zero is empty.
pub fn sparkline(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let bar = |count: &u64| {
        let eighths = (u128::from(*count) * 8).div_ceil(u128::from(most));
        BARS[(eighths as usize).min(8)]
    };
    counts.iter().map(bar).collect()
}

/// An SVG document under construction.
pub struct Svg {
    text: String,
}

impl Svg {
    /// A picture of `width` by `height` units, and what it is to who cannot see it. Text has
    /// the colour of its surroundings; a page that is dark takes the paper (`.paper`) away.
    pub fn new(width: usize, height: usize, name: &str) -> Svg {
        let mut text = String::new();
        let name = markup::text(name.as_bytes());
        let _ = writeln!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" aria-label=\"{name}\" \
             font-family=\"sans-serif\" font-size=\"10\" fill=\"currentColor\">\n\
             <rect class=\"paper\" width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"
        );
        Svg { text }
    }

    /// A filled rectangle with a tool tip.
    pub fn rect(&mut self, x: usize, y: usize, width: usize, height: usize, fill: &str, tip: &str) {
        let _ = writeln!(
            self.text,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\">\
             <title>{}</title></rect>",
            markup::text(tip.as_bytes())
        );
    }

    /// A line of text.
    pub fn label(&mut self, x: usize, y: usize, text: &str) {
        let _ = writeln!(
            self.text,
            "<text x=\"{x}\" y=\"{y}\">{}</text>",
            markup::text(text.as_bytes())
        );
    }

    /// A line of text on a light colour.
    pub fn dark_label(&mut self, x: usize, y: usize, text: &str) {
        let _ = writeln!(
            self.text,
            "<text x=\"{x}\" y=\"{y}\" fill=\"#201400\" pointer-events=\"none\">{}</text>",
            markup::text(text.as_bytes())
        );
    }

    /// The document.
    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_counts() {
        assert_eq!(sparkline(&[0, 1, 4, 8]), " ▁▄█");
        assert_eq!(sparkline(&[1, 1_000_000]), "▁█");
        assert_eq!(sparkline(&[0, 0]), "  ");
        assert_eq!(sparkline(&[u64::MAX, 0]), "█ ");
    }

    #[test]
    fn names_cannot_break_out_of_a_picture() {
        let mut svg = Svg::new(1, 1, "\"><script>");
        svg.label(0, 0, "</text><script>\x1b");
        let text = svg.finish();
        assert!(!text.contains("<script>") && !text.contains("\"\">"));
        assert!(text.contains("&lt;script&gt;\\x1b"));
    }
}
