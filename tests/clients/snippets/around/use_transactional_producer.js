// What the transactional producer leaves to its reader: two orders, of which the second does not fit into order-analytics.

async function main() {
  await sendOrder({ id: 'ORD-1', userId: 'USR-1', total: 99.99 });
  await sendOrder({ id: 'ORD-2', userId: 'USR-2', total: '9'.repeat(1000) }).catch(() => {});
  await producer.disconnect();
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
