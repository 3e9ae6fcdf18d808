"""`python -m worker`, with the fake trainer."""

import logging
import sys
from pathlib import Path

from core.settings import get_settings
from worker.app import serve
from worker.launcher import Launcher

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    fake = str(Path(__file__).with_name("fake_trainer.py"))
    sys.exit(serve(get_settings(), Launcher([sys.executable, fake])))
