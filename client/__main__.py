"""`python -m client` is `proximal`."""

from client.cli import main

if __name__ == "__main__":
    main()
