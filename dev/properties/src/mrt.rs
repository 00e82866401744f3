//! MRT files of any bytes: they are read within bounds, and their content can be queried.

use ::bgp::{Family, Tables};
use std::collections::HashSet;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Ok(read) = Tables::read(data, None, usize::MAX) else { return };
    assert!(!read.tables.is_empty());
    for table in &read.tables {
        let count = table.count();
        assert!(count > 0 && count as usize * 12 < data.len(), "each route has its own record");
        assert_eq!(table.prefix(count), None);
        let mut seen = HashSet::new();
        let mut next = 0;
        while next < count {
            let (said, end) = table.attributes(next).expect("they were read");
            assert!(said.fit() && (next + 1..=count).contains(&end));
            for index in next..end {
                let (ip, len) = table.prefix(index).expect("it was counted");
                assert!(Family::of(ip) == table.family() && len <= table.family().bits());
                assert!(seen.insert((ip, len)), "{ip}/{len} is there twice");
            }
            next = end;
        }
        let few = Tables::read(data, Some(table.family()), 1).expect("it has one");
        assert_eq!((few.tables.len(), few.tables[0].count()), (1, 1));
    }
}

fn record(subtype: u8, body: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, 0, 0, 13, 0, subtype, 0, 0, 0, body.len() as u8], body].concat()
}

/// Tables of both families, and records that are none.
pub fn seeds() -> Vec<Vec<u8>> {
    let said = [
        &[0x40, 1, 1, 0, 0x40, 2, 10, 2, 2, 0, 0, 0xfd, 0xe9, 0, 1, 0, 0, 0xc0, 8, 4, 0xfd, 0xe9, 0, 7][..],
        &[0x40, 3, 4, 10, 0, 0, 1, 0x80, 4, 4, 0, 0, 0, 5, 0xc0, 32, 12, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3],
    ]
    .concat();
    let entry = |head: &[u8]| [head, &[0, said.len() as u8], &said[..]].concat();
    let (one, identified) = (entry(&[0; 6]), entry(&[0; 10]));
    let ipv4 = |last: u8| record(2, &[&[0, 0, 0, last, 24, 16, 0, last, 0, 1], &one[..]].concat());
    let ipv6 = record(4, &[&[0, 0, 0, 0, 32, 0x20, 1, 0xd, 0xb8, 0, 2], &one[..], &one[..]].concat());
    let add_path = record(8, &[&[0, 0, 0, 0, 8, 17, 0, 1], &identified[..]].concat());
    let peers = record(1, &[10, 0, 0, 1, 0, 0, 0, 1, 2, 10, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0xfd, 0xe9]);
    let whole = [peers, ipv4(1), ipv4(2), ipv6.clone(), ipv4(1), add_path.clone()].concat();
    let cut = whole[..whole.len() - 9].to_vec();
    vec![whole, cut, ipv6, add_path, record(6, &[1, 2, 3]), record(2, &[0, 0, 0, 0, 99]), b"BZh9".to_vec()]
}
