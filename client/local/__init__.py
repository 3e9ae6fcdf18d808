"""`proximal up`: the whole platform on this machine, without Docker, root or system services.

The one part of the client that is not REST alone: it starts the embedded servers, brings the database to the newest
schema, and runs the API, a worker, a data worker and the sweeper as children that it restarts when they die.
"""
