"""Event streams: one subscription to Redis and one tail per watched job in each API process, shared by all its clients."""
