// The KafkaJS side of tests/clients: one JSON request a line on stdin, one JSON answer a line on stdout (see drivers/remote.py).
// `npm ci` in this directory brings KafkaJS and the codecs it leaves to others.

const readline = require('node:readline');
const {
  Kafka, CompressionTypes, ConfigResourceTypes, Partitioners, logLevel,
} = require('kafkajs');
require('./codecs');
const transactionOperations = require('./transactions');

const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
};
const ACKS = { 0: 0, 1: 1, all: -1 };

let kafka;
let admin;

const bytes = (text) => (text === null ? null : Buffer.from(text, 'base64'));

async function withProducer(settings, use) {
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, ...settings });
  await producer.connect();
  try {
    return await use(producer);
  } finally {
    await producer.disconnect();
  }
}

function headersOf(pairs) {
  const headers = {};
  for (const [name, value] of pairs) {
    // a repeated name becomes a list, as KafkaJS wants it
    if (name in headers) headers[name] = [].concat(headers[name], [bytes(value)]);
    else headers[name] = bytes(value);
  }
  return headers;
}

// KafkaJS tells only the base offset of each partition's batch, so offsets are counted up from it in the order of sending.
function offsetsOf(records, metadata) {
  const next = new Map(metadata.map((each) => [each.partition, Number(each.baseOffset)]));
  return records.map(({ partition }) => {
    if (!next.has(partition)) return -1;
    const offset = next.get(partition);
    next.set(partition, offset + 1);
    return offset;
  });
}

const operations = {
  async connect({ bootstrap_servers: brokers }) {
    kafka = new Kafka({
      clientId: 'stoker-tests', brokers: brokers.split(','), logLevel: logLevel.NOTHING, retry: { retries: 3 },
    });
    admin = kafka.admin();
    await admin.connect();
  },

  async produce({ topic, records, codec, acks, idempotent }) {
    const messages = records.map((record) => ({
      key: bytes(record.key),
      value: bytes(record.value),
      headers: headersOf(record.headers),
      partition: record.partition,
      ...(record.timestamp === null ? {} : { timestamp: String(record.timestamp) }),
    }));
    return withProducer({ idempotent }, async (producer) => {
      const metadata = await producer.send({ topic, messages, acks: ACKS[acks], compression: CODECS[codec] });
      return offsetsOf(records, metadata);
    });
  },

  // One send a key: KafkaJS reports partitions, not which record went where.
  async produce_by_key({ topic, keys }) {
    return withProducer({}, async (producer) => {
      const partitions = [];
      for (const key of keys) {
        const [metadata] = await producer.send({ topic, messages: [{ key: bytes(key), value: '' }] });
        partitions.push(metadata.partition);
      }
      return partitions;
    });
  },

  async offset_for_time({ topic, partition, timestamp }) {
    const [, latest] = await operations.offset_range({ topic, partition });
    const found = await admin.fetchTopicOffsetsByTimestamp(topic, timestamp);
    const offset = Number(found.find((each) => each.partition === partition).offset);
    return offset === latest ? null : offset; // where no record is late enough KafkaJS answers with the end
  },

  async offset_range({ topic, partition }) {
    const offsets = await admin.fetchTopicOffsets(topic);
    const { low, high } = offsets.find((each) => each.partition === partition);
    return [Number(low), Number(high)];
  },

  async create_topic({ topic, partitions, replication_factor: replicationFactor, configs }) {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }));
    const created = await admin.createTopics({
      topics: [{ topic, numPartitions: partitions, replicationFactor, configEntries }],
    });
    // KafkaJS turns "it exists" into false and throws every other error
    if (!created) throw Object.assign(new Error('Topic with this name already exists'), { code: 36 });
  },

  async delete_topic({ topic }) {
    await admin.deleteTopics({ topics: [topic] });
  },

  async create_partitions({ topic, total }) {
    await admin.createPartitions({ topicPartitions: [{ topic, count: total }] });
  },

  async set_topic_configs({ topic, configs }) {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }));
    await admin.alterConfigs({
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }],
    });
  },

  async topic_configs({ topic }) {
    const { resources } = await admin.describeConfigs({
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
    });
    const pairs = resources[0].configEntries.map(({ configName, configValue }) => [configName, configValue]);
    return Object.fromEntries(pairs);
  },

  async partition_count({ topic }) {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0].partitions.length;
  },

  async topics() {
    return admin.listTopics();
  },

  async delete_records({ topic, partition, before_offset: offset }) {
    await admin.fetchTopicOffsets(topic); // else KafkaJS does not know the leader, and does not ask
    await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] });
  },

  // Runs a file's text as a module of its own, with the console's lines as the answer: for snippets that are tested as they stand.
  async run({ source }) {
    const lines = [];
    const console_ = { log: (...words) => lines.push(words.join(' ')), warn: console.error, error: console.error };
    const body = new Function('require', 'console', `return (async () => {${source}\n})()`);
    const result = await body(require, console_);
    return { lines, result: result === undefined ? null : result };
  },
};

Object.assign(operations, transactionOperations({ kafka: () => kafka, admin: () => admin, codecs: CODECS, brokerError }));

// The error that the broker sent is inside: KafkaJS wraps it in retry and aggregate errors.
function brokerError(error) {
  for (let each = error; each; each = each.errors ? each.errors[0] : each.cause) {
    if (typeof each.code === 'number') return each;
  }
  return null;
}

async function answer(line) {
  const { operation, ...args } = JSON.parse(line);
  try {
    const result = await operations[operation](args);
    return { result: result === undefined ? null : result };
  } catch (error) {
    const inner = brokerError(error);
    return { error: { code: inner && inner.code, message: (inner || error).message } };
  }
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
  }
  if (admin) await admin.disconnect();
  process.exit(0);
}

main();
