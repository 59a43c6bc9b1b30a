"""Clusters on this machine: Apache Kafka, and Spark's standalone master and workers.

from stoker.clusters import KafkaCluster, SparkCluster

with KafkaCluster(directory).up(brokers=3) as kafka:
    kafka.bootstrap_servers
"""

from stoker.clusters.errors import ClusterError
from stoker.clusters.kafka_cluster import KafkaCluster
from stoker.clusters.spark_cluster import SparkCluster

__all__ = ["ClusterError", "KafkaCluster", "SparkCluster"]
