"""The dataset library: row schema, file readers, formats, detection, conversion, export, splits and the data report.

Rows        schema (fields of a row), parse (strict JSON), rows (typed rows), splits, overlap
Files       files/ opens JSONL, JSON, CSV and Parquet, plain or packed, and gives records
Formats     formats/ has one reader for each format; names has all column aliases
Import      detect -> plan -> record_to_rows (grouping) -> convert; preview shows the first rows
Report      report/ measures a file of rows; strips repairs texts
"""
