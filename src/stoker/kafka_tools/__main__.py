"""`python -m stoker.kafka_tools kafka-topics.sh ...`: what the scripts of `stoker tools install` start."""

import sys

from stoker.kafka_tools.running import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
