"""How the dashboard's charts behave in a real browser: long runs, pan and zoom, and steps that arrive meanwhile."""
