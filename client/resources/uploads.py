"""Uploads that come in parts, and imports from elsewhere."""

from client.http import Connection


class Uploads(Connection):
    """`/v1/uploads`"""
