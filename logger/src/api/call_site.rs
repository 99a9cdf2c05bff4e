//! Call sites that a program makes when it runs: for logging facades and for bindings of other
//! languages, whose calls no macro of ours sees.

use crate::__private;
use crate::api::choose;
use crate::call::argument::Passed;
use crate::call::gate;
use crate::call::site::Site;
use crate::call::site::run_time::Parts;
use logdef_wire::record::Kind;
use logdef_wire::site::flags;
use logdef_wire::{Grammar, Level};

/// A place in a program that logs, made at run time. As cheap to call as one that
/// [`logdef!`](crate::logdef) lays down; its strings stand once in each chunk of the log, and
/// the reader shows file, line, module and names of it like any other's.
///
/// ```
/// use logdef::{CallSite, Level, NewCallSite, value};
///
/// let site: CallSite = NewCallSite::new(Level::INFO, "{user} signed in after {ms} ms", 2)
///     .names(&["user", "ms"])
///     .file("src/login.rs", 12)
///     .module("shop::login")
///     .register();
/// // For each call:
/// if site.is_on() {
///     site.log(&[value(&"ada"), value(&15)]);
/// }
/// ```
///
/// A site is never freed: make one for each place that logs, not for each call.
#[derive(Clone, Copy, Debug)]
pub struct CallSite(&'static Site);

impl CallSite {
    /// Whether calls of this site are logged now: a comparison, unless the settings have
    /// changed.
    ///
    /// Signal safety: async-signal-safe.
    #[inline]
    pub fn is_on(self) -> bool {
        __private::is_on(self.0, self.0.state())
    }

    /// Logs a call. Ask [`is_on`](Self::is_on) before: this function does not. Missing arguments
    /// are logged as no value, and surplus ones are left out.
    ///
    /// Signal safety: async-signal-safe.
    #[inline]
    pub fn log(self, args: &[Passed<'_>]) {
        __private::log_at(self.0, args, 0, &[]);
    }

    /// Logs a call with key-value pairs beside its arguments. Beyond 64 they are left out.
    ///
    /// Signal safety: async-signal-safe.
    #[inline]
    pub fn log_pairs(self, args: &[Passed<'_>], pairs: &[(&str, Passed<'_>)]) {
        __private::log_at(self.0, args, 0, pairs);
    }

    /// Logs where a span begins or ends, of a site that was made by
    /// [`begin`](NewCallSite::begin) or [`end`](NewCallSite::end). The begin and the end of a span
    /// have the same number.
    ///
    /// Signal safety: async-signal-safe.
    #[inline]
    pub fn log_span(self, span: u64, args: &[Passed<'_>], pairs: &[(&str, Passed<'_>)]) {
        __private::log_at(self.0, args, span, pairs);
    }

    /// The site, for the C interface.
    #[doc(hidden)]
    pub fn site(self) -> &'static Site {
        self.0
    }
}

/// What a [`CallSite`] is made of.
///
/// Signal safety: not async-signal-safe, neither making nor changing it.
#[derive(Clone, Debug)]
#[must_use = "a call site is made by `register`"]
pub struct NewCallSite<'a> {
    level: Level,
    grammar: Grammar,
    format: &'a str,
    args: u8,
    names: Vec<&'a str>,
    file: &'a str,
    line: u32,
    module: &'a str,
    target: &'a str,
    function: &'a str,
    flags: u8,
}

impl<'a> NewCallSite<'a> {
    /// A site whose calls pass `args` values (at most 64) and whose text is `template`, with
    /// placeholders as of `format!`.
    pub fn new(level: Level, template: &'a str, args: usize) -> Self {
        Self::of_grammar(level, Grammar::Braces, template, args)
    }

    /// A site whose text is a format of printf. Values after those that it takes are attached.
    pub fn printf(level: Level, format: &'a str, args: usize) -> Self {
        Self::of_grammar(level, Grammar::PrintfOfValues, format, args)
    }

    /// A site whose text is in any grammar.
    pub fn of_grammar(level: Level, grammar: Grammar, format: &'a str, args: usize) -> Self {
        NewCallSite {
            level,
            grammar,
            format,
            args: args.min(MAX_ARGS) as u8,
            names: Vec::new(),
            file: "",
            line: 0,
            module: "",
            target: "",
            function: "",
            flags: 0,
        }
    }

    /// The names of the values, in their order; an empty one leaves its value without a name.
    pub fn names(mut self, names: &[&'a str]) -> Self {
        self.names = names.to_vec();
        self
    }

    /// The source file and line of the site.
    pub fn file(mut self, file: &'a str, line: u32) -> Self {
        (self.file, self.line) = (file, line);
        self
    }

    /// The module of the site, by which filters name it.
    pub fn module(mut self, module: &'a str) -> Self {
        self.module = module;
        self
    }

    /// The target of the records; filters then name this, and not the module.
    pub fn target(mut self, target: &'a str) -> Self {
        self.target = target;
        self
    }

    /// The function of the site.
    pub fn function(mut self, function: &'a str) -> Self {
        self.function = function;
        self
    }

    /// Spans begin here: calls are [`CallSite::log_span`].
    pub fn begin(self) -> Self {
        self.kind(Kind::BEGIN)
    }

    /// Spans end here: calls are [`CallSite::log_span`].
    pub fn end(self) -> Self {
        self.kind(Kind::END)
    }

    fn kind(mut self, kind: Kind) -> Self {
        let kind = (kind.0 as u8) << flags::KIND_SHIFT & flags::KIND;
        self.flags = self.flags & !flags::KIND | kind | flags::SPAN;
        self
    }

    /// Calls name the span that they are made in: they are [`CallSite::log_span`], and the number
    /// is logged as the key `span`.
    pub fn in_span(mut self) -> Self {
        self.flags |= flags::SPAN;
        self
    }

    /// Whether its records carry a backtrace, whatever their level.
    pub fn backtrace(mut self, wanted: bool) -> Self {
        let which = [flags::NO_BACKTRACE, flags::BACKTRACE][usize::from(wanted)];
        self.flags = self.flags & !(flags::NO_BACKTRACE | flags::BACKTRACE) | which;
        self
    }

    /// Makes the site. Its strings are copied; a text ends where it has a NUL.
    ///
    /// Signal safety: not async-signal-safe.
    pub fn register(&self) -> CallSite {
        let target = if self.target == self.module {
            ""
        } else {
            self.target
        };
        CallSite(Site::at_run_time(&Parts {
            level: self.level,
            format: self.format,
            description: &self.description(),
            file: self.file,
            line: self.line,
            module: self.module,
            target,
            function: self.function,
            args: self.args,
            flags: self.flags,
        }))
    }

    fn description(&self) -> String {
        let mut description = String::from(char::from(self.grammar.letter()));
        let mut before = ':';
        for name in &self.names {
            description.push(before);
            let is_no_name = |c: char| c == ',' || c.is_control();
            description.extend(name.chars().map(|c| if is_no_name(c) { '_' } else { c }));
            before = ',';
        }
        description
    }
}

/// A number for a span, given once in this process.
///
/// Signal safety: async-signal-safe.
pub fn new_span() -> u64 {
    __private::next_span()
}

/// Values of a call beyond these are left out.
const MAX_ARGS: usize = 64;

/// Whether a call of this level could be logged anywhere in the process, by the level and the
/// filter that are set now.
///
/// Signal safety: async-signal-safe.
pub fn is_possible(level: Level) -> bool {
    __private::is_compiled(level) && gate::is_possible(level)
}

/// Calls `changed` whenever the answers of [`is_possible`] and [`CallSite::is_on`] may have
/// changed, in the thread that changed them, for as long as the process lives. Facades that
/// remember such answers forget them then. `false` if there are 16 such functions already.
///
/// Signal safety: not async-signal-safe.
pub fn on_change(changed: extern "C" fn()) -> bool {
    choose::on_change(changed)
}
