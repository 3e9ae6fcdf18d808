"""Lighthouse's scores of the dashboard's pages, over stored runs. `make lighthouse` runs it."""
