//! Text tables without borders.

use crate::print::harmless;
use comfy_table::{CellAlignment, Table, presets};

/// A table with a left-aligned first column; the other columns are right-aligned.
pub(crate) fn table(head: &[&str], rows: Vec<Vec<String>>) -> String {
    aligned(1, head, rows)
}

/// A table whose first `left` columns are left-aligned.
pub(crate) fn aligned(left: usize, head: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = plain(rows);
    table.set_header(head);
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    text(table)
}

/// Names with descriptions, without a heading.
pub(crate) fn list(rows: Vec<Vec<String>>) -> String {
    text(plain(rows))
}

fn plain(rows: Vec<Vec<String>>) -> Table {
    let rows = rows.into_iter().map(|row| row.into_iter().map(harmless).collect::<Vec<_>>());
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).add_rows(rows);
    table
}

/// Indented lines without trailing blanks.
fn text(mut table: Table) -> String {
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding(if index == 0 { (2, 0) } else { (3, 0) });
    }
    table.trim_fmt() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[[&str; 3]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect()
    }

    #[test]
    fn columns_are_aligned() {
        let text = table(&["port", "sent", ""], rows(&[["west", "1 Mpps", "up"], ["a", "-", ""]]));
        assert_eq!(text, "  port     sent\n  west   1 Mpps   up\n  a           -\n");
        let text = aligned(2, &["dut", "goal", "plain"], rows(&[["ovs", "ndr", "1 Mpps"]]));
        assert_eq!(text, "  dut   goal    plain\n  ovs   ndr    1 Mpps\n");
        assert_eq!(table(&["port"], Vec::new()), "  port\n");
    }

    #[test]
    fn lists_have_no_heading() {
        assert_eq!(list(vec![vec!["ab".to_owned(), "x y".to_owned()]]), "  ab   x y\n");
    }
}
