"""What a user asks of a job: commands, retry, extension, branch."""
