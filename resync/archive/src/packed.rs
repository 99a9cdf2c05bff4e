//! The side tables of a part as files. Knows Parquet, and not what the tables are about.

use crate::table::Sink;
use crate::tables::Table;
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Bytes of a row group before it is packed.
const ROW_GROUP: usize = 16 << 20;

/// Side tables that are being written.
pub(crate) struct Packed {
    writers: Vec<(Table, ArrowWriter<BufWriter<File>>)>,
}

fn properties() -> Result<WriterProperties> {
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by("logdef".into())
        .build())
}

impl Packed {
    /// Begins each table in a new file.
    pub(crate) fn create(folder: &Path) -> Result<Packed> {
        let begin = |table: Table| {
            let file = File::create_new(folder.join(table.file())).map_err(ParquetError::from)?;
            let file = BufWriter::new(file);
            let writer = ArrowWriter::try_new(file, table.schema(), Some(properties()?))?;
            Ok((table, writer))
        };
        let side = Table::ALL.into_iter().filter(|it| *it != Table::Records);
        Ok(Packed {
            writers: side.map(begin).collect::<Result<_>>()?,
        })
    }

    /// Writes the rest, and sees to it that it survives the machine.
    pub(crate) fn finish(self) -> Result<()> {
        for (_, mut writer) in self.writers {
            writer.finish()?;
            writer.inner().get_ref().sync_all()?;
        }
        Ok(())
    }
}

impl Sink for Packed {
    fn write(&mut self, table: Table, batch: RecordBatch) -> Result<()> {
        let mut writers = self.writers.iter_mut();
        let Some((_, writer)) = writers.find(|(of, _)| *of == table) else {
            return Err(ParquetError::General("a table too many".into()));
        };
        writer.write(&batch)?;
        if writer.in_progress_size() >= ROW_GROUP {
            writer.flush()?;
        }
        Ok(())
    }
}
