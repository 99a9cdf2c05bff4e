//! The corpus: logs of a few hundred bytes in `samples/corpus`, each beside
//! the text that the `logdef` command makes of it.

use crate::workshop::Workshop;
use std::path::{Path, PathBuf};

/// The folder with the corpus.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// What the command says of a log: what `view` prints, then what `check`
/// prints, with its exit status.
pub fn text(workshop: &Workshop, log: &Path) -> String {
    let mut text = String::new();
    for verb in ["view", "check"] {
        let mut command = workshop.command("logdef");
        // The file by its name alone, as the text must not know where it lay.
        command
            .current_dir(log.parent().expect("a folder"))
            .arg(verb);
        command
            .arg(log.file_name().expect("a file"))
            .env("TZ", "UTC");
        let output = command.output().expect("logdef runs");
        text += &format!("$ logdef {verb}\n");
        text += &String::from_utf8(output.stdout).expect("text is UTF-8");
        text += &String::from_utf8(output.stderr).expect("text is UTF-8");
        text += &format!("exit status {}\n\n", output.status.code().unwrap_or(-1));
    }
    text
}
