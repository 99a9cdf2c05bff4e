//! The memory of a log that a family of processes shares, lent to the calls that use it, while
//! another log may take its place. A room for unsafe; knows nothing of what is in the memory.

use crate::sys::{self, Errno};
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Memory that is shared with forked children, made when a log is opened.
///
/// # Safety
///
/// Zeros are a valid value, and it is aligned to no more than a page.
pub(crate) unsafe trait Shareable: Sync + Sized + 'static {
    /// Memory of zeros.
    fn allocate() -> Result<Owned<Self>, Errno> {
        let at = sys::allocate_shared(size_of::<Self>())?;
        let _ = sys::advise(at, size_of::<Self>(), libc::MADV_DONTDUMP);
        // SAFETY: fresh memory of this size, aligned like a page; zeros are valid (contract of
        // the trait).
        Ok(Owned(unsafe { &*at.cast::<Self>() }))
    }

    /// Gives back what the value refers to.
    ///
    /// # Safety
    ///
    /// No code of this process uses it any more.
    unsafe fn clear(&self);
}

/// Memory that is not the log's, or not any more. It is given back at the end; other processes keep
/// theirs.
pub(crate) struct Owned<T: Shareable>(&'static T);

impl<T: Shareable> Owned<T> {
    /// Memory that stays for good.
    pub fn leak(owned: Owned<T>) -> &'static T {
        ManuallyDrop::new(owned).0
    }
}

impl<T: Shareable> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

impl<T: Shareable> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: only the owner has the address: it was never lent, or is lent no more.
        unsafe { self.0.clear() };
        sys::unmap(ptr::from_ref(self.0).cast_mut().cast(), size_of::<T>());
    }
}

/// The memory of a log that was closed. Stays for good if a call uses it that began before.
pub(crate) struct Former<T: Shareable> {
    memory: Option<ManuallyDrop<Owned<T>>>,
    is_unused: bool,
}

impl<T: Shareable> Former<T> {
    /// The memory, if there was a log.
    pub fn get(&self) -> Option<&T> {
        self.memory.as_ref().map(|memory| &***memory)
    }
}

impl<T: Shareable> Drop for Former<T> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take().filter(|_| self.is_unused) {
            drop(ManuallyDrop::into_inner(memory));
        }
    }
}

/// The memory of the log that is open.
pub(crate) struct Lent<T: Shareable> {
    /// Null before the first log.
    at: AtomicPtr<T>,
    /// Loans.
    users: AtomicU32,
}

/// Memory that is not given back while this lives.
pub(crate) struct Loan<'l, T> {
    memory: &'l T,
    users: &'l AtomicU32,
}

impl<T> Deref for Loan<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.memory
    }
}

impl<T> Drop for Loan<'_, T> {
    fn drop(&mut self) {
        let one_less = |users: u32| users.checked_sub(1);
        // Zero already, where a fork came between.
        let _ = (self.users).fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
    }
}

impl<T: Shareable> Lent<T> {
    pub const fn new() -> Lent<T> {
        Lent {
            at: AtomicPtr::new(ptr::null_mut()),
            users: AtomicU32::new(0),
        }
    }

    /// The memory of the log, if there is one.
    pub fn borrow(&self) -> Option<Loan<'_, T>> {
        let users = &self.users;
        users.fetch_add(1, Ordering::SeqCst);
        // SAFETY: null, or what `put` was handed, which is given back only after it was taken away
        // and there was no user.
        match unsafe { self.at.load(Ordering::SeqCst).as_ref() } {
            Some(memory) => Some(Loan { memory, users }),
            None => {
                users.fetch_sub(1, Ordering::SeqCst);
                None
            }
        }
    }

    /// Lends memory that is not the log's yet.
    pub fn lend<'l>(&'l self, memory: &'l T) -> Loan<'l, T> {
        let users = &self.users;
        users.fetch_add(1, Ordering::SeqCst);
        Loan { memory, users }
    }

    /// Takes the memory away from calls that come later, and waits for those that use it, for a
    /// second at most.
    pub fn take(&self) -> Former<T> {
        let old = self.at.swap(ptr::null_mut(), Ordering::SeqCst);
        let is_unused = (0..1000).any(|_| match self.users.load(Ordering::SeqCst) {
            0 => true,
            users => {
                sys::wait_while(&self.users, users, 1);
                false
            }
        });
        // SAFETY: null, or what `put` was handed.
        let memory = unsafe { old.as_ref() };
        Former {
            memory: memory.map(|memory| ManuallyDrop::new(Owned(memory))),
            is_unused,
        }
    }

    /// Makes some memory that of the log.
    pub fn put(&self, memory: Owned<T>) {
        self.set(Owned::leak(memory));
    }

    /// Makes the memory that was taken that of the log again.
    pub fn put_back(&self, mut former: Former<T>) {
        if let Some(memory) = former.memory.take() {
            self.set(memory.0);
        }
    }

    fn set(&self, memory: &'static T) {
        let at = ptr::from_ref(memory).cast_mut();
        self.at.store(at, Ordering::SeqCst);
    }

    /// This is a forked child, in which no call uses it.
    pub fn forget_users(&self) {
        self.users.store(0, Ordering::SeqCst);
    }
}
