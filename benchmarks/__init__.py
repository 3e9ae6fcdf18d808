"""Programs that measure speed, memory and learning. README.md lists them, each with its command."""
