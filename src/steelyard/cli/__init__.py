"""The command line: commands are data, and what a command needs is imported when it runs."""

_INTERRUPTED = 130


def main() -> None:
    """Run the command line; a mistake of the user ends with one line and exit status 2."""
    import os

    try:
        import signal

        # Imports, some of them native, take most of the time of a short command: Ctrl-C ends them at once.
        before = signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)
    try:
        from steelyard.cli.process import run

        run(ready=lambda: signal.signal(signal.SIGINT, before))
    finally:
        signal.signal(signal.SIGINT, before)
