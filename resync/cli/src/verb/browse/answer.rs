//! What the person types: filters, texts to search for, times, names of files and of marks; and what
//! becomes of it. The rest of what keys do stands in [`app`](super::app).

use super::app::{App, Pending};
use super::frames::Frames;
use super::job::{Job, Target};
use super::list::List;
use super::look::Writers;
use super::prompt::{self, For, Prompt};
use super::scan::{Scan, Wanted};
use crate::args::{Filters, Levels};
use crate::choose::when::Written;
use logdef_wire::Level;
use std::path::Path;

impl App {
    pub(super) fn raise_level(&mut self, is_more: bool) {
        let levels = Level::NAMED.map(|(level, _)| level);
        let at = self
            .level
            .and_then(|own| levels.iter().position(|level| *level == own));
        self.level = match (at, is_more) {
            // TRACE is every level that most programs have.
            (None, true) => Some(levels[1]),
            (None | Some(0 | 1), false) => None,
            (Some(at), true) => Some(levels[(at + 1).min(levels.len() - 1)]),
            (Some(at), false) => Some(levels[at - 1]),
        };
        self.choose();
    }

    /// Shows what the filters choose, from where the person is on.
    pub(super) fn choose(&mut self) {
        let typed = match prompt::filters(&self.filter, &self.zone) {
            Ok(typed) => typed,
            // What was chosen before stays while something is typed.
            Err(why) => return self.message = why,
        };
        // What it was done on is replaced.
        if self.job.take().is_some() {
            self.message = "stopped".into();
        }
        let anchor = self.anchor;
        if let List::Chosen(scan) = &self.list {
            scan.cancel();
        }
        let mut filters: Vec<_> = [self.base.clone()].into();
        filters.extend(typed);
        if let Some(level) = self.level {
            let mut of_level = Filters::none();
            of_level.level = Some(Levels::from(level));
            filters.push(of_level);
        }
        let is_all = filters.len() == 1 && self.base.is_everything() && !self.folds;
        self.list = if is_all {
            List::All
        } else {
            let folds = self.folds;
            let wanted = Wanted { filters, folds };
            List::Chosen(Scan::begin(&self.log, wanted, anchor, (self.new_images)()))
        };
        self.cursor = if is_all { anchor as i64 } else { 0 };
        self.top = self.cursor - self.height as i64 / 3;
        self.sticks = false;
        self.clamp();
    }

    pub(super) fn mark(&mut self, pending: Pending, name: &str) {
        let mut letters = name.chars();
        let (Some(letter), None) = (letters.next(), letters.next()) else {
            return self.message = "a mark is a letter".into();
        };
        match (pending, self.marks.get(&letter)) {
            (Pending::Mark, _) => {
                if let Some(current) = self.current {
                    self.marks.insert(letter, current);
                }
            }
            (Pending::ToMark, _) if letter == '\'' => {
                self.jump_to_row(self.last.map_or(0, |last| last.number));
            }
            (Pending::ToMark, Some(marked)) => self.jump_to_row(marked.number),
            (Pending::ToMark, None) => self.message = format!("no row is marked {letter}"),
        }
    }

    pub(super) fn prompt_key(&mut self, name: &str) {
        let Some(mut prompt) = self.prompt.take() else {
            return;
        };
        match name {
            "Enter" => return self.answer(&prompt),
            "Esc" | "^C" => {
                if prompt.purpose == For::Filter && !self.filter.is_empty() {
                    self.filter.clear();
                    self.choose();
                }
                return;
            }
            // Where all is deleted, once more leaves.
            "Backspace" if prompt.text.is_empty() => return,
            name => {
                prompt.key(name);
            }
        }
        if prompt.purpose == For::Filter && prompt.text != self.filter {
            self.filter.clone_from(&prompt.text);
            self.choose();
        }
        self.prompt = Some(prompt);
    }

    fn answer(&mut self, prompt: &Prompt) {
        let text = prompt.text.trim();
        match prompt.purpose {
            For::Filter => {}
            For::Search | For::SearchBack => {
                let is_forward = prompt.purpose == For::Search;
                if text.is_empty() {
                    return self.search_again(true);
                }
                match prompt::regex(text) {
                    Ok(regex) => {
                        self.search = Some((Target::Text(regex), is_forward));
                        self.search_again(true);
                    }
                    Err(why) => self.message = why,
                }
            }
            For::Time if !text.is_empty() => match Written::parse(text) {
                Ok(written) => self.jump_to_time(written.moment(&self.zone).0),
                Err(why) => self.message = why,
            },
            For::Write if !text.is_empty() => match Job::write(Path::new(text)) {
                Ok(job) => self.job = Some(job),
                Err(why) => self.message = why,
            },
            For::Time | For::Write => {}
        }
    }

    /// Goes to the first row of a time or later. Rows without a time stand where they are.
    fn jump_to_time(&mut self, time: u64) {
        let log = self.log.clone();
        let mut images = (self.new_images)();
        let mut frames = Frames::of(log.inputs.clone());
        let zone = self.zone.clone();
        let position = self.position(|listed| {
            let found = log.found();
            let mut writers = Writers::new(&found, &log.inputs, &mut images, &zone);
            let line = writers.line(listed.row, &mut frames);
            line.time.is_none_or(|own| own < time)
        });
        self.jump(position);
    }
}
