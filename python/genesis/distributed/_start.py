"""Starts a script in a rank: ``python -m mpi4py -m genesis.distributed._start script.py args``.

It sets torchrun's variables and the number of threads, then runs the script as ``__main__``.
``python -m mpi4py`` around it ends the whole job when the script raises.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import traceback


def main() -> None:
    from genesis.distributed import _environment, _status, _threads

    place = _environment.position()
    _environment.publish(place)
    _threads.divide(place.local_size)
    status = _status.Status(place.rank) if _status.VARIABLE in os.environ else None
    if status is not None:
        _status.current = status
    for stream in (sys.stdout, sys.stderr):  # mpiexec prefixes each piece of output with the rank
        stream.reconfigure(line_buffering=True, write_through=False)  # type: ignore[union-attr]
    arguments = sys.argv[1:]
    try:
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as leaving:
        if status is not None:
            failed = leaving.code not in (None, 0)
            status.note(
                _status.FAILED if failed else _status.FINISHED, f"exit status {leaving.code}"
            )
        raise
    except BaseException as error:
        if status is not None:
            status.note(_status.FAILED, f"{type(error).__name__}: {error}".splitlines()[0])
        mpi = sys.modules.get("mpi4py.MPI")
        if place.launched and (mpi is None or not mpi.Is_initialized()):
            # mpiexec takes no notice of a process that ends before it has started MPI, but of one
            # that dies by a signal.
            traceback.print_exc()
            sys.stderr.flush()
            os.kill(os.getpid(), signal.SIGABRT)
        raise
    if status is not None:
        status.note(_status.FINISHED)


if __name__ == "__main__":
    main()
