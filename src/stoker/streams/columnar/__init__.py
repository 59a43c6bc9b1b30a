"""From topic to topic without leaving Python: what a sink needs, if it needs no more than rows one by one, is run on Arrow columns.

Spark makes and optimizes the plan of a sink's rows. Where every step and every expression of it is one that Arrow computes as Spark
does, the tasks of the micro-batch read records, apply the plan to their columns and write, all in one Spark task of Python: no row
goes to the JVM and back. Whatever else there is in a plan, Spark runs it as always.

expressions.py      what is computed of columns
catalyst.py         Spark's plan, as it tells it, to steps
steps.py            filters, projections, and a table that is looked into
forwarding.py       values that are passed on as bytes
sink.py             a sink that can be run so: planned once, run in every micro-batch
"""
