"""The launcher `kubernetes`: each trainer is a Job of a namespace, and goes on while its worker restarts."""
