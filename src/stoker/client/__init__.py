"""A small blocking Kafka client for administration and for fetching, on stoker.wire and plain sockets; it serves any Kafka cluster.

with Cluster(client_properties("localhost:9092")) as cluster:
    response = cluster.send(MetadataRequest(topics=None), MetadataResponse)
"""
