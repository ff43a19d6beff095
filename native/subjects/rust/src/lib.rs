//! Concurrent ordered maps written in Rust, behind plain C functions: what `../rust_map.h` declares.
//!
//! `Numbers` is what a subject calls of a map of numbers. Each call is one C function, into which the
//! map's own code is inlined.

use std::ffi::c_void;
use std::ops::Bound;
use std::slice;

use congee::{Congee, DefaultAllocator};
use scc::{Guard, TreeIndex};

/// A key with its value. Trials run where numbers of 64 bits are `usize`, which congee wants.
type Element = (usize, usize);
const _: () = assert!(size_of::<Element>() == 16 && std::mem::offset_of!(Element, 1) == 8);

/// An answer that C takes back in two registers.
#[repr(C)]
struct Found {
    value: usize,
    there: bool,
}

impl From<Option<usize>> for Found {
    fn from(found: Option<usize>) -> Self {
        Found {
            value: found.unwrap_or(0),
            there: found.is_some(),
        }
    }
}

trait Numbers {
    fn new() -> Self;
    /// Adds the element if the key is new, and says whether it was.
    fn insert(&self, key: usize, value: usize) -> bool;
    fn erase(&self, key: usize) -> bool;
    fn find(&self, key: usize) -> Option<usize>;
    /// Writes the first elements from `first` to `last`, both included, in ascending order, as many as
    /// there is room for, and returns their number.
    fn range(&self, first: usize, last: usize, elements: &mut [Element]) -> usize;
    /// Calls `visit` with each element in ascending order, until it returns false.
    fn walk(&self, visit: impl FnMut(usize, usize) -> bool);
}

impl Numbers for Congee<usize, usize> {
    fn new() -> Self {
        Congee::new(DefaultAllocator {})
    }
    fn insert(&self, key: usize, value: usize) -> bool {
        // Congee's `insert` replaces. Where this function returns the old value, nothing is written.
        let old = self.compute_or_insert(key, |old| old.unwrap_or(value), &self.pin());
        old.expect("memory for a node").is_none()
    }
    fn erase(&self, key: usize) -> bool {
        self.remove(&key, &self.pin()).is_some()
    }
    fn find(&self, key: usize) -> Option<usize> {
        self.get(&key, &self.pin())
    }
    fn range(&self, first: usize, last: usize, elements: &mut [Element]) -> usize {
        let guard = self.pin();
        // Congee's ranges end before their last key, so that the greatest of all is in none.
        let end = last.saturating_add(1);
        let mut count = Congee::range(self, &first, &end, elements, &guard);
        if last == usize::MAX && count < elements.len() {
            if let Some(value) = self.get(&last, &guard) {
                elements[count] = (last, value);
                count += 1;
            }
        }
        count
    }
    fn walk(&self, mut visit: impl FnMut(usize, usize) -> bool) {
        let mut elements = [(0, 0); 128];
        let mut first = 0;
        loop {
            let count = Numbers::range(self, first, usize::MAX, &mut elements);
            let met = &elements[..count];
            if !met.iter().all(|(key, value)| visit(*key, *value)) || count < elements.len() {
                return;
            }
            match met[count - 1].0.checked_add(1) {
                Some(next) => first = next,
                None => return,
            }
        }
    }
}

impl Numbers for TreeIndex<usize, usize> {
    fn new() -> Self {
        TreeIndex::new()
    }
    fn insert(&self, key: usize, value: usize) -> bool {
        self.insert_sync(key, value).is_ok()
    }
    fn erase(&self, key: usize) -> bool {
        self.remove_sync(&key)
    }
    fn find(&self, key: usize) -> Option<usize> {
        self.peek_with(&key, |_, value| *value)
    }
    fn range(&self, first: usize, last: usize, elements: &mut [Element]) -> usize {
        let guard = Guard::new();
        let met = TreeIndex::range(self, first..=last, &guard);
        met.zip(elements)
            .map(|((key, value), element)| *element = (*key, *value))
            .count()
    }
    // A range begins by going back over leaves, which in scc 3.8.8 may never end after erases of several
    // threads. A walk goes forward only.
    fn walk(&self, mut visit: impl FnMut(usize, usize) -> bool) {
        let guard = Guard::new();
        self.iter(&guard).all(|(key, value)| visit(*key, *value));
    }
}

/// Exports the functions of a map of numbers, whose names begin with `$name`.
macro_rules! export {
    ($name:literal, $map:ty) => {
        const _: () = {
            #[unsafe(export_name = concat!($name, "_new"))]
            extern "C" fn new() -> *mut $map {
                Box::into_raw(Box::new(<$map as Numbers>::new()))
            }
            #[unsafe(export_name = concat!($name, "_delete"))]
            unsafe extern "C" fn delete(map: *mut $map) {
                drop(unsafe { Box::from_raw(map) });
            }
            #[unsafe(export_name = concat!($name, "_insert"))]
            extern "C" fn insert(map: &$map, key: usize, value: usize) -> bool {
                Numbers::insert(map, key, value)
            }
            #[unsafe(export_name = concat!($name, "_erase"))]
            extern "C" fn erase(map: &$map, key: usize) -> bool {
                Numbers::erase(map, key)
            }
            #[unsafe(export_name = concat!($name, "_find"))]
            extern "C" fn find(map: &$map, key: usize) -> Found {
                Numbers::find(map, key).into()
            }
            #[unsafe(export_name = concat!($name, "_range"))]
            unsafe extern "C" fn range(
                map: &$map,
                first: usize,
                last: usize,
                elements: *mut Element,
                room: usize,
            ) -> usize {
                let elements = unsafe { slice::from_raw_parts_mut(elements, room) };
                Numbers::range(map, first, last, elements)
            }
            #[unsafe(export_name = concat!($name, "_walk"))]
            extern "C" fn walk(
                map: &$map,
                visit: extern "C" fn(context: *mut c_void, key: usize, value: usize) -> bool,
                context: *mut c_void,
            ) {
                Numbers::walk(map, |key, value| visit(context, key, value));
            }
        };
    };
}
export!("congee", Congee<usize, usize>);
export!("scc_tree_index", TreeIndex<usize, usize>);

/// A byte string of the caller's.
#[repr(C)]
struct Bytes {
    begin: *const u8,
    size: usize,
}

impl Bytes {
    unsafe fn get(&self) -> &[u8] {
        unsafe { slice::from_raw_parts(self.begin, self.size) }
    }
}

type Strings = TreeIndex<Box<[u8]>, usize>;

#[unsafe(no_mangle)]
extern "C" fn scc_strings_new() -> *mut Strings {
    Box::into_raw(Box::new(TreeIndex::new()))
}
#[unsafe(no_mangle)]
unsafe extern "C" fn scc_strings_delete(map: *mut Strings) {
    drop(unsafe { Box::from_raw(map) });
}
#[unsafe(no_mangle)]
unsafe extern "C" fn scc_strings_insert(map: &Strings, key: Bytes, value: usize) -> bool {
    map.insert_sync(unsafe { key.get() }.into(), value).is_ok()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn scc_strings_erase(map: &Strings, key: Bytes) -> bool {
    map.remove_sync(unsafe { key.get() })
}
#[unsafe(no_mangle)]
unsafe extern "C" fn scc_strings_find(map: &Strings, key: Bytes) -> Found {
    map.peek_with(unsafe { key.get() }, |_, value| *value)
        .into()
}
/// Calls `visit` with each element from `first` on in ascending order, until it returns false.
#[unsafe(no_mangle)]
unsafe extern "C" fn scc_strings_visit(
    map: &Strings,
    first: Bytes,
    visit: extern "C" fn(context: *mut c_void, key: Bytes, value: usize) -> bool,
    context: *mut c_void,
) {
    let guard = Guard::new();
    // A walk has no first key, as `Numbers::walk` says why.
    let first = match unsafe { first.get() } {
        [] => Bound::Unbounded,
        first => Bound::Included(first),
    };
    for (key, value) in map.range::<[u8], _>((first, Bound::Unbounded), &guard) {
        if !visit(
            context,
            Bytes {
                begin: key.as_ptr(),
                size: key.len(),
            },
            *value,
        ) {
            return;
        }
    }
}
