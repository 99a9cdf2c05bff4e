//! `level_name(level)` and `level('warn')`: levels as people write them.

use datafusion::arrow::array::{Array, AsArray, StringViewArray, UInt8Array};
use datafusion::arrow::datatypes::{DataType, UInt8Type};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use logdef_wire::Level;
use std::sync::Arc;

/// The name of a level: `WARN`, or its number if it has none.
#[derive(Debug, Eq, Hash, PartialEq)]
pub(super) struct LevelName(Signature);

impl LevelName {
    pub(super) fn new() -> LevelName {
        let levels = vec![DataType::UInt8];
        LevelName(Signature::exact(levels, Volatility::Immutable))
    }
}

impl ScalarUDFImpl for LevelName {
    fn name(&self) -> &str {
        "level_name"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let levels = ColumnarValue::values_to_arrays(&args.args)?;
        let levels = levels[0].as_primitive::<UInt8Type>().iter();
        let name = |level: u8| match Level(level).name() {
            Some(name) => name.to_owned(),
            None => level.to_string(),
        };
        let names: StringViewArray = levels.map(|level| level.map(name)).collect();
        Ok(ColumnarValue::Array(Arc::new(names)))
    }
}

/// The number of a level that is named: `level('warn')`, `level('info+1')`.
#[derive(Debug, Eq, Hash, PartialEq)]
pub(super) struct LevelNumber(Signature);

impl LevelNumber {
    pub(super) fn new() -> LevelNumber {
        LevelNumber(Signature::string(1, Volatility::Immutable))
    }
}

impl ScalarUDFImpl for LevelNumber {
    fn name(&self) -> &str {
        "level"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::UInt8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let names = ColumnarValue::values_to_arrays(&args.args)?;
        let number = |row| {
            let Some(name) = crate::knowledge::text(&names[0], row) else {
                return Ok(None);
            };
            let level = Level::parse(name).ok_or_else(|| {
                let why = format!("level {name:?}: trace, debug, info, warn, error or fatal");
                DataFusionError::Execution(why)
            })?;
            Ok(Some(level.0))
        };
        let numbers: Result<UInt8Array> = (0..names[0].len()).map(number).collect();
        Ok(ColumnarValue::Array(Arc::new(numbers?)))
    }
}
