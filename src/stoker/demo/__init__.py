"""`stoker demo`: the whole platform at work, with a balance at the end.

order_pipeline.py   the pipeline, as a user would write it; also examples/order_pipeline.py
events.py           what it is fed with, and what must come of it
platform.py         broker, registry and pipeline as processes
audit.py            what is in the topics and files, read by clients that know nothing of Spark
show.py             all of it in order
"""
