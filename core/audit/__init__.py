"""The audit log of each project: who changed or read what, in rows that no request can change."""
