"""Actions of a user on a job: commands, retry, extension, branch."""
