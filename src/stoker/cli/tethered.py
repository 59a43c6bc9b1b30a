"""`python -m stoker.cli.tethered FD ...` is `stoker ...`, and ends as by SIGTERM when the other end of a pipe closes.

So no part of `stoker up` outlives it, not even if it is killed: its end of the pipe closes with it.
"""

import os
import signal
import sys
import threading


def _end_with(descriptor: int) -> None:
    while os.read(descriptor, 64):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    tether = int(sys.argv[1])
    os.set_inheritable(tether, False)
    threading.Thread(target=_end_with, args=(tether,), daemon=True, name="tether").start()
    sys.argv = ["stoker", *sys.argv[2:]]
    from stoker.cli import main

    main()
