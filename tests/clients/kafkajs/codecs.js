// The codecs that KafkaJS leaves to others, registered with it.

const { CompressionTypes, CompressionCodecs } = require('kafkajs');
const snappy = require('kafkajs-snappy');
const lz4 = require('lz4js');
const { ZstdCodec } = require('zstd-codec');

const zstd = new Promise((resolve) => ZstdCodec.run((library) => resolve(new library.Streaming())));

CompressionCodecs[CompressionTypes.Snappy] = snappy;
// Kafka takes only frames of independent blocks. lz4js does not set that flag, though a frame of one block (up to 4 MB) is just that;
// setting it changes the header's checksum byte too.
function independentBlocks(frame) {
  frame[4] |= 0x20;
  frame[6] = 0x73;
  return frame;
}

CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async (encoder) => independentBlocks(Buffer.from(lz4.compress(encoder.buffer))),
  decompress: async (buffer) => Buffer.from(lz4.decompress(buffer)),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from((await zstd).compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from((await zstd).decompress(buffer)),
});
