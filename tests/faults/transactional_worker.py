"""A worker that reads, processes and writes in transactions: `python -m tests.faults.transactional_worker ADDRESS INPUT OUTPUT`.

It tells each step on a line of stdout and goes on when it gets a line on stdin, so that a test decides what dies in between.
"""

import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, Producer

TRANSACTIONAL_ID = GROUP = INSTANCE = "worker"
BATCH = 10
STEPS = ("read", "begun", "produced", "offsets sent", "committed")


def tell(step: str) -> None:
    print(step, flush=True)
    if not sys.stdin.readline():
        sys.exit("nobody answers")


def main(address: str, source: str, target: str) -> None:
    # librdkafka 2.16 begins anew when the last broker it knows is gone, but goes on to send the offsets of transactions to
    # the coordinator that it knew before, and waits for it for ever.
    settings = {"metadata.recovery.strategy": "none", "reconnect.backoff.max.ms": 100}
    producer = Producer({"bootstrap.servers": address, "transactional.id": TRANSACTIONAL_ID, **settings})
    producer.init_transactions()
    # A static member: its successor has its partitions at once, where another would wait for the session's end.
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": GROUP,
            "group.instance.id": INSTANCE,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
            **settings,
        }
    )
    consumer.subscribe([source])
    tell("ready")
    while True:
        messages = [message for message in consumer.consume(BATCH, 0.2) if message.error() is None]
        if messages:
            process(consumer, producer, messages, target)


def process(consumer: Consumer, producer: Producer, messages: list[Message], target: str) -> None:
    tell("read")
    try:
        producer.begin_transaction()
        tell("begun")
        for message in messages:
            producer.produce(target, (message.value() or b"").upper())
        producer.flush()
        tell("produced")
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata())
        tell("offsets sent")
        producer.commit_transaction()
    except KafkaException as failure:
        error = failure.args[0]
        if not error.txn_requires_abort():
            raise
        print(f"aborts: {error}", file=sys.stderr)
        producer.abort_transaction()
        for each in consumer.committed(consumer.assignment()):
            if each.offset < 0:
                each.offset = OFFSET_BEGINNING
            consumer.seek(each)
    else:
        tell("committed")


if __name__ == "__main__":
    main(*sys.argv[1:])
