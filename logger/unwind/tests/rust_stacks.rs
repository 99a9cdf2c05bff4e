//! Backtraces of Rust code, compared with those of the `backtrace` crate, which
//! asks libgcc.

mod oracle;

use std::panic;

use oracle::assert_same_as_libgcc;

#[test]
fn a_test_has_the_callers_that_libgcc_finds() {
    assert_same_as_libgcc();
}

#[test]
fn deep_recursion_with_frames_of_many_sizes_is_walked_to_its_end() {
    #[inline(never)]
    fn descend<const WORDS: usize>(depth: usize) -> usize {
        let room = std::hint::black_box([depth; WORDS]);
        match depth {
            0 => assert_same_as_libgcc(),
            _ => match depth % 3 {
                0 => _ = descend::<3>(depth - 1),
                1 => _ = descend::<700>(depth - 1),
                _ => _ = descend::<40>(depth - 1),
            },
        }
        std::hint::black_box(room)[WORDS / 2]
    }
    descend::<1>(100);
}

#[test]
fn a_stack_frame_too_large_for_a_short_rule_is_walked() {
    #[inline(never)]
    fn large() -> u8 {
        let room = std::hint::black_box([1u8; 900_000]);
        assert_same_as_libgcc();
        std::hint::black_box(room)[5]
    }
    let thread = std::thread::Builder::new().stack_size(16 << 20);
    thread.spawn(large).unwrap().join().unwrap();
}

#[test]
fn a_stack_that_is_realigned_is_walked() {
    #[repr(align(256))]
    struct Aligned([u8; 256]);

    #[inline(never)]
    fn realigned(depth: usize) -> u8 {
        let room = std::hint::black_box(Aligned([1; 256]));
        if depth == 0 {
            assert_same_as_libgcc();
        } else {
            realigned(depth - 1);
        }
        std::hint::black_box(room).0[7]
    }
    realigned(3);
}

#[test]
fn the_hook_of_a_panic_sees_through_the_panic_machinery() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(|_| assert_same_as_libgcc()));
    let caught = panic::catch_unwind(|| {
        let items: Vec<u32> = std::hint::black_box(Vec::new());
        items[std::hint::black_box(3)]
    });
    panic::set_hook(before);
    assert!(caught.is_err());
}

#[test]
fn a_destructor_run_by_a_panic_is_walked() {
    struct Witness;
    impl Drop for Witness {
        fn drop(&mut self) {
            assert_same_as_libgcc();
        }
    }
    let before = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let caught = panic::catch_unwind(|| {
        let _witness = Witness;
        panic!("on purpose");
    });
    panic::set_hook(before);
    assert!(caught.is_err());
}

#[test]
fn a_comparison_called_back_by_the_c_library_is_walked() {
    extern "C" fn compare(a: *const libc::c_void, b: *const libc::c_void) -> libc::c_int {
        assert_same_as_libgcc();
        // SAFETY: `qsort` passes two elements of the array below.
        let (a, b) = unsafe { (*a.cast::<u32>(), *b.cast::<u32>()) };
        a.cmp(&b) as libc::c_int
    }
    let mut items = [5u32, 1, 4, 2, 3, 9, 7];
    // SAFETY: the array's own length and element size.
    unsafe { libc::qsort(items.as_mut_ptr().cast(), items.len(), 4, Some(compare)) };
    assert!(items.is_sorted());
}

#[test]
fn handlers_are_walked_nested_and_on_either_stack() {
    extern "C" fn outer(_: i32) {
        assert_same_as_libgcc();
        // SAFETY: handled below.
        unsafe { libc::raise(libc::SIGUSR2) };
    }
    extern "C" fn inner(_: i32) {
        assert_same_as_libgcc();
    }
    fn handle(signal: i32, handler: extern "C" fn(i32), flags: i32) {
        // SAFETY: the handler has the right form.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = flags;
            let status = libc::sigaction(signal, &action, std::ptr::null_mut());
            assert_eq!(status, 0);
        }
    }
    for (outer_flags, inner_flags) in [
        (0, 0),
        (libc::SA_ONSTACK, 0),
        (0, libc::SA_ONSTACK),
        (libc::SA_ONSTACK, libc::SA_ONSTACK),
    ] {
        handle(libc::SIGUSR1, outer, outer_flags);
        handle(libc::SIGUSR2, inner, inner_flags);
        for registers in [false, true] {
            // The test harness gave each thread an alternate stack too small for
            // an oracle that allocates.
            std::thread::spawn(move || {
                if registers {
                    logdef_unwind::register_thread();
                }
                let mut room = vec![0u8; 1 << 18];
                let mut stack = libc::stack_t {
                    ss_sp: room.as_mut_ptr().cast(),
                    ss_flags: 0,
                    ss_size: room.len(),
                };
                // SAFETY: the alternate stack is disabled before it is freed.
                unsafe {
                    assert_eq!(libc::sigaltstack(&stack, std::ptr::null_mut()), 0);
                    libc::raise(libc::SIGUSR1);
                    stack.ss_flags = libc::SS_DISABLE;
                    assert_eq!(libc::sigaltstack(&stack, std::ptr::null_mut()), 0);
                }
            })
            .join()
            .unwrap();
        }
    }
}

#[test]
fn threads_walk_to_where_they_were_started_registered_or_not() {
    for registers in [false, true] {
        std::thread::spawn(move || {
            if registers {
                logdef_unwind::register_thread();
            }
            for _ in 0..2 {
                assert_same_as_libgcc();
            }
        })
        .join()
        .unwrap();
    }
}

#[test]
fn skipping_leaves_out_the_innermost_and_a_short_slice_the_outermost() {
    let mut all = [0; 64];
    let mut some = [0; 3];
    let mut lens = [0; 4];
    // One call site for each, so that all but the innermost address agree.
    lens[0] = logdef_unwind::capture(&mut all, 0);
    lens[1] = logdef_unwind::capture(&mut some, 2);
    assert!(lens[0] > 6);
    assert_eq!(lens[1], 3);
    assert_eq!(some, all[2..5]);
    assert_eq!(logdef_unwind::capture(&mut some, 1000), 0);
    assert_eq!(logdef_unwind::capture(&mut [], 0), 0);
}

#[test]
fn a_tag_is_found_again_until_the_rules_are_forgotten() {
    let mut frames = [logdef_unwind::StackFrame::default(); 4];
    // The two innermost differ between one look and the next.
    let mut look = || {
        logdef_unwind::capture_frames(&mut frames, 2);
        frames
    };
    let first = look();
    assert!(first.iter().all(|frame| frame.tag == 0));
    for (tag, frame) in (7..).zip(&first) {
        frame.set_tag(tag);
    }
    let second = look();
    assert_eq!(second.map(|frame| frame.tag), [7, 8, 9, 10]);
    assert_eq!(
        second.map(|frame| frame.address),
        first.map(|frame| frame.address)
    );
    logdef_unwind::forget();
    assert_eq!(look().map(|frame| frame.tag), [0; 4]);
    // The stack may have changed since it was seen.
    second[0].set_tag(7);
    assert_eq!(look().map(|frame| frame.tag), [0; 4]);
}
