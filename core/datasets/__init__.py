"""Datasets in the database and the blob store: immutable versions, the row store, search, overlap and reports."""
