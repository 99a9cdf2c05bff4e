//! Answers as they are written: tables for people, JSON, CSV, Parquet. Knows no questions.

use crate::args::Format;
use crate::escape;
use crate::failure::Failure;
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use unicode_width::UnicodeWidthStr;

/// Rows by which the columns of a table are made as wide as they are.
const ROWS: usize = 1000;

/// Where answers go.
pub struct Output {
    format: Format,
    out: BufWriter<Stdout>,
    is_terminal: bool,
    schema: Option<SchemaRef>,
    /// Rows of a table that wait for its widths.
    rows: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
    parquet: Option<ArrowWriter<Stdout>>,
}

impl Output {
    pub fn new(format: Format) -> Output {
        Output {
            format,
            out: BufWriter::new(io::stdout()),
            is_terminal: io::stdout().is_terminal(),
            schema: None,
            rows: Vec::new(),
            widths: None,
            parquet: None,
        }
    }

    /// Begins an answer.
    pub fn begin(&mut self, schema: &SchemaRef) -> Result<(), Failure> {
        self.schema = Some(schema.clone());
        self.widths = None;
        match self.format {
            Format::Table => {
                let names = schema.fields().iter();
                self.rows = vec![names.map(|field| escape::text(field.name())).collect()];
            }
            Format::Csv => self.batch(&RecordBatch::new_empty(schema.clone()))?,
            Format::Parquet => {
                if self.is_terminal {
                    let why = "Parquet is not for terminals: send it to a file";
                    return Err(Failure::Question(why.into()));
                }
                let writer = ArrowWriter::try_new(io::stdout(), schema.clone(), None);
                self.parquet = Some(writer.map_err(of_parquet)?);
            }
            Format::Json => {}
        }
        Ok(())
    }

    pub fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        match self.format {
            Format::Table => self.table(batch),
            Format::Json => {
                let mut bytes = Vec::new();
                let mut writer = LineDelimitedWriter::new(&mut bytes);
                writer
                    .write(batch)
                    .and_then(|()| writer.finish())
                    .map_err(of_arrow)?;
                self.text(&bytes)
            }
            Format::Csv => {
                let mut bytes = Vec::new();
                let writer = WriterBuilder::new().with_header(batch.num_rows() == 0);
                writer
                    .build(&mut bytes)
                    .write(&flat(batch)?)
                    .map_err(of_arrow)?;
                self.text(&bytes)
            }
            Format::Parquet => match &mut self.parquet {
                Some(writer) => writer.write(batch).map_err(of_parquet),
                None => Ok(()),
            },
        }
    }

    /// Ends an answer.
    pub fn end(&mut self) -> Result<(), Failure> {
        if self.format == Format::Table {
            self.widen()?;
        }
        if let Some(writer) = self.parquet.take() {
            writer.close().map_err(of_parquet)?;
        }
        Ok(self.out.flush()?)
    }

    /// Text that programs read; at a terminal it is made harmless.
    fn text(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if !self.is_terminal {
            return Ok(self.out.write_all(bytes)?);
        }
        for line in String::from_utf8_lossy(bytes).lines() {
            writeln!(self.out, "{}", escape::text(line))?;
        }
        Ok(())
    }

    fn table(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let options = FormatOptions::default().with_null("");
        let columns: Result<Vec<_>, _> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options))
            .collect();
        let columns = columns.map_err(of_arrow)?;
        for row in 0..batch.num_rows() {
            let cells = columns
                .iter()
                .map(|column| escape::text(&column.value(row).to_string()));
            self.rows.push(cells.collect());
            if self.rows.len() > ROWS || self.widths.is_some() {
                self.widen()?;
            }
        }
        Ok(())
    }

    /// Writes the rows that wait.
    fn widen(&mut self) -> Result<(), Failure> {
        let rows = std::mem::take(&mut self.rows);
        let is_head = self.widths.is_none();
        let widths = self.widths.get_or_insert_with(|| {
            let columns = rows.first().map_or(0, Vec::len);
            let width = |column: usize| rows.iter().map(|row| row[column].width()).max();
            (0..columns)
                .map(|column| width(column).unwrap_or(0))
                .collect()
        });
        let fields = self.schema.iter().flat_map(|schema| schema.fields().iter());
        let is_number: Vec<_> = fields.map(|field| field.data_type().is_numeric()).collect();
        for (index, row) in rows.iter().enumerate() {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                if column > 0 {
                    line.push_str("  ");
                }
                let blank = " ".repeat(widths[column].saturating_sub(cell.width()));
                let parts = match is_number.get(column) {
                    Some(true) => [&blank, cell],
                    _ => [cell, &blank],
                };
                parts.iter().for_each(|part| line.push_str(part));
            }
            writeln!(self.out, "{}", line.trim_end())?;
            if is_head && index == 0 {
                let rules: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
                writeln!(self.out, "{}", rules.join("  "))?;
            }
        }
        Ok(())
    }
}

/// A batch whose lists are texts: CSV has none.
fn flat(batch: &RecordBatch) -> Result<RecordBatch, Failure> {
    use datafusion::arrow::array::StringArray;
    use datafusion::arrow::datatypes::{Field, Schema};
    use std::sync::Arc;
    let options = FormatOptions::default();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if !column.data_type().is_nested() {
            fields.push(field.clone());
            columns.push(column.clone());
            continue;
        }
        let texts = ArrayFormatter::try_new(column, &options).map_err(of_arrow)?;
        let text = |row| column.is_valid(row).then(|| texts.value(row).to_string());
        let texts: StringArray = (0..column.len()).map(text).collect();
        fields.push(Arc::new(Field::new(field.name(), DataType::Utf8, true)));
        columns.push(Arc::new(texts));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(of_arrow)
}

fn of_arrow(error: ArrowError) -> Failure {
    match error {
        ArrowError::IoError(_, error) => error.into(),
        other => Failure::Output(other.to_string()),
    }
}

fn of_parquet(error: ParquetError) -> Failure {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => (*error).into(),
            Err(inner) => Failure::Output(inner.to_string()),
        },
        other => Failure::Output(other.to_string()),
    }
}
