//! `report`: one page that can be sent by mail.

use crate::escapes::log_of;
use crate::fixture::*;
use logdef_wire::record::{Data, Kind, Note, NoteKind};
use logdef_wire::{Avma, Level, Record, Run};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

fn page(words: &str, path: &Path) -> String {
    let done = logdef(&format!("report -o - {words} {{}}"), path);
    assert_eq!(done.status, 0, "{words}: {}", done.err);
    done.out
}

/// The part below a heading.
fn part<'p>(page: &'p str, id: &str) -> &'p str {
    let from = page.find(&format!("<h2 id=\"{id}\">")).expect(id);
    let to = page[from..].find("</section>").unwrap();
    &page[from..from + to]
}

/// What the text nodes of a part say, tags left out.
fn words(part: &str) -> String {
    let mut out = String::new();
    for piece in part.split('<') {
        out.push(' ');
        out.push_str(piece.split_once('>').map_or(piece, |(_, text)| text));
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A run that a signal killed after a panic.
fn killed() -> Log {
    let mut log = example();
    log.note(RUN, EPOCH + 10 * SECOND, b"no more beans");
    log.record(&Record::Note(Note {
        run: Some(RUN),
        kind: Some(NoteKind::FATAL_SIGNAL),
        time: Some(EPOCH + 11 * SECOND),
        signal: Some(11),
        address: Some(Avma(0x10)),
        ..Note::default()
    }));
    log
}

#[test]
fn it_says_how_it_ended_what_was_logged_and_what_is_missing() {
    let files = Files::new();
    let path = files.put("app.log", &killed().bytes);
    let page = page("", &path);
    assert!(words(&page).contains("10 records of 1 run, 2027-01-15 08:00:00.000000 to"));
    let endings = words(part(&page, "endings"));
    assert!(endings.contains("/nowhere/bin/example, pid 77, run 000000000000abcd"));
    assert!(endings.contains("It was killed by SIGSEGV at 0x10, 2027-01-15 08:00:11.000000 UTC."));
    assert!(endings.contains("Panic: no more beans"));
    let threads = words(part(&page, "threads"));
    let failed = "2027-01-15 08:00:08.000000 ERROR worker/1 db/wal.c:30 cannot open /tmp/x: No such file or directory";
    assert!(threads.contains(failed), "{threads}");
    assert!(words(part(&page, "last")).contains(failed));
    // The last four of each thread, and all ten in the list.
    assert_eq!(part(&page, "threads").matches("<tr data-band").count(), 8);
    assert_eq!(part(&page, "last").matches("<tr data-band").count(), 10);
    assert!(words(part(&page, "rates")).contains("ERROR 1 INFO 5 DEBUG 4"));
    assert!(words(part(&page, "sites")).contains("5 INFO src/net.c:10 accepted %s:%d"));
    assert!(page.contains("<p class=\"verdict\"><strong>clean"));

    let mut log = killed();
    let at = log.frames[11].start + 20;
    log.bytes[at] ^= 1;
    let page = self::page("", &files.put("bad.log", &log.bytes));
    assert!(page.contains("<p class=\"verdict bad\"><strong>not clean: "));
    assert!(part(&page, "damage").contains("fill=\"#c9302c\""));
    assert!(words(part(&page, "damage")).contains("1 missing"));
}

#[test]
fn a_run_that_ended_by_itself_and_one_without_a_word_differ() {
    let mut log = example();
    log.record(&Record::Note(Note {
        run: Some(RUN),
        kind: Some(NoteKind::END),
        time: Some(EPOCH + 11 * SECOND),
        calls: Some(10),
        ..Note::default()
    }));
    log.bytes
        .extend(example_of(Run(0xbeef), 78, EPOCH + 20 * SECOND).bytes);
    let files = Files::new();
    let page = page("", &files.put("app.log", &log.bytes));
    let endings = words(part(&page, "endings"));
    // Both have threads 0 and 1: a reader of the page aloud needs names that differ.
    let names: Vec<_> = page
        .split("aria-label=\"last records of thread ")
        .skip(1)
        .collect();
    let names: Vec<_> = names.iter().map(|rest| rest.split('"').next()).collect();
    assert_eq!(names.len(), 4);
    assert!(
        names.contains(&Some("1, run 000000000000beef")),
        "{names:?}"
    );
    let (late, early) = endings.split_once("run 000000000000abcd").unwrap();
    assert!(
        late.contains("pid 78, run 000000000000beef")
            && late.contains("It wrote no note about its end")
    );
    assert!(early.contains("It ended by itself after 10 calls, 2027-01-15 08:00:11.000000 UTC."));
}

#[test]
fn a_folder_of_many_processes_and_its_archive_are_one_page() {
    let files = Files::new();
    for process in 0..40 {
        let epoch = EPOCH + process * 20 * SECOND;
        let mut log = example_of(Run(0x100 + process), 1000 + process, epoch);
        if process == 30 {
            let at = log.frames[11].start + 20;
            log.bytes[at] ^= 1;
        }
        files.put(&format!("logs/{process}.log"), &log.bytes);
    }
    let folder = files.path().join("logs");
    let of_folder = page("--title All", &folder);
    assert!(words(&of_folder).contains("399 records of 40 runs"));
    assert!(of_folder.contains("not clean: 1 record missing"));
    let endings = words(part(&of_folder, "endings"));
    assert!(endings.contains("8 earlier runs are left out."));
    assert_eq!(endings.matches("pid ").count(), 32);
    let (last, first) = (endings.find("pid 1039"), endings.find("pid 1008"));
    assert!(last.unwrap() < first.unwrap(), "the last comes first");
    let threads = part(&of_folder, "threads");
    assert!(words(threads).contains("32 more threads logged nothing later."));
    let damage = words(part(&of_folder, "damage"));
    assert!(damage.contains("30.log"), "{damage}");
    // An archive of them says the same; it has no damaged bytes to draw.
    let kept = files.path().join("kept");
    let archive = format!("archive -o {} {{}}", kept.display());
    assert_eq!(logdef(&archive, &folder).status, 0);
    let of_archive = page("--title All", &kept);
    assert!(of_archive.contains("not clean: 1 record missing"));
    for id in ["endings", "threads", "rates", "lanes", "sites", "last"] {
        assert_eq!(part(&of_archive, id), part(&of_folder, id));
    }
}

#[test]
fn a_log_that_is_being_written_is_shown_as_far_as_it_goes() {
    let log = example();
    let files = Files::new();
    // The last frame is not whole yet. Where zeros stand for more to come, its first byte is written last.
    for (written, zeros) in [(3, 0), (30, 0), (30, 5000), (0, 5000)] {
        let end = log.frames[14].start;
        let mut bytes = log.bytes[..end + written].to_vec();
        if zeros > 0 {
            bytes.resize(end + zeros, 0);
            bytes[end] = 0;
        }
        let page = page("", &files.put("app.log", &bytes));
        assert!(words(&page).contains("5 records of 1 run"), "{written}");
        assert!(page.contains("<p class=\"verdict\"><strong>clean"));
        assert!(words(part(&page, "endings")).contains("or is still running."));
    }
    let path = files.put("app.log", &log.bytes);
    let (written, wanted) = (AtomicU64::new(0), AtomicU64::new(1));
    let records = |page: &str| {
        let words = words(page);
        let (before, _) = words.split_once(" records of 1 run").unwrap();
        before.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            for count in 0..200_000 {
                let mut log = Log {
                    counts: vec![5 + count],
                    ..Log::default()
                };
                accepted(&mut log, RUN, 0, EPOCH + (10 + count) * SECOND, "new", 1);
                file.write_all(&log.bytes).unwrap();
                written.fetch_add(1, Ordering::Relaxed);
                if wanted.load(Ordering::Relaxed) == 0 {
                    break;
                }
            }
        });
        for _ in 0..4 {
            let before = written.load(Ordering::Relaxed);
            let page = page("", &path);
            assert!(records(&page) >= 10 + before);
            assert!(page.contains("<p class=\"verdict\"><strong>clean"));
        }
        wanted.store(0, Ordering::Relaxed);
    });
    assert_eq!(records(&page("", &path)), 10 + written.into_inner());
}

#[test]
fn filters_choose_and_fewer_records_can_be_listed() {
    let files = Files::new();
    let path = files.put("app.log", &killed().bytes);
    let page = page("-l info --records 3 --title Beans", &path);
    assert!(page.contains("<title>Report: Beans</title>"));
    assert!(words(&page).contains("6 records of 1 run"));
    assert_eq!(part(&page, "last").matches("<tr data-band").count(), 3);
    assert!(!page.contains("DEBUG"));
}

#[test]
fn redacted_pages_hold_no_argument_and_no_match() {
    let files = Files::new();
    let path = files.put("app.log", &killed().bytes);
    let page = page("--redact", &path);
    for secret in ["alpha", "beta", "/tmp/x", "beans"] {
        assert!(!page.contains(secret), "{secret}");
    }
    assert!(words(part(&page, "last")).contains("INFO main/0 src/net.c:10 accepted %s:%d"));
    assert!(words(part(&page, "endings")).contains("Panic: [redacted]"));

    let page = self::page("--redact=alpha|work[a-z]+|nowhere|beans", &path);
    for secret in ["alpha", "worker", "nowhere", "beans"] {
        assert!(!page.contains(secret), "{secret}");
    }
    assert!(words(part(&page, "last")).contains("accepted [redacted]:0"));
    assert!(words(part(&page, "last")).contains("accepted beta:9"));
    assert!(words(part(&page, "endings")).contains("/[redacted]/bin/example"));
}

/// Two hundred records, then as many that fail.
fn changed() -> Log {
    let mut log = example();
    for step in 10..410 {
        let time = EPOCH + step * SECOND;
        if step < 210 {
            accepted(&mut log, RUN, 0, time, "alpha", step);
        } else {
            log.data(RUN, 1, time, &FAILED, |args| {
                args.raw(b"/tmp/x").unwrap();
                args.int(2).unwrap();
                2
            });
        }
    }
    log
}

#[test]
fn call_sites_that_changed_are_named() {
    let files = Files::new();
    let old = files.put("old.log", &example().bytes);
    let path = files.put("app.log", &changed().bytes);
    let now = "ERROR db/wal.c:30 cannot open %s: %m";
    let page = page(&format!("--against {}", old.display()), &path);
    assert!(words(part(&page, "changes")).contains("10 records"));
    // Both logs are of one run. In another they are two.
    let at = "--changed-at 2027-01-15T08:03:30Z";
    let page = self::page(at, &path);
    let changes = words(part(&page, "changes"));
    assert!(changes.contains(&format!("1 200 {now}")), "{changes}");
    assert!(
        changes.contains("gone 205 0 INFO src/net.c:10"),
        "{changes}"
    );
    let mut log = example_of(Run(1), 7, EPOCH - 1_000 * SECOND);
    log.bytes.extend(changed().bytes);
    let path = files.put("two.log", &log.bytes);
    let page = self::page("--against-run 1 --run 0", &path);
    assert!(words(part(&page, "changes")).contains("Compared with run 1: 10 records"));
}

/// As much of everything as a page may have to hold.
fn enormous() -> Log {
    let mut log = Log::of(RUN, 7, EPOCH);
    let long = "<b>&\"'".repeat(600);
    for number in 0..60 {
        log.site(RUN, number, &long, long.as_bytes());
    }
    for thread in 0..200 {
        log.thread(RUN, thread, &long);
    }
    for count in 0..4_000_u64 {
        let levels = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG];
        let site = Site {
            number: count % 60,
            line: count % 60,
            level: levels[(count / 7 % 4) as usize],
        };
        log.data(RUN, count * 7 % 200, EPOCH + count * SECOND, &site, |_| 0);
    }
    for count in 0..2_000 {
        let kind = if count % 2 == 0 {
            Kind::BEGIN
        } else {
            Kind::END
        };
        let text = format!("{count} {long}");
        let mut data = Data {
            format_text: Some(text.as_bytes()),
            kind: Some(kind),
            ..Data::default()
        };
        data.front.run = Some(RUN);
        data.front.time = Some(EPOCH + count * SECOND);
        log.record(&Record::Data(data));
    }
    for at in (0..log.bytes.len()).step_by(3_001) {
        log.bytes[at] ^= 0x10;
    }
    log
}

#[test]
fn a_page_stays_below_two_megabytes_and_asks_for_nothing() {
    let files = Files::new();
    let mut words = String::from("--records 100000");
    let path = files.put("0.log", &enormous().bytes);
    for copy in 1..6 {
        let path = files.put(&format!("{copy}.log"), &enormous().bytes);
        words += &format!(" {}", path.display());
    }
    let page = page(&words, &path);
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(!page.contains("<b>"));
    // The script and the style are the page's own; of links there are those within it.
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("<style").count(), 1);
    for attribute in [
        "src=", "href=\"h", "href=\"/", "url(", "@import", "style=", "onclick",
    ] {
        assert!(!page.contains(attribute), "{attribute}");
    }
    assert!(page.contains("default-src 'none'; style-src 'sha256-"));
}

#[test]
fn no_log_and_an_empty_one() {
    let files = Files::new();
    let path = files.put("app.log", b"");
    let page = page("", &path);
    for id in ["threads", "rates", "sites", "last"] {
        let part = part(&page, id);
        assert!(words(part).contains("No records."), "{part}");
        assert!(!part.contains("<table"), "{part}");
    }
    let path = files.put("readme", &[b'x'; 1000]);
    assert_eq!(logdef("report -o - {}", &path).status, 4);
    // An older report is not written over.
    let path = files.put("app.log", &example().bytes);
    let there = files.put("there.html", b"mine");
    let done = logdef(&format!("report -o {} {{}}", there.display()), &path);
    assert_eq!(done.status, 2, "{}", done.err);
    assert_eq!(std::fs::read(&there).unwrap(), b"mine");
}

/// What a browser makes of a page.
fn browsed(page: &Path) -> Option<(String, String)> {
    let browser = ["chromium", "chromium-browser", "google-chrome"];
    let profile = tempfile::tempdir().unwrap();
    for name in browser {
        let done = Command::new(name)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--dump-dom",
            ])
            .args(["--enable-logging=stderr", "--virtual-time-budget=2000"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}", page.display()))
            .output();
        let Ok(done) = done else { continue };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        return Some((text(&done.stdout), text(&done.stderr)));
    }
    None
}

/// A page with one more script, and so without the policy, which forbids it.
fn with_script(page: &str, script: &str) -> String {
    let (before, behind) = page.split_once("<meta http-equiv").unwrap();
    let behind = behind.split_once('>').unwrap().1;
    let (before_end, _) = behind.rsplit_once("</body>").unwrap();
    format!("{before}{before_end}<script>{script}</script></body></html>")
}

/// Markup in every string that a log may hold, and in the name of its file.
const MARKUP: &str = "</td></title></script><script>document.title = 'driven'</script>\
    <img src=x onerror=alert(1)><svg onload=alert(2)>-->&\"'";
const MARKUP_NAME: &str = "<img src=x onerror=alert(3)>.log";

/// What a report may be made of, by the name of its file, with the number of records.
fn kinds_of_logs() -> Vec<(&'static str, Vec<u8>, usize)> {
    let mut damaged = example();
    damaged.bytes.drain(300..340);
    vec![
        ("killed.log", killed().bytes, 10),
        ("clean.log", example().bytes, 10),
        ("damaged.log", damaged.bytes, 10),
        ("empty.log", Vec::new(), 0),
        (MARKUP_NAME, log_of(MARKUP.as_bytes()).bytes, 6),
    ]
}

#[test]
fn a_browser_runs_the_filter_and_nothing_else() {
    let files = Files::new();
    for (name, log, records) in kinds_of_logs() {
        let html = page("", &files.put(name, &log));
        let report = files.put("report.html", html.as_bytes());
        let Some((shown, said)) = browsed(&report) else {
            return crate::skip::skip("a browser (chromium)");
        };
        let complaints = said.lines().filter(|line| line.contains("CONSOLE"));
        assert_eq!(
            complaints.collect::<Vec<_>>(),
            [""; 0],
            "script errors, or refused by the policy: {name}"
        );
        // Where there are no records, there is nothing to filter.
        let found = format!("{records} of {records} records");
        assert_eq!(shown.contains(&found), records > 0, "{name}");
        assert!(shown.contains("<title>Report: /"), "{name}");
        assert_eq!(shown.matches("<script").count(), 1, "{name}");
        for element in ["<img", "<svg onload"] {
            assert!(!shown.contains(element), "{name}: {element}");
        }
    }
    // A person types, and takes a level.
    let html = page("", &files.put("app.log", &killed().bytes));
    let typed =
        "text.value = 'OPEN /tmp'; level.value = 'warn'; text.dispatchEvent(new Event('input'));";
    let html = with_script(&html, typed);
    let (shown, _) = browsed(&files.put("typed.html", html.as_bytes())).unwrap();
    assert!(shown.contains("1 of 10 records"));
    let table = shown.split("<table id=\"records\">").nth(1).unwrap();
    assert_eq!(table.matches("hidden=\"\"").count(), 9);
}

/// axe, a program that finds what readers of a screen and of small contrast stumble over, as one
/// script in the file that `LOGDEF_AXE` names.
#[test]
#[ignore = "needs axe-core, which comes by npm: .ci/run runs it"]
fn everybody_can_read_it() {
    let axe = std::env::var_os("LOGDEF_AXE").expect("LOGDEF_AXE names axe.min.js");
    let axe = std::fs::read_to_string(axe).unwrap();
    let files = Files::new();
    for (name, log, _) in kinds_of_logs() {
        let html = page("", &files.put(name, &log));
        let faults = "document.body.dataset.faults = \
            found.violations.map(f => f.impact + ' ' + f.id + ' ' + f.nodes[0].html).join(' | ')";
        for theme in ["not all", "all"] {
            let run = format!("{axe};axe.run().then(found => {{ {faults} }});");
            let html = html.replace(
                "@media (prefers-color-scheme: dark)",
                &format!("@media {theme}"),
            );
            let html = with_script(&html, &run);
            let Some((shown, _)) = browsed(&files.put("axe.html", html.as_bytes())) else {
                return crate::skip::skip("a browser (chromium)");
            };
            let (_, found) = shown.rsplit_once("data-faults=").expect("axe did not end");
            assert!(found.starts_with("\"\""), "{name}, {theme}: {found:.2000}");
        }
    }
}
