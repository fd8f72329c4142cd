"""A rank that fails in the middle. Usage: failing.py HOW [TIMEOUT]"""

import os
import signal
import sys
import time

import genesis
import genesis.distributed as dist

how = sys.argv[1]
dist.init_process_group(timeout=float(sys.argv[2]) if len(sys.argv) > 2 else 60)
rank = dist.get_rank()
for _ in range(3):
    dist.all_reduce(genesis.ones(5))
if how == "group":  # the group's timeout holds in place of the job's
    group = dist.new_group([0, 1], timeout=1.5)
    if rank == 1:
        time.sleep(1000)
    dist.all_reduce(genesis.ones(2), group=group)
if how == "monitored":
    try:
        if rank == 1:
            time.sleep(4)  # the others have given up by then
        else:
            dist.monitored_barrier(timeout=1.0, wait_all_ranks=True)
    except RuntimeError as error:
        print(error)
    dist.monitored_barrier(timeout=60)  # all come to this one
    print("passed")
    sys.exit(0)
if rank == 1:
    time.sleep(0.3)  # the others wait by now
    if how == "raise":
        raise ValueError("the reason")
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exit":
        sys.exit(7)
    if how == "leave":
        os._exit(0)
    if how == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if how == "sleep":
        time.sleep(1000)
dist.all_reduce(genesis.ones(2, 3))
print("ok")
