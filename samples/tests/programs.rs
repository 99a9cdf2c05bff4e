//! The sample programs run to their end, and their logs say what they did.

use logdef_samples::workshop::{Workshop, has_cpp, run};
use std::path::Path;
use std::process::Command;

/// What `view` prints for a log.
fn view(workshop: &Workshop, log: &Path) -> String {
    let output = run(workshop.command("logdef").arg("view").arg(log));
    String::from_utf8(output.stdout).unwrap()
}

fn line<'t>(text: &'t str, part: &str) -> &'t str {
    let line = text.lines().find(|line| line.contains(part));
    line.unwrap_or_else(|| panic!("no line has {part:?}:\n{text}"))
}

#[test]
fn the_server_and_its_library_log_in_c() {
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let server = workshop.compile_server(folder.path());
    let log = folder.path().join("server.log");
    run(Command::new(server).arg(&log).args(["0", "40"]));

    let text = view(workshop, &log);
    assert!(line(&text, "serving with 4 workers").contains("server.c"));
    assert!(line(&text, "worker-2 is ready").contains("worker-2"));
    assert_eq!(text.matches("served 40 requests").count(), 1);
    assert_eq!(
        text.matches("may not read /etc/passwd: Permission denied")
            .count(),
        8
    );
    assert_eq!(text.matches(" failed after ").count(), 8);
    // From the shared library, with its own strings.
    assert!(line(&text, " bytes, ratio ").contains("compress.c"));
    // The backtrace of an error, from the place of the call outwards.
    for function in ["open_file", "answer", "serve", "worker"] {
        line(&text, function);
    }
}

#[test]
fn the_inventory_logs_in_cpp() {
    if !has_cpp() {
        return;
    }
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let inventory = folder.path().join("inventory");
    workshop.compile(&["samples/cpp/inventory.cpp"], &inventory, &[]);
    let log = folder.path().join("inventory.log");
    run(Command::new(inventory).arg(&log));

    let text = view(workshop, &log);
    line(&text, "bolts: M8 is now 42.0");
    line(&text, "liquids: oil is now 2.5");
    line(&text, "100.0% of a shift done, flag 1, at 0x");
    line(&text, "bolts: 100.0 of M8 wanted, 42.0 there");
    line(&text, "Shelf<int>::take");
    line(&text, "order refused: M8 (out of range)");
}

#[test]
fn the_shop_logs_in_rust() {
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("orders.log");
    run(workshop.command("orders").arg(&log).args(["0", "24"]));

    let text = view(workshop, &log);
    assert!(line(&text, "3 clerks open the shop").contains("orders.rs"));
    assert_eq!(text.matches(" asks for no ").count(), 2);
    assert_eq!(text.matches(" turned down: empty order").count(), 2);
    assert_eq!(text.matches(" EUR, by ").count(), 22);
    // Optimized builds keep lines and plain names only.
    let pack = if cfg!(debug_assertions) {
        "orders::pack"
    } else {
        "pack at "
    };
    line(&text, pack);
    line(&text, "the shop closes");
}

/// Newer glibc answers for a program with a hole between its segments with one
/// segment at a time; whether a linker leaves one is up to where its sections happen
/// to end. Strings and stacks of such a program once had no image.
#[test]
fn a_program_with_a_hole_between_its_segments_is_one_image() {
    if !has_cpp() {
        return;
    }
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let outcome = |name: &str, flags: &[&str]| {
        let inventory = folder.path().join(name);
        workshop.compile(&["samples/cpp/inventory.cpp"], &inventory, flags);
        let log = folder.path().join(name.to_owned() + ".log");
        run(Command::new(inventory).arg(&log));
        let dump = run(workshop.command("logdef").arg("dump").arg(&log)).stdout;
        let dump = String::from_utf8(dump).unwrap();
        (dump.matches("string logdef").count(), view(workshop, &log))
    };
    let (strings, _) = outcome("whole", &[]);
    assert!(strings > 5, "{strings}");
    // The first section of the segment that holds the code.
    let (in_two, text) = outcome("holed", &["-Wl,--section-start=.init=0x800000"]);
    assert_eq!(in_two, strings);
    line(&text, "order refused: M8 (out of range)");
    line(&text, "Shelf<int>::take");
}

/// The bench in C++ makes the calls that it says it measures.
#[test]
fn calls_of_cpp_are_measured_beside_each_other() {
    if !has_cpp() {
        return;
    }
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let costs = folder.path().join("costs");
    workshop.compile(&["samples/cpp/costs.cpp"], &costs, &["-std=c++20", "-O2"]);
    for (kind, message) in [
        ("context", "accepted 99 {conn=7 peer=example.org}"),
        ("three-f", "accepted 99 at 8080 in 2.5 ms"),
        ("text-kv", "accepted i=99 host=example.org port=8080"),
        ("view", "accepted 99 at example.org:8080"),
    ] {
        let log = folder.path().join(kind);
        run(Command::new(&costs).arg(&log).args([kind, "100"]));
        let mut view = workshop.command("logdef");
        view.args(["view", "--with-context"]).arg(&log);
        let text = String::from_utf8(run(&mut view).stdout).unwrap();
        assert_eq!(text.lines().count(), 100);
        assert!(text.trim_end().ends_with(message), "{text}");
    }
}
