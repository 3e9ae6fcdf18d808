"""The subcommands of `proximal`. They call the REST API."""
