//! `browse`: records in a terminal, to be walked through.
//!
//! One thread finds where records stand, in the order of time, and keeps eight bytes of each; the
//! screen reads again what it shows. Others find what filters choose, and what is new.
//!
//! ```text
//! index, live --> log (rows, tables) --> scan --> list --> app --> screen --> terminal
//!                                        (filters)          ^
//!                                                          keys, prompt, job
//! ```

mod answer;
mod app;
mod frames;
mod index;
mod job;
mod keys;
mod list;
mod live;
mod log;
mod look;
mod prompt;
mod row;
mod rows;
mod scan;
mod screen;
mod terminal;

use crate::archived;
use crate::args::{Filters, Images, Source};
use crate::failure::{Failure, UNREADABLE};
use crate::log::{images, inputs};
use app::App;
use log::{Log, Stage};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// `browse`: which records to walk through.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "In the program, the key h lists all keys.")]
pub struct Browse {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    #[command(flatten)]
    pub filters: Filters,
    /// Begin at the end, and show new records as they are written: the key F does the same
    #[arg(short, long)]
    pub follow: bool,
}

impl Browse {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let files = &self.source.files;
        let is_stream = files.is_empty() || files.iter().any(|file| file == Path::new("-"));
        terminal::check(is_stream)?;
        let opened = inputs(&self.source)?;
        let lacks_some = opened.lacks_some;
        let log = Arc::new(Log::new(opened.opened));
        let cannot_follow = match files.iter().find(|file| !archived::parts(file).is_empty()) {
            Some(file) => Some(format!(
                "{} is an archive and cannot be followed",
                file.display()
            )),
            None => is_stream.then(|| "standard input cannot be followed: it was read".into()),
        };
        if let Some(why) = &cannot_follow {
            log.cannot_follow(why.clone());
        }
        self.read(&log, cannot_follow.is_none());
        let of_images = self.images.clone();
        let new_images = move || [images(&of_images), images(&of_images)];
        let mut app = App::new(log, self.filters.clone(), Box::new(new_images));
        if self.follow {
            app.key("F");
        }
        let choice = anstream::AutoStream::choice(&std::io::stdout());
        terminal::run(&mut app, choice != anstream::ColorChoice::Never)?;
        Ok(if lacks_some {
            ExitCode::from(UNREADABLE)
        } else {
            ExitCode::SUCCESS
        })
    }

    /// Begins to find rows.
    fn read(&self, log: &Arc<Log>, may_follow: bool) {
        let (log, source) = (log.clone(), self.source.clone());
        std::thread::spawn(move || {
            let read = index::run(&log, source.suspects).and_then(|seen| {
                if may_follow {
                    live::run(&log, &source, seen)
                } else {
                    Ok(())
                }
            });
            if let Err(failure) = read {
                log.reach(Stage::Failed);
                log.say(failure.to_string());
            }
        });
    }
}
