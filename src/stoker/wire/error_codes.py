"""Kafka's error codes, each with what it means and whether asking again may help."""

from enum import IntEnum
from typing import Self

_RETRIABLE = True
_LONGEST_MESSAGE = 1000


class ErrorCode(IntEnum):
    """An error as it stands in responses. `message` is for people; `retriable` is what Kafka's clients believe."""

    message: str
    retriable: bool

    def __new__(cls, code: int, message: str, retriable: bool = False) -> Self:
        member = int.__new__(cls, code)
        member._value_ = code
        member.message = message
        member.retriable = retriable
        return member

    UNKNOWN_SERVER_ERROR = -1, "The broker failed in a way it did not foresee; its log says more."
    NONE = 0, "No error."
    OFFSET_OUT_OF_RANGE = 1, "The partition does not hold this offset."
    CORRUPT_MESSAGE = 2, "The batch is damaged: its checksum, size or layout is wrong.", _RETRIABLE
    UNKNOWN_TOPIC_OR_PARTITION = 3, "This broker has no such topic or partition.", _RETRIABLE
    INVALID_FETCH_SIZE = 4, "The fetch size is not valid."
    LEADER_NOT_AVAILABLE = 5, "The partition has no leader at this moment.", _RETRIABLE
    NOT_LEADER_OR_FOLLOWER = 6, "This broker is not the leader, or no replica, of the partition.", _RETRIABLE
    REQUEST_TIMED_OUT = 7, "The request was not done in the time it allowed.", _RETRIABLE
    BROKER_NOT_AVAILABLE = 8, "The broker is not available."
    REPLICA_NOT_AVAILABLE = 9, "The replica is not available for the partition.", _RETRIABLE
    MESSAGE_TOO_LARGE = 10, "The batch is larger than max.message.bytes."
    STALE_CONTROLLER_EPOCH = 11, "The controller has moved to another broker."
    OFFSET_METADATA_TOO_LARGE = 12, "The metadata committed with the offset is too large."
    NETWORK_EXCEPTION = 13, "The connection ended before the response came.", _RETRIABLE
    COORDINATOR_LOAD_IN_PROGRESS = 14, "The coordinator is still loading its state.", _RETRIABLE
    COORDINATOR_NOT_AVAILABLE = 15, "There is no coordinator at this moment.", _RETRIABLE
    NOT_COORDINATOR = 16, "This broker is not the coordinator.", _RETRIABLE
    INVALID_TOPIC_EXCEPTION = 17, "The topic name is not valid, or the topic does not allow this."
    RECORD_LIST_TOO_LARGE = 18, "The batch is larger than a log segment may be."
    NOT_ENOUGH_REPLICAS = 19, "Fewer replicas are in sync than min.insync.replicas asks for.", _RETRIABLE
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (
        20,
        "The batch was written, but to fewer in-sync replicas than asked.",
        _RETRIABLE,
    )
    INVALID_REQUIRED_ACKS = 21, "acks must be 0, 1 or -1 (all)."
    ILLEGAL_GENERATION = 22, "The generation is not the current one of the group."
    INCONSISTENT_GROUP_PROTOCOL = 23, "The member shares no protocol with the group, or names none."
    INVALID_GROUP_ID = 24, "The group id is not valid."
    UNKNOWN_MEMBER_ID = 25, "The group has no such member."
    INVALID_SESSION_TIMEOUT = 26, "The session timeout is outside group.min/max.session.timeout.ms."
    REBALANCE_IN_PROGRESS = 27, "The group is rebalancing: join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, "The commit is too large."
    TOPIC_AUTHORIZATION_FAILED = 29, "Not authorized to access the topic."
    GROUP_AUTHORIZATION_FAILED = 30, "Not authorized to access the group."
    CLUSTER_AUTHORIZATION_FAILED = 31, "Not authorized to do this to the cluster."
    INVALID_TIMESTAMP = 32, "A timestamp is outside of what the topic accepts."
    UNSUPPORTED_SASL_MECHANISM = 33, "The broker does not offer this SASL mechanism."
    ILLEGAL_SASL_STATE = 34, "The request is not valid at this point of SASL authentication."
    UNSUPPORTED_VERSION = 35, "The broker does not support this version of the API."
    TOPIC_ALREADY_EXISTS = 36, "A topic of this name exists."
    INVALID_PARTITIONS = 37, "The number of partitions is not valid."
    INVALID_REPLICATION_FACTOR = 38, "The replication factor is below 1 or above the number of brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, "The replica assignment is not valid."
    INVALID_CONFIG = 40, "The configuration is not valid."
    NOT_CONTROLLER = 41, "This is not the controller of the cluster.", _RETRIABLE
    INVALID_REQUEST = 42, "The request contradicts itself or the protocol."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, "The message format does not support this request."
    POLICY_VIOLATION = 44, "The request breaks a policy of the cluster."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, "The sequence number does not follow the last one of this producer."
    DUPLICATE_SEQUENCE_NUMBER = 46, "The sequence number was used before."
    INVALID_PRODUCER_EPOCH = 47, "The producer's epoch is older than the current one."
    INVALID_TXN_STATE = 48, "The transaction is in a state that does not allow this."
    INVALID_PRODUCER_ID_MAPPING = 49, "The producer id does not belong to the transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, "The transaction timeout is above transaction.max.timeout.ms."
    CONCURRENT_TRANSACTIONS = 51, "The transaction is being changed by another operation.", _RETRIABLE
    TRANSACTION_COORDINATOR_FENCED = 52, "The transaction coordinator is no longer the current one."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, "Not authorized to use the transactional id."
    SECURITY_DISABLED = 54, "No authorizer is configured."
    OPERATION_NOT_ATTEMPTED = 55, "This part was not tried because another part of the request failed."
    KAFKA_STORAGE_ERROR = 56, "The disk failed or is full.", _RETRIABLE
    LOG_DIR_NOT_FOUND = 57, "The broker has no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, "SASL authentication failed."
    UNKNOWN_PRODUCER_ID = 59, "The partition holds no state of this producer."
    REASSIGNMENT_IN_PROGRESS = 60, "A reassignment of the partition is under way."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, "Delegation tokens are not enabled."
    DELEGATION_TOKEN_NOT_FOUND = 62, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, "The principal neither owns nor may renew the delegation token."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, "Delegation tokens cannot be managed over this kind of connection."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, "Not authorized to use the delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, "The type of principal is not supported."
    NON_EMPTY_GROUP = 68, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, "There is no such fetch session.", _RETRIABLE
    INVALID_FETCH_SESSION_EPOCH = 71, "The epoch is not the next one of the fetch session.", _RETRIABLE
    LISTENER_NOT_FOUND = 72, "The leader has no listener like the one the request came to.", _RETRIABLE
    TOPIC_DELETION_DISABLED = 73, "Deleting topics is disabled (delete.topic.enable)."
    FENCED_LEADER_EPOCH = 74, "The leader epoch is older than the current one.", _RETRIABLE
    UNKNOWN_LEADER_EPOCH = 75, "The leader epoch is newer than the one this broker knows.", _RETRIABLE
    UNSUPPORTED_COMPRESSION_TYPE = 76, "The compression type is not supported in this version of the API."
    STALE_BROKER_EPOCH = 77, "The broker's epoch has changed."
    OFFSET_NOT_AVAILABLE = 78, "The offset is not known until the high watermark has caught up.", _RETRIABLE
    MEMBER_ID_REQUIRED = 79, "Join again with the member id given in this response."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, "The preferred leader is not available.", _RETRIABLE
    GROUP_MAX_SIZE_REACHED = 81, "The group has group.max.size members already."
    FENCED_INSTANCE_ID = 82, "Another member has taken over this group.instance.id."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, "No replica that may lead the partition is available.", _RETRIABLE
    ELECTION_NOT_NEEDED = 84, "The partition has the leader it should have.", _RETRIABLE
    NO_REASSIGNMENT_IN_PROGRESS = 85, "No reassignment of the partition is under way."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, "The group is subscribed to the topic, so its offsets stay."
    INVALID_RECORD = 87, "A record breaks the rules of the topic or of the format."
    UNSTABLE_OFFSET_COMMIT = 88, "Offsets of a transaction that is still open are pending.", _RETRIABLE
    THROTTLING_QUOTA_EXCEEDED = 89, "A quota is exceeded: wait for the throttle time.", _RETRIABLE
    PRODUCER_FENCED = 90, "A newer producer has taken over this transactional id."
    RESOURCE_NOT_FOUND = 91, "There is no such resource."
    DUPLICATE_RESOURCE = 92, "The request names the same resource twice."
    UNACCEPTABLE_CREDENTIAL = 93, "The credential does not meet the requirements."
    INCONSISTENT_VOTER_SET = 94, "Sender or receiver is not one of the expected voters."
    INVALID_UPDATE_VERSION = 95, "The version of the update is not valid."
    FEATURE_UPDATE_FAILED = 96, "The features could not be updated."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, "The forwarded principal could not be read."
    SNAPSHOT_NOT_FOUND = 98, "There is no such snapshot."
    POSITION_OUT_OF_RANGE = 99, "The position is not inside the snapshot."
    UNKNOWN_TOPIC_ID = 100, "This broker has no topic with this id.", _RETRIABLE
    DUPLICATE_BROKER_REGISTRATION = 101, "The broker id is in use."
    BROKER_ID_NOT_REGISTERED = 102, "The broker id is not registered."
    INCONSISTENT_TOPIC_ID = 103, "The topic id does not match the one of the log.", _RETRIABLE
    INCONSISTENT_CLUSTER_ID = 104, "The cluster id does not match the one of this cluster."
    TRANSACTIONAL_ID_NOT_FOUND = 105, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, "The fetch session mixes topic names and topic ids.", _RETRIABLE
    INELIGIBLE_REPLICA = 107, "The new in-sync set names a replica that may not be in it."
    NEW_LEADER_ELECTED = 108, "The partition was changed, and its leader with it."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, "The offset has moved to tiered storage."
    FENCED_MEMBER_EPOCH = 110, "The member's epoch is fenced: give up all partitions and join again."
    UNRELEASED_INSTANCE_ID = 111, "Another member still uses this group.instance.id."
    UNSUPPORTED_ASSIGNOR = 112, "The group does not support this assignor."
    STALE_MEMBER_EPOCH = 113, "The member's epoch is old: send a heartbeat to learn the new one, then try again."
    MISMATCHED_ENDPOINT_TYPE = 114, "The request came to an endpoint of the wrong type."
    UNSUPPORTED_ENDPOINT_TYPE = 115, "This type of endpoint is not supported."
    UNKNOWN_CONTROLLER_ID = 116, "There is no such controller."
    UNKNOWN_SUBSCRIPTION_ID = 117, "The telemetry subscription id is unknown or outdated."
    TELEMETRY_TOO_LARGE = 118, "The pushed metrics are larger than the broker accepts."
    INVALID_REGISTRATION = 119, "The controller did not accept the broker's registration."
    TRANSACTION_ABORTABLE = 120, "The transaction failed: abort it and go on with the same transactional id."
    INVALID_RECORD_STATE = 121, "The record is in a state that does not allow this acknowledgement."
    SHARE_SESSION_NOT_FOUND = 122, "There is no such share session.", _RETRIABLE
    INVALID_SHARE_SESSION_EPOCH = 123, "The epoch is not the next one of the share session.", _RETRIABLE
    FENCED_STATE_EPOCH = 124, "The state epoch of the share group does not match."
    INVALID_VOTER_KEY = 125, "The voter key does not match the receiving replica."
    DUPLICATE_VOTER = 126, "The voter is in the set of voters already."
    VOTER_NOT_FOUND = 127, "The voter is not in the set of voters."
    INVALID_REGULAR_EXPRESSION = 128, "The regular expression is not valid."
    REBOOTSTRAP_REQUIRED = 129, "The client's metadata is too old: bootstrap again."
    STREAMS_INVALID_TOPOLOGY = 130, "The streams topology is not valid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, "The epoch of the streams topology is not valid."
    STREAMS_TOPOLOGY_FENCED = 132, "The epoch of the streams topology is outdated."
    SHARE_SESSION_LIMIT_REACHED = 133, "The broker has as many share sessions as it allows.", _RETRIABLE


def shortened(message: str) -> str:
    """An error message as a response may carry it, though it quotes a name of thirty thousand characters."""
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}..."
