"""File readers: the records of a JSONL, JSON, CSV or Parquet file, plain or packed with gzip or zstd."""
