//! A shop in Rust: three threads work through orders and log.
//!
//! ```text
//! orders LOG [PAUSE_US [ORDERS]]
//! ```
//!
//! It sells until it is killed, or until a number of orders are done.

use logdef::logdef;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const CLERKS: [&str; 3] = ["anna", "bert", "carla"];
const GOODS: [(&str, u32); 4] = [("tea", 450), ("coffee", 1290), ("sugar", 199), ("salt", 85)];

static NEXT: AtomicU64 = AtomicU64::new(0);

struct Order {
    number: u64,
    goods: &'static str,
    cents: u32,
    pieces: u32,
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(path) = args.next() else {
        eprintln!("usage: orders LOG [PAUSE_US [ORDERS]]");
        return ExitCode::from(2);
    };
    let number = |arg: Option<String>| arg.and_then(|text| text.parse().ok());
    let pause = Duration::from_micros(number(args.next()).unwrap_or(1000));
    let last = number(args.next()).unwrap_or(u64::MAX);

    if let Err(error) = logdef::open(&path) {
        eprintln!("{path}: {error}");
        return ExitCode::FAILURE;
    }
    logdef!(Info, "%zu clerks open the shop", CLERKS.len());
    thread::scope(|scope| {
        for clerk in CLERKS {
            thread::Builder::new()
                .name(clerk.into())
                .spawn_scoped(scope, move || serve(clerk, pause, last))
                .expect("a thread for each clerk");
        }
    });
    logdef!(Info, "the shop closes");
    logdef::close();
    ExitCode::SUCCESS
}

fn serve(clerk: &str, pause: Duration, last: u64) {
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        if number >= last {
            return;
        }
        let (goods, cents) = GOODS[(number % 4) as usize];
        let pieces = (number * 7 % 12) as u32;
        let order = Order {
            number,
            goods,
            cents,
            pieces,
        };
        let start = Instant::now();
        let done = pack(&order);
        thread::sleep(pause);
        let ms = start.elapsed().as_secs_f64() * 1e3;
        match done {
            Ok(total) => {
                logdef!(
                    Info,
                    "order %lu: %u x %s, %.2f EUR, by %s in %.3f ms",
                    number,
                    pieces,
                    goods,
                    f64::from(total) / 100.0,
                    clerk,
                    ms
                );
            }
            Err(why) => logdef!(Warn, "order %lu turned down: %s", number, why),
        }
    }
}

fn pack(order: &Order) -> Result<u32, &'static str> {
    if order.pieces == 0 {
        // ERROR and worse carry a backtrace.
        logdef!(
            Error,
            "order %lu asks for no %s at all",
            order.number,
            order.goods
        );
        return Err("empty order");
    }
    Ok(order.pieces * order.cents)
}
