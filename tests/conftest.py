"""The same conditions for every run: examples drawn by seed, and Ctrl-C heeded."""

import signal

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # a shell's background jobs ignore it, and so would their children
    signal.signal(signal.SIGINT, signal.default_int_handler)
