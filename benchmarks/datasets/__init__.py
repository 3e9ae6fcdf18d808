"""The speed of checking, converting and reporting a large dataset."""
