//! What does one stack frame of a backtrace cost?
//!
//! ```text
//! cargo bench -p logdef-unwind
//! ```
//!
//! prints nanoseconds per stack frame for this crate, the `backtrace` crate and
//! glibc's `backtrace()`, at 10, 20 and 40 stack frames: first the same stack
//! over and over (warm), then random call paths over many distinct return
//! addresses, which is what a large program looks like to a cache. All rivals
//! take turns in one run. Figures are medians of many rounds, and the
//! minimum beside them: on a busy machine trust the ratios.
//!
//! The callers are 2,400 small functions of different frame sizes, a third of
//! them with a frame pointer.

#[cfg(target_arch = "x86_64")]
fn main() {
    bench::run();
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    eprintln!("the callers of this bench are written for x86_64");
}

#[cfg(target_arch = "x86_64")]
mod bench {
    use std::arch::global_asm;
    use std::cell::RefCell;
    use std::ffi::{c_int, c_void};
    use std::hint::black_box;
    use std::time::Instant;

    const CALLERS: usize = 2400;
    const ROUNDS: usize = 61;
    const CAPTURES: usize = 500;
    const DEPTHS: [usize; 3] = [10, 20, 40];

    /// A caller pops the next function off the path that it is given, and calls it.
    type Caller = unsafe extern "C" fn(*const c_void);

    // Each caller has its own frame size; every third sets up rbp.
    global_asm!(
        ".altmacro",
        ".macro logdef_bench_caller number",
        "logdef_bench_caller_\\number:",
        ".cfi_startproc",
        ".if \\number % 3 == 0",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 16 * (1 + \\number % 13)",
        "mov rax, [rdi]",
        "add rdi, 8",
        "call rax",
        "leave",
        ".cfi_def_cfa rsp, 8",
        ".else",
        "sub rsp, 8 + 16 * (\\number % 17)",
        ".cfi_adjust_cfa_offset 8 + 16 * (\\number % 17)",
        "mov rax, [rdi]",
        "add rdi, 8",
        "call rax",
        "add rsp, 8 + 16 * (\\number % 17)",
        ".cfi_adjust_cfa_offset -8 - 16 * (\\number % 17)",
        ".endif",
        "ret",
        ".cfi_endproc",
        ".endm",
        ".macro logdef_bench_callers first, count",
        ".set number, \\first",
        ".rept \\count",
        "logdef_bench_caller %number",
        ".set number, number + 1",
        ".endr",
        ".endm",
        ".macro logdef_bench_entry number",
        ".quad logdef_bench_caller_\\number",
        ".endm",
        ".text",
        "logdef_bench_callers 0, {count}",
        ".pushsection .data.rel.ro, \"aw\"",
        ".p2align 3",
        "logdef_bench_table:",
        ".set number, 0",
        ".rept {count}",
        "logdef_bench_entry %number",
        ".set number, number + 1",
        ".endr",
        ".popsection",
        ".noaltmacro",
        count = const CALLERS,
    );

    unsafe extern "C" {
        static logdef_bench_table: [Caller; CALLERS];
    }

    #[derive(Clone, Copy)]
    enum Rival {
        Ours,
        Crate,
        Glibc,
    }

    const RIVALS: [(&str, Rival); 3] = [
        ("logdef-unwind", Rival::Ours),
        ("backtrace crate", Rival::Crate),
        ("glibc backtrace()", Rival::Glibc),
    ];

    struct Task {
        rival: Rival,
        depth: usize,
        captures: usize,
        nanoseconds: u128,
    }

    thread_local! {
        static TASK: RefCell<Task> = const {
            RefCell::new(Task { rival: Rival::Ours, depth: 0, captures: 0, nanoseconds: 0 })
        };
    }

    /// The innermost function: captures, and takes the time of that alone.
    extern "C" fn leaf(_: *const c_void) {
        TASK.with_borrow_mut(|task| {
            let mut out = [0usize; 64];
            let out = &mut out[..task.depth];
            let start = Instant::now();
            let mut frames = 0;
            for _ in 0..task.captures {
                frames += capture(task.rival, black_box(out));
            }
            task.nanoseconds += start.elapsed().as_nanos();
            assert_eq!(frames, task.captures * task.depth);
        });
    }

    #[inline(always)]
    fn capture(rival: Rival, out: &mut [usize]) -> usize {
        match rival {
            Rival::Ours => logdef_unwind::capture(out, 0),
            Rival::Crate => {
                let mut len = 0;
                // SAFETY: no symbols are resolved, so nothing needs the lock.
                unsafe {
                    backtrace::trace_unsynchronized(|frame| {
                        out[len] = frame.ip() as usize;
                        len += 1;
                        len < out.len()
                    });
                }
                len
            }
            // SAFETY: room for as many pointers as said.
            Rival::Glibc => unsafe {
                libc::backtrace(out.as_mut_ptr().cast::<*mut c_void>(), out.len() as c_int) as usize
            },
        }
    }

    /// A small generator (Marsaglia's xorshift): the same paths in every run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % limit as u64) as usize
        }
    }

    fn path(random: &mut Random, depth: usize, distinct: usize) -> Vec<Caller> {
        // SAFETY: the table above, which is never written.
        let table = unsafe { &logdef_bench_table };
        // Distinct addresses are spread over the whole text.
        let stride = CALLERS / distinct;
        let mut path: Vec<Caller> = (0..depth)
            .map(|_| table[random.below(distinct) * stride])
            .collect();
        path.push(leaf);
        path
    }

    fn call(path: &[Caller]) {
        // SAFETY: each caller takes one entry off the path; the last is `leaf`.
        unsafe { path[0](path.as_ptr().add(1).cast()) }
    }

    /// Nanoseconds per stack frame: (median, minimum).
    struct Cost(Vec<f64>);

    impl Cost {
        fn median(&mut self) -> f64 {
            self.0.sort_by(f64::total_cmp);
            self.0[self.0.len() / 2]
        }

        fn minimum(&mut self) -> f64 {
            self.0.sort_by(f64::total_cmp);
            self.0[0]
        }
    }

    fn report(title: &str, mut round: impl FnMut(Rival, usize) -> f64) {
        println!("\n{title:<34} {:>14} {:>14} {:>14}", "d=10", "d=20", "d=40");
        let mut costs: Vec<Vec<Cost>> = RIVALS
            .iter()
            .map(|_| DEPTHS.map(|_| Cost(Vec::new())).into())
            .collect();
        for _ in 0..ROUNDS {
            for (&(_, rival), costs) in RIVALS.iter().zip(&mut costs) {
                // Unmeasured: the rival before has filled the processor's caches.
                round(rival, DEPTHS[0]);
                for (depth, cost) in DEPTHS.into_iter().zip(costs) {
                    cost.0.push(round(rival, depth));
                }
            }
        }
        let ours: Vec<f64> = costs[0].iter_mut().map(Cost::median).collect();
        for ((name, _), costs) in RIVALS.iter().zip(&mut costs) {
            print!("  {name:<32}");
            for cost in costs.iter_mut() {
                print!(" {:>6.1} ({:>5.1})", cost.median(), cost.minimum());
            }
            print!("   ratio");
            for (cost, ours) in costs.iter_mut().zip(&ours) {
                print!(" {:.1}", cost.median() / ours);
            }
            println!();
        }
    }

    pub(super) fn run() {
        logdef_unwind::warm_up();
        println!("ns per stack frame: median (minimum) of {ROUNDS} rounds");
        let mut random = Random(0x9E37_79B9_7F4A_7C15);

        let one_path = path(&mut random, 50, 50);
        report("one stack, warm", |rival, depth| {
            start(rival, depth, CAPTURES);
            call(&one_path);
            TASK.with_borrow(|task| task.nanoseconds as f64 / (CAPTURES * depth) as f64)
        });

        for distinct in [160, 480, 2400] {
            let paths: Vec<_> = (0..CAPTURES)
                .map(|_| path(&mut random, 40, distinct))
                .collect();
            report(
                &format!("random stacks, {distinct} addresses"),
                |rival, depth| {
                    start(rival, depth, 1);
                    for path in &paths {
                        call(path);
                    }
                    let timer = timer_cost();
                    TASK.with_borrow(|task| {
                        (task.nanoseconds as f64 / CAPTURES as f64 - timer) / depth as f64
                    })
                },
            );
        }
    }

    fn start(rival: Rival, depth: usize, captures: usize) {
        TASK.set(Task {
            rival,
            depth,
            captures,
            nanoseconds: 0,
        });
    }

    /// What one measurement adds, in nanoseconds.
    fn timer_cost() -> f64 {
        let costs = (0..50).map(|_| Instant::now().elapsed().as_nanos() as f64);
        costs.fold(f64::INFINITY, f64::min)
    }
}
