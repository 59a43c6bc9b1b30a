#!/bin/sh
# The Python of Spark's workers on this machine (spark.pyspark.python): the one that has started Spark, without the zip of
# pyspark that Spark puts before all else on its path, and forked from a process that has imported what is needed.
path=
IFS=:
for each in $PYTHONPATH; do
    case $each in
        */pyspark.zip) ;;
        *) path=${path:+$path:}$each ;;
    esac
done
unset IFS
if [ "$1 $2" = "-m pyspark.daemon" ]; then
    shift 2
    set -- -m stoker.spark.worker_daemon "$@"
fi
PYTHONPATH=$path exec "${STOKER_WORKER_PYTHON:-python3}" "$@"
