//! `push --follow`: records as they are written. While the store is slow or away the files wait: no more of
//! them is read than one look gives.

use crate::choose::chosen;
use crate::choose::filter::Filter;
use crate::failure::{DAMAGED, Failure};
use crate::followed::{self, Arrived};
use crate::log;
use crate::push::feed::Feed;
use crate::show::losses::count;
use crate::verb::push::Push;
use logdef_resync::{Follow, Glance, LocatedImages, News, Place, Resolver, Standings, Tables};
use logdef_wire::{Record, Run, Sequence, ThreadNumber};
use std::process::ExitCode;
use std::time::Instant;

/// What a look brought, in its order.
enum Came {
    Record(Arrived),
    Loss(News),
}

/// The state of following.
struct Following {
    follow: Follow,
    tables: Tables,
    images: LocatedImages,
    filter: Filter,
    standings: Standings,
    is_clean: bool,
}

pub fn run(args: &Push, feed: &mut Feed<'_>) -> Result<ExitCode, Failure> {
    let follow = followed::begin(&args.source)?;
    let tables = Tables::new(logdef_resync::Options::default().memory);
    let mut following = Following {
        follow,
        images: log::images(&args.images),
        filter: Filter::new(&args.filters, &tables)?,
        tables,
        standings: Standings::default(),
        is_clean: true,
    };
    loop {
        // What was written before the end was asked for is sent.
        let is_last = feed.sender.is_to_end();
        let begun = Instant::now();
        let came = following.look();
        let pause = followed::pause(came.is_empty(), begun);
        let lacks_some = following.follow.lacks_some();
        feed.sender.hold_cursor(lacks_some);
        following.send(came, feed)?;
        if following.follow.has_more() {
            continue;
        }
        following.standings.clear();
        if is_last {
            feed.sender.flush()?;
            return Ok(if args.source.strict && !following.is_clean {
                ExitCode::from(DAMAGED)
            } else {
                ExitCode::SUCCESS
            });
        }
        feed.sender.flush_if_due()?;
        feed.sender.wait(pause);
    }
}

impl Following {
    /// What happened since the last look. Logdefs go to the tables.
    fn look(&mut self) -> Vec<Came> {
        let mut all = Vec::new();
        for news in self.follow.poll() {
            let News::Frame {
                file,
                offset,
                bytes,
                standing,
                is_late,
            } = news
            else {
                all.push(Came::Loss(news));
                continue;
            };
            let place = Place {
                input: file,
                offset,
            };
            followed::mark(&mut self.standings, place, standing, is_late);
            if let Some(arrived) = followed::record(place, &bytes, &mut self.tables) {
                self.is_clean &= !arrived.is_after_drops;
                all.push(Came::Record(arrived));
            }
        }
        all
    }

    fn send(&mut self, all: Vec<Came>, feed: &mut Feed<'_>) -> Result<(), Failure> {
        let tables = &self.tables;
        // Tables grow, so each look has a resolver of its own; images are kept.
        let mut resolver = Resolver::new(tables, &mut self.images).marked_by(&self.standings);
        let mut message = Vec::new();
        for came in all {
            let arrived = match came {
                Came::Record(arrived) => arrived,
                Came::Loss(news) => {
                    self.is_clean &= !followed::is_loss(&news);
                    send_loss(&self.follow, news, feed)?;
                    continue;
                }
            };
            let (place, body) = (arrived.place, &arrived.body[..]);
            match Record::decode(body) {
                Ok(Record::Data(data)) => {
                    let is_wanted = chosen::is_in_scope(&self.filter, &data.front, place, tables)
                        && chosen::is_match(
                            &self.filter,
                            &data,
                            place,
                            &mut resolver,
                            &mut message,
                        );
                    if is_wanted {
                        feed.record(&data, body, place, &mut resolver)?;
                    } else if arrived.is_after_drops {
                        // The record that says so is not sent.
                        let dropped = count(data.dropped.unwrap_or(0), "record");
                        feed.loss(format!("{dropped} dropped"), &[b"dropped", body])?;
                    }
                }
                Ok(Record::Note(note)) => {
                    let glance = Glance {
                        run: note.run,
                        time: note.time,
                        ..Glance::default()
                    };
                    if self.filter.is_in_scope(&glance, place, tables) {
                        feed.note(&note, place, tables, &mut resolver)?;
                    }
                }
                _ => {}
            }
        }
        for complaint in resolver.complaints() {
            log::say(&complaint);
        }
        Ok(())
    }
}

/// Sends what was lost, and says it here too.
fn send_loss(follow: &Follow, mut news: News, feed: &mut Feed<'_>) -> Result<(), Failure> {
    let text = |news: &News| followed::line(follow, news);
    let identity = |file: u32| {
        let path = follow.path(file);
        path.map_or_else(Vec::new, followed::identity)
    };
    let (kind, what) = match &mut news {
        News::Missing {
            run,
            number,
            from,
            count,
        }
        | News::Pruned {
            run,
            number,
            from,
            count,
        } => {
            // What an earlier command saw taken may be gone from the files since.
            let sent = feed.sender.calls_before(&call(*run, *number));
            let gone = sent.saturating_sub(*from).min(*count);
            (*from, *count) = (*from + gone, *count - gone);
            if *count == 0 {
                return Ok(());
            }
            let numbers = [run.0, number.0, *from, *count];
            (&b"missing"[..], numbers.map(u64::to_be_bytes).concat())
        }
        News::Damage { file, gap } => {
            let place = [gap.offset, gap.len].map(u64::to_be_bytes).concat();
            (&b"damage"[..], [identity(*file), place].concat())
        }
        News::BrokenOff { file, bytes, .. } => (
            &b"broken off"[..],
            [identity(*file), bytes.to_be_bytes().to_vec()].concat(),
        ),
        News::Withheld { file, records } => (
            &b"withheld"[..],
            [identity(*file), records.to_be_bytes().to_vec()].concat(),
        ),
        News::Doubted { file, from, to, .. } => {
            let place = [*from, *to].map(u64::to_be_bytes).concat();
            (&b"doubted"[..], [identity(*file), place].concat())
        }
        _ => {
            // The file is read again, or what is late comes: nothing is lost yet.
            log::note(&text(&news));
            return Ok(());
        }
    };
    log::note(&text(&news));
    feed.loss(text(&news), &[kind, &what])
}

/// The first call of a thread.
fn call(run: Run, number: ThreadNumber) -> Glance {
    Glance {
        run: Some(run),
        sequence: Some(Sequence::new(number, 0)),
        ..Glance::default()
    }
}
