"""Datasets: what people upload, read record by record, kept in versions that never change."""
