"""`python -m steelyard` is the same as `steelyard`."""

from steelyard.cli import main

main()
