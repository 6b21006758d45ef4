import { connect } from 'node:net'

/** A server on stdio whose words come from the test that listens on the port: real pipes, a real process. */
const [port] = process.argv.slice(2)
const socket = connect(Number(port), '127.0.0.1')
process.stdin.pipe(socket)
socket.pipe(process.stdout)
socket.on('error', () => {})
// The test has cut it off: it dies as a crashed server does.
socket.on('close', () => process.kill(process.pid, 'SIGKILL'))
