// What the batch consumer leaves to its reader: the business logic, the dead letter queue, and the call that starts it.

const deadLetters = kafka.producer();

async function processOrder(order) {
  if (order.amount < 0) throw new Error('the amount is negative');
}

async function sendToDeadLetterQueue(message, err) {
  await deadLetters.connect();
  const headers = { ...message.headers, error: err.message };
  await deadLetters.send({ topic: 'orders-dlq', messages: [{ key: message.key, value: message.value, headers }] });
  await deadLetters.disconnect();
}

startConsumer();
