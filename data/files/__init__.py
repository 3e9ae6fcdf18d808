"""How records lie in a file: JSON Lines, JSON, CSV or Parquet, plain or compressed, whatever the file is called."""

from data.files.opened import Opened, Record, opened

__all__ = ["Opened", "Record", "opened"]
