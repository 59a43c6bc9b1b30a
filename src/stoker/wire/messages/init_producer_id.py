"""InitProducerId (API key 22): get a producer id and epoch, for idempotence and transactions."""

from stoker.wire.schema import Request, Response, boolean, int16, int32, int64, string


class InitProducerIdRequest(Request, key=22, versions="0-6", flexible="2+"):
    transactional_id: str | None = string("0+", nullable="0+")
    transaction_timeout_ms: int = int32("0+")
    producer_id: int = int64("3+", default=-1, ignorable=False)
    producer_epoch: int = int16("3+", default=-1, ignorable=False)
    enable2_pc: bool = boolean("6+", ignorable=False)
    keep_prepared_txn: bool = boolean("6+", ignorable=False)


class InitProducerIdResponse(Response, key=22, versions="0-6", flexible="2+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    producer_id: int = int64("0+", default=-1)
    producer_epoch: int = int16("0+")
    ongoing_txn_producer_id: int = int64("6+", default=-1, ignorable=False)
    ongoing_txn_producer_epoch: int = int16("6+", default=-1, ignorable=False)
