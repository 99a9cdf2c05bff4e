//! Questions typed at a terminal, one after the other: a line editor with a history, and words that it completes.
//! Knows nothing of how a question is answered.

mod history;
mod words;

use crate::args::Format;
use crate::ask::Session;
use crate::escape;
use crate::failure::Failure;
use crate::output::Output;
use futures::FutureExt;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::thread;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use words::Words;

/// What stands before a question.
const PROMPT: &str = "sql> ";

const HELP: &str = "\
A question ends with a semicolon, and may have several lines. Tab completes names.
  .tables     the names of tables and views
  .help       this
  .quit       ends, as Ctrl-D does
  describe records;
              the columns of a table
Ctrl-C abandons a question. The page docs/sql.md has questions to begin with.";

/// Whether someone can type questions.
pub fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Answers questions until there are no more.
pub async fn run(session: &Session, format: Format) -> Result<(), Failure> {
    // Logs are read here, while Ctrl-C still ends the command.
    session.verdict()?;
    let interrupts = interrupts()?;
    let mut editor = editor(session)?;
    let history = history::path();
    if let Some(path) = &history {
        // Before the first question there is no file.
        let _ = editor.load_history(path);
    }
    loop {
        let line = match editor.readline(PROMPT) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(Failure::Output(format!("the terminal: {error}"))),
        };
        if line.trim().is_empty() {
            continue;
        }
        let _ = editor.add_history_entry(line.as_str());
        if let Some(path) = &history {
            history::append(&mut editor, path);
        }
        match line.trim() {
            ".quit" => return Ok(()),
            ".help" => writeln!(io::stdout(), "{HELP}")?,
            ".tables" => tables(session)?,
            question if question.starts_with('.') => {
                let why = format!("{question}: there is no such command: see .help");
                let _ = Failure::Question(why).report();
            }
            question => answer(session, question, format, &interrupts).await?,
        }
    }
}

fn editor(session: &Session) -> Result<Editor<Words, FileHistory>, Failure> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .history_ignore_space(true)
        .build();
    let failed = |error: ReadlineError| Failure::Output(format!("the terminal: {error}"));
    let mut editor = Editor::with_config(config).map_err(failed)?;
    editor.set_helper(Some(Words::of(&session.context)));
    Ok(editor)
}

/// Notes each Ctrl-C, by a thread of its own: a question may keep all others busy.
fn interrupts() -> io::Result<Arc<Notify>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _entered = runtime.enter();
        signal(SignalKind::interrupt())?
    };
    let pressed = Arc::new(Notify::new());
    let noted = Arc::clone(&pressed);
    thread::spawn(move || {
        runtime.block_on(async move {
            while signals.recv().await.is_some() {
                noted.notify_one();
            }
        });
    });
    Ok(pressed)
}

/// Answers a question, unless Ctrl-C comes first. Fails only if later answers would fail too.
async fn answer(
    session: &Session,
    question: &str,
    format: Format,
    interrupts: &Notify,
) -> Result<(), Failure> {
    // One that came too late for the question before.
    let _ = interrupts.notified().now_or_never();
    let mut output = Output::new(format);
    let answered = tokio::select! {
        answered = session.answer_all(question, &mut output) => answered,
        () = interrupts.notified() => {
            let _ = writeln!(io::stderr(), "abandoned");
            return Ok(());
        }
    };
    match answered {
        Err(failure) if failure.is_of_output() => Err(failure),
        Err(failure) => {
            let _ = failure.report();
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Lists the tables.
fn tables(session: &Session) -> Result<(), Failure> {
    let names = words::tables(&session.context);
    let mut out = io::stdout().lock();
    for name in names.iter().map(|name| words::quoted(name)) {
        writeln!(out, "{}", escape::text(&name))?;
    }
    Ok(())
}
