"""The subcommands of `proximal`: thin, over REST."""
