//! The tables and their versions.
//!
//! Invariant: a published migration never changes; a new version is a new entry at the end of [`MIGRATIONS`]. A file is
//! brought up to date in one transaction: after a crash it has the old version or the new one.

use crate::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::path::Path;
use std::time::Duration;

/// `EAGR`, in the file's header: distinguishes a store from any other SQLite file.
const APPLICATION_ID: i32 = 0x4541_4752;

/// Time to wait for another program that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Time to wait before trying again what SQLite does not wait for.
const PAUSE: Duration = Duration::from_millis(10);

/// Version *n* is what the first *n* of these make.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/1.sql"),
    include_str!("migrations/2.sql"),
    include_str!("migrations/3.sql"),
    include_str!("migrations/4.sql"),
    include_str!("migrations/5.sql"),
    include_str!("migrations/6.sql"),
    include_str!("migrations/7.sql"),
];

/// Opens the file and brings it up to date.
pub(crate) fn open(path: &Path, create: bool) -> Result<Connection, StoreError> {
    open_with(path, create, MIGRATIONS)
}

/// Opens a file that is there to read it. It may be one that can't be written, or in a folder that can't.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    open_to_read_with(path, MIGRATIONS)
}

fn open_to_read_with(path: &Path, migrations: &[&str]) -> Result<Connection, StoreError> {
    match open_with(path, false, migrations) {
        Err(refused @ StoreError::Open { .. }) => match open_read_only(path, migrations) {
            Err(StoreError::Open { .. }) => Err(refused),
            other => other,
        },
        other => other,
    }
}

/// Opens a file without concurrent writers: SQLite makes no other files then, and locks nothing.
fn open_read_only(path: &Path, migrations: &[&str]) -> Result<Connection, StoreError> {
    let unreadable = |reason| StoreError::ReadOnly { path: path.to_owned(), reason };
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        let log = Path::new(&log).display();
        return Err(unreadable(format!("the newest trials are in {log}; copy both to where you can write")));
    }
    let refused = |e| opening(path, &e);
    let encoded: String =
        path.as_os_str().as_encoded_bytes().iter().map(|byte| format!("%{byte:02x}")).collect();
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection =
        Connection::open_with_flags(format!("file:{encoded}?immutable=1"), flags).map_err(refused)?;
    let found = examine(&connection, path)?;
    known(found, path, migrations)?;
    if found < migrations.len() {
        return Err(unreadable(format!(
            "it has version {found} and must be brought up to {}; copy it to where you can write",
            migrations.len()
        )));
    }
    Ok(connection)
}

fn open_with(path: &Path, create: bool, migrations: &[&str]) -> Result<Connection, StoreError> {
    if !create && !path.exists() {
        return Err(StoreError::Missing(path.to_owned()));
    }
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let refused = |e| opening(path, &e);
    let mut connection = Connection::open_with_flags(path, flags).map_err(refused)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(refused)?;
    // One transaction, one view: another program may be making the store right now.
    let reading = connection.unchecked_transaction().map_err(refused)?;
    let found = examine(&reading, path)?;
    drop(reading);
    known(found, path, migrations)?;
    if found < migrations.len() {
        prepare(&connection, found).map_err(refused)?;
        migrate(&mut connection, path, migrations)?;
    }
    // WAL: readers don't wait for the writer. FULL: a committed trial survives a power cut, too.
    for (name, value) in [("synchronous", "FULL"), ("foreign_keys", "ON")] {
        connection.pragma_update(None, name, value).map_err(refused)?;
    }
    Ok(connection)
}

/// Version of the file; an error if it is not one of ours.
fn examine(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let refused = |e| opening(path, &e);
    let (application, version) =
        (number("application_id").map_err(refused)?, number("user_version").map_err(refused)?);
    if application == i64::from(APPLICATION_ID) {
        return Ok(usize::try_from(version).unwrap_or(usize::MAX));
    }
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(refused)?;
    if application != 0 || version != 0 || tables != 0 {
        return Err(StoreError::NotAStore(path.to_owned()));
    }
    Ok(0)
}

/// Settings that can't be changed inside a transaction.
fn prepare(connection: &Connection, found: usize) -> rusqlite::Result<()> {
    if found > 0 {
        return Ok(());
    }
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    // SQLite does not wait by itself when the journal changes.
    let mut tries = BUSY_TIMEOUT.as_millis() / PAUSE.as_millis();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && tries > 0 => {
                std::thread::sleep(PAUSE);
                tries -= 1;
            }
            done => return done,
        }
    }
}

fn migrate(connection: &mut Connection, path: &Path, migrations: &[&str]) -> Result<(), StoreError> {
    let refused = |e| opening(path, &e);
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(refused)?;
    // Another program may have done it while this one waited.
    let found = examine(&transaction, path)?;
    known(found, path, migrations)?;
    for migration in migrations.iter().skip(found) {
        transaction.execute_batch(migration).map_err(refused)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(refused)?;
    transaction.pragma_update(None, "user_version", migrations.len() as i64).map_err(refused)?;
    transaction.commit().map_err(refused)
}

fn opening(path: &Path, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotAStore(path.to_owned()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy,
        _ => StoreError::Open { path: path.to_owned(), reason: error.to_string() },
    }
}

/// Refuses a version this program does not know.
fn known(found: usize, path: &Path, migrations: &[&str]) -> Result<(), StoreError> {
    if found <= migrations.len() {
        return Ok(());
    }
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Err(StoreError::Newer { path: path.to_owned(), found: number(found), known: number(migrations.len()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::Scratch;

    const ONE: &str = "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (7);";
    const TWO: &str = "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 1; UPDATE a SET y = x * 2;";

    fn version(connection: &Connection) -> i64 {
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    }

    #[test]
    fn an_older_store_is_brought_up_to_date_and_keeps_its_rows() {
        let file = Scratch::new("older");
        drop(open_with(&file.path, true, &[ONE]).unwrap());
        let connection = open_with(&file.path, false, &[ONE, TWO]).unwrap();
        assert_eq!(version(&connection), 2);
        let row: (i64, i64) =
            connection.query_row("SELECT x, y FROM a", [], |r| Ok((r.get(0)?, r.get(1)?))).unwrap();
        assert_eq!(row, (7, 14));
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let file = Scratch::new("failing");
        drop(open_with(&file.path, true, &[ONE]).unwrap());
        let broken = "UPDATE a SET x = 8; CREATE TABLE a (x);";
        assert!(matches!(open_with(&file.path, true, &[ONE, broken]), Err(StoreError::Open { .. })));
        let connection = open_with(&file.path, true, &[ONE]).unwrap();
        assert_eq!(version(&connection), 1);
        assert_eq!(connection.query_row("SELECT x FROM a", [], |r| r.get::<_, i64>(0)).unwrap(), 7);
    }

    #[test]
    fn a_newer_store_is_refused_and_left_alone() {
        let file = Scratch::new("newer");
        drop(open_with(&file.path, true, &[ONE, TWO]).unwrap());
        let error = open_with(&file.path, true, &[ONE]).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }), "{error}");
        assert!(error.to_string().contains("version 2") && error.is_bad_input());
    }

    #[test]
    fn what_is_no_store_is_refused_and_left_alone() {
        let file = Scratch::new("text");
        let text = "not a database, but long enough that SQLite looks at its header. ".repeat(20);
        std::fs::write(&file.path, &text).unwrap();
        assert!(matches!(open(&file.path, true), Err(StoreError::NotAStore(_))));
        assert_eq!(std::fs::read_to_string(&file.path).unwrap(), text);

        let file = Scratch::new("foreign");
        Connection::open(&file.path).unwrap().execute_batch("CREATE TABLE campaign (id);").unwrap();
        assert!(matches!(open(&file.path, true), Err(StoreError::NotAStore(_))));
    }

    #[test]
    fn a_store_that_is_not_there_is_said_to_be_missing() {
        let file = Scratch::new("missing");
        assert!(matches!(open(&file.path, false), Err(StoreError::Missing(_))));
        assert!(!file.path.exists());
        let folder = file.path.join("no/such/folder.db");
        assert!(matches!(open(&folder, true), Err(StoreError::Open { .. })));
    }

    #[test]
    fn what_cant_be_written_is_read_whole_or_refused() {
        let file = Scratch::new("read only ?#%20");
        let writer = open_with(&file.path, true, &[ONE]).unwrap();
        let read = |migrations| open_read_only(&file.path, migrations);
        let log = format!("{}-wal", file.path.display());
        assert!(std::fs::metadata(&log).unwrap().len() > 0);
        let error = read(&[ONE]).unwrap_err().to_string();
        assert!(error.contains(&log) && error.contains("copy both"), "{error}");
        // The last one to close it moves what the log has into the file.
        drop(writer);
        let before = std::fs::read(&file.path).unwrap();
        let connection = read(&[ONE]).unwrap();
        assert_eq!(connection.query_row("SELECT x FROM a", [], |row| row.get::<_, i64>(0)).unwrap(), 7);
        assert!(connection.execute("UPDATE a SET x = 8", []).is_err());
        let error = read(&[ONE, TWO]).unwrap_err().to_string();
        assert!(error.contains("version 1") && error.contains("copy it"), "{error}");
        assert!(std::fs::read(&file.path).unwrap() == before && !std::fs::exists(&log).unwrap());
    }

    #[test]
    fn several_programs_may_make_it_at_once() {
        let file = Scratch::new("race");
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..32).map(|_| scope.spawn(|| open(&file.path, true).map(drop))).collect();
            all.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
        });
    }

    #[test]
    fn the_settings_are_as_promised() {
        let file = Scratch::new("settings");
        drop(open(&file.path, true).unwrap());
        let connection = open(&file.path, false).unwrap();
        let number = |name| connection.pragma_query_value(None, name, |r| r.get::<_, i64>(0)).unwrap();
        let mode: String = connection.pragma_query_value(None, "journal_mode", |r| r.get(0)).unwrap();
        assert_eq!((mode.as_str(), number("foreign_keys"), number("synchronous")), ("wal", 1, 2));
        assert_eq!(number("busy_timeout"), 10_000);
    }
}
