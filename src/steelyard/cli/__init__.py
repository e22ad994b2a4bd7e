"""The command line: one thin file a command; what a command needs is imported when it runs."""

from __future__ import annotations

import io
import os
import sys


def main() -> None:
    """Run the command line; a mistake of the user ends with one line and exit status 2."""
    from steelyard.base.errors import SteelyardError
    from steelyard.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(app(sys.argv[1:]))
    except SteelyardError as error:
        from steelyard.report.visible import visible

        # Messages quote names and values of files, which must not reach the terminal as commands.
        print(f"steelyard: {visible(str(error))}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output has closed it; Python must not complain of that at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        print(f"steelyard: standard output cannot be written ({error.strerror or error})", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
