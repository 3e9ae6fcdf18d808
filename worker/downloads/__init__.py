"""Opens files of imports: on the web, on the hub, in buckets, and on this machine."""
