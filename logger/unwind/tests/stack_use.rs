//! How much of an alternate signal stack a backtrace needs. One test, since it
//! forgets all rules.

extern "C" fn on_signal(_: i32) {
    let mut addresses = [0; 32];
    assert!(logdef_unwind::capture(&mut addresses, 0) > 5);
}

extern "C" fn nothing(_: i32) {}

/// Bytes of a fresh alternate stack that `handler` touches.
#[inline(never)]
fn used_by(handler: extern "C" fn(i32)) -> usize {
    const PAINT: u8 = 0xA5;
    let mut room = vec![PAINT; 1 << 17];
    // SAFETY: the alternate stack is disabled before it is freed.
    unsafe {
        let mut stack = libc::stack_t {
            ss_sp: room.as_mut_ptr().cast(),
            ss_flags: 0,
            ss_size: room.len(),
        };
        assert_eq!(libc::sigaltstack(&stack, std::ptr::null_mut()), 0);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        libc::raise(libc::SIGUSR1);
        stack.ss_flags = libc::SS_DISABLE;
        assert_eq!(libc::sigaltstack(&stack, std::ptr::null_mut()), 0);
    }
    room.len() - room.iter().take_while(|byte| **byte == PAINT).count()
}

#[test]
fn a_handler_needs_little_stack_to_walk_and_less_when_rules_are_known() {
    logdef_unwind::warm_up();
    let base = used_by(nothing);
    logdef_unwind::forget();
    // From one call site, whose rule is then known.
    let mut uses = Vec::new();
    for _ in 0..std::hint::black_box(2) {
        uses.push(used_by(on_signal) - base);
    }
    let (cold, warm) = (uses[0], uses[1]);
    eprintln!("cold {cold}, warm {warm}, the signal's own {base}");
    let (most_cold, most_warm) = if cfg!(debug_assertions) {
        // Dependencies are optimized in these builds too, which inlines what would
        // be calls and gives each of them the stack of all.
        (28 << 10, 8 << 10)
    } else if cfg!(target_arch = "aarch64") {
        // Twice as many registers.
        (10 << 10, 3 << 10)
    } else {
        (7 << 10, 2 << 10)
    };
    assert!(cold <= most_cold && warm <= most_warm);
}
