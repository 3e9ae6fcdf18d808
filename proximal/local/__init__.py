"""`proximal up`: the whole platform on this machine, without Docker, root or system services.

This part of the client does not use REST alone. It starts the embedded servers and migrates the database. It runs the API,
a worker, and a data worker that sweeps as well, as child processes, and restarts those that die.
"""
