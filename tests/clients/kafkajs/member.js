// A program that hosts members of groups, for KafkaJS; its line protocol is told in groups/member_program.py.
// KafkaJS has no rebalance listener: a member tells that all is revoked when its next heartbeat finds a rebalance, and what it is
// assigned when it has joined again. It reads and commits in eachBatch, so that a member that must not poll waits inside it.

const readline = require('node:readline');
const { Kafka, logLevel } = require('kafkajs');

const members = new Map();

class Member {
  constructor(join) {
    this.join = join;
    this.owned = [];
    this.held = null;
    const { settings } = join;
    this.settings = settings;
    this.kafka = new Kafka({
      clientId: settings['client.id'],
      brokers: process.argv[2].split(','),
      logLevel: logLevel.NOTHING,
      retry: { initialRetryTime: 50, retries: 8 },
    });
    this.consumer = this.kafka.consumer({
      groupId: settings['group.id'],
      sessionTimeout: settings['session.timeout.ms'],
      heartbeatInterval: settings['heartbeat.interval.ms'],
      rebalanceTimeout: settings['max.poll.interval.ms'],
      maxWaitTimeInMs: 100,
    });
  }

  tell(event, details = {}) {
    const told = { event, member: this.join.member, at: Date.now(), ...details };
    process.stdout.write(`${JSON.stringify(told)}\n`);
  }

  tellFailure(event, error) {
    this.tell(event, { name: error.type || error.name, message: error.message });
  }

  giveUp(event) {
    if (this.owned.length > 0) this.tell(event, { partitions: this.owned });
    this.owned = [];
  }

  async open() {
    const { consumer, settings, join } = this;
    consumer.on(consumer.events.REBALANCING, () => this.giveUp('revoked'));
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      this.giveUp('lost');
      if (!payload.restart) this.tellFailure('failed', payload.error);
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      this.giveUp('revoked');
      this.owned = Object.entries(payload.memberAssignment)
        .flatMap(([topic, partitions]) => partitions.map((partition) => [topic, partition]));
      this.tell('assigned', { partitions: this.owned });
    });
    await consumer.connect();
    await consumer.subscribe({ topics: join.topics, fromBeginning: settings['auto.offset.reset'] === 'earliest' });
    await consumer.run({
      autoCommit: settings['enable.auto.commit'],
      autoCommitInterval: settings['auto.commit.interval.ms'],
      eachBatchAutoResolve: true,
      eachBatch: (payload) => this.process(payload),
    });
  }

  async process({ batch: { topic, partition, messages }, isStale }) {
    if (this.held) await this.held.until;
    if (isStale()) return;
    const records = messages.map(({ offset, value }) => [topic, partition, Number(offset), String(value ?? '')]);
    const next = [[topic, partition, records.at(-1)[2] + 1]];
    if (this.join.end === 'after_commit') { // at most once: committed, then processed
      await this.committed(next);
      process.kill(process.pid, 'SIGKILL');
    }
    this.tell('records', { records });
    if (this.join.end === 'before_commit') process.kill(process.pid, 'SIGKILL');
    if (this.join.commit !== 'never') await this.commit(next);
  }

  committed(offsets) {
    return this.consumer.commitOffsets(
      offsets.map(([topic, partition, offset]) => ({ topic, partition, offset: String(offset) })),
    );
  }

  async commit(offsets) {
    try {
      await this.committed(offsets);
      this.tell('committed', { offsets });
    } catch (error) {
      this.tellFailure('commit_failed', error);
      if (error.name === 'KafkaJSProtocolError') throw error; // KafkaJS rejoins when it hears of it
    }
  }

  async obey(command) {
    switch (command.command) {
      case 'stop_polling':
        this.held = {};
        this.held.until = new Promise((resolve) => { this.held.release = resolve; });
        this.tell('stopped_polling');
        break;
      case 'poll_again':
        this.held.release();
        this.held = null;
        break;
      case 'leave':
        this.tell('leaving');
        await this.consumer.disconnect();
        this.tell('left');
        break;
      case 'commit':
        await this.commit(command.offsets).catch(() => {});
        break;
      case 'seek':
        await this.seek(command);
        this.tell('sought');
        break;
      default:
        throw new Error(command.command);
    }
  }

  async seek({ topic, partition, to }) {
    const offset = typeof to === 'number' ? to : await this.lookUp(topic, partition, to);
    this.consumer.seek({ topic, partition, offset: String(offset) });
  }

  async lookUp(topic, partition, to) {
    const admin = this.kafka.admin();
    await admin.connect();
    try {
      const found = typeof to === 'object'
        ? await admin.fetchTopicOffsetsByTimestamp(topic, to.time)
        : await admin.fetchTopicOffsets(topic);
      const { low, high, offset } = found.find((each) => each.partition === partition);
      return { beginning: low, end: high }[to] ?? offset;
    } finally {
      await admin.disconnect();
    }
  }
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const command = JSON.parse(line);
  if (command.command === 'join') members.set(command.member, new Member(command));
  const member = members.get(command.member);
  const done = command.command === 'join' ? member.open() : member.obey(command);
  done.catch((error) => member.tellFailure('failed', error));
}).on('close', () => process.exit(0));
process.stdout.write('{"event": "ready", "member": "", "at": 0}\n');
