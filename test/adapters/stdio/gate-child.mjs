import { createStdioServer } from '../../../dist/adapters/stdio/server.js'

/** A gate with one server, which says its pid; it is there to be killed. */
const server = createStdioServer({
  name: 'test',
  command: process.execPath,
  args: [process.argv[2], 'pid'],
  env: {},
  maxMessageBytes: 1 << 20,
  stderr() {},
  report() {},
})
server.connect({
  message: (octets) => process.stdout.write(`${JSON.parse(Buffer.from(octets)).params.pid}\n`),
  fault() {},
  closed() {},
})
