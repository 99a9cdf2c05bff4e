//! The terminal: taken over and given back whatever happens, keys in, screens out. Knows nothing of logs.

use super::app::App;
use super::keys;
use super::log::Stage;
use super::screen;
use crate::archived;
use crate::failure::Failure;
use crossterm::event::{self, Event, KeyEventKind, KeyModifiers};
use crossterm::{cursor, execute, terminal};
use data_encoding::BASE64;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM};
use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long is waited for a key before others are looked at.
const PAUSE: Duration = Duration::from_millis(50);
/// The same until there are rows.
const AT_FIRST: Duration = Duration::from_millis(2);
/// How long a signal is given to end it in the usual way.
const GRACE: Duration = Duration::from_millis(500);
/// How often a screen is drawn at most while no key is pressed.
const BETWEEN: Duration = Duration::from_millis(100);
/// Bytes that are copied: a terminal takes no more in one sequence.
const COPIED: usize = 74_994;

/// The terminal, as it is while a program draws on it.
struct Taken;

impl Taken {
    fn take() -> io::Result<Taken> {
        terminal::enable_raw_mode()?;
        let taken = Taken;
        execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(taken)
    }

    /// Stops the process, and gives the shell the terminal meanwhile. Where no shell could continue it,
    /// the system lets it run.
    fn stop(&self) -> io::Result<()> {
        give_back();
        kill_process(getpid(), Signal::TSTP)?;
        self.take_again()
    }

    /// What another program left of it is not as it was.
    fn take_again(&self) -> io::Result<()> {
        terminal::disable_raw_mode()?;
        terminal::enable_raw_mode()?;
        execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    let _ = execute!(io::stdout(), terminal::LeaveAlternateScreen, cursor::Show);
    let _ = terminal::disable_raw_mode();
}

/// Whether there is a terminal to work in; why not, if not.
pub fn check(reads_input: bool) -> Result<(), Failure> {
    let why = if !io::stdout().is_terminal() {
        "browse needs a terminal as standard output: `logdef view` prints records"
    } else if reads_input && io::stdin().is_terminal() {
        "browse needs a log: name a file or a folder"
    } else if !reads_input && !io::stdin().is_terminal() {
        "browse needs a terminal as standard input: `logdef view` prints records"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(why.into()))
}

/// Lets the person walk until they leave, or a signal ends it.
pub fn run(app: &mut App, has_color: bool) -> Result<(), Failure> {
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        let _ = signal_hook::flag::register(signal, ends.clone());
    }
    end_in_any_case(ends.clone());
    let fault = Arc::new(AtomicBool::new(false));
    give_back_after_a_fault(fault.clone());
    let taken = Taken::take()?;
    let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
    let continues = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(SIGCONT, continues.clone());
    let has_ended = || ends.load(Ordering::Relaxed) || fault.load(Ordering::Relaxed);
    let mut drawn = None;
    while !app.quits && !has_ended() {
        let had_no_row = app.current.is_none();
        app.tick();
        if std::mem::take(&mut app.stops) {
            taken.stop()?;
            app.redraws = true;
        }
        if continues.swap(false, Ordering::Relaxed) {
            taken.take_again()?;
            app.redraws = true;
        }
        if std::mem::take(&mut app.redraws) {
            terminal.clear()?;
            drawn = None;
        }
        // Before the line that says so.
        copy(app)?;
        let version = (app.version(), app.is_busy());
        // The first rows are shown when they come.
        let is_due = drawn.is_none_or(|(shown, at): (_, Instant)| {
            (shown != version || app.is_busy()) && (had_no_row || at.elapsed() >= BETWEEN)
        });
        if is_due {
            terminal.draw(|frame| screen::draw(app, frame.buffer_mut(), has_color))?;
            drawn = Some((version, Instant::now()));
        }
        let mut pause = if app.is_busy() {
            Duration::ZERO
        } else if app.current.is_none() && !matches!(app.log.stage(), Stage::Done | Stage::Failed) {
            AT_FIRST
        } else {
            PAUSE
        };
        while !app.quits && !app.stops && event::poll(pause)? {
            pause = Duration::ZERO;
            drawn = None;
            if let Event::Key(key) = event::read()?
                && key.kind != KeyEventKind::Release
                && let Some(name) = keys::name(&key)
            {
                // A key right after Esc comes as one with Alt.
                if key.modifiers.contains(KeyModifiers::ALT) {
                    app.key("Esc");
                    app.tick();
                }
                app.key(&name);
                app.tick();
            }
        }
    }
    drop(taken);
    if fault.load(Ordering::Relaxed) {
        // The thread that had it has said so. The status is that of a panic.
        std::process::exit(101);
    }
    Ok(())
}

/// Ends the process some time after a signal: a terminal that is closed gives no key, and the library
/// waits for one for ever.
fn end_in_any_case(ends: Arc<AtomicBool>) {
    thread::spawn(move || {
        while !ends.load(Ordering::Relaxed) {
            thread::sleep(PAUSE);
        }
        thread::sleep(GRACE);
        give_back();
        std::process::exit(0);
    });
}

/// Gives the terminal back before a fault of any thread is said.
fn give_back_after_a_fault(fault: Arc<AtomicBool>) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !archived::catches_panics() {
            fault.store(true, Ordering::Relaxed);
            give_back();
        }
        usual(info);
    }));
}

/// Gives the terminal what was copied, as a number of letters that cannot end the sequence.
fn copy(app: &mut App) -> io::Result<()> {
    if let Some(copied) = app.copied.take() {
        if copied.len() > COPIED {
            app.message = "too long to be copied: w writes a file".into();
            return Ok(());
        }
        let mut out = io::stdout().lock();
        write!(out, "\x1b]52;c;{}\x07", BASE64.encode(&copied))?;
        out.flush()?;
    }
    Ok(())
}
