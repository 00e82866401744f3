//! Calls from a page of a browser into a WebAssembly module: text in, text out.
//!
//! The page calls `main` once, which names the function to call ([`serve`]). For each call it writes UTF-8 text to the
//! memory at `eagre_request(LENGTH)` and calls `eagre_call()`; the reply are `eagre_length()` bytes at `eagre_text()`. After
//! a trap the text is the panic's message, and the module is of no use any more.
//!
//! Not here: the calls' meaning.
//!
//! Invariant: all access to memory is through one vector; addresses go out and none comes in.
//!
//! Separate because functions of fixed names are unsafe code, which only rooms of edge have.

#![allow(unsafe_code)]

use std::cell::RefCell;

/// A function that the page can call.
type Function = fn(&str) -> String;

thread_local! {
    static FUNCTION: RefCell<Option<Function>> = const { RefCell::new(None) };
    /// The request, then the reply.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Lets the page call `function`.
pub fn serve(function: Function) {
    FUNCTION.set(Some(function));
    std::panic::set_hook(Box::new(|panic| TEXT.set(panic.to_string().into_bytes())));
}

/// Memory for a request of `length` bytes: zeros at first.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn eagre_request(length: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(length, 0);
        text.as_mut_ptr()
    })
}

/// Replaces the request by its reply. Without a function the reply is empty.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn eagre_call() {
    let request = TEXT.take();
    let function = FUNCTION.with_borrow(|function| *function);
    let reply = function.map_or_else(String::new, |function| function(&String::from_utf8_lossy(&request)));
    TEXT.set(reply.into_bytes());
}

/// The reply.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn eagre_text() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}

/// Bytes of the reply.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn eagre_length() -> usize {
    TEXT.with_borrow(Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_replaces_the_request_by_the_reply() {
        serve(|text| format!("{text}, {}", text.len()));
        assert!(!eagre_request(5).is_null());
        TEXT.with_borrow_mut(|text| text.copy_from_slice(b"hello"));
        eagre_call();
        assert_eq!((TEXT.take(), eagre_length()), (b"hello, 5".to_vec(), 0));
    }
}
