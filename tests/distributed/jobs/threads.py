"""Prints the threads of a rank before and after it joins the others."""

import genesis
import genesis.distributed as dist

before = genesis.get_num_threads()
dist.init_process_group()
print(f"threads: {before} then {genesis.get_num_threads()}", flush=True)
dist.destroy_process_group()
