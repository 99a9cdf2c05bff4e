//! Verbs and options of which the seed chooses some: too many for each log to be tried with all.

use super::random::Random;
use super::{Ran, Trial, show_the_same, threads};
use serde_json::Value;

/// What is known of a log when something of the pool is tried on it.
pub struct Known<'k> {
    pub trial: &'k Trial,
    /// What `check -o json` said.
    pub found: &'k Value,
    /// What `view -o json` said.
    pub view: &'k str,
    /// The status of a verb with `--strict`.
    pub strict: i32,
}

type Try = fn(&Known<'_>, &mut Random);

const POOL: [(&str, Try); 12] = [
    ("a report", report),
    ("an archive", archive),
    ("a journal", journal),
    ("a trace", trace),
    ("Fuchsia's records", records_of_fuchsia),
    ("folded repeats", folded),
    ("a follower", followed),
    ("views with a cursor", cursor),
    ("neighbours", neighbours),
    ("counts of what is chosen", counted),
    ("names for addresses", symbolized),
    ("any form of a view", any_view),
];
/// How much of the pool is tried on a log.
const TRIES: u64 = 5;

pub fn try_some(known: &Known<'_>, random: &mut Random) {
    let mut left = POOL.to_vec();
    for _ in 0..TRIES {
        let (_, try_it) = left.swap_remove(random.below(left.len() as u64) as usize);
        try_it(known, random);
    }
}

/// Filters that choose some, all or none of most logs.
const FILTERS: [&str; 12] = [
    "",
    "-l warn",
    "-l ..info",
    "--grep fake",
    "--grep nowhere",
    "--site <net>.c",
    "--thread 0",
    "--pid 77",
    "--run 0",
    "-w 1>3",
    "--not 1=2",
    "-l info --thread 1",
];

fn one_of<'o>(options: &[&'o str], random: &mut Random) -> &'o str {
    options[random.below(options.len() as u64) as usize]
}

impl Known<'_> {
    fn records(&self) -> Vec<&str> {
        self.view.lines().collect()
    }

    /// Runs a verb, strictly or not: the status is that of the table either way.
    fn run(&self, words: &str, random: &mut Random) -> Ran {
        if random.once_in(3) {
            self.trial.run(&format!("{words} --strict")).is(self.strict)
        } else {
            self.trial.run(words).is(0)
        }
    }

    /// A filter. That of a run is an error of usage where the log has none.
    fn filter(&self, random: &mut Random) -> &'static str {
        match one_of(&FILTERS, random) {
            "--run 0" if self.trial.run("view -n 0 --run 0").status == 2 => "",
            filter => filter,
        }
    }

    fn chosen(&self, filter: &str) -> Vec<String> {
        let ran = self.trial.run(&format!("view -o json {filter}")).is(0);
        ran.out.lines().map(str::to_owned).collect()
    }

    /// The path of a file of this name, which is not there yet.
    fn new_file(&self, name: &str) -> std::path::PathBuf {
        let path = self.trial.folder.path().join(name);
        assert!(!path.exists());
        path
    }
}

fn report(known: &Known<'_>, random: &mut Random) {
    let filter = known.filter(random);
    let options = [
        "",
        "--redact",
        "--redact=fake",
        "--records 3",
        "--against-run 1",
    ];
    let option = one_of(&options, random);
    let words = format!("report -o - {filter} {option}");
    if option.starts_with("--against") {
        // There may be no such run.
        let ran = known.trial.run(&words);
        assert!(matches!(ran.status, 0 | 2), "{}: {}", ran.what, ran.err);
        return;
    }
    let page = known.run(&words, random);
    let records = match known.chosen(filter).len() {
        0 => "No records.".into(),
        1 => "1 record of ".into(),
        records => format!("{records} records of "),
    };
    assert!(page.out.contains(&records), "{}: {records}", page.what);
    let is_clean = !page.out.contains("verdict bad");
    assert_eq!(is_clean, known.found["clean"] == true, "{}", page.what);
    assert!(!page.out.contains("<script>alert"), "{}", page.what);
    assert!(page.out.len() < 2_000_000, "{}", page.what);
}

/// An archive shows and counts what its log does.
fn archive(known: &Known<'_>, random: &mut Random) {
    if cfg!(target_endian = "big") {
        return;
    }
    let kept = known.new_file("kept");
    known.run(&format!("archive -o {}", kept.display()), random);
    let trial = known.trial;
    let shown = trial.run_on("view -o json", &kept).is(0);
    assert_eq!(shown.out, known.view, "{}", shown.what);
    let check = trial.run_on("check -o json", &kept).is(known.strict).json();
    for key in ["clean", "missing", "dropped", "pruned", "at_least"] {
        assert_eq!(check[key], known.found[key], "{}: {key}", trial.story);
    }
}

/// An entry for each record, and one for what is lost.
fn journal(known: &Known<'_>, random: &mut Random) {
    let filter = known.filter(random);
    let journal = known.new_file("journal");
    let words = format!("export --to journald -O {} {filter}", journal.display());
    let ran = known.run(&words, random);
    let entries = String::from_utf8_lossy(&std::fs::read(journal).unwrap())
        .lines()
        .filter(|line| line.starts_with("__REALTIME_TIMESTAMP="))
        .count();
    let records = known.chosen(filter).len();
    assert!((records..=records + 1).contains(&entries), "{}", ran.what);
}

/// A trace is strictly right in every form, and a log again.
fn trace(known: &Known<'_>, random: &mut Random) {
    let trial = known.trial;
    let forms = ["log", "instant", "log,instant", "perfetto", "all"];
    let form = one_of(&forms, random);
    let ties = one_of(&["", "--break-ties"], random);
    let trace = known.new_file("app.fxt");
    let words = format!("export --to fxt --as {form} {ties} -O {}", trace.display());
    known.run(&words, random);
    let check = trial.run_on("fxt check", &trace).is(0);
    assert_eq!(check.out, "", "{form}: {}", check.what);
    trial.run_on("fxt dump --json", &trace).is(0);
    let back = known.new_file("trace.log");
    let words = format!("import --from fxt -o {}", back.display());
    let import = trial.run_on(&words, &trace);
    if known.view.is_empty() || form == "perfetto" {
        return;
    }
    let import = import.is(0);
    let again = trial.run_on("view -o json", &back).is(0);
    let count = again.lines().len();
    assert_eq!(count, known.records().len(), "{form}: {}", import.what);
}

/// Records in Fuchsia's forms are a log again, and lack what was lost.
fn records_of_fuchsia(known: &Known<'_>, random: &mut Random) {
    let trial = known.trial;
    let form = one_of(&["fuchsia", "diagnostics-json"], random);
    let clock = one_of(&["", "--clock realtime"], random);
    let out = known.new_file("exported");
    let words = format!("export --to {form} {clock} -O {}", out.display());
    known.run(&words, random);
    if known.view.is_empty() {
        return;
    }
    let back = known.new_file("fuchsia.log");
    let words = format!("import --from {form} -o {}", back.display());
    let import = trial.run_on(&words, &out).is(0);
    let again = trial.run_on("view -o json", &back).is(0);
    let count = again.lines().len();
    assert_eq!(count, known.records().len(), "{form}: {}", import.what);
    trial.run_on("check", &back).is(known.strict);
}

/// Lines with their counts are all lines.
fn folded(known: &Known<'_>, random: &mut Random) {
    let filter = known.filter(random);
    let words = format!("view --backtrace none {filter}");
    let whole = known.trial.run(&words).is(0).lines().len();
    let ran = known.run(&format!("{words} --fold"), random);
    let more = |line: &&str| {
        let (number, _) = line
            .strip_prefix("    … ")?
            .split_once(" more from there")?;
        number.parse::<usize>().ok()
    };
    let counts: Vec<usize> = ran.lines().iter().filter_map(more).collect();
    let lines = ran.lines().len() - counts.len();
    assert_eq!(lines + counts.iter().sum::<usize>(), whole, "{}", ran.what);
}

/// A follower that has what it wanted ends. It may show a record before it sees the damage that
/// makes it doubtful.
fn followed(known: &Known<'_>, _: &mut Random) {
    let records = known.records().len();
    let words = format!("view -o json --follow -n {records}");
    let ran = known.trial.run(&words).is(0);
    show_the_same(&ran.what, &ran.out, known.view);
}

fn cursor(known: &Known<'_>, random: &mut Random) {
    let trial = known.trial;
    let cursor = known.new_file("cursor");
    let number = known.records().len() as u64 / 3 + 1 + random.below(9);
    let words = format!(
        "view -o json -n {number} --cursor-file {}",
        cursor.display()
    );
    let parts: String = (0..4).map(|_| trial.run(&words).is(0).out).collect();
    show_the_same(&format!("{}: {words}", trial.story), &parts, known.view);
}

/// What stands around a match is as it stands in the whole.
fn neighbours(known: &Known<'_>, random: &mut Random) {
    let filter = one_of(&FILTERS[1..6], random);
    let context = one_of(&["-C 1", "-A 2", "-B 3", "-B 1 -A 40"], random);
    let ran = known.run(&format!("view -o json {filter} {context}"), random);
    let whole = known.records();
    let mut from = 0;
    for line in ran.lines() {
        let found = whole[from..].iter().position(|other| *other == line);
        from += 1 + found.unwrap_or_else(|| panic!("{}: {line}", ran.what));
    }
    for line in known.chosen(filter) {
        assert!(ran.lines().contains(&&*line), "{}: {line}", ran.what);
    }
}

/// Whatever filters choose, it is counted as it is shown, in every form.
fn counted(known: &Known<'_>, random: &mut Random) {
    let filter = known.filter(random);
    let chosen = known.chosen(filter);
    let stats = known.run(&format!("stats -o json {filter}"), random);
    assert_eq!(stats.json()["records"], chosen.len(), "{}", stats.what);
    let head = one_of(&["", "-n 7", "--tail 7"], random);
    let forms = ["-o logfmt", "-o csv --no-logged-paths"];
    let form = one_of(&forms, random);
    let ran = known.run(&format!("view {form} {filter} {head}"), random);
    let header = usize::from(form.contains("csv"));
    let wanted = match head {
        "" => chosen.len(),
        _ => chosen.len().min(7),
    };
    assert_eq!(ran.lines().len(), wanted + header, "{}", ran.what);
    // What was chosen of each thread is in its order.
    for (thread, counts) in threads(&(chosen.join("\n"))) {
        assert!(counts.is_sorted(), "{}: {thread}: {counts:?}", ran.what);
    }
}

fn symbolized(known: &Known<'_>, random: &mut Random) {
    known.run("symbolize", random);
    known.trial.run("check --map").is(known.strict);
}

/// No option makes a view fail.
fn any_view(known: &Known<'_>, random: &mut Random) {
    let parts = [
        one_of(
            &["-o short", "-o full", "-o json", "-o csv", "-o logfmt"],
            random,
        ),
        known.filter(random),
        one_of(&["", "--time utc", "--time delta", "--time mono"], random),
        one_of(&["", "--zone Asia/Tokyo", "--zone +02:00"], random),
        one_of(&["", "-C 2", "--backtrace full"], random),
        one_of(
            &["", "--provenance", "--with-context --with-target"],
            random,
        ),
        one_of(&["", "--suspects"], random),
        one_of(&["", "--no-logged-paths"], random),
    ];
    let words = format!("view {}", parts.join(" "));
    if words.contains("--suspects") {
        known.trial.run(&words).is(0);
    } else {
        known.run(&words, random);
    }
}
