"""Names a run that hangs: the phase, the process and the last event."""

from trainer.hangs.finding import Finding, Place
from trainer.hangs.peers import MARKS, PeerPlaces
from trainer.hangs.phases import Floors, Phase, PhaseClock
from trainer.hangs.watch import HangWatch, Watched, phase

__all__ = ["MARKS", "Finding", "Floors", "HangWatch", "PeerPlaces", "Phase", "PhaseClock", "Place", "Watched", "phase"]
