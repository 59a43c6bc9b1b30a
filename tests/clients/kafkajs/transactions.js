// What transactions/transactional_client.py asks of a client, done by KafkaJS. It has no init of its own: the first transaction
// does it, so that a producer is opened with one that is committed at once and leaves no trace.

const WAIT_MS = 20000;

const text = (message) => message.value.toString('base64');

// Collects what a group reads of a topic; `take` waits for as many as are wanted.
class Member {
  constructor(kafka, { group, topic, isolation }) {
    this.group = group;
    this.topic = topic;
    this.read = [];
    this.consumer = kafka.consumer({
      groupId: group, readUncommitted: isolation === 'read_uncommitted', maxWaitTimeInMs: 100, heartbeatInterval: 100,
    });
    this.owned = [];
  }

  async join() {
    const { consumer } = this;
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      this.owned = payload.memberAssignment[this.topic] ?? [];
    });
    await consumer.connect();
    await consumer.subscribe({ topics: [this.topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch, isStale }) => {
        if (isStale()) return;
        this.read.push(...batch.messages.map(text));
        this.arrived?.();
      },
    });
  }

  async take(count) {
    const deadline = Date.now() + WAIT_MS;
    while (this.read.length < count) {
      let timer;
      await new Promise((resolve, reject) => {
        this.arrived = resolve;
        const late = () => reject(new Error(`${this.read.length} of ${count} records after ${WAIT_MS} ms`));
        timer = setTimeout(late, deadline - Date.now());
      }).finally(() => clearTimeout(timer));
    }
    return this.read.splice(0, count);
  }

  async rewind(admin) {
    const [{ partitions }] = await admin.fetchOffsets({ groupId: this.group, topics: [this.topic] });
    this.read = [];
    for (const partition of this.owned) {
      const { offset } = partitions.find((each) => each.partition === partition);
      this.consumer.seek({ topic: this.topic, partition, offset: offset === '-1' ? '0' : offset });
    }
  }
}

module.exports = ({ kafka, admin, codecs, brokerError }) => {
  const producers = new Map();
  const members = new Map();
  let readers = 0;

  const operations = {
    async open({ producer: number, transactional_id: transactionalId, timeout_ms: transactionTimeout, codec }) {
      const producer = kafka().producer({ transactionalId, transactionTimeout, idempotent: true, maxInFlightRequests: 1 });
      await producer.connect();
      producers.set(number, { producer, codec });
      await (await producer.transaction()).commit();
    },

    async begin({ producer: number }) {
      const open = producers.get(number);
      open.transaction = await open.producer.transaction();
    },

    async send({ producer: number, topic, values, partition }) {
      const { transaction, codec } = producers.get(number);
      const messages = values.map((value) => ({ value: Buffer.from(value, 'base64'), partition }));
      const [{ baseOffset }] = await transaction.send({ topic, messages, compression: codecs[codec] });
      return values.map((_, position) => Number(baseOffset) + position);
    },

    async send_offsets({ producer: number, group, offsets }) {
      const topics = offsets.map(([topic, partition, offset]) => (
        { topic, partitions: [{ partition, offset: String(offset) }] }
      ));
      await producers.get(number).transaction.sendOffsets({ consumerGroupId: group, topics });
    },

    async commit({ producer: number }) {
      await producers.get(number).transaction.commit();
    },

    async abort({ producer: number }) {
      await producers.get(number).transaction.abort();
    },

    async close({ producer: number }) {
      await producers.get(number).producer.disconnect();
      producers.delete(number);
    },

    async join({ member: number, group, topic }) {
      const member = new Member(kafka(), { group, topic, isolation: 'read_committed' });
      await member.join();
      members.set(number, member);
    },

    async poll({ member: number, count }) {
      return members.get(number).take(count);
    },

    async rewind({ member: number }) {
      await members.get(number).rewind(admin());
    },

    async leave({ member: number }) {
      await members.get(number).consumer.disconnect();
    },

    // It reads only in groups, so that a reader of partition 0 is the only member of one, on a topic without other partitions.
    async read({ topic, isolation, count }) {
      readers += 1;
      const reader = new Member(kafka(), { group: `reader-${process.pid}-${readers}`, topic, isolation });
      await reader.join();
      try {
        return await reader.take(count);
      } finally {
        await reader.consumer.disconnect();
      }
    },
  };

  const told = (operation) => async (request) => {
    try {
      return await operation(request);
    } catch (error) {
      const inner = brokerError(error) ?? error;
      return { failure: { name: inner.type ?? inner.name, message: inner.message } };
    }
  };
  return Object.fromEntries(Object.entries(operations).map(([name, operation]) => [`transactions_${name}`, told(operation)]));
};
