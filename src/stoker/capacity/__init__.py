"""How large a cluster must be: arithmetic on a load and on what machines can do. Nothing here looks at a machine.

load.py              what must be carried, and how safely
machines.py          what a partition, a broker and an executor can do, and where each default comes from
measured.py          figures of the benchmarks' pages; measured_streams.py those of streams
figure.py            a number with its formula, and which of several demands decides it
storage.py           bytes that lie on disks
partitions.py        how many partitions
brokers.py           how many brokers, and what each of them does
processing.py        Spark's cores, executors and state; the registry's instances
embedded.py          whether one process of Stoker's own broker is enough
remarks.py           what an experienced operator would say to it
plan.py              all of it
options.py           what options of `stoker plan` are called, and how their values are written
"""

from stoker.capacity.load import ImpossiblePlan, Load
from stoker.capacity.machines import Machines
from stoker.capacity.plan import Plan, planned

__all__ = ["ImpossiblePlan", "Load", "Machines", "Plan", "planned"]
