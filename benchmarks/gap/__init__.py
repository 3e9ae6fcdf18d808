"""The cost of a sampler that is not the policy, and of correcting for it: `make bench-gap JSON=FILE`."""
