"""File readers: the records of a JSONL, JSON, CSV or Parquet file, plain or compressed with gzip or zstd."""
