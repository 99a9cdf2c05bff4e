//! Logs and archives as tables of the query engine.
