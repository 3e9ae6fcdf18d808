import sys

from data.start_up import importing

with importing("trainer.cli"):
    from trainer.cli import main

if __name__ == "__main__":
    sys.exit(main())
