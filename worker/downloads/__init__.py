"""Opens files that lie elsewhere: on the web, on the hub, in buckets, on this machine."""
