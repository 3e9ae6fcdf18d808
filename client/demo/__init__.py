"""`proximal demo`: the platform, a real run on it over REST, and what it learnt."""
