"""Uploads: files that arrive in parts, or that a data worker fetches, before a dataset is made of them."""
