"""`python -m fastrank` is the command line."""

import sys

from fastrank.cli import main

if __name__ == "__main__":
    sys.exit(main())
