//! Trials as Parquet: the columns of CSV with types, all of them optional.

use super::{columns, record};
use crate::figures::Kind;
use crate::{Loaded, StoreError};
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;

/// Trials of all campaigns as one Parquet file, compressed with Snappy.
///
/// # Errors
/// `out` can't be written.
pub fn parquet(campaigns: &[Loaded], out: impl Write + Send) -> Result<(), StoreError> {
    let records: Vec<Vec<Value>> =
        campaigns.iter().flat_map(|loaded| loaded.trials.iter().map(|trial| record(loaded, trial))).collect();
    write(&records, out).map_err(|e| StoreError::Export(e.to_string()))
}

fn write(records: &[Vec<Value>], out: impl Write + Send) -> Result<(), ParquetError> {
    let fields: Vec<String> = columns().map(|column| field(column.name, column.kind)).collect();
    let schema = Arc::new(parse_message_type(&format!("message trial {{ {} }}", fields.join(" ")))?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (index, column) in columns().enumerate() {
        let values: Vec<&Value> = records.iter().map(|record| &record[index]).collect();
        let Some(mut writer) = group.next_column()? else { break };
        write_column(&mut writer, column.kind, &values)?;
        writer.close()?;
    }
    group.close()?;
    file.close().map(drop)
}

fn field(name: &str, kind: Kind) -> String {
    match kind {
        Kind::Text => format!("OPTIONAL BINARY {name} (UTF8);"),
        Kind::Integer => format!("OPTIONAL INT64 {name};"),
        Kind::Real => format!("OPTIONAL DOUBLE {name};"),
        Kind::Boolean => format!("OPTIONAL BOOLEAN {name};"),
    }
}

fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    kind: Kind,
    values: &[&Value],
) -> Result<(), ParquetError> {
    // A level of 1 says the value is there.
    let levels: Vec<i16> = values.iter().map(|value| i16::from(!value.is_null())).collect();
    let levels = Some(levels.as_slice());
    let values = values.iter().filter(|value| !value.is_null());
    match kind {
        Kind::Text => {
            let all: Vec<_> = values.map(|v| ByteArray::from(v.as_str().unwrap_or_default())).collect();
            writer.typed::<ByteArrayType>().write_batch(&all, levels, None)?;
        }
        Kind::Integer => {
            let all: Vec<_> = values.map(|v| v.as_i64().unwrap_or_default()).collect();
            writer.typed::<Int64Type>().write_batch(&all, levels, None)?;
        }
        Kind::Real => {
            let all: Vec<_> = values.map(|v| v.as_f64().unwrap_or_default()).collect();
            writer.typed::<DoubleType>().write_batch(&all, levels, None)?;
        }
        Kind::Boolean => {
            let all: Vec<_> = values.map(|v| v.as_bool().unwrap_or_default()).collect();
            writer.typed::<BoolType>().write_batch(&all, levels, None)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NewCampaign;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read() {
        let result = json!({"verdict": {"valid": true}, "streams": {"a": {"tx": 7, "offered_pps": 1.5}}});
        let about = NewCampaign { name: "näme".into(), ..NewCampaign::default() };
        let loaded = [Loaded::single(about, result, Vec::new())];
        let mut bytes = Vec::new();
        parquet(&loaded, &mut bytes).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
        let value = |name: &str| row.get_column_iter().find(|(n, _)| *n == name).unwrap().1.clone();
        assert_eq!(value("name"), Field::Str("näme".into()));
        assert_eq!((value("tx"), value("offered_pps")), (Field::Long(7), Field::Double(1.5)));
        assert_eq!((value("valid"), value("lost")), (Field::Bool(true), Field::Null));
    }
}
