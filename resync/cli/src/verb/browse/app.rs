//! What the person sees, and what each key changes of it. Knows nothing of terminals: keys come as names,
//! and what is shown is asked for.

use super::frames::Frames;
use super::job::{Counted, Job, Place, Step, Target, sites};
use super::keys::{self, Command};
use super::list::{List, Listed};
use super::log::{Images, Log};
use super::look::{Line, Writers};
use super::prompt::{For, Prompt};
use super::row::Row;
use crate::args::Filters;
use jiff::tz::TimeZone;
use logdef_wire::Level;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Lines that are kept as text.
const LINES: usize = 1024;
/// Call sites on their page.
const SITES: usize = 1000;
/// The highest number that is taken before a key.
const COUNT: u64 = 1 << 48;

/// What covers the rows.
pub enum Page {
    Help,
    Losses(Vec<String>),
    /// With the line that is chosen.
    Sites(Vec<Counted>, usize),
}

/// A key that waits for the letter of a mark.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pending {
    Mark,
    ToMark,
}

pub struct App {
    pub log: Arc<Log>,
    pub(super) frames: Frames,
    pub(super) images: Images,
    pub(super) new_images: Box<dyn Fn() -> Images>,
    pub zone: TimeZone,
    pub(super) base: Filters,
    pub list: List,
    /// What was typed as a filter, and the lowest level.
    pub filter: String,
    pub level: Option<Level>,
    pub folds: bool,
    /// Positions of the first row on the screen and of the one that the person is on.
    pub top: i64,
    pub cursor: i64,
    /// The row that the person is on.
    pub current: Option<Listed>,
    /// The number of the row that they were on last, where they chose what is shown: filters are looked
    /// through from there, also where one that was half typed had chosen none.
    pub(super) anchor: u64,
    /// When it was logged.
    pub time: Option<u64>,
    /// Columns that are left out.
    pub left: usize,
    /// Rows that fit on the screen.
    pub height: usize,
    count: Option<u64>,
    pending: Option<Pending>,
    pub prompt: Option<Prompt>,
    pub page: Option<Page>,
    pub page_top: usize,
    /// All that is known of the row, if that is shown, and how far that is scrolled.
    pub details: Option<usize>,
    pub(super) marks: BTreeMap<char, Listed>,
    /// Where they were before the last jump.
    pub(super) last: Option<Listed>,
    pub(super) search: Option<(Target, bool)>,
    pub job: Option<Job>,
    /// The person is at the end, and stays there while it moves.
    pub sticks: bool,
    pub message: String,
    /// Bytes for the clipboard.
    pub copied: Option<Vec<u8>>,
    pub redraws: bool,
    /// The process is to stop, as the terminal's own key would make it.
    pub stops: bool,
    pub quits: bool,
    lines: HashMap<u64, Line>,
    generation: u64,
    /// What the log and the list were at when they were last taken in.
    version: (u64, u64),
}

impl App {
    pub fn new(log: Arc<Log>, base: Filters, new_images: Box<dyn Fn() -> Images>) -> App {
        let mut app = App {
            frames: Frames::of(log.inputs.clone()),
            images: new_images(),
            new_images,
            zone: base.zone(),
            base,
            list: List::All,
            filter: String::new(),
            level: None,
            folds: false,
            top: 0,
            cursor: 0,
            current: None,
            anchor: 0,
            time: None,
            left: 0,
            height: 1,
            count: None,
            pending: None,
            prompt: None,
            page: None,
            page_top: 0,
            details: None,
            marks: BTreeMap::new(),
            last: None,
            search: None,
            job: None,
            sticks: false,
            message: String::new(),
            copied: None,
            redraws: false,
            stops: false,
            quits: false,
            lines: HashMap::new(),
            generation: 0,
            version: (0, 0),
            log,
        };
        app.choose();
        app
    }

    /// Takes in what other threads did, and does a piece of what was begun.
    pub fn tick(&mut self) {
        // First: what comes after this is news to the next tick.
        self.version = (self.log.version(), self.list.version());
        let generation = self.log.found().generation;
        if generation != self.generation {
            self.generation = generation;
            self.lines.clear();
            self.find_again();
            if let Some(job) = &mut self.job {
                job.begin_again(self.cursor);
            }
        }
        if let Some(said) = self.log.take_said() {
            self.message = said;
        }
        if self.sticks {
            self.cursor = self.list.positions(&self.log).end - 1;
        }
        self.work();
        self.clamp();
        // Only here: while a key is taken in, what a half typed filter chose may be there already.
        if let (Some(current), None) = (self.current, &self.prompt) {
            self.anchor = current.number;
        }
    }

    /// After all rows were replaced: finds where those stand now that the person marked, and goes to the
    /// one that they were on.
    fn find_again(&mut self) {
        let mut rows = Vec::new();
        {
            let found = self.log.found();
            let most = found.rows.len().min(1 << 18) as usize;
            if found.rows.read(0, most, &mut rows).is_err() {
                return;
            }
        }
        let number = |of: &Listed| rows.iter().position(|row| *row == of.row.0);
        for marked in self.marks.values_mut().chain(&mut self.last) {
            marked.number = number(marked).map_or(marked.number, |at| at as u64);
        }
        if let (List::All, Some(current)) = (&self.list, self.current) {
            let moved = number(&current).map_or(0, |at| at as i64 - self.cursor);
            self.cursor += moved;
            self.top += moved;
        }
    }

    fn work(&mut self) {
        let Some(mut job) = self.job.take() else {
            return;
        };
        let step = job.step(&mut Place {
            log: &self.log,
            list: &self.list,
            frames: &mut self.frames,
            images: &mut self.images,
            zone: &self.zone,
        });
        if let Job::Count { counts, times, .. } = &job
            && let Some(Page::Sites(listed, _)) = &mut self.page
        {
            *listed = sites(counts, *times, SITES);
        }
        match (step, job) {
            (Step::More, job) => self.job = Some(job),
            (Step::Failed(why), _) => self.message = why,
            (Step::Done(Some(position)), _) => self.jump(position),
            (Step::Done(None), Job::Seek { .. }) => self.message = "not found".into(),
            (Step::Done(None), Job::Write { path, written, .. }) => {
                self.message = format!("{written} rows are in {}", path.display());
            }
            (Step::Done(None), Job::Count { .. }) => {}
        }
    }

    /// Keeps the cursor in the list and on the screen.
    pub fn clamp(&mut self) {
        let positions = self.list.positions(&self.log);
        self.cursor = self.cursor.min(positions.end - 1).max(positions.start);
        let last = self.height.max(1) as i64 - 1;
        self.top = self.top.clamp(self.cursor - last, self.cursor);
        // The last page is full, if there are rows for it.
        self.top = self.top.min(positions.end - 1 - last).max(positions.start);
        let current = self.list.rows(self.cursor, 1, &self.log);
        self.current = current.first().copied();
    }

    /// Rows from the first on the screen on, with their text.
    pub fn rows(&mut self) -> Vec<(Listed, Line)> {
        let listed = self.list.rows(self.top, self.height, &self.log);
        if self.lines.len() > LINES {
            self.lines.clear();
        }
        let found = self.log.found();
        let inputs = &self.log.inputs;
        let mut writers = Writers::new(&found, inputs, &mut self.images, &self.zone);
        let frames = &mut self.frames;
        let shown = listed.into_iter().map(|listed| {
            let kept = self.lines.entry(listed.number);
            let line = kept.or_insert_with(|| writers.line(listed.row, frames));
            if listed.position == self.cursor {
                self.time = line.time;
            }
            (listed, line.clone())
        });
        shown.collect()
    }

    /// All that is known of the row that the person is on.
    pub fn detail_lines(&mut self) -> Vec<String> {
        self.with_current(|writers, row, frames| writers.details(row, frames))
            .unwrap_or_default()
    }

    fn with_current<T>(
        &mut self,
        with: impl FnOnce(&mut Writers<'_>, Row, &mut Frames) -> T,
    ) -> Option<T> {
        let row = self.current?.row;
        let found = self.log.found();
        let inputs = &self.log.inputs;
        let mut writers = Writers::new(&found, inputs, &mut self.images, &self.zone);
        Some(with(&mut writers, row, &mut self.frames))
    }

    pub fn mark_of(&self, number: u64) -> Option<char> {
        let mut marks = self.marks.iter();
        marks.find_map(|(letter, marked)| (marked.number == number).then_some(*letter))
    }

    /// Changes with what a screen would show, as of the last tick. What came since is news to the next one,
    /// also where a screen that is drawn now counts it.
    pub fn version(&self) -> (u64, u64) {
        self.version
    }

    /// Whether something is under way that a look at the next moment moves on.
    pub fn is_busy(&self) -> bool {
        self.job.as_ref().is_some_and(|job| !job.waits())
    }

    /// A key was pressed.
    pub fn key(&mut self, name: &str) {
        self.message.clear();
        if keys::command(name) == Some(Command::Stop) {
            return self.stops = true;
        }
        if let Some(pending) = self.pending.take() {
            return self.mark(pending, name);
        }
        if self.prompt.is_some() {
            return self.prompt_key(name);
        }
        // On a page they close that, and with it what is counted for it.
        if self.job.is_some() && self.page.is_none() && matches!(name, "Esc" | "^C") {
            self.job = None;
            self.message = "stopped".into();
            return;
        }
        if let Ok(digit) = name.parse::<u64>()
            && (digit > 0 || self.count.is_some())
        {
            let count = self.count.unwrap_or(0) * 10 + digit;
            self.count = Some(count.min(COUNT));
            return;
        }
        match keys::command(name) {
            Some(command) if self.page.is_some() => self.page_key(command),
            Some(command) => self.command(command),
            None => self.message = format!("{name} has no meaning: h shows the keys"),
        }
        self.count = None;
    }

    /// What the keys mean where a page covers the rows.
    fn page_key(&mut self, command: Command) {
        let page = self.height as i64;
        let steps = match command {
            Command::Down => 1,
            Command::Up => -1,
            Command::PageDown => page,
            Command::PageUp => -page,
            Command::HalfDown => page / 2,
            Command::HalfUp => -page / 2,
            Command::First => i64::MIN / 2,
            Command::Last => i64::MAX / 2,
            Command::Redraw => return self.redraws = true,
            Command::Details => return self.choose_site(),
            _ => {
                self.page = None;
                if matches!(self.job, Some(Job::Count { .. })) {
                    self.job = None;
                }
                return;
            }
        };
        let len = self.page_len() as i64;
        let moved = |at: usize, last: i64| (at as i64 + steps).clamp(0, last.max(0)) as usize;
        let height = self.height as i64;
        match &mut self.page {
            Some(Page::Sites(_, chosen)) => {
                *chosen = moved(*chosen, len - 1);
                let (chosen, height) = (*chosen, self.height);
                self.page_top = self
                    .page_top
                    .clamp((chosen + 1).saturating_sub(height), chosen);
            }
            _ => self.page_top = moved(self.page_top, len - height),
        }
    }

    fn page_len(&self) -> usize {
        match &self.page {
            Some(Page::Help) => keys::KEYS.len(),
            Some(Page::Losses(lines)) => lines.len(),
            Some(Page::Sites(sites, _)) => sites.len(),
            None => 0,
        }
    }

    /// Shows the records of the call site that is chosen.
    fn choose_site(&mut self) {
        if let Some(Page::Sites(sites, chosen)) = self.page.take()
            && let Some(site) = sites.get(chosen)
        {
            self.job = None;
            self.filter = site.filter.clone();
            self.choose();
        }
    }

    fn command(&mut self, command: Command) {
        let count = self.count.unwrap_or(1).min(i64::MAX as u64) as i64;
        let page = self.height.max(1) as i64;
        match command {
            Command::Down => self.go(count),
            Command::Up => self.go(-count),
            Command::PageDown => self.turn(page.saturating_mul(count)),
            Command::PageUp => self.turn(-page.saturating_mul(count)),
            Command::HalfDown => self.turn((page / 2).max(1).saturating_mul(count)),
            Command::HalfUp => self.turn(-(page / 2).max(1).saturating_mul(count)),
            Command::First => self.jump_to_number(self.count.unwrap_or(1)),
            Command::Last => match self.count {
                Some(number) => self.jump_to_number(number),
                None => {
                    self.jump(self.list.positions(&self.log).end - 1);
                    self.sticks = true;
                }
            },
            Command::Percent => {
                let positions = self.list.positions(&self.log);
                let len = (positions.end - positions.start) as i128;
                let percent = i128::from(self.count.unwrap_or(0).min(100));
                self.jump(positions.start + (len * percent / 100) as i64);
            }
            Command::Right => self.left += 20,
            Command::Left => self.left = self.left.saturating_sub(20),
            Command::Search => self.ask(For::Search, ""),
            Command::SearchBack => self.ask(For::SearchBack, ""),
            Command::Next => self.search_again(true),
            Command::Previous => self.search_again(false),
            Command::Filter => self.ask(For::Filter, &self.filter.clone()),
            Command::RaiseLevel => self.raise_level(true),
            Command::LowerLevel => self.raise_level(false),
            Command::Fold => {
                self.folds = !self.folds;
                self.choose();
            }
            Command::Follow => self.follow(),
            Command::NextError => self.seek(Target::Error, true),
            Command::PreviousError => self.seek(Target::Error, false),
            Command::NextGap => self.seek(Target::Gap, true),
            Command::PreviousGap => self.seek(Target::Gap, false),
            Command::Time => self.ask(For::Time, ""),
            Command::Mark => self.pending = Some(Pending::Mark),
            Command::ToMark => self.pending = Some(Pending::ToMark),
            Command::Write => self.ask(For::Write, ""),
            Command::Back => self.back(),
            Command::Redraw => self.redraws = true,
            Command::Quit => self.quits = true,
            other => self.look(other),
        }
    }

    /// What is shown beside the rows, and copies of them.
    fn look(&mut self, command: Command) {
        match command {
            Command::Details => {
                self.details = match self.details {
                    None => Some(0),
                    Some(_) => None,
                }
            }
            Command::DetailsDown => self.details = self.details.map(|top| top + 1),
            Command::DetailsUp => self.details = self.details.map(|top| top.saturating_sub(1)),
            Command::Sites => {
                self.open(Page::Sites(Vec::new(), 0));
                self.job = Some(Job::Count {
                    at: None,
                    counts: Box::default(),
                    times: None,
                });
            }
            Command::Losses => self.open(Page::Losses(self.losses())),
            Command::Help => self.open(Page::Help),
            Command::CopyText => self.copy(|writers, row, frames| {
                let line = writers.whole(row, frames);
                line.text.into_bytes()
            }),
            Command::CopyJson => self.copy(|writers, row, frames| {
                let line = writers.json(row, frames);
                line.trim_ascii_end().to_vec()
            }),
            _ => {}
        }
    }

    fn open(&mut self, page: Page) {
        self.page = Some(page);
        self.page_top = 0;
    }

    fn losses(&self) -> Vec<String> {
        let mut lines = self.log.losses();
        if lines.is_empty() {
            lines.push("nothing is missing, as far as the log was read".into());
        }
        lines
    }

    fn copy(&mut self, what: impl FnOnce(&mut Writers<'_>, Row, &mut Frames) -> Vec<u8>) {
        let copied = self.with_current(what).unwrap_or_default();
        self.message = match copied.len() {
            0 => "no record is there".into(),
            len => format!("copied {len} bytes: a terminal may not allow it; w writes a file"),
        };
        self.copied = Some(copied).filter(|copied| !copied.is_empty());
    }

    fn go(&mut self, rows: i64) {
        self.sticks = false;
        self.cursor = self.cursor.saturating_add(rows);
        self.clamp();
    }

    /// Moves the screen with the cursor.
    fn turn(&mut self, rows: i64) {
        self.top = self.top.saturating_add(rows);
        self.go(rows);
    }

    pub(super) fn jump(&mut self, position: i64) {
        self.sticks = false;
        self.last = self.current;
        let was = self.top..self.top + self.height as i64;
        self.cursor = position;
        if !was.contains(&position) {
            self.top = position - self.height as i64 / 3;
        }
        self.clamp();
    }

    /// Goes to a row of the list that is shown, counted from 1.
    fn jump_to_number(&mut self, number: u64) {
        let first = self.list.positions(&self.log).start;
        self.jump(first.saturating_add(number.saturating_sub(1).min(COUNT) as i64));
    }

    /// Goes to the row of a number among all, or the next that is shown.
    pub(super) fn jump_to_row(&mut self, number: u64) {
        let position = self.position(|listed| listed.number < number);
        self.jump(position);
    }

    /// The first position whose row is not before something.
    pub(super) fn position(&mut self, mut is_before: impl FnMut(&Listed) -> bool) -> i64 {
        let positions = self.list.positions(&self.log);
        let (mut low, mut high) = (positions.start, positions.end);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.list.rows(middle, 1, &self.log).first() {
                Some(listed) if is_before(listed) => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    fn follow(&mut self) {
        self.log.follow();
        self.jump(self.list.positions(&self.log).end - 1);
        self.sticks = true;
    }

    pub(super) fn ask(&mut self, purpose: For, text: &str) {
        self.prompt = Some(Prompt::new(purpose, text));
    }

    fn back(&mut self) {
        if self.details.take().is_none() && !matches!(self.list, List::All) {
            self.filter.clear();
            self.level = None;
            self.folds = false;
            self.choose();
        }
        self.count = None;
        self.sticks = false;
    }

    pub(super) fn seek(&mut self, target: Target, is_forward: bool) {
        let nth = self.count.unwrap_or(1);
        self.job = Some(Job::seek(target, is_forward, self.cursor, nth));
    }

    pub(super) fn search_again(&mut self, is_same_way: bool) {
        match self.search.clone() {
            Some((target, is_forward)) => self.seek(target, is_forward == is_same_way),
            None => self.message = "no search yet: / searches".into(),
        }
    }

    /// Counts that a job has so far, for the line at the bottom.
    pub fn progress(&self) -> Option<String> {
        Some(match self.job.as_ref()? {
            Job::Seek { at, .. } => format!("searching at row {at}"),
            Job::Count { counts, .. } => format!("counting: {}", counts.records),
            Job::Write { written, .. } => format!("writing: {written}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::tests::{no_images, replace, rows};
    use super::*;

    /// The person stayed a row before the end of a log that was followed, until the next came.
    #[test]
    fn a_row_that_comes_before_the_screen_is_drawn_asks_for_another_screen() {
        let log = Arc::new(Log::new(Vec::new()));
        log.push(&mut rows(0..3), 0).unwrap();
        let mut app = App::new(log.clone(), Filters::none(), Box::new(no_images));
        app.key("F");
        app.tick();
        log.push(&mut rows(4..5), 0).unwrap();
        let drawn = app.version();
        app.tick();
        assert_ne!(app.version(), drawn);
        assert_eq!(app.current.unwrap().number, 3);
    }

    /// The page once stayed when its count was stopped, though its bar says what closes it.
    #[test]
    fn a_page_is_closed_while_its_rows_are_counted() {
        let log = Arc::new(Log::new(Vec::new()));
        log.push(&mut rows(0..3), 0).unwrap();
        let mut app = App::new(log, Filters::none(), Box::new(no_images));
        app.key("s");
        assert_eq!(app.progress().unwrap(), "counting: 0");
        app.key("Esc");
        assert!(app.page.is_none() && app.job.is_none());
    }

    /// Marks that were set while the beginning was shown led to other rows when all were there.
    #[test]
    fn a_mark_stays_on_its_row_where_rows_are_replaced() {
        let log = Arc::new(Log::new(Vec::new()));
        log.push(&mut rows(4..7), 0).unwrap();
        let mut app = App::new(log.clone(), Filters::none(), Box::new(no_images));
        let number = |app: &App| app.current.unwrap().number;
        app.tick();
        for key in ["j", "m", "a", "G", "g"] {
            app.key(key);
        }
        assert_eq!((number(&app), app.mark_of(1)), (0, Some('a')));
        replace(&log, 0..9);
        app.tick();
        assert_eq!((number(&app), app.mark_of(5)), (4, Some('a')));
        for (key, expected) in [("a", 5), ("'", 4)] {
            app.key("'");
            app.key(key);
            assert_eq!(number(&app), expected);
        }
    }
}
