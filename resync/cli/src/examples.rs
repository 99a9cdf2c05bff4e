//! Command lines that people copy: those at the end of each verb's `--help`. A test runs
//! all of them.

use crate::choose::forms;
use clap::Command;
use std::fmt::Write;

/// A command line and what it is for.
type Example = (&'static str, &'static str);

const VERBS: [(&str, &[Example]); 23] = [
    ("view", &VIEW),
    (
        "browse",
        &[
            (
                "logdef browse app.log",
                "from its beginning; h shows the keys, q quits",
            ),
            (
                "logdef browse --follow logs/",
                "from the end, with new records as they are written",
            ),
            (
                "logdef browse -l warn -w 'ms>500' app.log",
                "only these; the key & filters on, as you type",
            ),
        ],
    ),
    (
        "check",
        &[
            (
                "logdef check app.log",
                "what is missing, dropped or damaged, and where",
            ),
            ("logdef check --map logs/", "the same, and each file drawn"),
            (
                "logdef check -o json app.log | jq .missing",
                "for a program",
            ),
        ],
    ),
    (
        "stats",
        &[
            (
                "logdef stats logs/",
                "counts by level, call site, run and thread",
            ),
            (
                "logdef stats --since yesterday -l warn logs/",
                "of warnings, since yesterday",
            ),
            ("logdef stats -o json app.log", "for a program"),
        ],
    ),
    (
        "report",
        &[
            (
                "logdef report -O report.html logs/",
                "how each run ended, what changed, the last records: one page to send by mail",
            ),
            (
                "logdef report -O report.html --against old.log.gz app.log",
                "with the call sites that log at another rate than in an earlier log",
            ),
            (
                "logdef report -O report.html --redact app.log",
                "without arguments; --redact='[a-z.]+@[a-z.]+' replaces what matches",
            ),
        ],
    ),
    (
        "core",
        &[
            (
                "logdef core core.77",
                "why the process died, where, and its last records",
            ),
            (
                "logdef core --stacks all --tail 100 -l warn core.77 app.log",
                "all threads; warnings, from a log that was moved",
            ),
            (
                "logdef core - < core.77",
                "from another command: coredumpctl dump | logdef core -",
            ),
        ],
    ),
    (
        "recover",
        &[
            (
                "logdef recover -O good.log bad.log",
                "what is left, with notes of what was lost",
            ),
            (
                "logdef recover --image-dir build -O good.log bad.log",
                "lost strings come from executables in build",
            ),
        ],
    ),
    (
        "merge",
        &[
            (
                "logdef merge -O all.log logs/ app.log",
                "one log of many, in the order of time",
            ),
            (
                "logdef merge --redact -O mail.log app.log",
                "the same log without values; --redact='[a-z.]+@[a-z.]+' replaces what matches",
            ),
            (
                "logdef merge --clock-offset bad.log=+3s -O all.log bad.log app.log",
                "where the clock of one machine was three seconds behind",
            ),
        ],
    ),
    (
        "archive",
        &[
            (
                "logdef archive -O kept logs/",
                "as Parquet in the folder kept; the next time, what is new in logs",
            ),
            (
                "logdef archive -O coarse --time us app.log",
                "times in microseconds, which take less space",
            ),
            (
                "logdef archive -O kept --redact='[0-9]{16}' app.log",
                "without what matches, in values, messages, names and paths",
            ),
            ("logdef view kept", "the log again"),
            (
                "duckdb -c \"select level, count(*) from 'kept/*/records.parquet' group by level\"",
                "query all of it in DuckDB",
            ),
        ],
    ),
    (
        "sql",
        &[
            (
                "logdef sql kept -q 'select level, count(*) from records group by level'",
                "query an archive",
            ),
            (
                "logdef sql app.log -q \"select time, message from records where level >= level('error')\"",
                "query a log directly",
            ),
        ],
    ),
    (
        "dump",
        &[("logdef dump app.log | less", "each frame with its fields")],
    ),
    (
        "export",
        &[
            (
                "logdef export -o fxt -O app.fxt app.log",
                "a trace for ui.perfetto.dev",
            ),
            (
                "logdef export -o otlp-json -O - -l warn app.log",
                "warnings for a collector",
            ),
            (
                "logdef export -o diagnostics-json --redact -O app.json app.log",
                "without values",
            ),
            (
                "logdef export -o journald -O app.export app.log",
                "for systemd-journal-remote",
            ),
        ],
    ),
    (
        "push",
        &[
            (
                "logdef push --otlp http://localhost:4318 --cursor-file app.cursor app.log",
                "to an OpenTelemetry collector; the next time, what is new",
            ),
            (
                "logdef push --loki http://localhost:3100 --follow --cursor-file app.cursor app.log",
                "to Loki as it is written; a restart resumes where it stopped",
            ),
            (
                "logdef push --loki http://localhost:3100 --gzip -l warn --label cluster=test logs/",
                "warnings of all logs in a folder, with a label on each stream",
            ),
            (
                "logdef push --otlp http://localhost:4318 --header-env Authorization=TOKEN app.log",
                "with a token that ps does not show",
            ),
        ],
    ),
    (
        "import",
        &[(
            "logdef import --from fxt -O trace.log trace.fxt",
            "a trace as a log, for all verbs",
        )],
    ),
    (
        "fxt",
        &[
            (
                "logdef fxt stat trace.fxt",
                "how many records of which kind",
            ),
            ("logdef fxt check trace.fxt", "what is wrong with a trace"),
        ],
    ),
    (
        "sites",
        &[
            (
                "logdef sites ./app",
                "each log call in a program, reached or not",
            ),
            ("logdef sites -o json ./app", "for a program"),
        ],
    ),
    (
        "symbolize",
        &[
            (
                "logdef symbolize app.log",
                "the records with backtraces, in full",
            ),
            (
                "logdef symbolize crash.txt --image ./app@0x55d0c0a00000",
                "addresses in a text that are in app",
            ),
            (
                "logdef symbolize crash.txt --maps maps.txt",
                "with a copy of /proc/PID/maps",
            ),
        ],
    ),
    (
        "ctl",
        &[
            (
                "logdef ctl logs/",
                "the processes that log there, what they log, and how others ended",
            ),
            (
                "logdef ctl level app.log debug --for 5m",
                "more for five minutes, then as before",
            ),
            (
                "logdef ctl filter app.log 'info,net=debug,db/wal.c:120=trace'",
                "for a module and a line, in place of the program's filter",
            ),
            (
                "logdef ctl sites app.log",
                "the log calls of the process, and whether each is on",
            ),
            ("logdef ctl reset app.log", "as the program set it"),
            (
                "logdef ctl note app.log 'deploy begins'",
                "a note between the records",
            ),
            ("logdef ctl list --live -o json logs/", "for a program"),
        ],
    ),
    (
        "serve",
        &[
            ("logdef serve", "for programs of this user, until SIGTERM"),
            (
                "logdef serve --storage-bytes 100M sockets",
                "in a directory of its own",
            ),
        ],
    ),
    (
        "stream",
        &[
            (
                "logdef stream --level warn",
                "warnings that the service has stored",
            ),
            (
                "logdef stream --follow --tag db",
                "and new ones as they come",
            ),
        ],
    ),
    (
        "send",
        &[(
            "logdef send warn 'disk is full' tag=db free=0",
            "a record with a tag and a key",
        )],
    ),
    (
        "completions",
        &[(
            "logdef completions bash > logdef.bash",
            "for ~/.local/share/bash-completion/completions",
        )],
    ),
    ("man", &[("logdef man | man -l -", "the manual")]),
];

const VIEW: [Example; 14] = [
    (
        "logdef app.log",
        "every record; view is the verb where none is named",
    ),
    (
        "logdef view logs/ old.log.gz",
        "many files as one log, in the order of time",
    ),
    (
        "logdef view --follow logs/",
        "new records too, through rotations and restarts",
    ),
    (
        "logdef view -l warn --tail 20 app.log",
        "the last 20 at warn or above",
    ),
    (
        "logdef view -g 'time(d )?out' -C 3 app.log",
        "matches, with 3 records around each",
    ),
    (
        "logdef view --since -15m --until now --site wal.c app.log",
        "of a file, in the last quarter of an hour",
    ),
    (
        "logdef view --zone UTC --since '2026-05-01 10:30' app.log",
        "times as in that zone",
    ),
    (
        "logdef view -w 'ms>500' app.log",
        "an argument by its name; all forms of conditions are listed above",
    ),
    (
        "logdef view -w 'ms>500 and (path~\"/api\" or not user=root)' app.log",
        "joined by and, or, not",
    ),
    ("logdef view --not 'user=root' app.log", "all but those"),
    (
        "logdef view --cursor-file seen app.log",
        "what is new since the last time",
    ),
    (
        "logdef view -l fatal --exit-status app.log || echo none",
        "a status for scripts",
    ),
    (
        "logdef view -o json app.log | jq .message",
        "one JSON object a line",
    ),
    (
        "logdef view --backtrace full --hyperlinks=vscode app.log",
        "stacks with images, and links that an editor opens",
    ),
];

/// Adds them to the long help of each verb.
pub fn add_to(mut command: Command) -> Command {
    for (verb, examples) in VERBS {
        // A command that was built without archives or browsing has no such verb.
        if command.find_subcommand(verb).is_none() {
            continue;
        }
        command = command.mut_subcommand(verb, |verb| {
            let before = verb.get_after_help().map(|help| format!("{help}\n\n"));
            let conditions = (verb.get_name() == "view").then(|| forms::help() + "\n\n");
            let help =
                before.unwrap_or_default() + &conditions.unwrap_or_default() + &text(examples);
            verb.after_long_help(help)
        });
    }
    command
}

fn text(examples: &[Example]) -> String {
    let mut text = String::from("Examples:");
    for (line, purpose) in examples {
        // Writing to a string does not fail.
        let _ = write!(text, "\n  {line}\n      {purpose}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use clap::CommandFactory;

    #[test]
    fn every_verb_has_an_example_that_names_it() {
        for verb in Args::command().get_subcommands() {
            let of_verb = VERBS.iter().find(|(name, _)| *name == verb.get_name());
            let Some((name, examples)) = of_verb else {
                panic!("{} has none", verb.get_name());
            };
            assert!(!examples.is_empty(), "{name}");
            let is_named = |line: &str| line.starts_with(&format!("logdef {name}"));
            assert!(examples.iter().any(|(line, _)| is_named(line)), "{name}");
        }
    }
}
