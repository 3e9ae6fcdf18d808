"""New jobs: specs, their limits and checks, templates."""
