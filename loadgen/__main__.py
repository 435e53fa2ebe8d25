"""`python -m loadgen` is `loadgen`."""

from loadgen.cli.app import main

if __name__ == "__main__":
    main()
