//! Terminals that are emulated: `vt100` in this process, and `xterm.js`, which reflows lines
//! when its size changes, in Node.js.

mod xterm;

use std::num::NonZero;

pub(super) use xterm::Xterm;

/// A terminal with scrollback.
pub(super) trait Emulator {
    /// Begins with an empty terminal.
    fn open(&mut self, size: (usize, usize));

    fn write(&mut self, text: &str);

    fn resize(&mut self, size: (usize, usize));

    /// Returns scrollback and screen as text without spaces, from the first row to the last.
    fn text(&mut self) -> String;
}

/// The `vt100` crate.
pub(super) struct Vt100 {
    parser: vt100::Parser,
    size: (usize, usize),
}

impl Vt100 {
    pub(super) fn new() -> Self {
        let size = (80, 24);
        Self { parser: parser(size), size }
    }
}

impl Emulator for Vt100 {
    fn open(&mut self, size: (usize, usize)) {
        *self = Self { parser: parser(size), size };
    }

    fn write(&mut self, text: &str) {
        self.parser.process(text.as_bytes());
    }

    fn resize(&mut self, size: (usize, usize)) {
        self.size = size;
        self.parser.screen_mut().set_size(cells(size.1), cells(size.0));
    }

    fn text(&mut self) -> String {
        let (rows, columns) = (self.size.1, u16::from(cells(self.size.0)));
        self.parser.screen_mut().set_scrollback(usize::MAX);
        let mut above = self.parser.screen().scrollback();
        let mut all = Vec::new();
        while above > 0 {
            self.parser.screen_mut().set_scrollback(above);
            let page = above.min(rows);
            all.extend(self.parser.screen().rows(0, columns).take(page));
            above -= page;
        }
        self.parser.screen_mut().set_scrollback(0);
        all.extend(self.parser.screen().rows(0, columns));
        without_spaces(&all.concat())
    }
}

fn parser((columns, rows): (usize, usize)) -> vt100::Parser {
    vt100::Parser::new(cells(rows), cells(columns), 100_000)
}

pub(super) fn cells(count: usize) -> NonZero<u16> {
    u16::try_from(count).ok().and_then(NonZero::new).expect("a size")
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
