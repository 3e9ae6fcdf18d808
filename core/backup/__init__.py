"""Backups: the database and the blobs of a platform in a folder, and a platform from such a folder."""
