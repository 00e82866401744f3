//! Memory that workers will use, made ready before they do.

/// Bytes of the smallest page.
const PAGE: usize = 4096;

/// Makes the pages of `values` present, huge ones where the kernel gives them, so that no page fault and fewer address
/// translations fall into a worker's time. The values stay as they are.
pub fn make_present(values: &mut [u32]) {
    let bytes = size_of_val(values);
    let start = values.as_mut_ptr().addr();
    let first = start.next_multiple_of(PAGE);
    let last = (start + bytes) / PAGE * PAGE;
    if last > first {
        // SAFETY: the range lies inside a slice we borrow mutably, and the advice changes no contents. A kernel without
        // huge pages refuses it, which is no loss.
        unsafe {
            libc::madvise(std::ptr::with_exposed_provenance_mut(first), last - first, libc::MADV_HUGEPAGE);
        }
    }
    for page in values.chunks_mut(PAGE / size_of::<u32>()) {
        // Read and written back, so that a zero page is replaced by a real one.
        page[0] = std::hint::black_box(page[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_as_they_are() {
        for len in [0, 1, 5_000, 3_000_000] {
            let mut values: Vec<u32> = (0..len).collect();
            make_present(&mut values);
            assert!(values.iter().copied().eq(0..len));
        }
    }
}
