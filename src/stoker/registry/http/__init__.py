"""The registry's HTTP API: the routes, codes and answers of Confluent's, one noun a file.

A request comes to application.py, which authenticates it (authentication.py) and finds its route (routing.py). The
route's handler gets a Call (call.py), asks the registry, and gives a Response. What it cannot do itself because another
instance takes the writes, forwarding.py sends there.
"""
