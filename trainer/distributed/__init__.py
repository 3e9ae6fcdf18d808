"""Several processes, on one machine or many, that train as one."""

from trainer.distributed.world import SINGLE, PeerGone, World, is_peer_gone

__all__ = ["SINGLE", "PeerGone", "World", "is_peer_gone"]
