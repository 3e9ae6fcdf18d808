"""Tasks on short strings that a tiny model learns from nothing but a verifiable reward."""
